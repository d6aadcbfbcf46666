//! Charts of this machine that several clients request: computed once per sample.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tachograph_counters::IgnorePoison;
use tokio::sync::OnceCell;

use crate::response::ApiError;

/// Maximum number of cached charts.
const MAX_CHARTS: usize = 256;
/// Maximum size of a cached response.
const MAX_BYTES: usize = 256 << 10;
/// A response is cached for at most this long: the collection may have ended, so that `sample` does not change.
const MAX_AGE: Duration = Duration::from_secs(5);

/// The responses to the requests since the last sample, by query.
#[derive(Default)]
pub(crate) struct ChartCache(Mutex<Charts>);

#[derive(Default)]
struct Charts {
    /// The number of samples when the charts were computed.
    sample: u64,
    /// Each with the time of the first request for it.
    by_query: HashMap<String, (Instant, Arc<OnceCell<Bytes>>)>,
}

impl ChartCache {
    /// The response to a query at the n-th sample. Clients with the same query wait for one computation; after a failure, the
    /// next one computes again.
    pub(crate) async fn get(
        &self,
        query: &str,
        sample: u64,
        compute: impl Future<Output = Result<Bytes, ApiError>>,
    ) -> Result<Bytes, ApiError> {
        // Without samples, the first request starts their collection.
        let Some(cell) = (sample > 0).then(|| self.cell(query, sample)).flatten() else {
            return compute.await;
        };
        let bytes = cell.get_or_try_init(|| compute).await?.clone();
        if bytes.len() > MAX_BYTES {
            self.0.lock().ignore_poison().by_query.remove(query);
        }
        Ok(bytes)
    }

    fn cell(&self, query: &str, sample: u64) -> Option<Arc<OnceCell<Bytes>>> {
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
            cache.get(query, sample, compute).await.expect("a response")
        };
        let (one, other) = tokio::join!(get("a", 1), get("a", 1));
        assert_eq!((&one[..], &other[..]), (&b"0"[..], &b"0"[..]));
        assert_eq!(get("b", 1).await, "1");
        assert_eq!(get("a", 1).await, "0");
        assert_eq!(get("a", 2).await, "2");
        // Before the first sample nothing is kept.
        assert_eq!((get("a", 0).await, get("a", 0).await), ("3".into(), "4".into()));
        let failed = cache.get("c", 2, async { Err(ApiError::conflict("no")) }).await;
        assert!(failed.is_err());
        assert_eq!(get("c", 2).await, "5", "failures are not kept");
    }

    #[tokio::test]
    async fn the_number_of_kept_charts_is_bounded() {
        let cache = ChartCache::default();
        for index in 0..2 * MAX_CHARTS {
            let text = index.to_string();
            assert_eq!(cache.get(&text, 1, async { Ok(Bytes::from(text.clone())) }).await.expect("it"), text);
        }
        assert_eq!(cache.0.lock().ignore_poison().by_query.len(), MAX_CHARTS);
        let large = async { Ok(Bytes::from(vec![0; MAX_BYTES + 1])) };
        cache.get("0", 1, large).await.expect("it");
        cache.get("large", 2, async { Ok(Bytes::from(vec![0; MAX_BYTES + 1])) }).await.expect("it");
        assert!(cache.0.lock().ignore_poison().by_query.is_empty());
    }
}
