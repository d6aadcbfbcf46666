//! The static files of the web monitor, which are built into the library.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::compression::accepts_gzip;
use crate::response::{ApiError, with_content_type};

struct Asset {
    /// The name under `/assets/`.
    name: &'static str,
    /// The media type.
    kind: &'static str,
    etag: &'static str,
    bytes: &'static [u8],
    /// The compressed bytes.
    gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The name of the page in the assets.
pub(crate) const PAGE: &str = "index.html";

/// The response for a static file: compressed if the client accepts gzip, 304 if the client has the current version.
pub(crate) fn asset(name: &str, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.name == name) else {
        return ApiError::not_found("no such file").into_response();
    };
    let is_current = |value: &HeaderValue| {
        value.to_str().is_ok_and(|known| {
            known.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|tag| tag == asset.etag)
        })
    };
    let mut response = if headers.get_all(header::IF_NONE_MATCH).iter().any(is_current) {
        StatusCode::NOT_MODIFIED.into_response()
    } else if accepts_gzip(headers) && asset.gzip.len() < asset.bytes.len() {
        let mut response = with_content_type(asset.kind, asset.gzip);
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        response
    } else {
        with_content_type(asset.kind, asset.bytes)
    };
    let headers = response.headers_mut();
    headers.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    // Revalidated at each use, because a newer server can have a different version.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// A module of the build script, included so that its tests run.
#[cfg(test)]
#[path = "../build/strip.rs"]
mod strip;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.gzip.len().min(asset.bytes.len())).sum();
        assert!(bytes > 20_000 && bytes < 150_000, "{bytes} bytes, compressed");
    }
}
