//! Compression of responses.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::response::ApiError;

/// Shorter bodies are not compressed, because they fit into one packet.
const MIN_BYTES: u64 = 1024;
/// Longer bodies are compressed on a separate thread.
const MAX_INLINE_BYTES: usize = 64 << 10;

/// Whether `Accept-Encoding` contains `gzip` with a weight above 0.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
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

/// Middleware that compresses text responses of known length if the client accepts gzip. Streams and downloads are sent
/// unchanged.
pub(crate) async fn compress(request: Request, next: Next) -> Response {
    let is_accepted = accepts_gzip(request.headers());
    let response = next.run(request).await;
    let headers = response.headers();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_text = kind.starts_with("application/json")
        || kind.starts_with("text/csv")
        || kind.starts_with("text/plain")
        || kind.starts_with("application/openmetrics-text");
    let is_encoded = headers.contains_key(header::CONTENT_ENCODING);
    let is_download = headers.contains_key(header::CONTENT_DISPOSITION);
    let is_compressible = is_text && !is_encoded && !is_download;
    let Some(length) = response.body().size_hint().exact().filter(|_| is_compressible) else {
        return response;
    };
    let (mut parts, body) = response.into_parts();
    parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    if !is_accepted || length < MIN_BYTES {
        return Response::from_parts(parts, body);
    }
    // The body is in memory already.
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return ApiError::unavailable("the response cannot be sent; try again").into_response();
    };
    let compressed = compressed_text(&bytes).await;
    let Some(compressed) = compressed else { return Response::from_parts(parts, Body::from(bytes)) };
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(compressed))
}

/// Compresses a text; `None` if it is short.
pub(crate) async fn compressed_text(bytes: &Bytes) -> Option<Bytes> {
    let compressed = match bytes.len() {
        length if (length as u64) < MIN_BYTES => None,
        length if length > MAX_INLINE_BYTES => {
            let bytes = bytes.clone();
            tokio::task::spawn_blocking(move || gzip(&bytes)).await.ok().flatten()
        }
        _ => gzip(bytes),
    };
    compressed.map(Bytes::from)
}

/// Compresses at the fastest level: higher levels hardly shrink numbers further.
fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_gzip_are_respected() {
        let accepts = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::ACCEPT_ENCODING, value.parse().expect("a header"));
            }
            accepts_gzip(&headers)
        };
        assert!(accepts(&["gzip"]) && accepts(&["br, GZIP;q=0.5"]) && accepts(&["br", "gzip"]));
        assert!(
            !accepts(&[]) && !accepts(&["br"]) && !accepts(&["gzip;q=0"]) && !accepts(&["xgzip, identity"])
        );
    }
}
