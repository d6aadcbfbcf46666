//! Extends 32-bit counters that wrap. Prometheus would mistake each wrap for a reset.

/// The number of values of a 32-bit counter.
const WRAP: u64 = 1 << 32;

/// A 32-bit counter of an instance, extended to 64 bits. Wraps are counted from the first value on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExtendedCounter {
    last_value: Option<u64>,
    wraps: u64,
}

impl ExtendedCounter {
    /// Extends the next raw number.
    ///
    /// If the number is smaller than the last one, the counter has wrapped if the last one fits in 32 bits and the
    /// increase across the wrap is less than 2^31. Otherwise the counter was reset, and the result restarts too.
    pub(super) fn next(&mut self, raw: u64) -> u64 {
        match self.last_value {
            Some(last) if raw < last => {
                let has_wrapped = last < WRAP && raw + WRAP - last < WRAP / 2;
                self.wraps = if has_wrapped { self.wraps + 1 } else { 0 };
            }
            _ => {}
        }
        self.last_value = Some(raw);
        raw.saturating_add(self.wraps.saturating_mul(WRAP))
    }
}

#[cfg(test)]
mod tests {
    use super::{ExtendedCounter, WRAP};

    #[test]
    fn wraps_are_extended_and_resets_restart() {
        let mut one = ExtendedCounter::default();
        assert_eq!(one.next(WRAP - 10), WRAP - 10);
        assert_eq!(one.next(5), WRAP + 5);
        assert_eq!(one.next(WRAP - 1), 2 * WRAP - 1);
        assert_eq!(one.next(0), 2 * WRAP);
        assert_eq!(one.next(1000), 2 * WRAP + 1000);
        // An increase by 2^32 - 500 counts as a reset.
        assert_eq!(one.next(500), 500);
        let mut wide = ExtendedCounter::default();
        assert_eq!(wide.next(WRAP + 7), WRAP + 7);
        assert_eq!(wide.next(6), 6);
        assert_eq!(wide.next(u64::MAX), u64::MAX);
    }
}
