//! Wrong tokens: further ones from the same address have to wait.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::admission::Client;
use crate::answer::Refusal;
use crate::options::LineLog;

/// Wrong tokens that an address may send before it has to wait: a person who types one needs a few attempts.
const FREE: u32 = 5;
/// Time from one token that is compared to the next, from then on.
const STEP: Duration = Duration::from_secs(1);
/// How long a request waits for its turn; beyond that it is refused at once.
const MAX_WAIT: Duration = Duration::from_secs(4);
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
    /// When the next token is compared.
    next: Instant,
    is_reported: bool,
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
        let turn = self.lock().turn(client, Instant::now())?;
        if let Some(turn) = turn {
            tokio::time::sleep_until(turn).await;
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

impl State {
    /// When the next token of an address may be compared; `None` for now.
    fn turn(&mut self, client: Client, now: Instant) -> Result<Option<Instant>, Refusal> {
        self.clients.retain(|_, guesser| now.saturating_duration_since(guesser.last) < FORGET);
        let Some(guesser) = self.clients.get_mut(&client).filter(|guesser| guesser.wrong >= FREE) else {
            return Ok(None);
        };
        let turn = guesser.next.max(now);
        if turn.duration_since(now) > MAX_WAIT {
            return Err(Refusal::too_many("too many wrong tokens came from this address; try again later"));
        }
        guesser.next = turn + STEP;
        Ok(Some(turn))
    }

    /// Notes a wrong token; whether it is to be reported.
    fn note_wrong(&mut self, client: Client, now: Instant) -> bool {
        if !self.clients.contains_key(&client) && self.clients.len() >= MAX_CLIENTS {
            let oldest = self.clients.iter().min_by_key(|(_, guesser)| guesser.last);
            let oldest = oldest.map(|(client, _)| *client);
            oldest.and_then(|oldest| self.clients.remove(&oldest));
        }
        let new = Guesser { wrong: 0, last: now, next: now, is_reported: false };
        let guesser = self.clients.entry(client).or_insert(new);
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

    #[test]
    fn many_addresses_take_little_room_and_few_lines() {
        let (mut state, now) = (State::default(), Instant::now());
        let of = |number: u32| Client::from(IpAddr::from(number.to_be_bytes()));
        let reported = (0..5000).filter(|&number| state.note_wrong(of(number), now)).count();
        assert_eq!((reported, state.clients.len()), (1, MAX_CLIENTS));
    }
}
