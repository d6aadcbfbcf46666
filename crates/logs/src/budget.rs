//! How much memory logs may take, and how much they have.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A number of bytes that logs share: each reserves what it takes when it is opened and while it is read, and gives it
/// back when it is dropped. Clones are the same budget.
///
/// Bytes are estimates from what a log holds, reserved before the memory is taken, so that a hostile log is refused instead of
/// ending the process. They count long rows and the columns of the reader, and what a command keeps for each column; buffers
/// of fixed size and the first MiB of a row are not counted.
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

#[derive(Debug)]
struct Account {
    limit: u64,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    bytes: u64,
    /// Of a [part](Budget::part): what it has of the whole.
    whole: Option<Reservation>,
}

impl Budget {
    /// The bytes of [`Budget::default`]: 512 MiB.
    pub const DEFAULT_BYTES: u64 = 512 << 20;

    /// A budget of `bytes`.
    pub fn new(bytes: u64) -> Self {
        Self(Arc::new(Account { limit: bytes, used: Mutex::default() }))
    }

    /// A budget within this one, for a source that is opened more than once. What its logs had at the same time at most
    /// stays reserved here until all clones of the part are dropped.
    pub fn part(&self) -> Self {
        let whole = Reservation { budget: self.clone(), bytes: 0 };
        let used = Mutex::new(Used { bytes: 0, whole: Some(whole) });
        Self(Arc::new(Account { limit: self.0.limit, used }))
    }

    /// How many bytes there are together.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// How many bytes are reserved.
    pub fn used(&self) -> u64 {
        self.lock().bytes
    }

    /// Reserves bytes, until the reservation is dropped.
    ///
    /// # Errors
    ///
    /// When fewer are left.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, OverBudget> {
        let mut reservation = Reservation { budget: self.clone(), bytes: 0 };
        reservation.grow_to(bytes)?;
        Ok(reservation)
    }

    fn take(&self, bytes: u64) -> Result<(), OverBudget> {
        let mut used = self.lock();
        let limit = self.0.limit;
        let over = OverBudget { wanted: bytes, used: used.bytes, limit };
        let sum = used.bytes.checked_add(bytes).filter(|&sum| sum <= limit).ok_or(over)?;
        if let Some(whole) = &mut used.whole {
            whole.grow_to(sum)?;
        }
        used.bytes = sum;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// 512 MiB, shared with no other budget.
impl Default for Budget {
    fn default() -> Self {
        Self::new(Self::DEFAULT_BYTES)
    }
}

/// Bytes of a [`Budget`] that are in use; given back when it is dropped.
#[derive(Debug)]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Reservation {
    /// How many bytes are reserved.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The budget that they are of.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Reserves more, up to `bytes` together; nothing changes where as many are reserved.
    ///
    /// # Errors
    ///
    /// When fewer are left; what was reserved stays.
    pub fn grow_to(&mut self, bytes: u64) -> Result<(), OverBudget> {
        if let Some(more) = bytes.checked_sub(self.bytes) {
            self.budget.take(more)?;
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

/// More bytes were wanted than a [`Budget`] has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// How many more bytes were wanted.
    pub wanted: u64,
    /// How many were in use.
    pub used: u64,
    /// How many there are together.
    pub limit: u64,
}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        write!(
            f,
            "logs need at least {} MiB of memory together, and {} MiB are allowed",
            mib(self.used.saturating_add(self.wanted)),
            mib(self.limit)
        )
    }
}

impl std::error::Error for OverBudget {}

#[cfg(test)]
mod tests {
    use super::{Budget, OverBudget};

    #[test]
    fn a_reservation_grows_and_is_given_back() {
        let budget = Budget::new(100);
        let mut one = budget.reserve(40).expect("there are 100");
        let two = budget.clone().reserve(50).expect("there are 60");
        let refused = one.grow_to(51).expect_err("10 are left");
        assert_eq!(refused, OverBudget { wanted: 11, used: 90, limit: 100 });
        assert_eq!((one.bytes(), budget.used()), (40, 90));
        one.grow_to(50).expect("10 are left");
        one.grow_to(10).expect("fewer are always there");
        assert_eq!((one.bytes(), budget.used()), (50, 100));
        drop(two);
        assert_eq!(budget.used(), 50);
        assert!(budget.reserve(u64::MAX).is_err());
        drop(one);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn a_part_keeps_its_peak_until_it_is_dropped() {
        let whole = Budget::new(100);
        let part = whole.part();
        let log = part.reserve(40).expect("there are 100");
        drop(log);
        assert_eq!((part.used(), whole.used()), (0, 40));
        let again = part.reserve(40).expect("it has them already");
        let more = part.reserve(20).expect("60 are left");
        assert_eq!((part.used(), whole.used()), (60, 60));
        assert_eq!(part.reserve(41).err(), Some(OverBudget { wanted: 41, used: 60, limit: 100 }));
        let other = whole.part();
        assert!(other.reserve(41).is_err(), "the first part has them");
        drop((again, more));
        assert_eq!(whole.used(), 60);
        drop(part);
        assert_eq!(whole.used(), 0);
    }
}
