//! Any stretch of time of a source: series reduced to columns, statistics, a log of it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::sample::Sample;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{
    StatisticsOptions, StatisticsRow, StatisticsSink, write_statistics_csv, write_statistics_json,
};
use tachograph_flow::{FlowError, Select, Selection, Sink as _, Source, WindowBounds};
use tachograph_logs::{Budget, LogError};
use tachograph_monitor::{Reduced, Reducer, Reduction, SeriesTable, Span};

use super::sources::LIVE;
use super::{MAX_DOWNLOADS, Web};
use crate::answer::{Refusal, json, typed};
use crate::download::FileBody;
use crate::export::{self, Export, ExportError, Format};
use crate::hub::{Live, RingSource, RingWindow};
use crate::parameters::{Parameters, PathPart};
use crate::series::{Charts, check_cells, check_series};
use crate::sources::Log;
use crate::work::{Cancel, Cancellable};

/// Columns where none are asked for.
const COLUMNS: usize = 800;
/// Most columns.
const MAX_COLUMNS: usize = 4000;
/// What a row of statistics takes, with what is printed of it.
const ROW_BYTES: u64 = 1500;

type Bounds = (Option<FileTime>, Option<FileTime>);

pub(super) async fn series(
    State(web): State<Web>,
    PathPart(id): PathPart,
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

/// The samples of a source.
enum Samples {
    Live(Live),
    Log(Arc<Log>),
}

/// Samples that are asked for: what paths select of a source in a window of time.
struct Asked {
    samples: Samples,
    /// As they mean at the source.
    paths: Vec<PathPattern>,
    /// Single counters that are left out of what the paths select.
    except: Vec<CounterPath>,
    bounds: Bounds,
}

impl Asked {
    /// What a request asks for, in a format that is one of several.
    async fn of<F>(
        web: &Web,
        id: &str,
        query: Option<&str>,
        format: impl FnOnce(Option<&str>) -> Result<F, Refusal>,
    ) -> Result<(Self, F), Refusal> {
        let parameters = Parameters::parse(query, &["path", "except", "begin", "end", "format"])?;
        let (mut bounds, except) = (parameters.window()?, parameters.exceptions()?);
        let format = format(parameters.one("format")?)?;
        let (samples, paths) = if id == LIVE {
            let (live, paths) = leased(web, parameters.some_paths()?).await?;
            (Samples::Live(live), paths)
        } else {
            let (paths, log) = (parameters.paths()?, web.sources.get(id)?);
            let end = log.facts()?.span.map(|span| span.end());
            // A log that grows has more than charts show, which are of what there was when it was read for them.
            bounds.1 = bounds.1.into_iter().chain(end).min();
            (Samples::Log(log), paths)
        };
        if paths.is_empty() && !except.is_empty() {
            return Err(Refusal::bad("except: give the paths of which these are left out"));
        }
        Ok((Self { samples, paths, except, bounds }, format))
    }

    /// What is made of the samples by one of two functions: that for windows of kept samples, or that for logs. Nothing
    /// made is refused.
    fn make<T>(
        &self,
        of_live: impl FnOnce(&dyn Fn() -> Select<RingWindow>) -> Result<Option<T>, ExportError>,
        of_log: impl FnOnce(&LogQuery) -> Result<Option<T>, ExportError>,
        cancel: &Cancel,
    ) -> Result<T, Refusal> {
        let (begin, end) = self.bounds;
        let selection = Selection::new(self.paths.clone()).without(&self.except);
        let (made, selection) = match &self.samples {
            Samples::Live(live) => {
                let window = || {
                    let window = RingSource::window(live.samples.clone(), &self.paths, self.bounds);
                    Select::new(window, selection.clone())
                };
                (of_live(&window), Selection::new(Vec::new()))
            }
            Samples::Log(log) => {
                let query = LogQuery {
                    selection,
                    bounds: WindowBounds {
                        begin: begin.map(TimeArgument::Utc),
                        end: end.map(TimeArgument::Utc),
                    },
                    reading: log.reading(),
                    ..LogQuery::new(log.paths())
                };
                (of_log(&query), query.selection)
            }
        };
        if let Samples::Log(log) = &self.samples {
            log.check_files()?;
        }
        made.map_err(|error| self.refusal(error, cancel))?.ok_or_else(|| nothing(&selection))
    }

    /// What is answered where the samples could not be read, or not written.
    fn refusal(&self, error: ExportError, cancel: &Cancel) -> Refusal {
        match (error, &self.samples) {
            _ if cancel.is_over() => Cancel::refusal(),
            (ExportError::Refused(refusal), _) => refusal,
            (ExportError::NoRoom, _) => Refusal::no_room("download"),
            (ExportError::TooLong, _) => {
                Refusal::too_large("over 4 GB for one download: choose fewer counters or a shorter time")
            }
            (ExportError::Samples(error), Samples::Live(_)) => Refusal::conflict(error.to_string()),
            (ExportError::Samples(error), Samples::Log(log)) => log.refusal(&error),
        }
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

/// The rows of statistics of all samples of a source; `None` where there is none.
fn rows_of(
    source: impl Source,
    memory: &Budget,
    cancel: &Cancel,
) -> Result<Option<Vec<StatisticsRow>>, ExportError> {
    let over = |over| FlowError::from(LogError::over_budget(over));
    let mut memory = memory.reserve(0).map_err(over)?;
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    let mut source = Cancellable::new(source, cancel);
    let mut sample = Sample::default();
    while source.next(&mut sample)? {
        // Before there is a state for each of them; others may come with later samples.
        check_series(sample.len().max(sink.len())).map_err(ExportError::Refused)?;
        sink.take(&sample)?;
        memory.grow_to(sink.len() as u64 * ROW_BYTES).map_err(over)?;
    }
    sink.finish()?;
    Ok(Some(sink.rows()).filter(|rows| !rows.is_empty()))
}

pub(super) async fn statistics(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let format = |format: Option<&str>| match format {
        None | Some("json") => Ok(false),
        Some("csv") => Ok(true),
        Some(_) => Err(Refusal::bad("format: json or csv")),
    };
    let (asked, is_csv) = Asked::of(&web, &id, query.as_deref(), format).await?;
    let work = if id == LIVE { &web.live } else { &web.sources.work };
    work.run(move |cancel| {
        let rows = asked.make(
            // Bounded by what the ring holds.
            |window| rows_of(window(), &Budget::new(u64::MAX), cancel),
            |query| rows_of(query.samples()?.source, &query.reading.budget, cancel),
            cancel,
        )?;
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
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let (asked, format) = Asked::of(&web, &id, query.as_deref(), Format::parse).await?;
    let place = web.downloads.take().ok_or_else(|| {
        Refusal::too_many(format!(
            "{MAX_DOWNLOADS} downloads are being written or sent already; try again later"
        ))
    })?;
    let shared = web.clone();
    let written = web.sources.work.run(move |cancel| {
        let export = Export { format, folder: &shared.sources.uploads().folder, cancel };
        let facts = export::Facts::of_machine(shared.hub.options());
        let file = asked.make(
            |window| export.live(window(), window(), &facts),
            |query| export.log(query),
            cancel,
        )?;
        let name = match &asked.samples {
            Samples::Live(_) => shared.hub.registry().machine().to_string(),
            Samples::Log(log) => log.name(),
        };
        Ok((name, file))
    });
    let (name, file) = written.await?;
    let body =
        FileBody::new(file, place).map_err(|_| Refusal::conflict("the log that was written is gone"))?;
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
