//! How much memory all files together may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most bytes that all files of one call of `providers` may take.
pub(super) const MOST_BYTES: u64 = 256 << 20;

/// What is left of a number of bytes.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<AtomicU64>);

/// Bytes that were taken; they are given back at the end.
#[derive(Debug)]
pub(super) struct Share {
    budget: Budget,
    bytes: u64,
}

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// Takes bytes; `None` where fewer are left.
    pub(super) fn take(&self, bytes: u64) -> Option<Share> {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
            .ok()
            .map(|_| Share { budget: self.clone(), bytes })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_taken_comes_back() {
        let budget = Budget::new(10);
        let share = budget.take(7).expect("enough");
        assert!(budget.take(4).is_none());
        let other = budget.take(3).expect("enough");
        drop((share, other));
        assert!(budget.take(10).is_some());
    }
}
