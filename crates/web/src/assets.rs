//! The page and its parts, as they were when the library was built.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::answer::{Refusal, typed};

/// A file of the page.
struct Asset {
    /// Its name under `/assets/`.
    name: &'static str,
    /// Its media type.
    kind: &'static str,
    etag: &'static str,
    bytes: &'static [u8],
    gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The page itself.
pub(crate) const PAGE: &str = "index.html";

/// A file of the page, compressed where the browser takes that, or nothing where it has it already.
pub(crate) fn asset(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return Refusal::unknown("the page has no such part").into_response();
    };
    let has_it = |value: &HeaderValue| {
        value.to_str().is_ok_and(|known| {
            known.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|tag| tag == asset.etag)
        })
    };
    let mut response = if headers.get_all(header::IF_NONE_MATCH).iter().any(has_it) {
        StatusCode::NOT_MODIFIED.into_response()
    } else if takes_gzip(headers) && asset.gzip.len() < asset.bytes.len() {
        let mut response = typed(asset.kind, asset.gzip);
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        response
    } else {
        typed(asset.kind, asset.bytes)
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    // Asked for again each time: a newer server has another page.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Whether a browser takes what is compressed: `gzip`, unless with the weight 0.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let names = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    names.flat_map(|value| value.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused = parts.any(|part| {
            part.strip_prefix("q=")
                .is_some_and(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0))
        });
        is_gzip && !is_refused
    })
}
