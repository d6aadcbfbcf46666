//! The sample at which reading must begin to compute the same intervals again.

/// The oldest sample that is needed to get the intervals that were added: the earliest sample at which one of them
/// starts.
///
/// Usually this is the last sample before the previous [`take`](Self::take). It is an earlier one if a counter was
/// missing for some samples and not known to be gone, or if it reappears while samples have different lists of
/// counters.
pub(super) struct OldestNeeded {
    sample: u64,
    /// Whether there was more than one log or list of counters.
    pub(super) has_other_lists: bool,
}

impl Default for OldestNeeded {
    fn default() -> Self {
        Self { sample: u64::MAX, has_other_lists: false }
    }
}

impl OldestNeeded {
    pub(super) fn extend_to(&mut self, sample: u64) {
        self.sample = self.sample.min(sample);
    }

    /// Returns the index of the oldest sample and resets it; `u64::MAX` if none is needed.
    pub(super) fn take(&mut self) -> u64 {
        std::mem::replace(&mut self.sample, u64::MAX)
    }
}
