//! The machines of the live source as a table: a row for each machine, and one for all machines together.

mod column;

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde::Serialize;
use tachograph_counters::path::PathPattern;

use self::column::{MachineColumn, Values};
use super::Web;
use super::charts::lease;
use crate::compression::accepts_gzip;
use crate::hub::LiveSnapshot;
use crate::parameters::Parameters;
use crate::response::ApiError;
use crate::series::{Statistics as StatisticsJson, UnitFormat, rfc3339};
use crate::workers::Cancel;

/// Maximum number of columns.
const MAX_COLUMNS: usize = 32;
/// Number of rows if a request does not specify it.
const DEFAULT_TOP: usize = 100;
const MAX_TOP: usize = 10_000;

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
    /// The path of the counter that the column shows. It differs from `path` if `path` selects several counters.
    shown: String,
    /// The name of the counter; `null` if no machine has a value.
    counter: Option<String>,
    /// The instance part of the path: with wildcards, cells have the sum of these instances.
    instance: Option<String>,
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
    let mut missing = live.missing(&request.paths);
    let mut values = Values::default();
    let columns: Vec<MachineColumn> = request
        .paths
        .iter()
        .map(|path| MachineColumn::read(samples, path, &mut values, cancel))
        .collect::<Result<_, _>>()?;
    for (path, column) in request.paths.iter().zip(&columns) {
        missing.extend(column.notes().map(|note| (path.to_string(), note)));
    }
    let is_found = |name: &&String| name.to_lowercase().contains(&request.filter);
    let mut rows: Vec<Row> =
        machines.iter().filter(is_found).map(|name| Row::new(name, &columns, request.sort)).collect();
    let found = rows.len();
    // Machines without a value are last.
    rows.sort_by(|one, other| match (one.rank, other.rank) {
        (Some(one), Some(other)) if request.is_ascending => one.total_cmp(&other),
        (Some(one), Some(other)) => other.total_cmp(&one),
        (one, other) => other.is_some().cmp(&one.is_some()),
    });
    rows.truncate(request.top);
    let times = match samples {
        [first, .., last] => Some((first.at.utc, last.at.utc)),
        _ => None,
    };
    Ok(Table {
        begin: times.map(|(begin, _)| rfc3339(begin)),
        end: times.map(|(_, end)| rfc3339(end)),
        machines: machines.len(),
        found,
        columns: request.paths.iter().zip(&columns).map(|(path, column)| Column::new(path, column)).collect(),
        rows,
        missing: missing.into_iter().map(|(path, reason)| Missing { path, reason }).collect(),
    })
}

impl Row {
    /// The row of a machine. Its rank is its average in the column `sort`.
    fn new(machine: &str, columns: &[MachineColumn], sort: usize) -> Self {
        let statistics = columns.iter().map(|column| {
            let (counter, _) = column.all()?;
            Some(StatisticsJson::new(&column.of_machine(machine)?.summary(), counter))
        });
        let rank = columns.get(sort).and_then(|column| column.of_machine(machine)?.summary().average);
        Self { machine: machine.to_owned(), statistics: statistics.collect(), rank }
    }
}

impl Column {
    fn new(path: &PathPattern, column: &MachineColumn) -> Self {
        let all = column.all();
        Self {
            path: path.to_string(),
            shown: column.shown(path).to_string(),
            counter: all.map(|(counter, _)| counter.name.to_string()),
            instance: path.path().instance.as_ref().map(|instance| instance.as_str().to_owned()),
            unit: all.map(|(counter, _)| counter.unit().into_owned()).unwrap_or_default(),
            format: all.map(|(counter, _)| UnitFormat::for_counter(counter)),
            all: all.map(|(counter, state)| StatisticsJson::new(&state.summary(), counter)),
        }
    }
}
