//! 32-bit counts that wrap, extended to 64 bits.

/// A 32-bit count, or a sum of several, extended to 64 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WrappingSum {
    /// The 64-bit sum.
    pub(crate) total: u64,
    /// The value of `current` at the last update.
    last: u64,
    /// The kernel's current number, which the caller sets before an update.
    pub(crate) current: u64,
}

impl WrappingSum {
    /// Adds the increase of `current` since the last update to `total`; if `is_new`, adds all of `current`.
    /// `sums_same_counts` is false if `current` is a sum of other counts than at the last update.
    pub(crate) fn update(&mut self, is_new: bool, sums_same_counts: bool) {
        let step = if is_new {
            self.current
        } else if sums_same_counts {
            // Each number can have wrapped, but their sum modulo 2^32 is exact. An increase by more than half of 2^32
            // is actually a decrease (one row was replaced by another).
            let step = (self.current as u32).wrapping_sub(self.last as u32);
            if step > u32::MAX / 2 { 0 } else { step.into() }
        } else {
            // The row of a device was added or removed.
            self.current.saturating_sub(self.last)
        };
        self.total = self.total.wrapping_add(step);
        self.last = self.current;
    }
}
