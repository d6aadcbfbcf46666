//! Current values: queries, streams, raw data blocks.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{Extensions, HeaderMap, HeaderValue, header};
use axum::response::Response;
use serde::Serialize;
use tachograph_flow::sinks::LiveValues;
use tachograph_perflib::Query;

use super::Web;
use crate::bodies::EventBody;
use crate::compression::accepts_gzip;
use crate::connection::Closing;
use crate::hub::{Layout, StreamRequest};
use crate::parameters::Parameters;
use crate::response::{ApiError, json, with_content_type};
use crate::series::{SeriesName, unix_seconds};

/// Maximum number of collections per event of a stream.
const MAX_EVERY: usize = 1000;

#[derive(Serialize)]
struct Values<'a> {
    time: f64,
    series: Vec<Value<'a>>,
}

#[derive(Serialize)]
struct Value<'a> {
    #[serde(flatten)]
    name: SeriesName<'a>,
    value: Option<f64>,
}

pub(super) async fn query(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let paths = Parameters::parse(query.as_deref(), &["path"])?.required_paths()?;
    let shared = web.clone();
    let paths = web.live_workers.run(move |_| Ok(shared.hub.resolve_paths(&paths))).await?;
    web.hub.wait_until_applied(web.hub.lease(&paths)?).await?;
    let missing = web.hub.live().missing(&paths);
    if missing.len() == paths.len() {
        let lines: Vec<_> = missing.iter().map(|(path, reason)| format!("'{path}': {reason}")).collect();
        return Err(ApiError::not_found(lines.join("; ")));
    }
    let live = web.hub.wait_for_values(&paths).await?;
    web.live_workers
        .run(move |_| {
            let mut values = LiveValues::default();
            let next_to_last = live.samples.len().saturating_sub(2);
            live.samples[next_to_last..].iter().for_each(|sample| values.push(sample));
            let layout = Layout::new(&values, &paths);
            let named = layout
                .series
                .iter()
                .zip(layout.values(&values))
                .map(|(one, value)| Value { name: one.name(), value });
            let time = live.samples.last().map_or(0.0, |sample| unix_seconds(sample.at.utc));
            Ok(json(&Values { time, series: named.collect() }))
        })
        .await
}

pub(super) async fn stream(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    extensions: Extensions,
) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(query.as_deref(), &["path", "every", "window", "group_by"])?;
    let sums_names = parameters.sums_names()?;
    let (paths, _) = parameters.valid_paths()?;
    // An event covers at most the samples in the ring, because averages are computed from them.
    let max = web.hub.options().points.clamp(1, MAX_EVERY);
    let every = parameters.count("every", 1, max)?;
    let window = match parameters.one("window")? {
        Some(_) => Some(parameters.count("window", 1, web.hub.options().points.max(1))?),
        None => None,
    };
    let shared = web.clone();
    let paths = web.live_workers.run(move |_| Ok(shared.hub.resolve_paths(&paths))).await?;
    let closing = extensions.get::<Closing>().map(|closing| closing.0.clone()).unwrap_or_default();
    web.guard.close_with_session(&headers, &closing)?;
    let is_gzip = accepts_gzip(&headers);
    let request = StreamRequest { paths, every, window, sums_names, is_gzip };
    let reader = web.hub.subscribe(request, closing)?;
    let mut response = with_content_type("text/event-stream", Body::new(EventBody::new(reader)));
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

pub(super) async fn block(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let paths = Parameters::parse(query.as_deref(), &["path"])?.required_paths()?;
    let shared = web.clone();
    let collect = web.live_workers.run(move |_| {
        let registry = shared.hub.registry();
        let failed = |code: tachograph_perflib::ErrorCode| ApiError::conflict(code.to_string());
        let mut query = Query::open(&registry, None).map_err(failed)?;
        let matches = query.add_paths(&shared.hub.resolve_paths(&paths));
        if matches.iter().all(Vec::is_empty) {
            return Err(ApiError::not_found("no counter of this machine matches"));
        }
        query.collect();
        let mut block = Vec::new();
        query.data(&mut block).map_err(failed)?;
        Ok(with_content_type("application/octet-stream", block))
    });
    match tokio::time::timeout(Duration::from_secs(30), collect).await {
        Ok(answer) => answer,
        Err(_) => Err(ApiError::unavailable("timeout while collecting counters; try again")),
    }
}
