//! The recording of this machine's counters, which clients start and stop.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::{Deserialize, Serialize};
use tachograph_counters::path::PathPattern;

use super::Web;
use super::page::{Fields, read_json};
use crate::parameters::{MAX_PATHS, Parameters};
use crate::recording::{RecordedCounters, Status};
use crate::response::{ApiError, json};
use crate::series::{MissingPath, missing_paths};

/// The body of a request to start a recording.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartRequest {
    #[serde(default)]
    all: bool,
    #[serde(default)]
    paths: Vec<String>,
}

impl Fields for StartRequest {
    const FIELDS: &[&str] = &["all", "paths"];
}

impl StartRequest {
    fn counters(&self) -> Result<RecordedCounters, ApiError> {
        match (self.all, self.paths.len()) {
            (true, 0) => Ok(RecordedCounters::All),
            (false, 1..=MAX_PATHS) => {
                let parse = |text: &String| {
                    PathPattern::parse(text)
                        .map_err(|error| ApiError::bad_request(format!("'{text}': {error}")))
                };
                Ok(RecordedCounters::Paths(self.paths.iter().map(parse).collect::<Result<_, _>>()?))
            }
            _ => Err(ApiError::bad_request(format!(
                "the body must have either 'all': true, or 1 to {MAX_PATHS} 'paths'"
            ))),
        }
    }
}

/// The response to a start.
#[derive(Serialize)]
struct Started<'a> {
    #[serde(flatten)]
    status: Status,
    /// Paths that select nothing now.
    missing: Vec<MissingPath<'a>>,
}

pub(super) async fn show(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    Parameters::parse(query.as_deref(), &[])?;
    Ok(json(&web.recordings.status()))
}

pub(super) async fn start(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    Parameters::parse(query.as_deref(), &[])?;
    let request: StartRequest = read_json(&headers, body).await?;
    let counters = request.counters()?;
    let recordings = web.recordings.clone();
    let (status, missing) = web.live_workers.run(move |_| recordings.start(counters)).await?;
    let started = Started { status, missing: missing_paths(&missing) };
    Ok((StatusCode::CREATED, json(&started)).into_response())
}

pub(super) async fn stop(State(web): State<Web>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    Parameters::parse(query.as_deref(), &[])?;
    let recordings = web.recordings.clone();
    let status = web.live_workers.run(move |_| Ok(recordings.stop())).await?;
    Ok(json(&status))
}
