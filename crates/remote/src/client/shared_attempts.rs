//! Attempts that threads share while they wait for the same result.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use tachograph_perflib::{ErrorCode, Failure, IgnorePoison, Registry};

/// Maximum time that a thread waits for an attempt of another thread.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Attempts to read a machine's counter sets. Threads that need the sets at the same time share one attempt. After a failure,
/// callers get the same failure without a new attempt for as long as the failed one took. Otherwise every request for an
/// unreachable machine would occupy a thread for the whole time limit.
#[derive(Debug, Default)]
pub(super) struct SharedAttempts {
    state: Mutex<State>,
    /// Wakes threads when an attempt has ended.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_running: bool,
    /// The failure of the last attempt, and until when it is returned.
    last_failure: Option<(Instant, Failure)>,
}

/// Marks an attempt as ended, also if it panics.
struct RunningGuard<'a>(&'a SharedAttempts);

impl Drop for RunningGuard<'_> {
    fn drop(&mut self) {
        self.0.state.lock().ignore_poison().is_running = false;
        self.0.ended.notify_all();
    }
}

impl SharedAttempts {
    /// Calls `attempt`, unless another thread's attempt is in progress or the last one failed recently.
    pub(super) fn run(
        &self,
        attempt: impl FnOnce() -> Result<Arc<Registry>, Failure>,
    ) -> Result<Arc<Registry>, Failure> {
        self.run_within(MAX_WAIT, attempt)
    }

    fn run_within(
        &self,
        max_wait: Duration,
        attempt: impl FnOnce() -> Result<Arc<Registry>, Failure>,
    ) -> Result<Arc<Registry>, Failure> {
        let wait_start = Instant::now();
        let mut state = self.state.lock().ignore_poison();
        while state.is_running {
            let remaining = max_wait.saturating_sub(wait_start.elapsed());
            if remaining.is_zero() {
                let reason = "the machine does not answer; another request is still waiting for it";
                return Err(Failure::new(ErrorCode::TIMEOUT, reason));
            }
            (state, _) = self.ended.wait_timeout(state, remaining).ignore_poison();
        }
        if let Some((_, failure)) = state.last_failure.as_ref().filter(|(until, _)| Instant::now() < *until) {
            return Err(failure.clone());
        }
        state.is_running = true;
        drop(state);
        let running = RunningGuard(self);
        let attempt_start = Instant::now();
        let outcome = attempt();
        let last_failure =
            outcome.as_ref().err().map(|failure| (Instant::now() + attempt_start.elapsed(), failure.clone()));
        self.state.lock().ignore_poison().last_failure = last_failure;
        drop(running);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use tachograph_perflib::Clock;

    use super::*;

    fn registry() -> Arc<Registry> {
        Arc::new(Registry::new("web1", Clock::of_this_machine()))
    }

    fn unreachable() -> Failure {
        Failure::new(ErrorCode::SERVER_UNAVAILABLE, "unreachable")
    }

    #[test]
    fn a_thread_does_not_wait_for_the_whole_attempt_of_another_one() {
        let attempts = SharedAttempts::default();
        let (begin, begun) = channel();
        let (end, ended) = channel::<()>();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                attempts.run(move || {
                    begin.send(()).expect("the test waits");
                    ended.recv().expect("the test continues");
                    Ok(registry())
                })
            });
            begun.recv().expect("the attempt begins");
            let other = attempts.run_within(Duration::from_millis(1), || panic!("a second attempt"));
            assert_eq!(other.map_err(|failure| failure.code).err(), Some(ErrorCode::TIMEOUT));
            end.send(()).expect("the attempt waits");
            assert!(first.join().expect("no panic").is_ok());
        });
        assert!(attempts.run(|| Ok(registry())).is_ok());
    }

    #[test]
    fn a_failure_is_returned_for_as_long_as_its_attempt_took() {
        let attempts = SharedAttempts::default();
        let last_failure = attempts.run(|| Err(unreachable()));
        assert_eq!(last_failure.err(), Some(unreachable()));
        // As if the attempt had taken a minute.
        attempts.state.lock().ignore_poison().last_failure =
            Some((Instant::now() + Duration::from_secs(60), unreachable()));
        assert_eq!(attempts.run(|| panic!("another attempt")).err(), Some(unreachable()));
        attempts.state.lock().ignore_poison().last_failure = Some((Instant::now(), unreachable()));
        assert!(attempts.run(|| Ok(registry())).is_ok());
        assert!(attempts.run(|| Ok(registry())).is_ok());
    }
}
