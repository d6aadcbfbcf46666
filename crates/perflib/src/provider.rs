//! What a provider does.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::registration::CounterSetInfo;
use crate::{ErrorCode, Rows};

/// A provider of one counter set.
///
/// Collecting is asked of it at every sample, with a [`Rows`] that says which counters and instances are wanted: what
/// nobody asked for is not to be read. After the first samples it should allocate nothing.
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
    /// The counter set, with the counters that this machine can give; one that it cannot give at all is left out.
    fn info(&self) -> &Arc<CounterSetInfo>;

    /// Begins to get ready for a collection, without waiting for anybody: a provider that has to ask others asks them here.
    /// All providers of a collection are asked before the first of them is waited for in [`prepare`](Self::prepare).
    ///
    /// `rows` say what will be wanted; their rows are those of a collection before. Several collections may be under way:
    /// another may ask before this one is waited for. Of a provider on a [worker](crate::Registry::register_on_worker) it is
    /// part of collecting.
    fn ask(&mut self, rows: &Rows, collection: CollectionId) {
        let _ = (rows, collection);
    }

    /// Gets ready for the collection that it was [asked](Self::ask) for, whose moment comes after all its providers are
    /// ready: what a provider has to wait for, it waits for here, so that no value is newer than the time stamp of the
    /// collection.
    ///
    /// All providers of a collection have until `until`, together. What came before that is taken also where the others used
    /// the time up.
    fn prepare(&mut self, rows: &Rows, collection: CollectionId, until: Instant) {
        let _ = (rows, collection, until);
    }

    /// Adds one row for each instance that there is now and that is [wanted](Rows::wants_instance), in the provider's
    /// order, and sets in it what is [wanted](Rows::wants).
    ///
    /// # Errors
    ///
    /// When nothing can be said of the whole set. What concerns one value is said with
    /// [`Row::fail`](crate::Row::fail).
    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure>;

    /// Told when nobody asks for the set any more: files and memory that only spare work at the next collection may go. What
    /// values go on from stays, so that nothing that counts falls. A provider on a
    /// [worker](crate::Registry::register_on_worker) is not told.
    fn rest(&mut self) {}
}

/// Tells a collection from every other of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CollectionId(u64);

impl CollectionId {
    /// That of a new collection.
    pub(crate) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// How long all providers of a collection have to get ready, together, after all of them were asked.
pub(crate) const TIME_TO_PREPARE: Duration = Duration::from_secs(1);

/// Why a counter set could not be collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The Win32 code that the set's identifiers answer with.
    pub code: ErrorCode,
    /// The cause in words, with the file where there is one.
    pub reason: Arc<str>,
}

impl Failure {
    /// A failure with its cause in words.
    pub fn new(code: ErrorCode, reason: impl Into<Arc<str>>) -> Self {
        Self { code, reason: reason.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Failure {}
