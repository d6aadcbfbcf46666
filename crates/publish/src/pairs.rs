//! Counters of two numbers that readers see together.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tachograph_shm::Lines;
use tachograph_shm::cell::{Pair, Sum, ratio_of, set_ratio};
use tachograph_shm::{Line, stripe};

use crate::cells::{Cell, Cells};
use crate::tsc::Start;

/// A sum with the number of what was summed: one line, or several that are shared by the threads.
#[derive(Clone, Debug)]
struct PairCell {
    lines: Lines,
}

impl PairCell {
    fn bind(cells: &Cells<'_>, place: usize) -> Option<Self> {
        let lines = cells.lines(place)?;
        (!lines.is_empty()).then_some(Self { lines })
    }

    #[inline]
    fn add_many(&self, sum: u64, count: u64) {
        let line = if self.lines.len() == 1 { 0 } else { self.stripe() };
        Pair::<16, 48>::new(&self.lines[line]).add_many(sum, count);
    }

    #[inline]
    fn stripe(&self) -> usize {
        let number = match stripe::number() {
            stripe::SHARED => stripe::shared_place(),
            number => number,
        };
        number as usize % self.lines.len()
    }

    fn sum(&self) -> Option<Sum> {
        self.lines.iter().try_fold(Sum::default(), |all, line| {
            let Sum { sum, count } = Pair::<16, 48>::new(line).read()?;
            Some(Sum { sum: all.sum.wrapping_add(sum), count: all.count.wrapping_add(count) })
        })
    }
}

/// How long something takes, on average: the time of all that were measured, with their number
/// (`perf_average_timer`, in seconds).
///
/// ```
/// use tachograph_publish::{CounterSet, Publisher, Timer};
///
/// /// The bakery.
/// #[derive(CounterSet)]
/// #[counter_set(name = "Bakery")]
/// struct Bakery {
///     /// How long a loaf takes.
///     #[counter(name = "Avg. sec/Loaf", base = "Loaves")]
///     loaf: Timer,
/// }
///
/// # let folder = tempfile::tempdir()?;
/// # let publisher = Publisher::new().folder(folder.path());
/// let bakery = publisher.start::<Bakery>()?;
/// {
///     let _baking = bakery.loaf.start();
///     // The time until here is added, and one loaf.
/// }
/// assert_eq!(bakery.loaf.sum().map(|sum| sum.count), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Timer {
    pair: PairCell,
}

/// An amount for each of many things, on average: bytes of a reply (`perf_average_bulk`).
#[derive(Clone, Debug)]
pub struct Average {
    pair: PairCell,
}

/// How many of all tries were hits, in percent (`perf_sample_fraction`).
#[derive(Clone, Debug)]
pub struct Fraction {
    pair: PairCell,
}

/// A number as a part of another, both below 2^32 and set together, in percent (`perf_raw_fraction`).
#[derive(Clone, Debug)]
pub struct Ratio {
    line: Line,
}

impl Cell for Timer {
    fn bind(cells: &Cells<'_>, place: usize) -> Option<Self> {
        Some(Self { pair: PairCell::bind(cells, place)? })
    }
}

impl Cell for Average {
    fn bind(cells: &Cells<'_>, place: usize) -> Option<Self> {
        Some(Self { pair: PairCell::bind(cells, place)? })
    }
}

impl Cell for Fraction {
    fn bind(cells: &Cells<'_>, place: usize) -> Option<Self> {
        Some(Self { pair: PairCell::bind(cells, place)? })
    }
}

impl Cell for Ratio {
    fn bind(cells: &Cells<'_>, place: usize) -> Option<Self> {
        Some(Self { line: cells.line(place)? })
    }
}

impl Timer {
    /// Measures until the guard is dropped. Time is that of the monotonic clock, without the time that the machine was
    /// suspended; the processor's own counter is read where the kernel keeps time with it.
    #[inline]
    pub fn start(&self) -> TimerGuard<'_> {
        TimerGuard { timer: self, start: Start::now() }
    }

    /// Measures what `work` takes. Where it panics, that counts, too.
    #[inline]
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let _guard = self.start();
        work()
    }

    /// Adds one thing that took this long. Times of more than 584 years count as those.
    #[inline]
    pub fn record(&self, elapsed: Duration) {
        let nanoseconds = elapsed.as_secs().saturating_mul(1_000_000_000);
        self.pair.add_many(nanoseconds.saturating_add(u64::from(elapsed.subsec_nanos())), 1);
    }

    /// The sum of all times in nanoseconds, with their number; `None` where other threads were faster than the reader a
    /// thousand times.
    pub fn sum(&self) -> Option<Sum> {
        self.pair.sum()
    }
}

/// A measurement that goes on until this is dropped.
#[derive(Debug)]
#[must_use = "the time ends when the guard is dropped: give it a name, such as _guard"]
pub struct TimerGuard<'a> {
    timer: &'a Timer,
    start: Start,
}

impl TimerGuard<'_> {
    /// Ends it without counting it.
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
    /// Adds one thing of this amount.
    #[inline]
    pub fn add(&self, amount: u64) {
        self.pair.add_many(amount, 1);
    }

    /// Adds `count` things, which have this amount together. Readers see all of them at once up to 2^18 things with an amount
    /// below 2^34; of more, up to 2^26 things below 2^42, perhaps some before the others, each with its share of the amount; beyond
    /// that perhaps an amount without its things for a moment.
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
    /// Adds a try that was a hit.
    #[inline]
    pub fn hit(&self) {
        self.add(true);
    }

    /// Adds a try that was none.
    #[inline]
    pub fn miss(&self) {
        self.add(false);
    }

    /// Adds a try.
    #[inline]
    pub fn add(&self, is_hit: bool) {
        self.pair.add_many(u64::from(is_hit), 1);
    }

    /// Adds `tries`, of which `hits` were hits. Readers see them at once or in parts, as those of [`Average::add_many`].
    #[inline]
    pub fn add_many(&self, hits: u64, tries: u64) {
        self.pair.add_many(hits, tries);
    }

    /// The hits as the sum, with the number of tries; `None` as for [`Timer::sum`].
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
