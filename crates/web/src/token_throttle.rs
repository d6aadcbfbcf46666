//! Throttling of wrong tokens, by client address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tachograph_counters::IgnorePoison;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::admission::Client;
use crate::options::LineLog;
use crate::response::ApiError;

/// Number of wrong tokens after which a client's tokens are delayed. Users need a few attempts.
const FREE_ATTEMPTS: u32 = 5;
/// Time between two comparisons after the free attempts.
const COMPARE_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of requests of a client that wait for their comparison; further ones are refused at once.
const MAX_WAITING: usize = 4;
/// A client is forgotten after this time without a wrong token.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// Maximum number of clients that are remembered.
const MAX_CLIENTS: usize = 1024;

/// Compares tokens, and delays clients that have sent wrong ones.
pub(crate) struct TokenThrottle {
    state: Mutex<State>,
    /// Called with a line about each client that sends wrong tokens.
    notices: Option<LineLog>,
}

#[derive(Default)]
struct State {
    clients: HashMap<Client, ThrottledClient>,
    last_report: Option<Instant>,
}

struct ThrottledClient {
    /// The number of wrong tokens.
    wrong: u32,
    /// The time of the last wrong token.
    last: Instant,
    queue: Arc<Queue>,
    is_reported: bool,
}

/// The requests of a client, which are compared in order. An aborted request leaves the queue without using a comparison.
struct Queue {
    /// Limits the waiting requests to [`MAX_WAITING`].
    slots: Semaphore,
    /// The time of the next comparison. The lock is granted in the order of requests.
    next: tokio::sync::Mutex<Instant>,
}

impl TokenThrottle {
    pub(crate) fn new(notices: Option<LineLog>) -> Self {
        Self { state: Mutex::default(), notices }
    }

    /// Compares a token with `is_right`, after a delay if its client is throttled.
    ///
    /// # Errors
    ///
    /// `wrong` if the token is wrong; 429 if too many requests of the client are waiting. Right tokens are delayed too,
    /// because an immediate response would reveal them.
    pub(crate) async fn compare(
        &self,
        client: Client,
        wrong: fn() -> ApiError,
        is_right: impl FnOnce() -> bool,
    ) -> Result<(), ApiError> {
        let queue = self.lock().queue(client, Instant::now());
        if let Some(queue) = queue {
            queue.wait().await?;
        }
        if is_right() {
            return Ok(());
        }
        let is_report_due = self.lock().record_wrong(client, Instant::now());
        if let Some(notices) = self.notices.as_ref().filter(|_| is_report_due) {
            notices(&format!(
                "{client} sent a wrong token; after {FREE_ATTEMPTS} wrong tokens, only one token per second from it is checked \
                 (not reported again until {} seconds have passed without a wrong token)",
                FORGET_AFTER.as_secs()
            ));
        }
        Err(wrong())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }
}

impl Queue {
    fn new(now: Instant) -> Self {
        Self { slots: Semaphore::new(MAX_WAITING), next: tokio::sync::Mutex::new(now) }
    }

    async fn wait(&self) -> Result<(), ApiError> {
        let full = || ApiError::too_many_requests("too many wrong tokens from this address; try again later");
        let _slot = self.slots.try_acquire().map_err(|_| full())?;
        let mut next = self.next.lock().await;
        tokio::time::sleep_until(*next).await;
        *next = Instant::now() + COMPARE_INTERVAL;
        Ok(())
    }
}

impl State {
    /// The queue of a client; `None` if its tokens are compared at once.
    fn queue(&mut self, client: Client, now: Instant) -> Option<Arc<Queue>> {
        self.clients.retain(|_, throttled| now.saturating_duration_since(throttled.last) < FORGET_AFTER);
        let throttled = self.clients.get(&client).filter(|throttled| throttled.wrong >= FREE_ATTEMPTS)?;
        Some(Arc::clone(&throttled.queue))
    }

    /// Counts a wrong token; returns whether to report it.
    fn record_wrong(&mut self, client: Client, now: Instant) -> bool {
        if !self.clients.contains_key(&client) && self.clients.len() >= MAX_CLIENTS {
            let oldest = self.clients.iter().min_by_key(|(_, throttled)| throttled.last);
            let oldest = oldest.map(|(client, _)| *client);
            oldest.and_then(|oldest| self.clients.remove(&oldest));
        }
        let new =
            || ThrottledClient { wrong: 0, last: now, queue: Arc::new(Queue::new(now)), is_reported: false };
        let throttled = self.clients.entry(client).or_insert_with(new);
        throttled.wrong = throttled.wrong.saturating_add(1);
        throttled.last = now;
        // An attacker with many addresses cannot flood the log: other clients are reported with their next wrong token.
        let is_time =
            self.last_report.is_none_or(|last| now.saturating_duration_since(last) >= COMPARE_INTERVAL);
        let is_due = !throttled.is_reported && is_time;
        if is_due {
            throttled.is_reported = true;
            self.last_report = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn wrong() -> ApiError {
        ApiError::bad_request("wrong")
    }

    fn client(last: u8) -> Client {
        IpAddr::from([192, 0, 2, last]).into()
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_tokens_are_delayed_and_reported_once() {
        let lines = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&lines);
        let log: LineLog = Arc::new(move |line: &str| {
            assert!(line.contains("192.0.2."), "{line}");
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let throttle = Arc::new(TokenThrottle::new(Some(log)));
        let began = Instant::now();
        for _ in 0..FREE_ATTEMPTS {
            assert!(throttle.compare(client(1), wrong, || false).await.is_err());
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        // One token per second is compared, even if many arrive at once. The right token waits like the others.
        let compared = Arc::new(AtomicUsize::new(0));
        let mut throttled_clients = tokio::task::JoinSet::new();
        for index in 0..10_000 {
            let (throttle, compared) = (Arc::clone(&throttle), Arc::clone(&compared));
            throttled_clients.spawn(async move {
                let is_right = || {
                    compared.fetch_add(1, Ordering::SeqCst);
                    index == 3
                };
                throttle.compare(client(1), wrong, is_right).await.is_ok()
            });
        }
        let right = throttled_clients.join_all().await.into_iter().filter(|is_right| *is_right).count();
        assert_eq!((right, compared.load(Ordering::SeqCst)), (1, 5));
        assert_eq!(began.elapsed().as_secs(), 4);
        // Other addresses are not delayed.
        assert!(throttle.compare(client(2), wrong, || true).await.is_ok());
        assert_eq!((began.elapsed().as_secs(), lines.load(Ordering::SeqCst)), (4, 1));
        // A forgotten address is reported again.
        tokio::time::sleep(FORGET_AFTER).await;
        let began = Instant::now();
        assert!(throttle.compare(client(1), wrong, || false).await.is_err());
        assert_eq!((began.elapsed(), lines.load(Ordering::SeqCst)), (Duration::ZERO, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn aborted_requests_do_not_delay_others() {
        let throttle = Arc::new(TokenThrottle::new(None));
        for _ in 0..=FREE_ATTEMPTS {
            assert!(throttle.compare(client(1), wrong, || false).await.is_err());
        }
        let began = Instant::now();
        for _ in 0..100 {
            let mut waiting = tokio::task::JoinSet::new();
            for _ in 0..MAX_WAITING {
                let throttle = Arc::clone(&throttle);
                waiting.spawn(async move { throttle.compare(client(1), wrong, || panic!("compared")).await });
            }
            tokio::task::yield_now().await;
            waiting.shutdown().await;
        }
        assert!(throttle.compare(client(1), wrong, || true).await.is_ok());
        assert_eq!(began.elapsed(), COMPARE_INTERVAL);
    }

    #[test]
    fn many_addresses_use_bounded_memory_and_few_log_lines() {
        let (mut state, now) = (State::default(), Instant::now());
        let client = |address: u32| Client::from(IpAddr::from(address.to_be_bytes()));
        let reported = (0..5000).filter(|&address| state.record_wrong(client(address), now)).count();
        assert_eq!((reported, state.clients.len()), (1, MAX_CLIENTS));
    }
}
