//! The clocks of a collection.

use std::fmt;
use std::sync::Arc;

use rustix::time::{ClockId, Timespec, clock_gettime};
use tachograph_counters::civil::FileTime;

/// Ticks of the performance clock in one second: its unit is 100 ns, as on Windows 10 and later.
pub const FREQUENCY: i64 = FileTime::PER_SECOND;

/// The time stamps of one collection: what a raw data block's header holds, and the wall clock beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Moments {
    /// The performance clock: ticks of [`FREQUENCY`] since the machine was started, suspended time included. Never goes
    /// back.
    pub ticks: i64,
    /// System time, UTC, as it goes on from the moment at which the clock was made: it follows the performance clock, so
    /// that a step of the wall clock neither turns an interval negative nor stretches it. It is what 100 ns types are
    /// divided by.
    pub system_time: FileTime,
    /// What the wall clock says, UTC, steps included.
    pub wall: FileTime,
}

/// Reads the clocks of this machine, or of a test.
#[derive(Clone)]
pub struct Clock {
    source: Arc<dyn Fn() -> (i64, FileTime) + Send + Sync>,
    /// System time less the performance clock.
    offset: i64,
}

impl Clock {
    /// The clocks of this machine: `CLOCK_BOOTTIME` and `CLOCK_REALTIME`.
    pub fn of_this_machine() -> Self {
        Self::new(|| {
            let ticks = units(clock_gettime(ClockId::Boottime));
            let wall =
                FileTime(FileTime::UNIX_EPOCH.0.saturating_add(units(clock_gettime(ClockId::Realtime))));
            (ticks, wall)
        })
    }

    /// Clocks that are read by `source`: ticks since the start in 100 ns, and the wall clock.
    pub fn new(source: impl Fn() -> (i64, FileTime) + Send + Sync + 'static) -> Self {
        let (ticks, wall) = source();
        Self { source: Arc::new(source), offset: wall.0.saturating_sub(ticks) }
    }

    /// The time stamps of now.
    pub fn now(&self) -> Moments {
        let (ticks, wall) = (self.source)();
        Moments { ticks, system_time: FileTime(ticks.saturating_add(self.offset)), wall }
    }

    /// When the machine was started, in the scale of [`Moments::system_time`].
    pub fn boot_time(&self) -> FileTime {
        FileTime(self.offset)
    }
}

fn units(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(FREQUENCY).saturating_add(time.tv_nsec / 100)
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("boot_time", &self.boot_time()).finish_non_exhaustive()
    }
}
