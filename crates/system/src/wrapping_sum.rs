//! 32-bit counts that wrap, extended to 64 bits.

/// A 32-bit count, or a sum of several, extended to 64 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WrappingSum {
    /// The 64-bit sum.
    pub(crate) total: u64,
    /// The value of `now` at the last update.
    last: u64,
    /// The kernel's current number, which the caller sets before an update.
    pub(crate) now: u64,
}

impl WrappingSum {
    /// Adds the increase of `now` since the last update to `total`; if `is_new`, adds all of `now`. `has_same_terms` is false
    /// if other counts than before are summed.
    pub(crate) fn update(&mut self, is_new: bool, has_same_terms: bool) {
        let step = if is_new {
            self.now
        } else if has_same_terms {
            // Each number can have wrapped, but their sum modulo 2^32 is exact. An increase by more than half of 2^32
            // is actually a decrease (one row was replaced by another).
            let step = (self.now as u32).wrapping_sub(self.last as u32);
            if step > u32::MAX / 2 { 0 } else { step.into() }
        } else {
            // The row of a device was added or removed.
            self.now.saturating_sub(self.last)
        };
        self.total = self.total.wrapping_add(step);
        self.last = self.now;
    }
}
