//! When samples are due.

use std::time::{Duration, Instant};

/// The schedule of samples: sample k is due at `start + k * interval`, so delays do not accumulate.
///
/// A late sample is due immediately. Samples that are late by an interval or more are skipped and counted.
#[derive(Clone, Debug)]
pub struct Cadence {
    start: Instant,
    interval: Duration,
    /// The index of the next sample.
    next: u64,
    /// See [`late`](Self::late).
    late: u64,
    /// See [`missed`](Self::missed).
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

    /// When the next sample is due. Returns the start if the clock cannot represent that moment.
    pub fn due(&self) -> Instant {
        self.start.checked_add(self.offset()).unwrap_or(self.start)
    }

    /// The time from the start to the next sample, limited to 584 years.
    fn offset(&self) -> Duration {
        let nanoseconds = self.interval.as_nanos().saturating_mul(self.next.into());
        Duration::from_nanos(nanoseconds.try_into().unwrap_or(u64::MAX))
    }

    /// Records that the due sample is taken at `now`, and determines the next one.
    pub fn advance(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.start);
        let latest = elapsed.as_nanos() / self.interval.as_nanos().max(1);
        let latest = u64::try_from(latest).unwrap_or(u64::MAX);
        self.missed += latest.saturating_sub(self.next);
        self.next = self.next.max(latest);
        // Smaller delays are normal and not counted.
        if elapsed.saturating_sub(self.offset()) > self.interval / 10 {
            self.late += 1;
        }
        self.next = self.next.saturating_add(1);
    }

    /// Number of samples that were late by more than a tenth of the interval.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Number of skipped samples.
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
    fn delays_do_not_accumulate() {
        let start = Instant::now();
        let mut cadence = Cadence::new(start, Duration::from_secs(1));
        cadence.advance(start);
        cadence.advance(start + Duration::from_millis(1_005));
        assert_eq!(counts(&cadence), (2, 0, 0));
        // A late sample does not move the next one.
        cadence.advance(start + Duration::from_millis(2_700));
        assert_eq!(counts(&cadence), (3, 1, 0));
        assert_eq!(cadence.due(), start + Duration::from_secs(3));
        // Samples 3 and 4 are skipped.
        cadence.advance(start + Duration::from_millis(5_001));
        assert_eq!(counts(&cadence), (6, 1, 2));
    }

    #[test]
    fn the_next_sample_is_due_after_the_last() {
        let start = Instant::now();
        for (taken, due) in [(0, 100), (99, 100), (100, 200), (101, 200), (999, 1000), (1000, 1100)] {
            let mut cadence = Cadence::new(start, Duration::from_millis(100));
            cadence.advance(start + Duration::from_millis(taken));
            assert_eq!(cadence.due(), start + Duration::from_millis(due), "taken after {taken} ms");
        }
    }

    /// With an interval of one millisecond, 2^32 samples take 50 days.
    #[test]
    fn sample_numbers_beyond_32_bits_are_supported() {
        let (start, interval) = (Instant::now(), Duration::from_millis(1));
        for index in [u64::from(u32::MAX), 1 << 32, (1 << 32) + 1, 1 << 40] {
            let mut cadence = Cadence { next: index, ..Cadence::new(start, interval) };
            assert_eq!(cadence.due(), start + Duration::from_millis(index));
            cadence.advance(cadence.due());
            assert_eq!((cadence.due(), cadence.missed()), (start + Duration::from_millis(index + 1), 0));
        }
        let overflowing = Cadence { next: u64::MAX, ..Cadence::new(start, Duration::MAX) };
        assert_eq!(overflowing.offset(), Duration::from_nanos(u64::MAX));
        let _ = overflowing.due();
    }
}
