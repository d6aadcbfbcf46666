//! The clocks that timestamp a collection.

use std::fmt;
use std::sync::Arc;

use rustix::time::{ClockId, Timespec, clock_gettime};
use tachograph_counters::civil::FileTime;

use crate::CollectionId;

/// Ticks of the performance clock per second. A tick is 100 ns, as on Windows 10 and later.
pub const FREQUENCY: i64 = FileTime::PER_SECOND;

/// The timestamps of one collection: the two in the header of a raw data block, and the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// The performance clock: ticks since boot, including suspended time, at [`FREQUENCY`] per second. Never goes
    /// backwards.
    pub ticks: i64,
    /// System time, UTC: the wall clock when the [`Clock`] was created, advanced by the performance clock, so that
    /// adjustments of the wall clock do not change any interval. Counter types in 100 ns units use this time.
    pub system_time: FileTime,
    /// The wall clock, UTC, including adjustments.
    pub wall: FileTime,
}

/// The clocks of this machine or of another one, or fake clocks for tests.
#[derive(Clone)]
pub struct Clock {
    /// Returns the timestamps of a collection whose providers are prepared; without a collection, the current timestamps.
    source: Arc<dyn Fn(Option<CollectionId>) -> Timestamps + Send + Sync>,
    boot_time: Arc<dyn Fn() -> FileTime + Send + Sync>,
}

impl Clock {
    /// The clocks of this machine: `CLOCK_BOOTTIME` and `CLOCK_REALTIME`.
    pub fn of_this_machine() -> Self {
        Self::new(|| {
            let ticks = to_ticks(clock_gettime(ClockId::Boottime));
            let wall =
                FileTime(FileTime::UNIX_EPOCH.0.saturating_add(to_ticks(clock_gettime(ClockId::Realtime))));
            (ticks, wall)
        })
    }

    /// Clocks that are read by calling `source`, which returns 100 ns ticks since boot, and the wall clock.
    pub fn new(source: impl Fn() -> (i64, FileTime) + Send + Sync + 'static) -> Self {
        let (ticks, wall) = source();
        let offset = wall.0.saturating_sub(ticks);
        let timestamps = move |_: Option<CollectionId>| {
            let (ticks, wall) = source();
            Timestamps { ticks, system_time: FileTime(ticks.saturating_add(offset)), wall }
        };
        Self { source: Arc::new(timestamps), boot_time: Arc::new(move || FileTime(offset)) }
    }

    /// The clocks of another machine: `source` returns the timestamps that the machine sent with a collection, or, for
    /// `None`, an estimate of its current time. `boot_time` returns when the machine was started, which changes when it is
    /// started again; 0 if unknown.
    pub fn of_collections(
        source: impl Fn(Option<CollectionId>) -> Timestamps + Send + Sync + 'static,
        boot_time: impl Fn() -> FileTime + Send + Sync + 'static,
    ) -> Self {
        Self { source: Arc::new(source), boot_time: Arc::new(boot_time) }
    }

    /// The current timestamps.
    pub fn now(&self) -> Timestamps {
        (self.source)(None)
    }

    /// The timestamps of a collection whose providers are prepared.
    pub(crate) fn timestamps_of(&self, collection: CollectionId) -> Timestamps {
        (self.source)(Some(collection))
    }

    /// The time at which the machine was booted, on the scale of [`Timestamps::system_time`]; 0 if unknown. For
    /// another machine, it can change from one collection to the next.
    pub fn boot_time(&self) -> FileTime {
        (self.boot_time)()
    }
}

/// Converts a time to ticks of 100 ns.
fn to_ticks(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(FREQUENCY).saturating_add(time.tv_nsec / 100)
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("boot_time", &self.boot_time()).finish_non_exhaustive()
    }
}
