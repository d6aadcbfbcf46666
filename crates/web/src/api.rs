//! The HTTP interface: one table of what there is, described in `openapi.json`.

mod charts;
mod live;
mod metrics;
mod page;
mod sources;
mod view;

use std::sync::Arc;

use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Router, middleware};
use tachograph_logs::ReadOptions;
use tachograph_monitor::View;

use crate::answer::Refusal;
use crate::guard::{Guard, guard};
use crate::hub::Hub;
use crate::metrics::MetricsOptions;
use crate::options::{LineLog, ServeError, ServeOptions};
use crate::sources::Sources;
use crate::tls;
use crate::work::{Places, Work};

/// Threads that read logs.
const READING_THREADS: usize = 3;
/// Threads for what the ring of live samples answers.
const LIVE_THREADS: usize = 2;
/// Downloads that are written or sent at a time.
const MAX_DOWNLOADS: usize = 8;

/// What all handlers share.
pub(crate) type Web = Arc<Shared>;

pub(crate) struct Shared {
    pub(crate) guard: Guard,
    pub(crate) hub: Arc<Hub>,
    pub(crate) sources: Sources,
    /// The downloads that are written or sent at a time: their files lie on the disk until somebody has taken them.
    pub(crate) downloads: Places,
    /// The threads for live values.
    pub(crate) live: Work,
    /// The thread for scrapes, one after another.
    pub(crate) scrapes: Work,
    pub(crate) exporters: metrics::Exporters,
    /// What the page opens with.
    pub(crate) view: Option<View>,
    pub(crate) metrics: MetricsOptions,
    pub(crate) log: Option<LineLog>,
}

impl Shared {
    /// What answers on a port.
    pub(crate) fn new(port: u16, is_tls: bool, options: ServeOptions) -> Result<Web, ServeError> {
        let ServeOptions {
            token,
            hosts,
            live,
            view,
            metrics,
            logs,
            uploads,
            memory,
            encoding,
            log,
            notices,
            ..
        } = options;
        let reading = ReadOptions { budget: memory, encoding, ..ReadOptions::default() };
        let sources = Sources::new(&logs, uploads, reading, notices.clone(), Work::new(READING_THREADS))?;
        let guard = Guard::new(port, is_tls, hosts, token, tls::secret()?, notices);
        let hub = Arc::new(Hub::start(live)?);
        let (live, scrapes, exporters) =
            (Work::new(LIVE_THREADS), Work::new(1), metrics::Exporters::default());
        let downloads = Places::new(MAX_DOWNLOADS);
        Ok(Arc::new(Self { guard, hub, sources, downloads, live, scrapes, exporters, view, metrics, log }))
    }

    /// Ends the collection, and closes all logs.
    pub(crate) fn close(&self) {
        self.hub.stop();
        self.sources.close_all();
    }
}

/// The paths with what each answers. `{...}` is a part that varies.
pub(crate) fn routes() -> Vec<(&'static str, MethodRouter<Web>)> {
    vec![
        ("/", get(page::index)),
        ("/assets/{*name}", get(page::asset)),
        ("/metrics", get(metrics::metrics)),
        ("/api/openapi.json", get(page::openapi)),
        ("/api/login", post(page::login)),
        ("/api/sources", get(sources::list).post(sources::open)),
        ("/api/upload", post(sources::upload)),
        ("/api/sources/{id}", get(sources::show).delete(sources::close)),
        ("/api/sources/{id}/sets", get(sources::sets)),
        ("/api/sources/{id}/instances", get(sources::instances)),
        ("/api/sources/{id}/series", get(charts::series)),
        ("/api/sources/{id}/statistics", get(charts::statistics)),
        ("/api/sources/{id}/export", get(charts::export)),
        ("/api/query", get(live::query)),
        ("/api/stream", get(live::stream)),
        ("/api/block", get(live::block)),
    ]
}

pub(crate) fn router(web: Web) -> Router {
    let mut router = Router::new();
    for (path, methods) in routes() {
        router = router.route(path, methods);
    }
    router
        .fallback(nothing_there)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&web), guard))
        .with_state(web)
}

async fn nothing_there(uri: Uri) -> Response {
    match uri.path() {
        "/favicon.ico" => StatusCode::NO_CONTENT.into_response(),
        _ => Refusal::unknown("there is no such page; /api/openapi.json says what there is").into_response(),
    }
}

async fn wrong_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this is not to be asked for in this way; see /api/openapi.json",
    )
}
