//! Sources: what they are, what they have, opening and closing.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::{Catalogue, MachineCatalogue, SetEntry, Span};

use super::page::{check_type, read_json};
use super::view::OpeningView;
use super::{Shared, Web};
use crate::answer::{Refusal, json};
use crate::hub::Hub;
use crate::listing::ListedLog;
use crate::parameters::{Parameters, PathPart};
use crate::series::rfc3339;
use crate::sources::{Log, LogState, Origin};

/// The source that is this machine.
pub(super) const LIVE: &str = "live";
/// Most changes of a clock that are told: those of fifty years.
const MAX_CHANGES: usize = 100;
/// How far behind its last sample the changes of this machine's clock are told.
const LOOK_AHEAD: i64 = 366 * FileTime::PER_DAY;
/// Most troubles of the machine that are told.
const MAX_TROUBLES: usize = 10;

#[derive(Serialize)]
struct Source {
    id: String,
    kind: &'static str,
    name: String,
    machines: Vec<String>,
    state: &'static str,
    progress: f64,
    begin: Option<String>,
    end: Option<String>,
    samples: Option<u64>,
    interval: Option<f64>,
    points: Option<usize>,
    zone: String,
    bias_minutes: i32,
    clock_changes: Vec<ClockChange>,
    is_formatted: bool,
    problems: Vec<String>,
    error: Option<String>,
    default_paths: Vec<String>,
    is_uploaded: bool,
    is_closable: bool,
}

/// Where the clock of a source's zone is put on or back.
#[derive(Serialize)]
struct ClockChange {
    at: String,
    zone: String,
    bias_minutes: i32,
}

impl Source {
    fn live(hub: &Hub) -> Self {
        let live = hub.live();
        let options = hub.options();
        let machine = hub.registry().machine().to_string();
        let span = live.samples.first().zip(live.samples.last());
        let span = span.map(|(first, last)| Span::of_samples(first.at.utc, last.at.utc));
        // Who asks now still shows what comes later by it.
        let later = span.map(|span| span.end().saturating_add(LOOK_AHEAD));
        let troubles = live.report.troubles();
        let told = troubles.iter().take(MAX_TROUBLES);
        Self {
            id: LIVE.to_owned(),
            kind: "live",
            name: machine.clone(),
            machines: vec![machine],
            state: "ready",
            progress: 1.0,
            samples: Some(live.samples.len() as u64),
            interval: Some(options.interval.as_secs_f64()),
            points: Some(live.points),
            is_formatted: false,
            problems: told.map(|trouble| format!("{}: {}", trouble.path, trouble.reason)).collect(),
            error: None,
            default_paths: options.default_paths.clone(),
            ..Self::of(span, later, &options.zone)
        }
    }

    fn log(log: &Log) -> Self {
        let state = log.state();
        let facts = match &state {
            LogState::Ready(facts) => Some(facts),
            _ => None,
        };
        let utc = TimeZone::utc();
        let zone = facts.map_or(&utc, |facts| &facts.zone);
        let span = facts.and_then(|facts| facts.span);
        Self {
            id: log.id.to_string(),
            kind: "log",
            name: log.name(),
            machines: facts.map(|facts| facts.machines.clone()).unwrap_or_default(),
            samples: facts.and_then(|facts| facts.samples),
            interval: facts.and_then(|facts| facts.interval),
            state: match &state {
                LogState::Reading => "reading",
                LogState::Ready(_) => "ready",
                LogState::Failed(_) => "failed",
            },
            progress: log.progress(),
            is_formatted: facts.is_some_and(|facts| facts.is_formatted),
            problems: log.problems(),
            error: match &state {
                LogState::Failed(why) => Some(why.message().to_owned()),
                _ => None,
            },
            default_paths: facts.map(|facts| facts.default_paths.clone()).unwrap_or_default(),
            is_uploaded: log.origin == Origin::Uploaded,
            is_closable: log.is_closable(),
            ..Self::of(span, span.map(|span| span.end()), zone)
        }
    }

    /// What a stretch of time in a zone tells, and changes of its clock up to a moment.
    fn of(span: Option<Span>, until: Option<FileTime>, zone: &TimeZone) -> Self {
        let changes = span.zip(until).map(|(span, until)| zone.changes(span.begin(), until, MAX_CHANGES));
        let changes = changes.iter().flatten().map(|moment| ClockChange {
            at: rfc3339(moment.utc),
            zone: zone.name_at(moment).to_owned(),
            bias_minutes: moment.bias_minutes,
        });
        let at_begin = span.map(|span| zone.utc_to_moment(span.begin()));
        Self {
            id: String::new(),
            kind: "",
            name: String::new(),
            machines: Vec::new(),
            state: "",
            progress: 0.0,
            begin: span.map(|span| rfc3339(span.begin())),
            end: span.map(|span| rfc3339(span.end())),
            samples: None,
            interval: None,
            points: None,
            zone: at_begin.map_or(zone.standard_name.to_string(), |moment| zone.name_at(&moment).to_owned()),
            bias_minutes: at_begin.map_or(zone.bias_minutes, |moment| moment.bias_minutes),
            clock_changes: changes.collect(),
            is_formatted: false,
            problems: Vec::new(),
            error: None,
            default_paths: Vec::new(),
            is_uploaded: false,
            is_closable: false,
        }
    }
}

#[derive(Serialize)]
struct List<'a> {
    sources: Vec<Source>,
    logs: Vec<ListedLog>,
    max_upload_bytes: u64,
    version: &'static str,
    view: Option<OpeningView<'a>>,
}

pub(super) async fn list(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    Parameters::parse(query.as_deref(), &[])?;
    web.clone()
        .live
        .run(move |_| {
            let logs = web.sources.all();
            let sources =
                std::iter::once(Source::live(&web.hub)).chain(logs.iter().map(|log| Source::log(log)));
            Ok(json(&List {
                sources: sources.collect(),
                logs: web.sources.folders().logs(),
                max_upload_bytes: web.sources.uploads().max_bytes,
                version: env!("CARGO_PKG_VERSION"),
                view: web.view.as_ref().map(|view| OpeningView::of(view, &web.hub)),
            }))
        })
        .await
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Opening {
    One { log: String },
    Several { logs: Vec<String> },
}

pub(super) async fn open(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    Parameters::parse(query.as_deref(), &[])?;
    let names = match read_json(&headers, body).await? {
        Opening::One { log } => vec![log],
        Opening::Several { logs } => logs,
    };
    let looking = web.clone();
    let files = web.live.run(move |_| looking.sources.find_listed(&names)).await?;
    Ok(created(&*web.sources.open_listed(files)?))
}

pub(super) async fn upload(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let parameters = Parameters::parse(query.as_deref(), &["name"])?;
    check_type(&headers, "application/octet-stream")?;
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let name = parameters.one("name")?.unwrap_or_default();
    let log = web.sources.begin_upload(length)?.receive(name, body).await?;
    Ok(created(&log))
}

fn created(log: &Log) -> Response {
    (StatusCode::CREATED, json(&Source::log(log))).into_response()
}

pub(super) async fn show(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    Parameters::parse(query.as_deref(), &[])?;
    if id != LIVE {
        return Ok(json(&Source::log(&*web.sources.get(&id)?)));
    }
    web.clone().live.run(move |_| Ok(json(&Source::live(&web.hub)))).await
}

pub(super) async fn close(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<StatusCode, Refusal> {
    Parameters::parse(query.as_deref(), &[])?;
    if id == LIVE {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "this machine stays"));
    }
    web.sources.close(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Serialize)]
struct Sets<'a> {
    sets: Vec<Set<'a>>,
}

#[derive(Serialize)]
struct Set<'a> {
    name: &'a str,
    help: &'a str,
    has_instances: bool,
    counters: Vec<SetCounter<'a>>,
}

#[derive(Serialize)]
struct SetCounter<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    counter_type: String,
    unit: String,
    help: &'a str,
    default_scale: i32,
}

impl<'a> Set<'a> {
    fn of(set: &'a SetEntry) -> Self {
        let counters = set.counters.iter().map(|entry| SetCounter {
            name: &entry.counter.name,
            counter_type: entry.counter.counter_type.to_string(),
            unit: entry.counter.unit().into_owned(),
            help: &entry.help,
            default_scale: entry.counter.default_scale,
        });
        Self {
            name: &set.name,
            help: &set.help,
            has_instances: set.has_instances,
            counters: counters.collect(),
        }
    }
}

/// What a source has to choose from, asked on a thread for it.
async fn ask<T: Send + 'static>(
    web: Web,
    id: String,
    question: impl FnOnce(&dyn Catalogue) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let catalogue: Option<std::sync::Arc<dyn Catalogue + Send + Sync>> = match id.as_str() {
        LIVE => None,
        id => Some(web.sources.get(id)?.facts()?.catalogue.clone()),
    };
    let shared: std::sync::Arc<Shared> = web.clone();
    web.live
        .run(move |_| match catalogue {
            Some(catalogue) => question(&*catalogue),
            None => question(&MachineCatalogue(shared.hub.registry())),
        })
        .await
}

pub(super) async fn sets(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    Parameters::parse(query.as_deref(), &[])?;
    ask(web, id, |catalogue| {
        let sets = catalogue.sets();
        Ok(json(&Sets { sets: sets.iter().map(Set::of).collect() }))
    })
    .await
}

#[derive(Serialize)]
struct Instances {
    instances: Vec<String>,
}

pub(super) async fn instances(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let parameters = Parameters::parse(query.as_deref(), &["set"])?;
    let set = parameters.one("set")?.ok_or_else(|| Refusal::bad("give set=NAME"))?.to_owned();
    ask(web, id, move |catalogue| {
        let instances = catalogue.instances(&set).map_err(Refusal::unknown)?;
        Ok(json(&Instances { instances }))
    })
    .await
}
