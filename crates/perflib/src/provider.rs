//! The interface of providers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::registration::CounterSetInfo;
use crate::{ErrorCode, Rows};

/// A provider of one counter set.
///
/// [`collect`](Self::collect) is called for every sample. [`Rows`] holds the selection; a provider should read only
/// what the selected counters and instances need. After the first few samples, it should not allocate.
///
/// ```
/// use std::sync::Arc;
/// use tachograph_counters::CounterType;
/// use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
/// use tachograph_perflib::{Failure, Guid, InstanceKey, Provider, Rows};
///
/// const REQUESTS: u32 = 1;
///
/// struct Shop {
///     info: Arc<CounterSetInfo>,
///     instance: Arc<InstanceKey>,
///     requests: u64,
/// }
///
/// impl Provider for Shop {
///     fn info(&self) -> &Arc<CounterSetInfo> {
///         &self.info
///     }
///
///     fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
///         rows.push(&self.instance).set(REQUESTS, self.requests);
///         Ok(())
///     }
/// }
///
/// let mut info = CounterSetInfo::new("Shop", Guid::from_u128(0xD1), InstanceType::Single);
/// info.counters.push(CounterInfo::new(REQUESTS, "Requests/sec", CounterType::BULK_COUNT));
/// let shop = Shop { info: Arc::new(info), instance: Arc::default(), requests: 7 };
/// # let _ = shop;
/// ```
pub trait Provider: Send {
    /// The counter set, without counters that are unavailable on this machine.
    fn info(&self) -> &Arc<CounterSetInfo>;

    /// Starts to prepare a collection, without blocking. A provider that depends on other processes sends its requests
    /// here. `request` is called for all providers of a collection before [`prepare`](Self::prepare) is called for the
    /// first provider.
    ///
    /// `rows` holds the selection, and still the values of an earlier collection. Several collections can be in
    /// progress: `request` can be called for another collection before `prepare` is called for `collection`. On a
    /// [worker](crate::Registry::register_on_worker), `request` and `prepare` are called just before
    /// [`collect`](Self::collect).
    fn request(&mut self, rows: &Rows, collection: CollectionId) {
        let _ = (rows, collection);
    }

    /// Waits until the collection announced by [`request`](Self::request) can start. The timestamp of the collection is
    /// taken after all providers are prepared, so no prepared value is newer than its timestamp.
    ///
    /// All providers of a collection share the deadline `until`. Answers that have already arrived are used even if
    /// other providers have used up the time.
    fn prepare(&mut self, rows: &Rows, collection: CollectionId, until: Instant) {
        let _ = (rows, collection, until);
    }

    /// Adds one row for each existing instance that is [selected](Rows::wants_instance), in any order, and sets the
    /// row's [selected](Rows::wants) counters.
    ///
    /// # Errors
    ///
    /// The whole set cannot be read. If only some values cannot be read, the provider calls
    /// [`Row::fail`](crate::Row::fail) instead.
    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure>;

    /// Called when the last query stops using the set. The provider should close files and free caches, but must keep
    /// running totals, so that counters never go backwards. Not called for a provider on a
    /// [worker](crate::Registry::register_on_worker).
    fn idle(&mut self) {}
}

/// Identifies a collection within this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CollectionId(u64);

impl CollectionId {
    /// The id of a new collection.
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Maximum total time of the [`Provider::prepare`] calls of a collection.
pub(crate) const MAX_PREPARE_TIME: Duration = Duration::from_secs(1);

/// The reason that a counter set could not be collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The Win32 code, which becomes the result of the set's identifiers.
    pub code: ErrorCode,
    /// The cause as a message, with the file name if a file is involved.
    pub reason: Arc<str>,
    /// Whether the machine could not be read, and not only this counter set.
    pub is_of_machine: bool,
}

impl Failure {
    /// A failure with this code and message.
    pub fn new(code: ErrorCode, reason: impl Into<Arc<str>>) -> Self {
        Self { code, reason: reason.into(), is_of_machine: false }
    }

    /// The same failure, but of the whole machine, which could not be reached or refused the request.
    #[must_use]
    pub fn of_machine(self) -> Self {
        Self { is_of_machine: true, ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Failure {}
