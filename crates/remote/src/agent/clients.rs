//! Limits the rate of requests of each client.

use std::collections::HashMap;
use std::time::Instant;

use crate::limits::{REQUEST_BURST, REQUESTS_PER_SECOND};

/// Maximum number of clients whose rates are kept. Clients with a full allowance are dropped first.
const MAX_CLIENTS: usize = 4096;

/// The allowances of all clients.
#[derive(Debug, Default)]
pub(super) struct Clients(HashMap<Box<str>, Allowance>);

/// The token bucket of a client.
#[derive(Clone, Copy, Debug)]
struct Allowance {
    /// The number of requests that the client could send at `updated`.
    requests: f64,
    updated: Instant,
}

impl Allowance {
    /// The number of requests that the client may send now.
    fn available(self, now: Instant) -> f64 {
        let earned =
            now.saturating_duration_since(self.updated).as_secs_f64() * f64::from(REQUESTS_PER_SECOND);
        (self.requests + earned).min(f64::from(REQUEST_BURST))
    }
}

impl Clients {
    /// Counts a request of a client; returns whether it is within the limit.
    pub(super) fn admit(&mut self, client: &str, now: Instant) -> bool {
        let full = f64::from(REQUEST_BURST);
        if !self.0.contains_key(client) {
            if self.0.len() >= MAX_CLIENTS {
                self.0.retain(|_, allowance| allowance.available(now) < full);
            }
            if self.0.len() >= MAX_CLIENTS {
                return false;
            }
            self.0.insert(client.into(), Allowance { requests: full, updated: now });
        }
        let Some(allowance) = self.0.get_mut(client) else { return false };
        let requests = allowance.available(now);
        let is_admitted = requests >= 1.0;
        *allowance =
            Allowance { requests: if is_admitted { requests - 1.0 } else { requests }, updated: now };
        is_admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_client_gets_its_burst_and_then_its_rate() {
        let (mut clients, start) = (Clients::default(), Instant::now());
        let mut admitted = |client: &str, at| (0..1000).filter(|_| clients.admit(client, at)).count();
        assert_eq!(admitted("a", start), REQUEST_BURST as usize);
        assert_eq!(admitted("b", start), REQUEST_BURST as usize);
        assert_eq!(admitted("a", start + Duration::from_millis(500)), REQUESTS_PER_SECOND as usize / 2);
        assert_eq!(admitted("a", start + Duration::from_secs(3600)), REQUEST_BURST as usize);
    }

    #[test]
    fn many_clients_use_bounded_memory() {
        let (mut clients, start) = (Clients::default(), Instant::now());
        for client in 0..2 * MAX_CLIENTS {
            clients.admit(&client.to_string(), start);
        }
        assert_eq!(clients.0.len(), MAX_CLIENTS);
        assert!(
            clients.admit("later", start + Duration::from_secs(60)),
            "clients with a full allowance are dropped"
        );
    }
}
