//! Any stretch of time of a source: series reduced to columns, statistics, a log of it.

use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{
    StatisticsOptions, StatisticsSink, write_statistics_csv, write_statistics_json,
};
use tachograph_flow::{FlowError, Selection, Source, WindowBounds};
use tachograph_monitor::{Reduced, Reducer, Reduction, SeriesTable, Span};

use super::Web;
use super::sources::LIVE;
use crate::answer::{Refusal, json, typed};
use crate::download::FileBody;
use crate::export::{self, Format};
use crate::hub::{Live, RingSource};
use crate::parameters::Parameters;
use crate::series::{Charts, check_cells};
use crate::work::{Cancel, Cancellable};

/// Columns where none are asked for.
const COLUMNS: usize = 800;
/// Most columns.
const MAX_COLUMNS: usize = 4000;
type Bounds = (Option<FileTime>, Option<FileTime>);

pub(super) async fn series(
    State(web): State<Web>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let parameters = Parameters::parse(query.as_deref(), &["path", "begin", "end", "columns", "format"])?;
    let bounds = parameters.window()?;
    let columns = parameters.count("columns", COLUMNS, MAX_COLUMNS)?;
    if parameters.one("format")?.is_some_and(|format| format != "columns") {
        return Err(Refusal::bad("format: there is only columns"));
    }
    let paths = parameters.some_paths()?;
    if id == LIVE {
        let (live, paths) = leased(&web, paths).await?;
        let missing = live.missing(&paths);
        return web
            .live
            .run(move |cancel| chart_live(&live, &paths, bounds, columns, &missing, cancel))
            .await;
    }
    let log = web.sources.get(&id)?;
    let choose = move |whole| Ok((within(whole, bounds)?, columns));
    log.chart(&web.sources.work, paths, choose, answer).await
}

fn answer(reduced: Option<&Reduced>, missing: &[(String, String)]) -> Result<Response, Refusal> {
    let Some(reduced) = reduced else { return Ok(json(&Charts::empty(missing))) };
    check_cells(reduced.series.len(), reduced.columns)?;
    Ok(json(&Charts::of(reduced, missing)))
}

/// The stretch that is asked for; without a begin or an end, up to those of the whole.
fn within(whole: Span, (begin, end): Bounds) -> Result<Span, Refusal> {
    let (begin, end) = (begin.unwrap_or(whole.begin()), end.unwrap_or(whole.end()));
    match begin < end {
        true => Ok(Span::new(begin, end)),
        false => {
            Err(Refusal::bad("no time is left between begin and end, of which one is that of all there is"))
        }
    }
}

/// Has paths of this machine collected, and gives what there is of them.
async fn leased(web: &Web, paths: Vec<PathPattern>) -> Result<(Live, Vec<PathPattern>), Refusal> {
    let looking = web.clone();
    let paths = web.live.run(move |_| Ok(looking.hub.paths_here(&paths))).await?;
    let wants = web.hub.lease(&paths)?;
    web.hub.looked_up(wants).await?;
    Ok((web.hub.live(), paths))
}

fn chart_live(
    live: &Live,
    paths: &[PathPattern],
    bounds: Bounds,
    columns: usize,
    missing: &[(String, String)],
    cancel: &Cancel,
) -> Result<Response, Refusal> {
    let ends = live.samples.first().zip(live.samples.last());
    let Some(whole) = ends.map(|(first, last)| Span::of_samples(first.at.utc, last.at.utc)) else {
        return answer(None, missing);
    };
    let span = within(whole, bounds)?;
    let source = RingSource::window(live.samples.clone(), paths, (Some(span.begin()), Some(span.end())));
    let mut source = Cancellable::new(source, cancel);
    let (mut reduction, mut table, mut reducer) =
        (Reduction::new(span, columns), SeriesTable::default(), Reducer::default());
    let mut sample = Sample::default();
    let failed = |error: FlowError| match cancel.is_over() {
        true => Cancel::refusal(),
        false => Refusal::conflict(error.to_string()),
    };
    while source.next(&mut sample).map_err(failed)? {
        check_cells(sample.len(), columns)?;
        reducer.take(&sample, &mut reduction, &mut table).map_err(failed)?;
    }
    reducer.cut(&mut reduction, &mut table);
    answer(Some(&reduction.finish(&table, paths)), missing)
}

/// What is asked of the samples of a source in a window.
enum Samples {
    Live(Live),
    Log(std::sync::Arc<crate::sources::Log>),
}

impl Samples {
    /// The source of this id, with the paths as they mean there.
    async fn of(web: &Web, id: &str, paths: Vec<PathPattern>) -> Result<(Self, Vec<PathPattern>), Refusal> {
        if id != LIVE {
            let log = web.sources.get(id)?;
            log.facts()?;
            return Ok((Self::Log(log), paths));
        }
        let (live, paths) = leased(web, paths).await?;
        Ok((Self::Live(live), paths))
    }

    fn spoken(&self, error: &FlowError, cancel: &Cancel) -> Refusal {
        match self {
            _ if cancel.is_over() => Cancel::refusal(),
            Self::Live(_) => Refusal::conflict(error.to_string()),
            Self::Log(log) => Refusal::conflict(log.spoken(error)),
        }
    }
}

fn query_of(log: &crate::sources::Log, paths: Vec<PathPattern>, (begin, end): Bounds) -> LogQuery {
    LogQuery {
        selection: Selection::new(paths),
        bounds: WindowBounds { begin: begin.map(TimeArgument::Utc), end: end.map(TimeArgument::Utc) },
        ..LogQuery::new(log.paths())
    }
}

/// That nothing was found: no counter of these paths, or no sample in the window.
fn nothing(selection: &Selection) -> Refusal {
    let unmatched = selection.unmatched();
    if !selection.met_nothing() && !selection.is_everything() && unmatched.len() == selection.len() {
        let why = |(path, advice): &(String, Option<String>)| match advice {
            Some(advice) => format!("'{path}': {advice}"),
            None => format!("'{path}' is not there"),
        };
        return Refusal::unknown(unmatched.iter().take(5).map(why).collect::<Vec<_>>().join("; "));
    }
    Refusal::unknown("no sample in this window of time")
}

pub(super) async fn statistics(
    State(web): State<Web>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let parameters = Parameters::parse(query.as_deref(), &["path", "begin", "end", "format"])?;
    let bounds = parameters.window()?;
    let is_csv = match parameters.one("format")? {
        None | Some("json") => false,
        Some("csv") => true,
        Some(_) => return Err(Refusal::bad("format: json or csv")),
    };
    let paths = if id == LIVE { parameters.some_paths()? } else { parameters.paths()? };
    let (samples, paths) = Samples::of(&web, &id, paths).await?;
    let work = if id == LIVE { &web.live } else { &web.sources.work };
    work.run(move |cancel| {
        let mut sink = StatisticsSink::new(StatisticsOptions::default());
        let failed = |error: FlowError| samples.spoken(&error, cancel);
        let selection = match &samples {
            Samples::Live(live) => {
                let source = RingSource::window(live.samples.clone(), &paths, bounds);
                tachograph_flow::run(&mut Cancellable::new(source, cancel), &mut sink, || {})
                    .map_err(failed)?;
                Selection::new(Vec::new())
            }
            Samples::Log(log) => {
                let query = query_of(log, paths, bounds);
                let pipeline = query.samples().map_err(failed)?;
                let mut source = Cancellable::new(pipeline.source, cancel);
                tachograph_flow::run(&mut source, &mut sink, || {}).map_err(failed)?;
                query.selection
            }
        };
        let rows = sink.rows();
        if rows.is_empty() {
            return Err(nothing(&selection));
        }
        let mut text = Vec::new();
        let (kind, written) = match is_csv {
            true => ("text/csv; charset=utf-8", write_statistics_csv(&rows, &mut text)),
            false => ("application/json", write_statistics_json(&rows, &mut text)),
        };
        written.map_err(|error| Refusal::conflict(error.to_string()))?;
        Ok(typed(kind, text))
    })
    .await
}

pub(super) async fn export(
    State(web): State<Web>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let parameters = Parameters::parse(query.as_deref(), &["path", "begin", "end", "format"])?;
    let bounds = parameters.window()?;
    let format = Format::parse(parameters.one("format")?)?;
    let paths = if id == LIVE { parameters.some_paths()? } else { parameters.paths()? };
    let (samples, paths) = Samples::of(&web, &id, paths).await?;
    let hub = std::sync::Arc::clone(&web.hub);
    let written = web.sources.work.run(move |cancel| {
        let failed = |error: FlowError| samples.spoken(&error, cancel);
        let (name, file) = match &samples {
            Samples::Live(live) => {
                let source = RingSource::window(live.samples.clone(), &paths, bounds);
                let again = RingSource::window(live.samples.clone(), &paths, bounds);
                let facts = export::Facts::of_machine(hub.options());
                let file = export::live(format, source, again, &facts, cancel).map_err(failed)?;
                (hub.registry().machine().to_string(), file)
            }
            Samples::Log(log) => {
                let query = query_of(log, paths, bounds);
                let file = export::log(format, &query, cancel).map_err(failed)?;
                (log.name(), Some(file.ok_or_else(|| nothing(&query.selection))?))
            }
        };
        let file = file.ok_or_else(|| Refusal::unknown("no sample in this window of time"))?;
        Ok((name, file))
    });
    let (name, file) = written.await?;
    let body = FileBody::new(file).map_err(|_| Refusal::conflict("the log that was written is gone"))?;
    let length = body.len();
    let mut response = typed(format.kind(), Body::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    let name = format!("attachment; filename=\"{}\"", format.file_name(&name));
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
