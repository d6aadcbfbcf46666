//! The machines of the live source as a table: a row for each machine, and one for all machines together.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde::Serialize;
use tachograph_counters::Statistics;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Counter;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsRow, StatisticsSink};
use tachograph_flow::{FlowError, Sink as _, Source as _};

use super::Web;
use super::charts::lease;
use crate::compression::accepts_gzip;
use crate::hub::{LiveSnapshot, RingSource, RingWindow};
use crate::parameters::Parameters;
use crate::response::ApiError;
use crate::series::{Statistics as StatisticsJson, UnitFormat, rfc3339};
use crate::workers::{Cancel, Cancellable};

/// Maximum number of columns.
const MAX_COLUMNS: usize = 32;
/// Number of rows if a request does not specify it.
const DEFAULT_TOP: usize = 100;
const MAX_TOP: usize = 10_000;
/// Maximum number of values from which a table is computed.
const MAX_VALUES: usize = 5_000_000;

/// A parsed request.
struct Request {
    paths: Vec<PathPattern>,
    /// The column by which rows are sorted.
    sort: usize,
    is_ascending: bool,
    /// Maximum number of rows.
    top: usize,
    /// The number of intervals that the figures cover.
    window: usize,
    /// Only machines whose lower-case names contain this lower-case text are shown.
    filter: String,
}

impl Request {
    fn parse(parameters: &Parameters, points: usize) -> Result<Self, ApiError> {
        let paths = parameters.required_paths()?;
        if paths.len() > MAX_COLUMNS {
            return Err(ApiError::bad_request(format!("path: at most {MAX_COLUMNS} columns")));
        }
        let sort = match parameters.one("sort")? {
            None => 0,
            Some(text) => text
                .parse()
                .ok()
                .filter(|column| *column < paths.len())
                .ok_or_else(|| ApiError::bad_request("sort: must be the index of a column, from 0"))?,
        };
        let is_ascending = match parameters.one("order")? {
            None | Some("descending") => false,
            Some("ascending") => true,
            Some(_) => return Err(ApiError::bad_request("order: must be ascending or descending")),
        };
        Ok(Self {
            paths,
            sort,
            is_ascending,
            top: parameters.count("top", DEFAULT_TOP, MAX_TOP)?,
            window: parameters.count("window", 1, points.max(1))?,
            filter: parameters.one("filter")?.unwrap_or_default().to_lowercase(),
        })
    }
}

#[derive(Serialize)]
struct Table {
    begin: Option<String>,
    end: Option<String>,
    /// The number of machines, and of those that the filter selects.
    machines: usize,
    found: usize,
    columns: Vec<Column>,
    rows: Vec<Row>,
    missing: Vec<Missing>,
}

#[derive(Serialize)]
struct Column {
    path: String,
    /// The name of the counter; `null` if no machine has a value.
    counter: Option<String>,
    unit: String,
    format: Option<UnitFormat>,
    /// The statistics over all machines: the formula applied to summed differences.
    all: Option<StatisticsJson>,
}

#[derive(Serialize)]
struct Row {
    machine: String,
    /// One for each column.
    statistics: Vec<Option<StatisticsJson>>,
    #[serde(skip)]
    rank: Option<f64>,
}

#[derive(Serialize)]
struct Missing {
    path: String,
    reason: String,
}

pub(super) async fn table(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = query.unwrap_or_default();
    let names = ["path", "sort", "order", "top", "window", "filter"];
    let parameters = Parameters::parse(Some(&query), &names)?;
    let request = Request::parse(&parameters, web.hub.options().points)?;
    let compute = async {
        let (live, paths) = lease(&web, request.paths.clone()).await?;
        let shared = web.clone();
        let request = Request { paths, ..request };
        let compute = move |cancel: &Cancel| {
            let table = compute(&live, &request, &shared.hub.machines(), cancel)?;
            let text = serde_json::to_vec(&table).map(Bytes::from);
            text.map_err(|_| ApiError::conflict("the table cannot be written as JSON"))
        };
        web.live_workers.run(compute).await
    };
    let key = format!("fleet?{query}");
    let text = web.charts.get(&key, web.hub.samples(), accepts_gzip(&headers), compute).await?;
    Ok(text.into_response())
}

fn compute(
    live: &LiveSnapshot,
    request: &Request,
    machines: &[String],
    cancel: &Cancel,
) -> Result<Table, ApiError> {
    let samples = &live.samples[live.samples.len().saturating_sub(request.window + 1)..];
    let missing = live.missing(&request.paths).into_iter().map(|(path, reason)| Missing { path, reason });
    let mut cells = Cells::new(&request.paths);
    let mut times: Option<(FileTime, FileTime)> = None;
    if let [first, .., last] = samples {
        let begin = first.at.utc.saturating_add(1);
        times = Some((first.at.utc, last.at.utc));
        let source = RingSource::window(samples, &request.paths, (Some(begin), None));
        cells.read(Cancellable::new(source, cancel), cancel)?;
    }
    let is_found = |name: &&String| name.to_lowercase().contains(&request.filter);
    let mut rows: Vec<Row> =
        machines.iter().filter(is_found).map(|name| cells.row(name, request.sort)).collect();
    let found = rows.len();
    // Machines without a value are last.
    rows.sort_by(|one, other| match (one.rank, other.rank) {
        (Some(one), Some(other)) if request.is_ascending => one.total_cmp(&other),
        (Some(one), Some(other)) => other.total_cmp(&one),
        (one, other) => other.is_some().cmp(&one.is_some()),
    });
    rows.truncate(request.top);
    Ok(Table {
        begin: times.map(|(begin, _)| rfc3339(begin)),
        end: times.map(|(_, end)| rfc3339(end)),
        machines: machines.len(),
        found,
        columns: cells.columns(),
        rows,
        missing: missing.collect(),
    })
}

/// The statistics of each machine in each column.
struct Cells<'a> {
    paths: &'a [PathPattern],
    /// For each machine, the statistics in each column.
    by_machine: HashMap<Arc<str>, Vec<Option<Statistics>>>,
    /// Over all machines, with the counter of each column.
    all: Vec<Option<(Counter, Statistics)>>,
}

impl<'a> Cells<'a> {
    fn new(paths: &'a [PathPattern]) -> Self {
        Self { paths, by_machine: HashMap::new(), all: paths.iter().map(|_| None).collect() }
    }

    /// Adds the intervals of all samples.
    fn read(&mut self, mut source: Cancellable<RingWindow>, cancel: &Cancel) -> Result<(), ApiError> {
        let failed = |error: FlowError| match cancel.is_cancelled() {
            true => Cancel::error(),
            false => ApiError::conflict(error.to_string()),
        };
        let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
        let mut sink = StatisticsSink::new(options);
        let (mut sample, mut values) = (Sample::default(), 0);
        while source.next(&mut sample).map_err(failed)? {
            values += sample.len();
            if values > MAX_VALUES {
                return Err(ApiError::too_large(
                    "too many values: select fewer counters, or a shorter window",
                ));
            }
            sink.push(&sample).map_err(failed)?;
        }
        let mut states = Vec::new();
        sink.cut(|index, state| states.push((index, state)));
        for (index, state) in states {
            if let Some(row) = sink.row(index) {
                self.add(&row, &state);
            }
        }
        Ok(())
    }

    /// Adds the statistics of a series to the columns whose paths select it.
    fn add(&mut self, row: &StatisticsRow, state: &Statistics) {
        let Some(machine) = &row.machine else { return };
        let instance = row.instance.as_ref().map(|instance| instance.label());
        for (column, path) in self.paths.iter().enumerate() {
            let is_selected = path.matches_machine(machine)
                && path.matches_set(&row.set.name, row.set.has_instances)
                && path.matches_instance(instance)
                && path.matches_counter(&row.counter.name);
            if !is_selected {
                continue;
            }
            // Counters with other formulas, which a path with wildcards can select, are not merged.
            match &mut self.all[column] {
                Some((_, all)) => {
                    if all.merge(state).is_err() {
                        continue;
                    }
                }
                all => *all = Some((row.counter.clone(), state.clone())),
            }
            let width = self.paths.len();
            let cells = self.by_machine.entry(Arc::clone(machine)).or_insert_with(|| vec![None; width]);
            match &mut cells[column] {
                // The series has the formula of the column, so this cannot fail.
                Some(known) => drop(known.merge(state)),
                cell => *cell = Some(state.clone()),
            }
        }
    }

    fn row(&self, machine: &str, sort: usize) -> Row {
        let cells = self.by_machine.get(machine);
        let summary = |cell: &Option<Statistics>| cell.as_ref().map(Statistics::summary);
        let summaries: Vec<_> = match cells {
            Some(cells) => cells.iter().map(summary).collect(),
            None => self.paths.iter().map(|_| None).collect(),
        };
        let rank = summaries.get(sort).and_then(|summary| summary.as_ref()?.average);
        let statistics = summaries.iter().zip(&self.all).map(|(summary, all)| {
            let (counter, _) = all.as_ref()?;
            Some(StatisticsJson::new(summary.as_ref()?, counter))
        });
        Row { machine: machine.to_owned(), statistics: statistics.collect(), rank }
    }

    fn columns(&self) -> Vec<Column> {
        let column = |(path, all): (&PathPattern, &Option<(Counter, Statistics)>)| Column {
            path: path.to_string(),
            counter: all.as_ref().map(|(counter, _)| counter.name.to_string()),
            unit: all.as_ref().map(|(counter, _)| counter.unit().into_owned()).unwrap_or_default(),
            format: all.as_ref().map(|(counter, _)| UnitFormat::for_counter(counter)),
            all: all.as_ref().map(|(counter, state)| StatisticsJson::new(&state.summary(), counter)),
        };
        self.paths.iter().zip(&self.all).map(column).collect()
    }
}
