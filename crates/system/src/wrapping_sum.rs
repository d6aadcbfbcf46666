//! Numbers of 32 bits that wrap, extended to 64 bits.

/// A number of 32 bits, or a sum of such numbers, extended to 64 bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WrappingSum {
    /// The 64-bit sum.
    pub(crate) total: u64,
    last: u64,
    /// The number that was read last; the next update adds it.
    pub(crate) now: u64,
}

impl WrappingSum {
    /// Adds the difference of `now` to the last number. `has_same_terms` is false if the terms of a sum have changed.
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
