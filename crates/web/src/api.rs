//! The HTTP interface: the table of routes, which `openapi.json` describes.

mod agent;
mod charts;
mod fleet;
mod live;
mod metrics;
mod page;
mod processes;
mod recording;
mod sources;
mod views;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use axum::{Router, middleware};
use tachograph_logs::ReadOptions;
use tachograph_monitor::{RowProperties, View};
use tachograph_remote::{Agent, AgentOptions};
use tokio::sync::Semaphore;

use crate::compression::compress;
use crate::guard::{Guard, guard};
use crate::hub::{Hub, MachineSets};
use crate::options::{LineLog, ServeError, ServeOptions, Services};
use crate::recording::Recordings;
use crate::response::ApiError;
use crate::sources::Sources;
use crate::tls;
use crate::workers::Workers;
use tachograph_metrics::MetricsOptions;

/// Number of threads for requests about logs.
const READING_THREADS: usize = 3;
/// Number of threads for requests about this machine.
const LIVE_THREADS: usize = 2;
/// Number of threads for requests of consumers on other machines.
const AGENT_THREADS: usize = 4;
/// How long the shutdown waits for the log of a recording to be completed.
const RECORDING_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of concurrent downloads.
const MAX_DOWNLOADS: usize = 8;

/// The state that all handlers share.
pub(crate) type Web = Arc<Shared>;

pub(crate) struct Shared {
    pub(crate) guard: Guard,
    pub(crate) hub: Arc<Hub>,
    pub(crate) sources: Sources,
    /// Limits concurrent downloads, because their files take disk space until they are sent.
    pub(crate) downloads: Arc<Semaphore>,
    /// Threads for requests about this machine.
    pub(crate) live_workers: Workers,
    /// Reads the counter sets of other machines.
    pub(crate) machine_sets: MachineSets,
    /// One thread, so that scrapes run one after another.
    pub(crate) scrape_worker: Workers,
    pub(crate) exporters: metrics::ExporterCache,
    pub(crate) charts: charts::ChartCache,
    /// The view that the page opens with, from the command line.
    pub(crate) view: Option<View>,
    /// The folder of the views that clients share.
    pub(crate) views: Option<PathBuf>,
    pub(crate) metrics: MetricsOptions,
    /// Sets whose counters another set has too, each with the name of the other.
    pub(crate) repeating_sets: Vec<(&'static str, &'static str)>,
    pub(crate) recordings: Arc<Recordings>,
    /// Reads properties of processes, one request at a time.
    pub(crate) processes: Option<Arc<Mutex<Box<dyn RowProperties>>>>,
    /// Called with a line for every request.
    pub(crate) log: Option<LineLog>,
    pub(crate) services: Services,
    /// Answers consumers on other machines.
    pub(crate) agent: Agent,
    pub(crate) agent_workers: Workers,
}

impl Shared {
    pub(crate) fn new(port: u16, is_tls: bool, options: ServeOptions) -> Result<Web, ServeError> {
        let ServeOptions {
            token,
            embedding,
            hosts,
            live,
            view,
            views,
            metrics,
            repeating_sets,
            processes,
            logs,
            recordings,
            uploads,
            memory,
            encoding,
            log,
            notices,
            services,
            ..
        } = options;
        let agent = Agent::new(AgentOptions {
            registry: live.registry.clone(),
            boot_time: live.boot_time,
            id: tls::random(),
            software: concat!("tacho ", env!("CARGO_PKG_VERSION")).to_owned(),
            random: tls::random,
        });
        let reading = ReadOptions { budget: memory, encoding, ..ReadOptions::default() };
        let recordings = recordings.map(|options| options.checked(token.is_some())).transpose()?;
        let folder = recordings.as_ref().map(|options| options.folder.clone());
        let workers = Workers::new(READING_THREADS);
        let sources = Sources::new(&logs, folder.as_deref(), uploads, reading, notices.clone(), workers)?;
        let folder_name = folder.and_then(|folder| sources.folders.name_of(&folder)).unwrap_or_default();
        let guard = Guard::new(port, is_tls, services, hosts, token, embedding, notices)?;
        let hub = Arc::new(Hub::start(live)?);
        let recordings = Recordings::new(recordings, folder_name, Arc::clone(&hub));
        let (live_workers, scrape_worker, exporters) =
            (Workers::new(LIVE_THREADS), Workers::new(1), metrics::ExporterCache::default());
        let downloads = Arc::new(Semaphore::new(MAX_DOWNLOADS));
        Ok(Arc::new(Self {
            guard,
            hub,
            sources,
            downloads,
            live_workers,
            machine_sets: MachineSets::default(),
            scrape_worker,
            exporters,
            charts: charts::ChartCache::default(),
            view,
            views,
            metrics,
            repeating_sets,
            recordings,
            processes: processes.map(|reader| Arc::new(Mutex::new(reader))),
            log,
            services,
            agent,
            agent_workers: Workers::new(AGENT_THREADS),
        }))
    }

    pub(crate) fn close(&self) {
        self.recordings.close(RECORDING_TIMEOUT);
        self.hub.stop();
        self.sources.close_all();
    }
}

pub(crate) fn routes() -> Vec<(&'static str, MethodRouter<Web>)> {
    vec![
        ("/", get(page::index)),
        ("/assets/{*name}", get(page::asset)),
        ("/api/openapi.json", get(page::openapi)),
        ("/api/login", post(page::login)),
        ("/api/logout", post(page::logout)),
        ("/api/compare", get(charts::compare)),
        ("/api/fleet", get(fleet::table)),
        ("/api/sources", get(sources::list).post(sources::open)),
        ("/api/upload", post(sources::upload)),
        ("/api/sources/{id}", get(sources::show).delete(sources::close)),
        ("/api/sources/{id}/sets", get(sources::sets)),
        ("/api/sources/{id}/instances", get(sources::instances)),
        ("/api/sources/{id}/search", get(sources::search)),
        ("/api/sources/{id}/series", get(charts::series)),
        ("/api/sources/{id}/statistics", get(charts::statistics)),
        ("/api/sources/{id}/export", get(charts::export)),
        ("/api/views", get(views::list).post(views::fit)),
        ("/api/views/{name}", get(views::show)),
        ("/api/recording", get(recording::show).post(recording::start).delete(recording::stop)),
        ("/api/processes", get(processes::show)),
        ("/api/query", get(live::query)),
        ("/api/stream", get(live::stream)),
        ("/api/block", get(live::block)),
    ]
    .into_iter()
    .chain(agent_routes())
    .collect()
}

/// The paths of an agent: its protocol, and `/metrics`.
fn agent_routes() -> Vec<(&'static str, MethodRouter<Web>)> {
    vec![
        ("/metrics", get(metrics::metrics)),
        ("/agent/v1", get(agent::greet)),
        ("/agent/v1/sets", get(agent::sets)),
        ("/agent/v1/instances", post(agent::instances)),
        ("/agent/v1/queries", post(agent::open)),
        ("/agent/v1/queries/{id}", delete(agent::close)),
        ("/agent/v1/queries/{id}/collect", post(agent::collect)),
    ]
}

pub(crate) fn router(web: Web) -> Router {
    let mut router = Router::new();
    let routes = match web.services {
        Services::All => routes(),
        Services::Agent => agent_routes(),
    };
    for (path, methods) in routes {
        router = router.route(path, methods);
    }
    router
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn(compress))
        .layer(middleware::from_fn_with_state(Arc::clone(&web), guard))
        .with_state(web)
}

/// Where the paths of a server are listed.
fn list_of_paths(services: Services) -> &'static str {
    match services {
        Services::All => "/api/openapi.json lists all paths",
        Services::Agent => "an agent has /metrics, and /agent/v1 for tacho on other machines",
    }
}

async fn not_found(State(web): State<Web>, uri: Uri) -> Response {
    match uri.path() {
        "/favicon.ico" => StatusCode::NO_CONTENT.into_response(),
        _ => ApiError::not_found(format!("no such page; {}", list_of_paths(web.services))).into_response(),
    }
}

async fn method_not_allowed(State(web): State<Web>) -> ApiError {
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("this path does not support the method; {}", list_of_paths(web.services)),
    )
}
