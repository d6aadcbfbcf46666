//! Compressed responses (gzip), for clients that accept them.

use std::io::{self, Write as _};

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::response::with_content_type;

/// Shorter texts are not compressed: that would save less than a packet.
const MIN_BYTES: usize = 1024;

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

/// A response with this text: compressed if the client [accepts](accepts_gzip) that and the text is long enough. Uses 300 kB in
/// addition to the compressed text, whatever the length.
pub(crate) fn compressible(kind: &'static str, text: &[u8], accepts_gzip: bool) -> Response {
    let compressed = (accepts_gzip && text.len() >= MIN_BYTES).then(|| gzip(text).ok()).flatten();
    let is_compressed = compressed.is_some();
    let mut response = with_content_type(kind, compressed.unwrap_or_else(|| text.to_vec()));
    if is_compressed {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    response
}

fn gzip(text: &[u8]) -> io::Result<Vec<u8>> {
    // The fastest level makes the default metrics of a machine four to five times smaller; better ones take much longer.
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    encoder.write_all(text)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

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

    #[test]
    fn long_texts_are_compressed_for_clients_that_accept_it() {
        let long = "tacho_disk_reads_total{device=\"sda\"} 7\n".repeat(100);
        let is_compressed = |text: &str, accepts| {
            let response = compressible("text/plain", text.as_bytes(), accepts);
            assert_eq!(response.headers()[header::VARY], "accept-encoding");
            response.headers().get(header::CONTENT_ENCODING).is_some_and(|coding| coding == "gzip")
        };
        assert!(is_compressed(&long, true));
        assert!(!is_compressed(&long, false));
        assert!(!is_compressed("short", true));
        let compressed = gzip(long.as_bytes()).expect("into memory");
        assert!(compressed.len() * 10 < long.len(), "{} of {}", compressed.len(), long.len());
        let mut read = String::new();
        flate2::read::GzDecoder::new(&compressed[..]).read_to_string(&mut read).expect("gzip");
        assert_eq!(read, long);
    }
}
