//! The protocol of agents, for consumers on other machines (docs/remote.md).

use axum::Extension;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use tachograph_remote::limits::MAX_REQUEST_BYTES;
use tachograph_remote::{Agent, AgentError};

use super::Web;
use crate::admission::Client;
use crate::response::{ApiError, with_content_type};

/// Time limit for receiving the body of a request.
const BODY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(15);

pub(super) async fn greet(State(web): State<Web>, Extension(client): Extension<Client>) -> Response {
    answer(web, client, Bytes::new(), |agent, client, _| agent.greet(client)).await
}

pub(super) async fn sets(State(web): State<Web>, Extension(client): Extension<Client>) -> Response {
    answer(web, client, Bytes::new(), |agent, client, _| agent.sets(client)).await
}

pub(super) async fn instances(
    State(web): State<Web>,
    Extension(client): Extension<Client>,
    body: Body,
) -> Response {
    answer_body(web, client, body, |agent, client, body| agent.instances(client, body)).await
}

pub(super) async fn open(
    State(web): State<Web>,
    Extension(client): Extension<Client>,
    body: Body,
) -> Response {
    answer_body(web, client, body, |agent, client, body| agent.open(client, body)).await
}

pub(super) async fn collect(
    State(web): State<Web>,
    Extension(client): Extension<Client>,
    Path(query): Path<String>,
    body: Body,
) -> Response {
    let Ok(query) = u64::from_str_radix(&query, 16) else { return refusal(&AgentError::NoQuery) };
    answer_body(web, client, body, move |agent, client, body| agent.collect(client, query, body)).await
}

pub(super) async fn close(
    State(web): State<Web>,
    Extension(client): Extension<Client>,
    Path(query): Path<String>,
) -> Response {
    let Ok(query) = u64::from_str_radix(&query, 16) else { return refusal(&AgentError::NoQuery) };
    let closed = move |agent: &Agent, client: &str, _: &[u8]| agent.close(client, query).map(|()| Vec::new());
    answer(web, client, Bytes::new(), closed).await
}

async fn answer_body(
    web: Web,
    client: Client,
    body: Body,
    method: impl FnOnce(&Agent, &str, &[u8]) -> Result<Vec<u8>, AgentError> + Send + 'static,
) -> Response {
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, MAX_REQUEST_BYTES)).await {
        Ok(Ok(body)) => answer(web, client, body, method).await,
        Ok(Err(_)) => {
            ApiError::too_large(format!("the body is longer than {MAX_REQUEST_BYTES} bytes")).into_response()
        }
        Err(_) => {
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout while reading the body").into_response()
        }
    }
}

/// Calls a method of the agent on a separate thread, since providers can block.
async fn answer(
    web: Web,
    client: Client,
    body: Bytes,
    method: impl FnOnce(&Agent, &str, &[u8]) -> Result<Vec<u8>, AgentError> + Send + 'static,
) -> Response {
    let shared = web.clone();
    let outcome = web.agent_workers.run(move |_| Ok(method(&shared.agent, &client.to_string(), &body))).await;
    match outcome {
        Ok(Ok(bytes)) => with_content_type("application/octet-stream", bytes),
        Ok(Err(error)) => refusal(&error),
        Err(error) => error.into_response(),
    }
}

fn refusal(error: &AgentError) -> Response {
    let status = StatusCode::from_u16(error.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    ApiError::new(status, error.to_string()).into_response()
}
