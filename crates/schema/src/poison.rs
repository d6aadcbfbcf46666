//! Ignoring the poisoning of locks.

use std::sync::{LockResult, PoisonError};

/// Accesses the data of a lock even if a thread panicked while holding it. Use it only for data that is consistent
/// after every statement.
///
/// The trait is in this crate because all other crates can depend on it.
///
/// ```
/// use std::sync::Mutex;
/// use tachograph_schema::IgnorePoison;
///
/// let samples = Mutex::new(vec![1]);
/// samples.lock().ignore_poison().push(2);
/// ```
pub trait IgnorePoison {
    /// The guard of the lock.
    type Guard;

    /// Returns the guard, whether or not the lock is poisoned.
    fn ignore_poison(self) -> Self::Guard;
}

impl<T> IgnorePoison for LockResult<T> {
    type Guard = T;

    fn ignore_poison(self) -> T {
        self.unwrap_or_else(PoisonError::into_inner)
    }
}
