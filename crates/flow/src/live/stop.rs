//! Ending a wait from another thread.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Ends a live source from elsewhere, such as a signal handler's thread: it is woken up and yields no more samples.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// Ends all waits, current and later.
    pub fn stop(&self) {
        let (is_stopped, changed) = &*self.0;
        *is_stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
    }

    /// Whether it was stopped.
    pub fn is_stopped(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a moment, or until it is stopped; false when it was.
    pub fn wait_until(&self, moment: Instant) -> bool {
        let (is_stopped, changed) = &*self.0;
        let mut stopped = is_stopped.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stopped {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            stopped = changed.wait_timeout(stopped, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn stopping_wakes_who_waits() {
        let stop = Stop::default();
        let waiting = stop.clone();
        let waiter = std::thread::spawn(move || waiting.wait_until(Instant::now() + Duration::from_secs(60)));
        stop.stop();
        assert!(!waiter.join().expect("no panic"));
        assert!(!stop.wait_until(Instant::now()));
    }
}
