//! Sources: list, open, upload, close; their counter sets and instances.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Extension, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_monitor::{Catalogue, MachineCatalogue, SearchIndex, SetEntry, Span};

use super::Web;
use super::page::{Fields, check_type, read_json};
use crate::embedding::Access;
use crate::folders::ListedLog;
use crate::hub::Hub;
use crate::parameters::{Parameters, PathPart};
use crate::response::{ApiError, json};
use crate::series::rfc3339;
use crate::sources::{Log, LogState, Origin};

/// The id of the source for this machine.
pub(super) const LIVE: &str = "live";
/// Maximum number of clock changes that are reported, enough for fifty years.
const MAX_CHANGES: usize = 100;
/// Clock changes of this machine are reported for this long after its last sample, in units of 100 ns.
const LOOK_AHEAD: i64 = 366 * FileTime::PER_DAY;
/// Maximum number of problems that are reported for this machine.
const MAX_PROBLEMS: usize = 10;
/// Maximum length of a search text, in characters; longer texts are truncated.
const MAX_WORDS: usize = 200;

#[derive(Default, Serialize)]
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
    operating_system: Option<String>,
    processors: Option<usize>,
    is_uploaded: bool,
    is_closable: bool,
}

/// A change of the UTC offset in a source's time zone.
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
        let machines = hub.machines();
        let name = match &machines[..] {
            [machine] => machine.clone(),
            machines => format!("{} machines", machines.len()),
        };
        let span = live.span();
        // The page uses this response for later samples too.
        let later = span.map(|span| span.end().saturating_add(LOOK_AHEAD));
        let errors = live.report.errors();
        let facts = options.facts.as_ref().filter(|_| options.machines.is_none()).map(|facts| facts());
        let facts = facts.unwrap_or_default();
        // A machine that does not answer is a problem until it answers again.
        let outages = live.report.outages();
        let outages = outages.iter().map(|outage| format!(r"\\{}: {}", outage.machine, outage.reason));
        let problems = errors.iter().filter(|error| !error.is_of_machine);
        let problems = problems.map(|error| format!("{}: {}", error.path, error.reason));
        Self {
            id: LIVE.to_owned(),
            kind: "live",
            name,
            machines,
            state: "ready",
            progress: 1.0,
            samples: Some(live.samples.len() as u64),
            interval: Some(options.interval.as_secs_f64()),
            points: Some(live.points),
            problems: outages.chain(problems).take(MAX_PROBLEMS).collect(),
            default_paths: options.default_paths.clone(),
            operating_system: facts.operating_system,
            processors: facts.processors,
            ..Self::from_span(span, later, &options.zone)
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
                LogState::Failed(error) => Some(error.message.to_string()),
                _ => None,
            },
            default_paths: facts.map(|facts| facts.default_paths.clone()).unwrap_or_default(),
            operating_system: facts.and_then(|facts| facts.operating_system.clone()),
            processors: facts.and_then(|facts| facts.processors),
            is_uploaded: log.origin == Origin::Uploaded,
            is_closable: log.is_closable(),
            ..Self::from_span(span, span.map(|span| span.end()), zone)
        }
    }

    /// The time range, its time zone, and the clock changes up to `until`; all other fields are empty.
    fn from_span(span: Option<Span>, until: Option<FileTime>, zone: &TimeZone) -> Self {
        let changes = span.zip(until).map(|(span, until)| zone.changes(span.begin(), until, MAX_CHANGES));
        let changes = changes.iter().flatten().map(|moment| ClockChange {
            at: rfc3339(moment.utc),
            zone: zone.name_at(moment).to_owned(),
            bias_minutes: moment.bias_minutes,
        });
        let at_begin = span.map(|span| zone.utc_to_moment(span.begin()));
        Self {
            begin: span.map(|span| rfc3339(span.begin())),
            end: span.map(|span| rfc3339(span.end())),
            zone: at_begin.map_or(zone.standard_name.to_string(), |moment| zone.name_at(&moment).to_owned()),
            bias_minutes: at_begin.map_or(zone.bias_minutes, |moment| moment.bias_minutes),
            clock_changes: changes.collect(),
            ..Self::default()
        }
    }
}

#[derive(Serialize)]
struct List {
    sources: Vec<Source>,
    logs: Vec<ListedLog>,
    max_upload_bytes: u64,
    version: &'static str,
    needs_token: bool,
}

pub(super) async fn list(
    State(web): State<Web>,
    Extension(access): Extension<Access>,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    Parameters::parse(query.as_deref(), &[])?;
    web.clone()
        .live_workers
        .run(move |_| {
            let logs = web.sources.all();
            let sources =
                std::iter::once(Source::live(&web.hub)).chain(logs.iter().map(|log| Source::log(log)));
            Ok(json(&List {
                sources: sources.collect(),
                logs: match access {
                    Access::Full => web.sources.folders.logs(),
                    // This access does not allow opening logs.
                    Access::Views => Vec::new(),
                },
                max_upload_bytes: web.sources.uploads.max_bytes,
                version: env!("CARGO_PKG_VERSION"),
                needs_token: web.guard.needs_token(),
            }))
        })
        .await
}

/// The body of a request to open logs as one source.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum OpenRequest {
    One { log: String },
    Several { logs: Vec<String> },
}

impl Fields for OpenRequest {
    const FIELDS: &[&str] = &["log", "logs"];
}

pub(super) async fn open(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    Parameters::parse(query.as_deref(), &[])?;
    let names = match read_json(&headers, body).await? {
        OpenRequest::One { log } => vec![log],
        OpenRequest::Several { logs } => logs,
    };
    let shared = web.clone();
    let files = web.live_workers.run(move |_| shared.sources.find_listed(&names)).await?;
    Ok(created(&*web.sources.open_listed(files)?))
}

pub(super) async fn upload(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
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
) -> Result<Response, ApiError> {
    Parameters::parse(query.as_deref(), &[])?;
    if id != LIVE {
        return Ok(json(&Source::log(&*web.sources.get(&id)?)));
    }
    web.clone().live_workers.run(move |_| Ok(json(&Source::live(&web.hub)))).await
}

pub(super) async fn close(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<StatusCode, ApiError> {
    Parameters::parse(query.as_deref(), &[])?;
    if id == LIVE {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "the source 'live' cannot be closed"));
    }
    web.sources.close(&id)?;
    Ok(StatusCode::NO_CONTENT)
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
    /// Logs have no descriptions: those of `known`, which has the same counter set on this machine, are used instead.
    fn new(set: &'a SetEntry, known: Option<&'a SetEntry>) -> Self {
        let known_counters = known.map(|set| &set.counters[..]).unwrap_or_default();
        let help_of = |name: &str| {
            let known = known_counters.iter().find(|known| eq_ignore_case(&known.counter.name, name));
            known.map_or("", |known| &*known.help)
        };
        let counters = set.counters.iter().map(|entry| SetCounter {
            name: &entry.counter.name,
            counter_type: entry.counter.counter_type.to_string(),
            unit: entry.counter.unit().into_owned(),
            help: if entry.help.is_empty() { help_of(&entry.counter.name) } else { &entry.help },
            default_scale: entry.counter.default_scale,
        });
        Self {
            name: &set.name,
            help: if set.help.is_empty() { known.map_or("", |known| &*known.help) } else { &set.help },
            has_instances: set.has_instances,
            counters: counters.collect(),
        }
    }
}

/// What a request needs from a catalogue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// Counter sets. They are known without an exchange with a machine.
    Sets,
    /// Instances, which are requested from the machine.
    Instances,
}

/// Calls `query` with the catalogue of a source. `machine` selects a machine of the live source; it is ignored for logs.
async fn query_catalogue<T: Send + 'static>(
    web: Web,
    id: String,
    machine: Option<String>,
    needs: Needs,
    query: impl FnOnce(&dyn Catalogue) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    if id != LIVE {
        let catalogue = web.sources.get(&id)?.facts()?.catalogue.clone();
        return web.live_workers.run(move |_| query(&*catalogue)).await;
    }
    let hub = Arc::clone(&web.hub);
    let is_remote = hub.options().machines.is_some();
    match machine {
        // Other machines may not answer, so they must not occupy the threads of live requests.
        Some(machine) => {
            let query = move |registry| query(&MachineCatalogue(registry));
            web.machine_sets.query(&web.hub, &machine, query).await
        }
        None if is_remote && needs == Needs::Instances => {
            web.machine_sets.run(move || query(&MachineCatalogue(hub.any_registry()))).await
        }
        None => web.live_workers.run(move |_| query(&MachineCatalogue(hub.any_registry()))).await,
    }
}

pub(super) async fn sets(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let machine = machine_of(&Parameters::parse(query.as_deref(), &["machine"])?)?;
    let hub = Arc::clone(&web.hub);
    query_catalogue(web, id, machine, Needs::Sets, move |catalogue| {
        let sets = catalogue.sets();
        let lacks_help = sets.iter().any(|set| set.help.is_empty());
        let known = if lacks_help { MachineCatalogue(hub.any_registry()).sets() } else { Vec::new() };
        let known_as = |set: &SetEntry| known.iter().find(|known| eq_ignore_case(&known.name, &set.name));
        let sets: Vec<_> = sets.iter().map(|set| Set::new(set, known_as(set))).collect();
        Ok(json(&HashMap::from([("sets", sets)])))
    })
    .await
}

/// The parameter `machine`: a name, with or without backslashes.
fn machine_of(parameters: &Parameters) -> Result<Option<String>, ApiError> {
    Ok(parameters.one("machine")?.map(|name| name.trim_start_matches('\\').to_owned()))
}

/// Maximum number of results of a search.
const MAX_HITS: usize = 500;

/// A set or a counter that a search found.
#[derive(Serialize)]
struct Found {
    set: String,
    /// `null` for the set as a whole.
    counter: Option<String>,
}

pub(super) async fn search(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(query.as_deref(), &["words", "machine"])?;
    let machine = machine_of(&parameters)?;
    let words =
        parameters.one("words")?.ok_or_else(|| ApiError::bad_request("the parameter words is required"))?;
    let words: String = words.chars().take(MAX_WORDS).collect();
    query_catalogue(web, id, machine, Needs::Sets, move |catalogue| {
        let sets = catalogue.sets();
        let hits = SearchIndex::new(&sets).search(&words);
        let found = hits.iter().take(MAX_HITS).map(|hit| Found {
            set: sets[hit.set].name.to_string(),
            counter: hit.counter.map(|counter| sets[hit.set].counters[counter].counter.name.to_string()),
        });
        let found: Vec<_> = found.collect();
        Ok(json(&serde_json::json!({ "total": hits.len(), "found": found })))
    })
    .await
}

pub(super) async fn instances(
    State(web): State<Web>,
    PathPart(id): PathPart,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(query.as_deref(), &["set", "machine"])?;
    let machine = machine_of(&parameters)?;
    let set = parameters
        .one("set")?
        .ok_or_else(|| ApiError::bad_request("the parameter set=NAME is required"))?
        .to_owned();
    query_catalogue(web, id, machine, Needs::Instances, move |catalogue| {
        let instances = catalogue.instances(&set).map_err(ApiError::not_found)?;
        Ok(json(&HashMap::from([("instances", instances)])))
    })
    .await
}
