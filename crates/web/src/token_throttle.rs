//! Throttling of wrong tokens, by client address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tachograph_counters::IgnorePoison;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::admission::Client;
use crate::embedding::Access;
use crate::options::LineLog;
use crate::response::ApiError;

/// Number of wrong tokens after which a client's tokens are delayed. Users need a few attempts.
const FREE_ATTEMPTS: u32 = 5;
/// Time between two comparisons after the free attempts.
const COMPARE_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of requests of a client that wait for their comparison; further ones are refused immediately.
const MAX_WAITING: usize = 4;
/// A client is forgotten after this time without a wrong token.
const FORGET_AFTER: Duration = Duration::from_secs(60);
/// Maximum number of clients that are remembered.
const MAX_CLIENTS: usize = 1024;
/// For this time after a client sent the right token, that token is not delayed, so that programs with a wrong token do not
/// lock out others at the same address.
const TRUST_FOR: Duration = Duration::from_secs(3600);
/// The number of tokens per second that are compared without a delay for a client that sent the right token.
const TRUSTED_COMPARISONS: u32 = 10;

/// Compares tokens, and delays clients that have sent wrong ones.
pub(crate) struct TokenThrottle {
    state: Mutex<State>,
    /// Called with a line about each client that sends wrong tokens.
    notices: Option<LineLog>,
}

#[derive(Default)]
struct State {
    clients: HashMap<Client, ThrottledClient>,
    /// The clients that have sent the right token.
    trusted: HashMap<Client, TrustedClient>,
    last_report: Option<Instant>,
}

struct TrustedClient {
    /// When the right token was last sent.
    last: Instant,
    /// The number of comparisons in the second that began at this time.
    compared: (u32, Instant),
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

    /// Compares a token with `access_of`, after a delay if its client is throttled.
    ///
    /// # Errors
    ///
    /// `wrong` if the token is wrong; 429 if too many requests of the client are waiting. Right tokens are delayed too,
    /// because an immediate response would reveal them. If a client sent the right token before ([`TRUST_FOR`]), a limited number
    /// of its tokens is compared without delay.
    pub(crate) async fn compare(
        &self,
        client: Client,
        wrong: fn() -> ApiError,
        access_of: impl Fn() -> Option<Access>,
    ) -> Result<Access, ApiError> {
        let queue = self.lock().queue(client, Instant::now());
        let mut compared = None;
        if let Some(queue) = queue {
            compared = self.lock().may_compare_now(client, Instant::now()).then(&access_of);
            if compared.is_none_or(|access| access.is_none()) {
                queue.wait().await?;
            }
        }
        if let Some(access) = compared.unwrap_or_else(access_of) {
            if access == Access::Full {
                self.lock().trust(client, Instant::now());
            }
            return Ok(access);
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
    /// The queue of a client; `None` if its tokens are compared without delay.
    fn queue(&mut self, client: Client, now: Instant) -> Option<Arc<Queue>> {
        self.clients.retain(|_, throttled| now.saturating_duration_since(throttled.last) < FORGET_AFTER);
        let throttled = self.clients.get(&client).filter(|throttled| throttled.wrong >= FREE_ATTEMPTS)?;
        Some(Arc::clone(&throttled.queue))
    }

    /// Remembers that a client has sent the right token.
    fn trust(&mut self, client: Client, now: Instant) {
        if let Some(known) = self.trusted.get_mut(&client) {
            known.last = now;
            return;
        }
        if self.trusted.len() >= MAX_CLIENTS {
            let oldest = self.trusted.iter().min_by_key(|(_, trusted)| trusted.last);
            let oldest = oldest.map(|(client, _)| *client);
            oldest.and_then(|oldest| self.trusted.remove(&oldest));
        }
        self.trusted.insert(client, TrustedClient { last: now, compared: (0, now) });
    }

    /// Whether a token of a client is compared without delay although the client is throttled.
    fn may_compare_now(&mut self, client: Client, now: Instant) -> bool {
        let Some(trusted) = self.trusted.get_mut(&client) else { return false };
        if now.saturating_duration_since(trusted.last) >= TRUST_FOR {
            self.trusted.remove(&client);
            return false;
        }
        let (compared, since) = &mut trusted.compared;
        if now.saturating_duration_since(*since) >= Duration::from_secs(1) {
            (*compared, *since) = (0, now);
        }
        *compared += 1;
        *compared <= TRUSTED_COMPARISONS
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
        // At most one client is reported per interval, so that an attacker with many addresses cannot flood the log. Another client
        // is reported with a later wrong token.
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
            assert!(throttle.compare(client(1), wrong, || None).await.is_err());
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        // One token per second is compared, even if many arrive at the same time. The right token waits like the others.
        let compared = Arc::new(AtomicUsize::new(0));
        let mut throttled_clients = tokio::task::JoinSet::new();
        for index in 0..10_000 {
            let (throttle, compared) = (Arc::clone(&throttle), Arc::clone(&compared));
            throttled_clients.spawn(async move {
                let access_of = || {
                    compared.fetch_add(1, Ordering::SeqCst);
                    (index == 3).then_some(Access::Full)
                };
                throttle.compare(client(1), wrong, access_of).await.is_ok()
            });
        }
        let right = throttled_clients.join_all().await.into_iter().filter(|is_right| *is_right).count();
        assert_eq!((right, compared.load(Ordering::SeqCst)), (1, 5));
        assert_eq!(began.elapsed().as_secs(), 4);
        // Other addresses are not delayed.
        assert!(throttle.compare(client(2), wrong, || Some(Access::Full)).await.is_ok());
        assert_eq!((began.elapsed().as_secs(), lines.load(Ordering::SeqCst)), (4, 1));
        // A forgotten address is reported again.
        tokio::time::sleep(FORGET_AFTER).await;
        let began = Instant::now();
        assert!(throttle.compare(client(1), wrong, || None).await.is_err());
        assert_eq!((began.elapsed(), lines.load(Ordering::SeqCst)), (Duration::ZERO, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn wrong_tokens_do_not_delay_a_client_that_sent_the_right_one() {
        let throttle = Arc::new(TokenThrottle::new(None));
        let right = || Some(Access::Full);
        assert!(throttle.compare(client(1), wrong, right).await.is_ok());
        // A token that only shows views does not exempt its client from delays.
        assert!(throttle.compare(client(2), wrong, || Some(Access::Views)).await.is_ok());
        for address in [1, 2] {
            for _ in 0..FREE_ATTEMPTS {
                assert!(throttle.compare(client(address), wrong, || None).await.is_err());
            }
            // The queue is full of waiting requests.
            for _ in 0..=MAX_WAITING {
                let throttle = Arc::clone(&throttle);
                tokio::spawn(async move { throttle.compare(client(address), wrong, || None).await });
            }
        }
        tokio::task::yield_now().await;
        let began = Instant::now();
        assert!(throttle.compare(client(1), wrong, right).await.is_ok());
        assert_eq!(began.elapsed(), Duration::ZERO);
        assert!(throttle.compare(client(2), wrong, right).await.is_err(), "the queue is full");
        // Guesses from the address are limited, and wrong ones wait as before.
        let (guesses, compared) = (1000, AtomicUsize::new(0));
        let mut refused = 0;
        for _ in 0..guesses {
            let guess = || {
                compared.fetch_add(1, Ordering::SeqCst);
                None
            };
            refused += usize::from(throttle.compare(client(1), wrong, guess).await.is_err());
        }
        assert_eq!(refused, guesses);
        let max = (TRUSTED_COMPARISONS as usize + 1) * (began.elapsed().as_secs() as usize + 1);
        assert!(compared.load(Ordering::SeqCst) <= max, "{compared:?} of {max}");
        // The trust ends.
        tokio::time::sleep(TRUST_FOR).await;
        for _ in 0..=FREE_ATTEMPTS {
            assert!(throttle.compare(client(1), wrong, || None).await.is_err());
        }
        let began = Instant::now();
        assert!(throttle.compare(client(1), wrong, right).await.is_ok());
        assert_eq!(began.elapsed(), COMPARE_INTERVAL);
    }

    #[tokio::test(start_paused = true)]
    async fn aborted_requests_do_not_delay_others() {
        let throttle = Arc::new(TokenThrottle::new(None));
        for _ in 0..=FREE_ATTEMPTS {
            assert!(throttle.compare(client(1), wrong, || None).await.is_err());
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
        assert!(throttle.compare(client(1), wrong, || Some(Access::Full)).await.is_ok());
        assert_eq!(began.elapsed(), COMPARE_INTERVAL);
    }

    #[test]
    fn many_addresses_use_bounded_memory_and_few_log_lines() {
        let (mut state, now) = (State::default(), Instant::now());
        let client = |address: u32| Client::from(IpAddr::from(address.to_be_bytes()));
        let reported = (0..5000).filter(|&address| state.record_wrong(client(address), now)).count();
        (0..5000).for_each(|address| state.trust(client(address), now));
        assert_eq!((reported, state.clients.len(), state.trusted.len()), (1, MAX_CLIENTS, MAX_CLIENTS));
    }
}
