//! Limits the rate of requests of each client.

use std::collections::HashMap;
use std::time::Instant;

use crate::limits::{REQUEST_BURST, REQUESTS_PER_SECOND};

/// Maximum number of clients that have a bucket. Full buckets are dropped first.
const MAX_CLIENTS: usize = 4096;

/// The token buckets of all clients.
#[derive(Debug, Default)]
pub(super) struct RateLimiter(HashMap<Box<str>, TokenBucket>);

/// The token bucket of a client.
#[derive(Clone, Copy, Debug)]
struct TokenBucket {
    /// The number of requests that the client could send at `updated`.
    requests: f64,
    updated: Instant,
}

impl TokenBucket {
    /// The number of requests that the client may send now.
    fn available_requests(self, now: Instant) -> f64 {
        let earned =
            now.saturating_duration_since(self.updated).as_secs_f64() * f64::from(REQUESTS_PER_SECOND);
        (self.requests + earned).min(f64::from(REQUEST_BURST))
    }
}

impl RateLimiter {
    /// Counts a request of a client; returns whether it is within the limit.
    pub(super) fn admit(&mut self, client: &str, now: Instant) -> bool {
        let burst = f64::from(REQUEST_BURST);
        if !self.0.contains_key(client) {
            if self.0.len() >= MAX_CLIENTS {
                self.0.retain(|_, bucket| bucket.available_requests(now) < burst);
            }
            if self.0.len() >= MAX_CLIENTS {
                return false;
            }
            self.0.insert(client.into(), TokenBucket { requests: burst, updated: now });
        }
        let Some(bucket) = self.0.get_mut(client) else { return false };
        let available = bucket.available_requests(now);
        let is_admitted = available >= 1.0;
        let requests = if is_admitted { available - 1.0 } else { available };
        *bucket = TokenBucket { requests, updated: now };
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_client_gets_its_burst_and_then_its_rate() {
        let (mut rate_limiter, start) = (RateLimiter::default(), Instant::now());
        let mut admitted = |client: &str, at| (0..1000).filter(|_| rate_limiter.admit(client, at)).count();
        assert_eq!(admitted("a", start), REQUEST_BURST as usize);
        assert_eq!(admitted("b", start), REQUEST_BURST as usize);
        assert_eq!(admitted("a", start + Duration::from_millis(500)), REQUESTS_PER_SECOND as usize / 2);
        assert_eq!(admitted("a", start + Duration::from_secs(3600)), REQUEST_BURST as usize);
    }

    #[test]
    fn many_clients_use_bounded_memory() {
        let (mut rate_limiter, start) = (RateLimiter::default(), Instant::now());
        for client in 0..2 * MAX_CLIENTS {
            rate_limiter.admit(&client.to_string(), start);
        }
        assert_eq!(rate_limiter.0.len(), MAX_CLIENTS);
        assert!(
            rate_limiter.admit("later", start + Duration::from_secs(60)),
            "clients with a full bucket are dropped"
        );
    }
}
