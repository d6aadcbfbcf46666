//! Charts of this machine that several clients request: computed and compressed once per sample.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use tachograph_counters::IgnorePoison;
use tokio::sync::OnceCell;

use crate::compression::compressed_text;
use crate::response::{ApiError, with_content_type};

/// Maximum number of cached charts.
const MAX_CHARTS: usize = 256;
/// Maximum size of a cached response.
const MAX_BYTES: usize = 256 << 10;
/// A response is cached for at most this long, because `sample` does not change once the collection has ended.
const MAX_AGE: Duration = Duration::from_secs(5);

/// The responses to the requests since the last sample, by query.
#[derive(Default)]
pub(crate) struct ChartCache(Mutex<Charts>);

#[derive(Default)]
struct Charts {
    /// The number of samples when the charts were computed.
    sample: u64,
    /// Each with the time of the first request for it.
    by_query: HashMap<String, (Instant, Arc<OnceCell<CachedText>>)>,
}

/// A response, and its compressed form once a client has requested it.
struct CachedText {
    text: Bytes,
    compressed: OnceCell<Option<Bytes>>,
}

/// A response for one client.
pub(crate) struct EncodedText {
    bytes: Bytes,
    is_gzip: bool,
}

impl EncodedText {
    fn plain(bytes: Bytes) -> Self {
        Self { bytes, is_gzip: false }
    }
}

impl IntoResponse for EncodedText {
    fn into_response(self) -> Response {
        let mut response = with_content_type("application/json", self.bytes);
        if self.is_gzip {
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        response
    }
}

impl ChartCache {
    /// The response to a query after the `sample`-th sample, compressed if the client accepts gzip and the response is not short.
    /// Clients with the same query share one computation. After a failure, the next client computes the response again.
    pub(crate) async fn get(
        &self,
        query: &str,
        sample: u64,
        accepts_gzip: bool,
        compute: impl Future<Output = Result<Bytes, ApiError>>,
    ) -> Result<EncodedText, ApiError> {
        // Without samples, the first request starts their collection.
        let Some(cell) = (sample > 0).then(|| self.cell(query, sample)).flatten() else {
            return compute.await.map(EncodedText::plain);
        };
        let compute = async { Ok(CachedText { text: compute.await?, compressed: OnceCell::new() }) };
        let CachedText { text, compressed } = cell.get_or_try_init(|| compute).await?;
        if text.len() > MAX_BYTES {
            self.0.lock().ignore_poison().by_query.remove(query);
        }
        if accepts_gzip && let Some(bytes) = compressed.get_or_init(|| compressed_text(text)).await {
            return Ok(EncodedText { bytes: bytes.clone(), is_gzip: true });
        }
        Ok(EncodedText::plain(text.clone()))
    }

    fn cell(&self, query: &str, sample: u64) -> Option<Arc<OnceCell<CachedText>>> {
        let mut charts = self.0.lock().ignore_poison();
        if charts.sample != sample {
            charts.sample = sample;
            charts.by_query.clear();
        }
        charts.by_query.retain(|_, (since, _)| since.elapsed() < MAX_AGE);
        if charts.by_query.len() >= MAX_CHARTS && !charts.by_query.contains_key(query) {
            return None;
        }
        let (_, cell) =
            charts.by_query.entry(query.to_owned()).or_insert_with(|| (Instant::now(), Arc::default()));
        Some(Arc::clone(cell))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn equal_queries_are_computed_once_per_sample() {
        let cache = ChartCache::default();
        let computed = AtomicUsize::new(0);
        let get = async |query: &str, sample| {
            let compute = async {
                tokio::task::yield_now().await;
                Ok(Bytes::from(computed.fetch_add(1, Ordering::SeqCst).to_string()))
            };
            cache.get(query, sample, false, compute).await.expect("a response").bytes
        };
        let (one, other) = tokio::join!(get("a", 1), get("a", 1));
        assert_eq!((&one[..], &other[..]), (&b"0"[..], &b"0"[..]));
        assert_eq!(get("b", 1).await, "1");
        assert_eq!(get("a", 1).await, "0");
        assert_eq!(get("a", 2).await, "2");
        // Before the first sample nothing is kept.
        assert_eq!((get("a", 0).await, get("a", 0).await), ("3".into(), "4".into()));
        let failed = cache.get("c", 2, false, async { Err(ApiError::conflict("no")) }).await;
        assert!(failed.is_err());
        assert_eq!(get("c", 2).await, "5", "failures are not kept");
    }

    #[tokio::test]
    async fn the_number_of_kept_charts_is_bounded() {
        let cache = ChartCache::default();
        for index in 0..2 * MAX_CHARTS {
            let text = index.to_string();
            let response = cache.get(&text, 1, false, async { Ok(Bytes::from(text.clone())) });
            assert_eq!(response.await.expect("a response").bytes, text);
        }
        assert_eq!(cache.0.lock().ignore_poison().by_query.len(), MAX_CHARTS);
        let large = async { Ok(Bytes::from(vec![0; MAX_BYTES + 1])) };
        cache.get("0", 1, false, large).await.expect("a response");
        let large = async { Ok(Bytes::from(vec![0; MAX_BYTES + 1])) };
        cache.get("large", 2, false, large).await.expect("a response");
        assert!(cache.0.lock().ignore_poison().by_query.is_empty());
    }

    #[tokio::test]
    async fn a_response_is_compressed_once() {
        let cache = ChartCache::default();
        let text = Bytes::from("0123456789".repeat(1000));
        let get = async |accepts_gzip| {
            cache.get("a", 1, accepts_gzip, async { Ok(text.clone()) }).await.expect("a response")
        };
        let (first, second, plain) = (get(true).await, get(true).await, get(false).await);
        assert!(first.is_gzip && first.bytes.len() < 1000);
        assert_eq!(first.bytes.as_ptr(), second.bytes.as_ptr(), "the same bytes");
        assert!(!plain.is_gzip && plain.bytes == text);
        let short = cache.get("b", 1, true, async { Ok(Bytes::from("short")) }).await.expect("a response");
        assert!(!short.is_gzip);
    }
}
