//! Compression of responses.

use std::io::Write as _;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::assets::accepts_gzip;
use crate::response::ApiError;

/// Shorter bodies fit into one packet anyway.
const MIN_BYTES: u64 = 1024;
/// Longer bodies are compressed on a separate thread.
const MAX_INLINE_BYTES: usize = 64 << 10;

/// The middleware: compresses responses of a known length that are text, if the client accepts it. Streams and files are
/// sent unchanged.
pub(crate) async fn compress(request: Request, next: Next) -> Response {
    let is_accepted = accepts_gzip(request.headers());
    let response = next.run(request).await;
    let headers = response.headers();
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let is_text = kind.starts_with("application/json")
        || kind.starts_with("text/csv")
        || kind.starts_with("text/plain");
    let is_whole =
        !headers.contains_key(header::CONTENT_ENCODING) && !headers.contains_key(header::CONTENT_DISPOSITION);
    let Some(length) = response.body().size_hint().exact().filter(|_| is_text && is_whole) else {
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
    let compressed = match bytes.len() > MAX_INLINE_BYTES {
        true => {
            let bytes = bytes.clone();
            tokio::task::spawn_blocking(move || gzip(&bytes)).await.ok().flatten()
        }
        false => gzip(&bytes),
    };
    let Some(compressed) = compressed else { return Response::from_parts(parts, Body::from(bytes)) };
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(compressed))
}

/// Compresses with the fastest level: numbers gain little from others.
fn gzip(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}
