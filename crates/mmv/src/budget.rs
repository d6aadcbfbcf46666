//! The memory budget that all files share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The maximum memory of all files of one call to `providers`, in bytes.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// The number of bytes that can still be reserved.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<AtomicU64>);

/// Reserved bytes, returned to the budget when dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    /// Reserves this number of bytes; `None` if fewer are left.
    pub(super) fn reserve(&self, bytes: u64) -> Option<Reservation> {
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes))
            .ok()
            .map(|_| Reservation { budget: self.clone(), bytes })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_reservations_return_their_bytes() {
        let budget = Budget::new(10);
        let one = budget.reserve(7).expect("enough");
        assert!(budget.reserve(4).is_none());
        let other = budget.reserve(3).expect("enough");
        drop((one, other));
        assert!(budget.reserve(10).is_some());
    }
}
