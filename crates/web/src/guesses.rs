//! Wrong tokens: further ones from the same address have to wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::admission::Client;
use crate::answer::Refusal;
use crate::options::LineLog;

/// Wrong tokens that an address may send before it has to wait: a person who types one needs a few attempts.
const FREE: u32 = 5;
/// Time from one token that is compared to the next, from then on.
const STEP: Duration = Duration::from_secs(1);
/// Requests of an address that wait for their turn; more are refused at once.
const MAX_WAITING: usize = 4;
/// After how long without a wrong token an address is like any other.
const FORGET: Duration = Duration::from_secs(60);
/// Most addresses that are kept.
const MAX_CLIENTS: usize = 1024;

/// The addresses that sent wrong tokens.
pub(crate) struct Guesses {
    state: Mutex<State>,
    /// Called once for each address.
    notices: Option<LineLog>,
}

#[derive(Default)]
struct State {
    clients: HashMap<Client, Guesser>,
    /// When the last one was reported.
    reported: Option<Instant>,
}

struct Guesser {
    wrong: u32,
    last: Instant,
    queue: Arc<Queue>,
    is_reported: bool,
}

/// The requests of an address, which are compared in turn. One that is aborted leaves the queue and uses no turn.
struct Queue {
    places: Semaphore,
    /// When the next token is compared. Its lock is granted in the order of the requests.
    next: tokio::sync::Mutex<Instant>,
}

impl Guesses {
    pub(crate) fn new(notices: Option<LineLog>) -> Self {
        Self { state: Mutex::default(), notices }
    }

    /// Compares a token when it is the turn of its address, by `is_right`.
    ///
    /// # Errors
    ///
    /// `wrong` where it is wrong; 429 where too many of the address wait already. Right tokens wait as well: an answer that
    /// comes at once would tell them from wrong ones.
    pub(crate) async fn compare(
        &self,
        client: Client,
        wrong: fn() -> Refusal,
        is_right: impl FnOnce() -> bool,
    ) -> Result<(), Refusal> {
        let queue = self.lock().queue(client, Instant::now());
        if let Some(queue) = queue {
            queue.wait().await?;
        }
        if is_right() {
            return Ok(());
        }
        let is_news = self.lock().note_wrong(client, Instant::now());
        if let Some(notices) = self.notices.as_ref().filter(|_| is_news) {
            notices(&format!(
                "{client} sent a wrong token; after {FREE} of them its tokens are compared once a second \
                 (not reported again until {} seconds pass without a wrong token)",
                FORGET.as_secs()
            ));
        }
        Err(wrong())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn new(now: Instant) -> Self {
        Self { places: Semaphore::new(MAX_WAITING), next: tokio::sync::Mutex::new(now) }
    }

    /// Waits until a token may be compared.
    async fn wait(&self) -> Result<(), Refusal> {
        let full = || Refusal::too_many("too many wrong tokens came from this address; try again later");
        let _place = self.places.try_acquire().map_err(|_| full())?;
        let mut next = self.next.lock().await;
        tokio::time::sleep_until(*next).await;
        *next = Instant::now() + STEP;
        Ok(())
    }
}

impl State {
    /// Where tokens of an address wait; `None` where they are compared at once.
    fn queue(&mut self, client: Client, now: Instant) -> Option<Arc<Queue>> {
        self.clients.retain(|_, guesser| now.saturating_duration_since(guesser.last) < FORGET);
        let guesser = self.clients.get(&client).filter(|guesser| guesser.wrong >= FREE)?;
        Some(Arc::clone(&guesser.queue))
    }

    /// Notes a wrong token; whether it is to be reported.
    fn note_wrong(&mut self, client: Client, now: Instant) -> bool {
        if !self.clients.contains_key(&client) && self.clients.len() >= MAX_CLIENTS {
            let oldest = self.clients.iter().min_by_key(|(_, guesser)| guesser.last);
            let oldest = oldest.map(|(client, _)| *client);
            oldest.and_then(|oldest| self.clients.remove(&oldest));
        }
        let new = || Guesser { wrong: 0, last: now, queue: Arc::new(Queue::new(now)), is_reported: false };
        let guesser = self.clients.entry(client).or_insert_with(new);
        guesser.wrong = guesser.wrong.saturating_add(1);
        guesser.last = now;
        // A client with many addresses cannot fill the log: its other addresses are reported with their next wrong token.
        let is_time = self.reported.is_none_or(|reported| now.saturating_duration_since(reported) >= STEP);
        let is_news = !guesser.is_reported && is_time;
        if is_news {
            guesser.is_reported = true;
            self.reported = Some(now);
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn wrong() -> Refusal {
        Refusal::bad("wrong")
    }

    fn client(number: u8) -> Client {
        IpAddr::from([192, 0, 2, number]).into()
    }

    #[tokio::test(start_paused = true)]
    async fn guesses_are_slow_and_reported_once() {
        let lines = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&lines);
        let log: LineLog = Arc::new(move |line: &str| {
            assert!(line.contains("192.0.2."), "{line}");
            counted.fetch_add(1, Ordering::SeqCst);
        });
        let guesses = Arc::new(Guesses::new(Some(log)));
        let began = Instant::now();
        for _ in 0..FREE {
            assert!(guesses.compare(client(1), wrong, || false).await.is_err());
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
        // However many come at a time, one a second is compared, and a right one among them waits like the others.
        let compared = Arc::new(AtomicUsize::new(0));
        let mut guessers = tokio::task::JoinSet::new();
        for number in 0..3000 {
            let (guesses, compared) = (Arc::clone(&guesses), Arc::clone(&compared));
            guessers.spawn(async move {
                let is_right = || {
                    compared.fetch_add(1, Ordering::SeqCst);
                    number == 3
                };
                guesses.compare(client(1), wrong, is_right).await.is_ok()
            });
        }
        let right = guessers.join_all().await.into_iter().filter(|is_right| *is_right).count();
        assert_eq!((right, compared.load(Ordering::SeqCst)), (1, 5));
        assert_eq!(began.elapsed().as_secs(), 4);
        // Another address does not wait for it.
        assert!(guesses.compare(client(2), wrong, || true).await.is_ok());
        assert_eq!((began.elapsed().as_secs(), lines.load(Ordering::SeqCst)), (4, 1));
        // It is forgotten in the end, and reported when it comes back.
        tokio::time::sleep(FORGET).await;
        let began = Instant::now();
        assert!(guesses.compare(client(1), wrong, || false).await.is_err());
        assert_eq!((began.elapsed(), lines.load(Ordering::SeqCst)), (Duration::ZERO, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn aborted_requests_use_no_turns() {
        let guesses = Arc::new(Guesses::new(None));
        for _ in 0..=FREE {
            assert!(guesses.compare(client(1), wrong, || false).await.is_err());
        }
        let began = Instant::now();
        for _ in 0..100 {
            let mut waiting = tokio::task::JoinSet::new();
            for _ in 0..MAX_WAITING {
                let guesses = Arc::clone(&guesses);
                waiting.spawn(async move { guesses.compare(client(1), wrong, || panic!("compared")).await });
            }
            tokio::task::yield_now().await;
            waiting.shutdown().await;
        }
        assert!(guesses.compare(client(1), wrong, || true).await.is_ok());
        assert_eq!(began.elapsed(), STEP);
    }

    #[test]
    fn many_addresses_take_little_room_and_few_lines() {
        let (mut state, now) = (State::default(), Instant::now());
        let of = |number: u32| Client::from(IpAddr::from(number.to_be_bytes()));
        let reported = (0..5000).filter(|&number| state.note_wrong(of(number), now)).count();
        assert_eq!((reported, state.clients.len()), (1, MAX_CLIENTS));
    }
}
