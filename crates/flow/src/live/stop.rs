//! Stopping a wait from another thread.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use tachograph_counters::IgnorePoison;

/// Stops a live source from another thread, for example when a signal arrives. Clones share the state.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// Ends all current and later waits.
    pub fn stop(&self) {
        let (is_stopped, changed) = &*self.0;
        *is_stopped.lock().ignore_poison() = true;
        changed.notify_all();
    }

    /// Whether [`stop`](Self::stop) was called.
    pub fn is_stopped(&self) -> bool {
        *self.0.0.lock().ignore_poison()
    }

    /// Waits until `moment`. Returns false if stopped before then.
    pub fn wait_until(&self, moment: Instant) -> bool {
        let (is_stopped, changed) = &*self.0;
        let mut stopped = is_stopped.lock().ignore_poison();
        while !*stopped {
            let left = moment.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            stopped = changed.wait_timeout(stopped, left).ignore_poison().0;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn stopping_ends_a_wait() {
        let stop = Stop::default();
        let waiting = stop.clone();
        let waiter = std::thread::spawn(move || waiting.wait_until(Instant::now() + Duration::from_secs(60)));
        stop.stop();
        assert!(!waiter.join().expect("no panic"));
        assert!(!stop.wait_until(Instant::now()));
    }
}
