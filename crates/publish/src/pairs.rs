//! Counters that store two numbers, which are read together.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tachograph_shm::Lines;
use tachograph_shm::cell::{Pair, Sum, ratio_of, set_ratio};
use tachograph_shm::{Line, stripe};

use crate::cells::{Cell, Cells};
use crate::tsc::Start;

/// A sum with its count, in one cache line or in several stripes.
#[derive(Clone, Debug)]
struct PairCell {
    lines: Lines,
}

impl PairCell {
    fn bind(cells: &Cells<'_>, index: usize) -> Option<Self> {
        let lines = cells.lines(index)?;
        (!lines.is_empty()).then_some(Self { lines })
    }

    #[inline]
    fn add_many(&self, sum: u64, count: u64) {
        let line = if self.lines.len() == 1 { 0 } else { self.line_index() };
        Pair::<16, 48>::new(&self.lines[line]).add_many(sum, count);
    }

    #[inline]
    fn line_index(&self) -> usize {
        let index = match stripe::index() {
            stripe::SHARED => stripe::shared_index(),
            index => index,
        };
        index as usize % self.lines.len()
    }

    fn sum(&self) -> Option<Sum> {
        self.lines.iter().try_fold(Sum::default(), |total, line| {
            let Sum { sum, count } = Pair::<16, 48>::new(line).read()?;
            Some(Sum { sum: total.sum.wrapping_add(sum), count: total.count.wrapping_add(count) })
        })
    }
}

/// The average duration of an operation: the sum of all times, and their number (`perf_average_timer`, in seconds).
///
/// ```
/// use tachograph_publish::{CounterSet, Publisher, Timer};
///
/// /// Activity of the bakery.
/// #[derive(CounterSet)]
/// #[counter_set(name = "Bakery")]
/// struct Bakery {
///     /// Average time to bake a loaf.
///     #[counter(name = "Avg. sec/Loaf", base = "Loaves")]
///     loaf: Timer,
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let publisher = Publisher::new().folder(folder.path());
/// let bakery = publisher.start::<Bakery>()?;
/// {
///     let _baking = bakery.loaf.start();
///     // The time until here is added, and the count is incremented.
/// }
/// assert_eq!(bakery.loaf.sum().map(|sum| sum.count), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timer {
    pair: PairCell,
}

/// The average amount per operation, such as bytes per reply (`perf_average_bulk`).
///
/// ```
/// use tachograph_publish::{Average, CounterSet, Publisher};
///
/// /// Replies of the server.
/// #[derive(CounterSet)]
/// #[counter_set(name = "Replies")]
/// struct Replies {
///     /// Average size of a reply.
///     #[counter(name = "Avg. Bytes/Reply", base = "Avg. Bytes/Reply Base", unit = "bytes")]
///     bytes: Average,
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let publisher = Publisher::new().folder(folder.path());
/// let replies = publisher.start::<Replies>()?;
/// replies.bytes.add(1_500);
/// replies.bytes.add_many(6_000, 3); // three replies at once
/// assert_eq!(replies.bytes.sum().map(|sum| (sum.sum, sum.count)), Some((7_500, 4)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Average {
    pair: PairCell,
}

/// The percentage of attempts that are hits (`perf_sample_fraction`).
#[derive(Clone, Debug)]
pub struct Fraction {
    pair: PairCell,
}

/// A number as a percentage of another number, both below 2^32 and set together (`perf_raw_fraction`).
#[derive(Clone, Debug)]
pub struct Ratio {
    line: Line,
}

macro_rules! bind_pairs {
    ($($name:ident)*) => {$(
        impl Cell for $name {
            fn bind(cells: &Cells<'_>, index: usize) -> Option<Self> {
                Some(Self { pair: PairCell::bind(cells, index)? })
            }
        }
    )*};
}

bind_pairs! { Timer Average Fraction }

impl Cell for Ratio {
    fn bind(cells: &Cells<'_>, index: usize) -> Option<Self> {
        Some(Self { line: cells.line(index)? })
    }
}

impl Timer {
    /// Measures the time until the guard is dropped, with the monotonic clock, which excludes suspended time. Reads the
    /// processor's time stamp counter if the kernel keeps time with it.
    #[inline]
    pub fn start(&self) -> TimerGuard<'_> {
        TimerGuard { timer: self, start: Start::now() }
    }

    /// Measures the duration of `work`, even if it panics.
    #[inline]
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let _guard = self.start();
        work()
    }

    /// Adds one duration. Durations of more than 584 years count as 584 years.
    #[inline]
    pub fn record(&self, elapsed: Duration) {
        let nanoseconds = elapsed.as_secs().saturating_mul(1_000_000_000);
        self.pair.add_many(nanoseconds.saturating_add(u64::from(elapsed.subsec_nanos())), 1);
    }

    /// The sum of all times in nanoseconds, with their number; `None` if other threads kept changing it during a thousand
    /// attempts to read.
    pub fn sum(&self) -> Option<Sum> {
        self.pair.sum()
    }
}

/// A running measurement, which ends when this is dropped.
#[derive(Debug)]
#[must_use = "the measurement ends when the guard is dropped: assign it to a variable with a name, such as _guard"]
pub struct TimerGuard<'a> {
    timer: &'a Timer,
    start: Start,
}

impl TimerGuard<'_> {
    /// Discards the measurement.
    pub fn cancel(self) {
        std::mem::forget(self);
    }
}

impl Drop for TimerGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.timer.pair.add_many(self.start.elapsed_ns(), 1);
    }
}

impl Average {
    /// Adds one operation with this amount.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.pair.add_many(amount, 1);
    }

    /// Adds `count` operations with this total amount. Up to a count of 2^18 and an amount below 2^34, consumers see all
    /// operations at once. For larger additions, up to a count of 2^26 and an amount below 2^42, consumers may first see
    /// some of the operations with a proportional part of the amount. Beyond that, consumers may briefly see part of the
    /// count or of the amount alone.
    #[inline]
    pub fn add_many(&self, amount: u64, count: u64) {
        self.pair.add_many(amount, count);
    }

    /// The sum of all amounts, with their number; `None` as for [`Timer::sum`].
    pub fn sum(&self) -> Option<Sum> {
        self.pair.sum()
    }
}

impl Fraction {
    /// Adds a hit.
    #[inline]
    pub fn hit(&self) {
        self.add(true);
    }

    /// Adds a miss.
    #[inline]
    pub fn miss(&self) {
        self.add(false);
    }

    /// Adds an attempt, which is a hit or a miss.
    #[inline]
    pub fn add(&self, is_hit: bool) {
        self.pair.add_many(u64::from(is_hit), 1);
    }

    /// Adds `tries`, of which `hits` were hits. Consumers see them together or in parts, as with [`Average::add_many`].
    #[inline]
    pub fn add_many(&self, hits: u64, tries: u64) {
        self.pair.add_many(hits, tries);
    }

    /// The number of hits as the sum, with the number of attempts as the count; `None` as for [`Timer::sum`].
    pub fn sum(&self) -> Option<Sum> {
        self.pair.sum()
    }
}

impl Ratio {
    /// Sets both numbers.
    #[inline]
    pub fn set(&self, value: u32, base: u32) {
        set_ratio(&self.line[0], value, base);
    }

    /// Both numbers: the value and its base.
    pub fn value(&self) -> (u32, u32) {
        let (value, base) = ratio_of(self.line[0].load(Relaxed));
        (value as u32, base as u32)
    }
}
