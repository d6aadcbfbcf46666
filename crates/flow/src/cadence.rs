//! When samples are due.

use std::time::{Duration, Instant};

/// The moments at which samples are due: `start + k * interval`, so that delays never add up.
///
/// A sample whose moment has passed is taken at once. Moments that passed entirely, because the sample before took longer
/// than an interval, are skipped and counted.
#[derive(Clone, Debug)]
pub struct Cadence {
    start: Instant,
    interval: Duration,
    next: u64,
    late: u64,
    missed: u64,
}

impl Cadence {
    /// A cadence whose first sample is due at `start`.
    pub fn new(start: Instant, interval: Duration) -> Self {
        Self { start, interval, next: 0, late: 0, missed: 0 }
    }

    /// When the first sample was due.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// When the next sample is due. A moment beyond what the clock can express is as good as the start: now.
    pub fn due(&self) -> Instant {
        self.start.checked_add(self.offset()).unwrap_or(self.start)
    }

    /// How long after the start the next sample is due. Exact for 584 years.
    fn offset(&self) -> Duration {
        let nanoseconds = self.interval.as_nanos().saturating_mul(self.next.into());
        Duration::from_nanos(nanoseconds.try_into().unwrap_or(u64::MAX))
    }

    /// Moves on to the moment after the sample that is taken at `now`, which is due by then.
    pub fn advance(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.start);
        let latest = elapsed.as_nanos() / self.interval.as_nanos().max(1);
        let latest = u64::try_from(latest).unwrap_or(u64::MAX);
        self.missed += latest.saturating_sub(self.next);
        self.next = self.next.max(latest);
        // A tenth of the interval is no more than what schedulers do.
        if elapsed.saturating_sub(self.offset()) > self.interval / 10 {
            self.late += 1;
        }
        self.next = self.next.saturating_add(1);
    }

    /// How many samples were taken more than a tenth of the interval after their moment.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// How many moments passed without a sample.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cadence: &Cadence) -> (u64, u64, u64) {
        (cadence.next, cadence.late, cadence.missed)
    }

    #[test]
    fn delays_do_not_add_up() {
        let start = Instant::now();
        let mut cadence = Cadence::new(start, Duration::from_secs(1));
        cadence.advance(start);
        cadence.advance(start + Duration::from_millis(1_005));
        assert_eq!(counts(&cadence), (2, 0, 0));
        // Late: the next moment stays where it was.
        cadence.advance(start + Duration::from_millis(2_700));
        assert_eq!(counts(&cadence), (3, 1, 0));
        assert_eq!(cadence.due(), start + Duration::from_secs(3));
        // Moments 3 and 4 passed while the machine did something else.
        cadence.advance(start + Duration::from_millis(5_001));
        assert_eq!(counts(&cadence), (6, 1, 2));
    }

    #[test]
    fn the_next_moment_is_after_the_sample() {
        let start = Instant::now();
        for (taken, due) in [(0, 100), (99, 100), (100, 200), (101, 200), (999, 1000), (1000, 1100)] {
            let mut cadence = Cadence::new(start, Duration::from_millis(100));
            cadence.advance(start + Duration::from_millis(taken));
            assert_eq!(cadence.due(), start + Duration::from_millis(due), "taken after {taken} ms");
        }
    }

    /// 2^32 samples are 50 days at a millisecond.
    #[test]
    fn moments_advance_beyond_the_largest_32_bit_number() {
        let (start, interval) = (Instant::now(), Duration::from_millis(1));
        for index in [u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, 1 << 40] {
            let mut cadence = Cadence { next: index, ..Cadence::new(start, interval) };
            assert_eq!(cadence.due(), start + Duration::from_millis(index));
            cadence.advance(cadence.due());
            assert_eq!((cadence.due(), cadence.missed()), (start + Duration::from_millis(index + 1), 0));
        }
        let endless = Cadence { next: u64::MAX, ..Cadence::new(start, Duration::MAX) };
        assert_eq!(endless.offset(), Duration::from_nanos(u64::MAX));
        let _ = endless.due();
    }
}
