//! When samples are taken.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Ends a live source from elsewhere, such as a signal handler's thread: it is woken up and yields no more samples.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// Ends whoever waits for it, now and later.
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

/// How long after the first sample the sample of this number is due. Exact for 584 years.
pub fn offset_of(number: u64, interval: Duration) -> Duration {
    let nanoseconds = interval.as_nanos().saturating_mul(number.into());
    Duration::from_nanos(nanoseconds.try_into().unwrap_or(u64::MAX))
}

/// The cadence of samples: sample `k` begins at `start + k * interval`, so that delays never add up.
///
/// A moment that has gone by when its turn comes is taken at once, as late; moments that have gone by altogether are left
/// out, and counted.
#[derive(Debug)]
pub(super) struct Ticker {
    start: Option<Instant>,
    interval: Duration,
    next: u64,
    late: u64,
    missed: u64,
}

impl Ticker {
    pub(super) fn new(interval: Duration) -> Self {
        Self { start: None, interval, next: 0, late: 0, missed: 0 }
    }

    /// Waits for the next moment; false when it was stopped.
    pub(super) fn wait(&mut self, stop: &Stop) -> bool {
        let Some(start) = self.start else {
            self.start = Some(Instant::now());
            self.next = 1;
            return !stop.is_stopped();
        };
        if !stop.wait_until(start + self.at(self.next)) {
            return false;
        }
        self.note(start.elapsed());
        true
    }

    /// Takes note of the moment that has come, this long after the start.
    fn note(&mut self, elapsed: Duration) {
        let interval = self.interval.as_nanos().max(1);
        let due = (elapsed.as_nanos() / interval) as u64;
        if due > self.next {
            self.missed += due - self.next;
            self.next = due;
        }
        // A tenth of the interval is no more than what schedulers do.
        if elapsed.saturating_sub(self.at(self.next)) > self.interval / 10 {
            self.late += 1;
        }
        self.next += 1;
    }

    fn at(&self, number: u64) -> Duration {
        offset_of(number, self.interval)
    }

    /// How many samples were taken more than a tenth of the interval after their moment.
    pub(super) fn late(&self) -> u64 {
        self.late
    }

    /// How many moments went by without a sample.
    pub(super) fn missed(&self) -> u64 {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_do_not_add_up() {
        let second = Duration::from_secs(1);
        let mut ticker = Ticker::new(second);
        ticker.next = 1;
        ticker.note(Duration::from_millis(1_005));
        assert_eq!((ticker.next, ticker.late, ticker.missed), (2, 0, 0));
        // Late: the next moment stays where it was.
        ticker.note(Duration::from_millis(2_700));
        assert_eq!((ticker.next, ticker.late, ticker.missed), (3, 1, 0));
        // Moments 3 and 4 went by while the machine did something else.
        ticker.note(Duration::from_millis(5_001));
        assert_eq!((ticker.next, ticker.late, ticker.missed), (6, 1, 2));
    }

    /// 2^32 samples are 50 days at a millisecond.
    #[test]
    fn moments_advance_beyond_the_largest_32_bit_number() {
        let interval = Duration::from_millis(1);
        for number in [u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, 1 << 40] {
            assert_eq!(offset_of(number, interval).as_millis(), number.into());
        }
        assert_eq!(offset_of(u64::MAX, Duration::MAX), Duration::from_nanos(u64::MAX));
    }

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
