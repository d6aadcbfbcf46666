//! The page, the description of the interface, and logging in.

use axum::body::{Body, to_bytes};
use axum::extract::{Extension, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body::Body as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Web;
use crate::admission::Client;
use crate::answer::{Refusal, typed};
use crate::assets;
use crate::parameters::{Parameters, PathPart};

/// Longest body that is no log.
const MAX_BODY: usize = 64 << 10;

static OPENAPI: &str = include_str!("../../openapi.json");

pub(super) async fn index(headers: HeaderMap) -> Response {
    assets::asset(assets::PAGE, &headers)
}

pub(super) async fn asset(PathPart(name): PathPart, headers: HeaderMap) -> Response {
    assets::asset(&name, &headers)
}

pub(super) async fn openapi(RawQuery(query): RawQuery) -> Result<Response, Refusal> {
    Parameters::parse(query.as_deref(), &[])?;
    Ok(typed("application/json", OPENAPI))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
}

pub(super) async fn login(
    State(web): State<Web>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let login: Login = read_json(&headers, body).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(cookie) = web.guard.log_in(client, &login.token).await? {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Whether the body of a request is of a media type. Forms of other sites can send only a few kinds, none of ours.
pub(super) fn check_type(headers: &HeaderMap, wanted: &str) -> Result<(), Refusal> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let given = given.split(';').next().unwrap_or_default().trim();
    match given.eq_ignore_ascii_case(wanted) {
        true => Ok(()),
        false => Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("the body must be {wanted}"))),
    }
}

/// A small body of JSON.
pub(super) async fn read_json<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> Result<T, Refusal> {
    check_type(headers, "application/json")?;
    // One that says how long it is need not be waited for.
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(Refusal::too_large(format!("the body has over {MAX_BODY} bytes")));
    }
    let read = tokio::time::timeout(std::time::Duration::from_secs(15), to_bytes(body, MAX_BODY)).await;
    let text = match read {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => {
            return Err(Refusal::too_large(format!("the body is cut short, or has over {MAX_BODY} bytes")));
        }
        Err(_) => return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")),
    };
    // What is said of the place is no secret; the text itself may hold one.
    serde_json::from_slice(&text).map_err(|error| {
        let place = (error.line(), error.column());
        Refusal::bad(match error.classify() {
            serde_json::error::Category::Data => "the body has other fields than it should have".to_owned(),
            _ => format!("the body is no JSON: line {}, column {}", place.0, place.1),
        })
    })
}
