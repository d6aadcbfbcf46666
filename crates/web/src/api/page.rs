//! The page, the OpenAPI description, and login.

use axum::body::{Body, to_bytes};
use axum::extract::{Extension, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http_body::Body as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Web;
use crate::admission::Client;
use crate::assets;
use crate::parameters::{Parameters, PathPart};
use crate::response::{ApiError, with_content_type};

/// Maximum length of a JSON body, in bytes.
const MAX_BODY: usize = 64 << 10;

static OPENAPI: &str = include_str!("../../openapi.json");

pub(super) async fn index(headers: HeaderMap) -> Response {
    assets::asset(assets::PAGE, &headers)
}

pub(super) async fn asset(PathPart(name): PathPart, headers: HeaderMap) -> Response {
    assets::asset(&name, &headers)
}

pub(super) async fn openapi(RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    Parameters::parse(query.as_deref(), &[])?;
    Ok(with_content_type("application/json", OPENAPI))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
}

impl Fields for Login {
    const FIELDS: &[&str] = &["token"];
}

/// Ends the session of a browser and deletes its cookie.
pub(super) async fn logout(State(web): State<Web>, headers: HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(cookie) = web.guard.log_out(&headers) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}

pub(super) async fn login(
    State(web): State<Web>,
    Extension(client): Extension<Client>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let login: Login = read_json(&headers, body).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(cookie) = web.guard.log_in(client, &login.token).await? {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Checks the media type of a request. HTML forms of other sites can send only a few types, none of which is accepted
/// here.
pub(super) fn check_type(headers: &HeaderMap, expected: &str) -> Result<(), ApiError> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let given = given.split(';').next().unwrap_or_default().trim();
    match given.eq_ignore_ascii_case(expected) {
        true => Ok(()),
        false => {
            Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, format!("Content-Type must be {expected}")))
        }
    }
}

/// A JSON body, with the names of its fields for messages.
pub(super) trait Fields: DeserializeOwned {
    /// The names of all fields.
    const FIELDS: &[&str];
}

/// Reads a body of at most [`MAX_BODY`] bytes.
pub(super) async fn read_body(body: Body) -> Result<Bytes, ApiError> {
    // If the length is known, it is checked before the body arrives.
    if body.size_hint().lower() > MAX_BODY as u64 {
        return Err(ApiError::too_large(format!("the body is longer than {MAX_BODY} bytes")));
    }
    let read = tokio::time::timeout(std::time::Duration::from_secs(15), to_bytes(body, MAX_BODY)).await;
    match read {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(_)) => {
            Err(ApiError::too_large(format!("the body is truncated or longer than {MAX_BODY} bytes")))
        }
        Err(_) => Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout while reading the body")),
    }
}

pub(super) async fn read_json<T: Fields>(headers: &HeaderMap, body: Body) -> Result<T, ApiError> {
    check_type(headers, "application/json")?;
    let text = read_body(body).await?;
    // Messages contain no values, because the text can contain a token.
    serde_json::from_slice(&text).map_err(|_| {
        ApiError::bad_request(match serde_json::from_slice(&text) {
            Ok(value) => wrong_fields(&value, T::FIELDS),
            Err(error) => format!("the body is not JSON: line {}, column {}", error.line(), error.column()),
        })
    })
}

/// A message about the fields of a body that are unknown, missing or wrong.
fn wrong_fields(body: &serde_json::Value, known: &[&str]) -> String {
    let names = known.join(", ");
    let fields = if known.len() == 1 { "field" } else { "fields" };
    let serde_json::Value::Object(fields) = body else {
        return format!("the body must be a JSON object with the {fields} {names}");
    };
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            let name: String = name.chars().take(40).collect();
            format!("unknown field '{name}'; known fields: {names}")
        }
        None => match fields.keys().next() {
            Some(name) => format!("the field '{name}' has the wrong type; see /api/openapi.json"),
            None => format!("a field is missing: {names}"),
        },
    }
}
