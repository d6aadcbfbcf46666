//! A limit for the memory of open logs.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_counters::IgnorePoison;

/// A memory limit shared by several logs. Each log reserves memory when it is opened and while it is read, and
/// releases it when dropped. Clones refer to the same budget.
///
/// Bytes are estimates, reserved before the memory is allocated, so that a hostile log is refused instead of ending
/// the process. They cover the reader's columns and long rows, and the state that a command keeps per column. Buffers
/// of fixed size and rows of up to 1 MiB are not counted.
///
/// ```
/// use tachograph_logs::Budget;
///
/// let budget = Budget::new(1000);
/// let first = budget.reserve(600)?;
/// assert!(budget.reserve(600).is_err());
/// drop(first);
/// assert_eq!(budget.reserve(600)?.bytes(), 600);
/// # Ok::<(), tachograph_logs::OverBudget>(())
/// ```
#[derive(Clone, Debug)]
pub struct Budget(Arc<Account>);

/// The state of a budget, which its clones share.
#[derive(Debug)]
struct Account {
    limit: u64,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    bytes: u64,
    /// The reservation in the enclosing budget, if this budget is a [part](Budget::part) of it.
    parent: Option<Reservation>,
}

impl Budget {
    /// The limit of [`Budget::default`]: 512 MiB.
    pub const DEFAULT_BYTES: u64 = 512 << 20;

    /// Creates a budget of `bytes`.
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(Account { limit: bytes, used: Mutex::default() }))
    }

    /// Creates a budget within this one, for a source that is opened more than once. The peak use of the part stays
    /// reserved here until all clones of the part are dropped.
    pub fn part(&self) -> Self {
        let parent = Reservation { budget: self.clone(), bytes: 0 };
        let used = Mutex::new(Used { bytes: 0, parent: Some(parent) });
        Self(Arc::new(Account { limit: self.0.limit, used }))
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// The reserved bytes.
    pub fn used(&self) -> u64 {
        self.lock().bytes
    }

    /// Reserves `bytes` until the reservation is dropped.
    ///
    /// # Errors
    ///
    /// When fewer bytes are left.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, OverBudget> {
        let mut reservation = Reservation { budget: self.clone(), bytes: 0 };
        reservation.grow_to(bytes)?;
        Ok(reservation)
    }

    fn reserve_more(&self, bytes: u64) -> Result<(), OverBudget> {
        let mut used = self.lock();
        let limit = self.0.limit;
        let over = OverBudget { requested: bytes, used: used.bytes, limit };
        let sum = used.bytes.checked_add(bytes).filter(|&sum| sum <= limit).ok_or(over)?;
        if let Some(parent) = &mut used.parent {
            parent.grow_to(sum)?;
        }
        used.bytes = sum;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.0.used.lock().ignore_poison()
    }
}

/// 512 MiB, shared with no other budget.
impl Default for Budget {
    fn default() -> Self {
        Self::new(Self::DEFAULT_BYTES)
    }
}

/// Reserved bytes of a [`Budget`], released on drop.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Reservation {
    /// The reserved bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The budget of this reservation.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Grows the reservation to `bytes`; does nothing if it is already that large.
    ///
    /// # Errors
    ///
    /// When the budget has too few bytes left; the reservation is unchanged.
    pub fn grow_to(&mut self, bytes: u64) -> Result<(), OverBudget> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            self.budget.reserve_more(more)?;
            self.bytes = bytes;
        }
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.lock().bytes -= self.bytes;
    }
}

/// A reservation exceeds what a [`Budget`] has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// The requested bytes.
    pub requested: u64,
    /// The bytes in use.
    pub used: u64,
    /// The budget's limit in bytes.
    pub limit: u64,
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        write!(
            f,
            "logs together need at least {} MiB of memory, but only {} MiB is allowed",
            mib(self.used.saturating_add(self.requested)),
            mib(self.limit)
        )
    }
}

impl std::error::Error for OverBudget {}

#[cfg(test)]
mod tests {
    use super::{Budget, OverBudget};

    #[test]
    fn a_reservation_grows_and_is_released_on_drop() {
        let budget = Budget::new(100);
        let mut one = budget.reserve(40).expect("100 are free");
        let two = budget.clone().reserve(50).expect("60 are free");
        let error = one.grow_to(51).expect_err("10 are left");
        assert_eq!(error, OverBudget { requested: 11, used: 90, limit: 100 });
        assert_eq!((one.bytes(), budget.used()), (40, 90));
        one.grow_to(50).expect("10 are left");
        one.grow_to(10).expect("shrinking never fails");
        assert_eq!((one.bytes(), budget.used()), (50, 100));
        drop(two);
        assert_eq!(budget.used(), 50);
        assert!(budget.reserve(u64::MAX).is_err());
        drop(one);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_part_reserves_its_peak_until_it_is_dropped() {
        let whole = Budget::new(100);
        let part = whole.part();
        let log = part.reserve(40).expect("100 are free");
        drop(log);
        assert_eq!((part.used(), whole.used()), (0, 40));
        let again = part.reserve(40).expect("still reserved by the part");
        let more = part.reserve(20).expect("60 are left");
        assert_eq!((part.used(), whole.used()), (60, 60));
        assert_eq!(part.reserve(41).err(), Some(OverBudget { requested: 41, used: 60, limit: 100 }));
        let other = whole.part();
        assert!(other.reserve(41).is_err(), "reserved by the first part");
        drop((again, more));
        assert_eq!(whole.used(), 60);
        drop(part);
        assert_eq!(whole.used(), 0);
    }
}
