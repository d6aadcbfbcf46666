//! Time ranges of a source: charts, statistics, exports.

mod cache;
mod comparison;
mod names;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::sample::Sample;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{
    StatisticsOptions, StatisticsRow, StatisticsSink, write_statistics_csv, write_statistics_json,
};
use tachograph_flow::{FlowError, NameSums, NameSumsSource, Select, Selection, Sink, Source, WindowBounds};
use tachograph_logs::{Budget, LogError, Reservation};
use tachograph_monitor::{Reduced, Reducer, Reduction, SeriesTable, Span};

use super::sources::LIVE;
use super::{MAX_DOWNLOADS, Web};
use crate::bodies::FileBody;
use crate::compression::accepts_gzip;
use crate::export::{self, Export, ExportError, Format};
use crate::hub::{LiveSnapshot, RingSource};
use crate::parameters::{Parameters, PathPart};
use crate::response::{ApiError, with_content_type};
use crate::series::{Charts, check_points, check_series};
use crate::sources::Log;
use crate::workers::{Cancel, Cancellable};

pub(crate) use cache::ChartCache;
pub(super) use comparison::compare;
use names::Summed;
pub(super) use names::machine_sums;

/// Number of columns of a chart if a request does not specify it.
const DEFAULT_COLUMNS: usize = 800;
/// Maximum number of columns of a chart.
const MAX_COLUMNS: usize = 4000;
/// Estimated memory for a row of statistics, including its text.
const ROW_BYTES: u64 = 1500;

/// The requested begin and end; `None` if the request does not have them.
type Bounds = (Option<FileTime>, Option<FileTime>);

pub(super) async fn series(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let query = query.unwrap_or_default();
    let parameters = Parameters::parse(
        Some(&query),
        &["path", "begin", "end", "columns", "format", "group_by", "across"],
    )?;
    let bounds = parameters.window()?;
    let is_across_machines = parameters.choice("across", &[("machines", true)])?.unwrap_or(false);
    let columns = parameters.count("columns", DEFAULT_COLUMNS, MAX_COLUMNS)?;
    parameters.choice("format", &[("columns", ())])?;
    let summed = names::summed(&parameters)?;
    if summed == Summed::Names && is_across_machines {
        return Err(ApiError::bad_request("across: cannot be combined with group_by=name"));
    }
    let (paths, invalid) = parameters.valid_paths()?;
    if summed == Summed::Machines && (id != LIVE || !are_of_one_counter(&paths)) {
        return Err(ApiError::bad_request(
            "group_by: machine is for the source 'live', and for paths that are equal except for their machines",
        ));
    }
    if id == LIVE {
        let compute = async {
            let (live, paths) = lease(&web, paths).await?;
            let mut missing = live.missing(&paths);
            missing.extend(invalid);
            let chart = move |cancel: &Cancel| match summed {
                Summed::Names => chart_sums(Samples::Live(live), paths, bounds, columns, missing, cancel),
                Summed::None | Summed::Machines => {
                    let reducer = match is_across_machines {
                        true => Reducer::across_machines(),
                        false => Reducer::default(),
                    };
                    let path = paths.first().filter(|_| summed == Summed::Machines);
                    let sums = path.and_then(machine_sums);
                    chart_live(&live, &paths, bounds, columns, (sums, reducer), &missing, cancel)
                }
            };
            web.live_workers.run(chart).await
        };
        let text = web.charts.get(&query, web.hub.samples(), accepts_gzip(&headers), compute).await?;
        return Ok(text.into_response());
    }
    if is_across_machines {
        return Err(ApiError::bad_request(
            "across: logs are not merged; 'tacho stats --across machines' does that",
        ));
    }
    let log = web.sources.get(&id)?;
    if summed == Summed::Names {
        let catalogue = Arc::clone(&log.facts()?.catalogue);
        let absent = paths.iter().filter(|path| !catalogue.has(path));
        let missing = absent.map(|path| (path.to_string(), "not in the log".to_owned())).chain(invalid);
        let missing = missing.collect();
        let chart =
            move |cancel: &Cancel| chart_sums(Samples::Log(log), paths, bounds, columns, missing, cancel);
        let text = web.sources.workers.run(chart).await?;
        return Ok(with_content_type("application/json", text));
    }
    let choose = move |full_span| Ok((requested_span(full_span, bounds)?, columns));
    let respond = move |reduced: Option<&Reduced>, missing: &[(String, String)]| {
        let text = charts_text(reduced, &[missing, &invalid].concat())?;
        Ok(with_content_type("application/json", text))
    };
    log.chart(&web.sources.workers, paths, choose, respond).await
}

fn charts_text(reduced: Option<&Reduced>, missing: &[(String, String)]) -> Result<Bytes, ApiError> {
    let charts = match reduced {
        Some(reduced) => {
            check_points(reduced.series.len(), reduced.columns)?;
            Charts::from_reduced(reduced, missing)
        }
        None => Charts::empty(missing),
    };
    let text = serde_json::to_vec(&charts).map(Bytes::from);
    text.map_err(|_| ApiError::conflict("the chart cannot be written as JSON"))
}

/// The requested time range. Without a `begin` or `end`, that of `full_span` is used.
fn requested_span(full_span: Span, (begin, end): Bounds) -> Result<Span, ApiError> {
    let (begin, end) = (begin.unwrap_or(full_span.begin()), end.unwrap_or(full_span.end()));
    match begin < end {
        true => Ok(Span::new(begin, end)),
        false => Err(ApiError::bad_request(
            "begin must be before end; a missing begin or end defaults to that of the source",
        )),
    }
}

/// Starts or extends the collection of live paths; returns the samples so far and the resolved paths.
pub(super) async fn lease(
    web: &Web,
    paths: Vec<PathPattern>,
) -> Result<(LiveSnapshot, Vec<PathPattern>), ApiError> {
    let shared = web.clone();
    let paths = web.live_workers.run(move |_| Ok(shared.hub.resolve_paths(&paths))).await?;
    web.hub.wait_until_applied(web.hub.lease(&paths)?).await?;
    Ok((web.hub.live(), paths))
}

fn chart_live(
    live: &LiveSnapshot,
    paths: &[PathPattern],
    bounds: Bounds,
    columns: usize,
    transforms: (Option<NameSums>, Reducer),
    missing: &[(String, String)],
    cancel: &Cancel,
) -> Result<Bytes, ApiError> {
    let Some(full_span) = live.span() else { return charts_text(None, missing) };
    let span = requested_span(full_span, bounds)?;
    let source = RingSource::window(&live.samples, paths, (Some(span.begin()), Some(span.end())));
    let reduced = reduce(source, span, columns, paths, transforms, cancel).map_err(|error| match error {
        _ if cancel.is_cancelled() => Cancel::error(),
        ExportError::Samples(error) => ApiError::conflict(error.to_string()),
        ExportError::Rejected(error) => error,
        ExportError::DiskFull | ExportError::TooLarge => ApiError::conflict("the chart is too large"),
    })?;
    charts_text(Some(&reduced), missing)
}

/// Reduces the samples of a source to columns. The samples are summed first, if `sums` is given.
fn reduce(
    source: impl Source,
    span: Span,
    columns: usize,
    paths: &[PathPattern],
    (mut sums, mut reducer): (Option<NameSums>, Reducer),
    cancel: &Cancel,
) -> Result<Reduced, ExportError> {
    let mut source = Cancellable::new(source, cancel);
    let (mut reduction, mut table) = (Reduction::new(span, columns), SeriesTable::default());
    let mut sample = Sample::default();
    while source.next(&mut sample)? {
        let sample = sums.as_mut().map_or(&sample, |sums| sums.push(&sample));
        // Checked before the reduction allocates columns for each series.
        check_points(sample.len().max(table.len()), columns).map_err(ExportError::Rejected)?;
        reducer.push(sample, &mut reduction, &mut table)?;
    }
    reducer.cut(&mut reduction, &mut table);
    let mut paths = paths.to_vec();
    if sums.is_some() {
        paths = paths.iter().map(names::path_of_sums).collect();
    }
    // Merged series have no machine.
    if reducer.is_across_machines() {
        paths = paths.iter().map(PathPattern::without_machine).collect();
    }
    Ok(reduction.finish(&table, &paths))
}

/// Whether paths are equal except for their machines.
fn are_of_one_counter(paths: &[PathPattern]) -> bool {
    let mut paths = paths.iter().map(PathPattern::without_machine);
    let Some(first) = paths.next() else { return false };
    paths.all(|path| path == first)
}

/// A chart in which each name has the sum of its instances. The whole time range is read.
fn chart_sums(
    samples: Samples,
    paths: Vec<PathPattern>,
    bounds: Bounds,
    columns: usize,
    mut missing: Vec<(String, String)>,
    cancel: &Cancel,
) -> Result<Bytes, ApiError> {
    let full_span = match &samples {
        Samples::Live(live) => live.span(),
        Samples::Log(log) => log.facts()?.span,
    };
    let Some(full_span) = full_span else { return charts_text(None, &missing) };
    let span = requested_span(full_span, bounds)?;
    let bounds = (Some(span.begin()), Some(span.end()));
    let requested = RequestedSamples { samples, paths, except: Vec::new(), bounds, sums_names: true };
    let paths = &requested.paths;
    let reduced = requested.process(
        |window| reduce(window(), span, columns, paths, (None, Reducer::default()), cancel).map(Some),
        |query| {
            reduce(query.samples()?.source, span, columns, paths, (None, Reducer::default()), cancel)
                .map(Some)
        },
        cancel,
    )?;
    missing.extend(names::without_sums(&reduced, paths));
    charts_text(Some(&reduced), &missing)
}

/// Where requested samples come from.
enum Samples {
    Live(LiveSnapshot),
    Log(Arc<Log>),
}

/// The samples of a request: a source, a selection of its counters, and a time window.
struct RequestedSamples {
    samples: Samples,
    /// Resolved if the source is live.
    paths: Vec<PathPattern>,
    /// Single counters, or sums, that are excluded from the selection.
    except: Vec<CounterPath>,
    bounds: Bounds,
    /// Whether each name has the sum of its instances.
    sums_names: bool,
}

impl RequestedSamples {
    /// Parses a request; `parse_format` parses its parameter `format`.
    async fn parse<F>(
        web: &Web,
        id: &str,
        query: Option<&str>,
        parse_format: impl FnOnce(Option<&str>) -> Result<F, ApiError>,
    ) -> Result<(Self, F), ApiError> {
        let parameters = Parameters::parse(query, &["path", "except", "begin", "end", "format", "group_by"])?;
        let (bounds, except) = (parameters.window()?, parameters.exceptions()?);
        let sums_names = parameters.sums_names()?;
        let format = parse_format(parameters.one("format")?)?;
        let (samples, paths) = if id == LIVE {
            let (live, paths) = lease(web, parameters.required_paths()?).await?;
            (Samples::Live(live), paths)
        } else {
            let paths = parameters.paths()?;
            if paths.is_empty() && !except.is_empty() {
                return Err(ApiError::bad_request("except: requires path"));
            }
            let requested = Self::of_log(web.sources.get(id)?, paths, bounds, sums_names)?;
            return Ok((Self { except, ..requested }, format));
        };
        Ok((Self { samples, paths, except, bounds, sums_names }, format))
    }

    /// The samples of a log.
    fn of_log(
        log: Arc<Log>,
        paths: Vec<PathPattern>,
        (begin, end): Bounds,
        sums_names: bool,
    ) -> Result<Self, ApiError> {
        // A chart shows a growing log only as far as it was last read, and statistics must match the chart.
        let end = end.into_iter().chain(log.facts()?.span.map(|span| span.end())).min();
        Ok(Self { samples: Samples::Log(log), paths, except: Vec::new(), bounds: (begin, end), sums_names })
    }

    /// Processes the samples with `process_live` or `process_log`. If it returns `None`, nothing was selected, which is an
    /// error.
    fn process<T>(
        &self,
        process_live: impl FnOnce(&dyn Fn() -> Box<dyn Source>) -> Result<Option<T>, ExportError>,
        process_log: impl FnOnce(&LogQuery) -> Result<Option<T>, ExportError>,
        cancel: &Cancel,
    ) -> Result<T, ApiError> {
        let (begin, end) = self.bounds;
        let selected = Selection::new(self.paths.clone()).without(&self.except);
        // Exceptions exclude whole sums. If they excluded instances, these would be missing from their sum.
        let (selection, sums) = match self.sums_names {
            true => (Selection::new(self.paths.clone()), Some(selected)),
            false => (selected, None),
        };
        let (outcome, selection) = match &self.samples {
            Samples::Live(live) => {
                let window = || -> Box<dyn Source> {
                    let window = RingSource::window(&live.samples, &self.paths, self.bounds);
                    let selected = Select::new(window, selection.clone());
                    match &sums {
                        Some(sums) => Box::new(Select::new(NameSumsSource::new(selected), sums.clone())),
                        None => Box::new(selected),
                    }
                };
                (process_live(&window), Selection::new(Vec::new()))
            }
            Samples::Log(log) => {
                let query = LogQuery {
                    selection,
                    sums,
                    bounds: WindowBounds {
                        begin: begin.map(TimeArgument::Utc),
                        end: end.map(TimeArgument::Utc),
                    },
                    reading: log.reading(),
                    ..LogQuery::new(log.paths())
                };
                (process_log(&query), query.selection)
            }
        };
        if let Samples::Log(log) = &self.samples {
            log.check_files()?;
        }
        outcome.map_err(|error| self.api_error(error, cancel))?.ok_or_else(|| nothing_selected(&selection))
    }

    fn api_error(&self, error: ExportError, cancel: &Cancel) -> ApiError {
        match (error, &self.samples) {
            _ if cancel.is_cancelled() => Cancel::error(),
            (ExportError::Rejected(error), _) => error,
            (ExportError::DiskFull, _) => ApiError::disk_full("download"),
            (ExportError::TooLarge, _) => ApiError::too_large(
                "the download exceeds 4 GB: select fewer counters or a shorter time range",
            ),
            (ExportError::Samples(error), Samples::Live(_)) => ApiError::conflict(error.to_string()),
            (ExportError::Samples(error), Samples::Log(log)) => log.api_error(&error),
        }
    }
}

/// The error for an empty result: no path matches a counter, or the time window has no samples.
fn nothing_selected(selection: &Selection) -> ApiError {
    let unmatched = selection.unmatched();
    if !selection.has_seen_no_set() && !selection.is_everything() && unmatched.len() == selection.len() {
        let reason = |(path, advice): &(String, Option<String>)| match advice {
            Some(advice) => format!("'{path}': {advice}"),
            None => format!("'{path}' not found"),
        };
        return ApiError::not_found(unmatched.iter().take(5).map(reason).collect::<Vec<_>>().join("; "));
    }
    ApiError::not_found("no samples in this time range")
}

/// Statistics, and the memory that they occupy.
type StatisticsOfLog = (Vec<StatisticsRow>, Reservation);

/// Statistics of a source; `None` if the source has no counters.
fn statistics_of(
    source: impl Source,
    options: StatisticsOptions,
    memory: &Budget,
    cancel: &Cancel,
) -> Result<Option<StatisticsOfLog>, ExportError> {
    let sink = StatisticsSink::new(options);
    let (sink, memory) = process_all(source, sink, StatisticsSink::len, memory, cancel)?;
    let rows = Some(sink.rows()).filter(|rows| !rows.is_empty());
    Ok(rows.map(|rows| (rows, memory)))
}

/// Pushes the samples of a source into a sink, whose series `series` counts. The reservation is for the states of the series, and
/// for the rows that are made of them.
fn process_all<S: Sink>(
    source: impl Source,
    mut sink: S,
    series: impl Fn(&S) -> usize,
    memory: &Budget,
    cancel: &Cancel,
) -> Result<(S, Reservation), ExportError> {
    let over = |over| FlowError::from(LogError::over_budget(over));
    let mut memory = memory.reserve(0).map_err(over)?;
    let mut source = Cancellable::new(source, cancel);
    let mut sample = Sample::default();
    while source.next(&mut sample)? {
        // Checked before the sink allocates a state for each series.
        check_series(sample.len().max(series(&sink))).map_err(ExportError::Rejected)?;
        sink.push(&sample)?;
        memory.grow_to(series(&sink) as u64 * ROW_BYTES).map_err(over)?;
    }
    sink.finish()?;
    Ok((sink, memory))
}

pub(super) async fn statistics(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let format = |format: Option<&str>| match format {
        None | Some("json") => Ok(false),
        Some("csv") => Ok(true),
        Some(_) => Err(ApiError::bad_request("format: must be json or csv")),
    };
    let (requested, is_csv) = RequestedSamples::parse(&web, &id, query.as_deref(), format).await?;
    let workers = if id == LIVE { &web.live_workers } else { &web.sources.workers };
    workers
        .run(move |cancel| {
            let options = StatisticsOptions::default;
            let (rows, _memory) = requested.process(
                // The limited memory of the ring of live samples bounds the number of series.
                |window| statistics_of(window(), options(), &Budget::new(u64::MAX), cancel),
                |query| statistics_of(query.samples()?.source, options(), &query.reading.budget, cancel),
                cancel,
            )?;
            let mut text = Vec::new();
            let (kind, written) = match is_csv {
                true => ("text/csv; charset=utf-8", write_statistics_csv(&rows, &mut text)),
                false => ("application/json", write_statistics_json(&rows, &mut text)),
            };
            written.map_err(|error| ApiError::conflict(error.to_string()))?;
            Ok(with_content_type(kind, text))
        })
        .await
}

pub(super) async fn export(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let (requested, format) = RequestedSamples::parse(&web, &id, query.as_deref(), Format::parse).await?;
    if requested.sums_names && format == Format::Blg {
        return Err(ApiError::bad_request(
            "group_by: a BLG has the values of each instance; use format=csv or format=tsv",
        ));
    }
    let permit = Arc::clone(&web.downloads).try_acquire_owned().map_err(|_| {
        ApiError::too_many_requests(format!(
            "the limit of {MAX_DOWNLOADS} concurrent downloads is reached; try again later"
        ))
    })?;
    let shared = web.clone();
    let written = web.sources.workers.run(move |cancel| {
        let export = Export { format, folder: &shared.sources.uploads.folder, cancel };
        let facts = export::MachineFacts::for_this_machine(shared.hub.options());
        let file = requested.process(
            |window| export.live(window(), window(), &facts),
            |query| export.log(query),
            cancel,
        )?;
        let name = match &requested.samples {
            Samples::Live(_) => match &shared.hub.machines()[..] {
                [machine] => machine.clone(),
                _ => "machines".to_owned(),
            },
            Samples::Log(log) => log.name(),
        };
        Ok((name, file))
    });
    let (name, file) = written.await?;
    let body =
        FileBody::new(file, permit).map_err(|_| ApiError::conflict("the written log cannot be read"))?;
    let length = body.len();
    let mut response = with_content_type(format.content_type(), Body::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    let name = format!("attachment; filename=\"{}\"", format.file_name(&name));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
