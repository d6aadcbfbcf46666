//! Measures time intervals, by the processor's time stamp counter if it is reliable.
//!
//! Reading the counter costs half as much as reading the kernel's clock. The counter is used if the kernel keeps time
//! with it (`clocksource0` is `tsc` on x86-64; always on aarch64), because it then has the same rate on all processors.
//! x86-64 does not specify the length of a tick: the ratio of the counter to the kernel's clock is measured by two
//! readings at least 100 ms apart; until then the kernel's clock is used. The ratio is measured again over 100 ms, 200 ms
//! and so on up to about a minute, and then every minute, because the kernel's clock is disciplined by NTP. The first
//! timer that starts after a period has ended does this, without allocating or waiting for other threads; all others only
//! compare two numbers.
//!
//! If the kernel finds the counter unreliable, it changes its clock source. Each measurement of the ratio checks this;
//! after a change, the kernel's clock is used. If a ratio deviates from the previous one, it is measured again from the
//! start, and the kernel's clock is used in the meantime; after three deviations in a row, the kernel's clock is used
//! permanently.

mod counter;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use counter::{is_kernel_clock, ticks};

/// The duration of the first measurement of the ratio.
const CALIBRATION: Duration = Duration::from_millis(100);

/// The maximum number of times that the duration of the measurement is doubled: up to 100 ms << 9, which is 51 s.
const MAX_DOUBLINGS: u32 = 9;

/// A ratio deviates if it differs from the previous one by more than one part in this number (1000 ppm). NTP usually
/// changes the rate of the kernel's clock by at most 500 ppm (`ADJ_FREQUENCY`). After a larger change, up to 10 %
/// (`ADJ_TICK`), the ratio is measured again from the start.
const MAX_DEVIATION_PARTS: u64 = 1000;

/// After this many deviations in a row, the counter is no longer used. A single deviation can have other causes: the
/// machine was suspended, when the counter may run but the kernel's clock does not, or the rate of a clock was changed.
const MAX_DEVIATIONS: u32 = 3;

static CLOCK: Clock = Clock::new(CALIBRATION, is_kernel_clock);

/// The processor's counter as a clock.
#[derive(Debug)]
#[repr(align(64))]
struct Clock {
    /// The first tick for which the ratio is valid.
    valid_from: AtomicU64,
    /// The number of ticks for which the ratio is valid; 0 if the kernel's clock is used.
    valid_ticks: AtomicU64,
    /// Nanoseconds per tick, times 2^32, as measured last.
    ratio: AtomicU64,
    /// The last reading of both clocks: its ticks, its time in nanoseconds since the first reading, and its uncertainty in ticks.
    last: [AtomicU64; 3],
    /// How many times the duration of the measurement was doubled since the last calibration.
    doublings: AtomicU32,
    /// The number of consecutive ratios that deviated.
    deviations: AtomicU32,
    /// Whether the ratio is unknown and must be measured. Then `valid_ticks` is 0.
    is_calibrating: AtomicBool,
    /// The process in which a thread measures the ratio; 0 for none.
    measuring: AtomicU32,
    /// The first reading of both clocks; `None` if the counter is not used.
    first: OnceLock<Option<ClockPair>>,
    /// The duration of the first measurement: [`CALIBRATION`], except in tests.
    calibration: Duration,
    /// Whether the kernel keeps time with the counter.
    is_kernel_clock: fn() -> bool,
}

/// A reading of the counter and of the kernel's clock.
#[derive(Clone, Copy, Debug)]
struct ClockPair {
    /// The processor's counter.
    ticks: u64,
    /// The kernel's clock.
    moment: Instant,
    /// The maximum number of ticks between reading one clock and the other.
    uncertainty: u64,
}

/// The start of a time measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// Measured by the processor's counter.
    Ticks(u64),
    /// Measured by the kernel's clock.
    Moment(Instant),
}

impl Start {
    #[inline]
    pub(crate) fn now() -> Self {
        CLOCK.now()
    }

    /// Nanoseconds since this start; 0 if the counter went backwards.
    #[inline]
    pub(crate) fn elapsed_ns(self) -> u64 {
        CLOCK.elapsed_ns(self)
    }
}

/// Reads both clocks for the first time, so that the ratio is known 100 ms later.
pub(crate) fn prepare() {
    CLOCK.prepare();
}

impl Clock {
    const fn new(calibration: Duration, is_kernel_clock: fn() -> bool) -> Self {
        Self {
            valid_from: AtomicU64::new(0),
            valid_ticks: AtomicU64::new(0),
            ratio: AtomicU64::new(0),
            last: [const { AtomicU64::new(0) }; 3],
            doublings: AtomicU32::new(0),
            deviations: AtomicU32::new(0),
            is_calibrating: AtomicBool::new(true),
            measuring: AtomicU32::new(0),
            first: OnceLock::new(),
            calibration,
            is_kernel_clock,
        }
    }

    fn prepare(&self) {
        self.first.get_or_init(|| {
            let first = (self.is_kernel_clock)().then(read_both)?;
            self.set_last(&first, &first);
            Some(first)
        });
    }

    #[inline]
    fn now(&self) -> Start {
        let length = self.valid_ticks.load(Ordering::Acquire);
        if length == 0 {
            return self.now_uncalibrated();
        }
        let now = ticks();
        // If the counter went backwards, this is a large number.
        if now.wrapping_sub(self.valid_from.load(Ordering::Relaxed)) < length {
            return Start::Ticks(now);
        }
        self.remeasure(now)
    }

    #[inline]
    fn elapsed_ns(&self, start: Start) -> u64 {
        match start {
            Start::Ticks(start) => {
                let elapsed = (ticks().wrapping_sub(start) as i64).max(0) as u64;
                nanoseconds(elapsed, self.ratio.load(Ordering::Relaxed))
            }
            Start::Moment(start) => start.elapsed().as_nanos() as u64,
        }
    }

    /// Measures the ratio if a measurement is due. Returns the time of the kernel's clock.
    #[cold]
    fn now_uncalibrated(&self) -> Start {
        self.calibrate();
        Start::Moment(Instant::now())
    }

    /// Measures the ratio if it is due.
    fn calibrate(&self) {
        let Some(Some(first)) = self.first.get() else { return };
        let is_early = || first.moment.elapsed() < self.last_elapsed().saturating_add(self.calibration);
        if !self.is_calibrating.load(Ordering::Relaxed) || is_early() {
            return;
        }
        let Some(_measuring) = Measuring::begin(self) else { return };
        // Another thread may have measured the ratio in the meantime.
        if !self.is_calibrating.load(Ordering::Relaxed) || is_early() {
            return;
        }
        if !(self.is_kernel_clock)() {
            self.is_calibrating.store(false, Ordering::Relaxed);
            return;
        }
        let (last, now) = (self.last(first), read_both());
        match ratio_between(&last, &now) {
            Some(ratio) => {
                self.set_last(first, &now);
                self.ratio.store(ratio, Ordering::Relaxed);
                self.is_calibrating.store(false, Ordering::Relaxed);
                self.begin_period(&now);
            }
            None if !is_plausible_between(&last, &now) => self.fall_back(first, &now),
            // The readings were interrupted and are too far apart. The next measurement retries.
            None => {}
        }
    }

    /// Makes the ratio valid from this reading on, for twice the previous duration.
    fn begin_period(&self, now: &ClockPair) {
        let doublings = self.doublings.load(Ordering::Relaxed);
        let time = self.calibration.saturating_mul(1 << doublings);
        let ratio = u128::from(self.ratio.load(Ordering::Relaxed).max(1));
        let length = u64::try_from((time.as_nanos() << 32) / ratio).unwrap_or(u64::MAX).max(1);
        self.doublings.store((doublings + 1).min(MAX_DOUBLINGS), Ordering::Relaxed);
        self.valid_from.store(now.ticks, Ordering::Relaxed);
        // Release: a reader that finds a value other than 0 also sees the ratio.
        self.valid_ticks.store(length, Ordering::Release);
    }

    /// Called when the period of the ratio may be over. If so, one of the calling threads measures the ratio again.
    #[cold]
    fn remeasure(&self, now: u64) -> Start {
        if !self.is_period_over(now) {
            return Start::Ticks(now);
        }
        let Some(_measuring) = Measuring::begin(self) else { return Start::Ticks(now) };
        // Another thread may have measured the ratio in the meantime.
        if self.valid_ticks.load(Ordering::Relaxed) != 0 && self.is_period_over(now) {
            // Until the new ratio is measured, other threads use the old ratio.
            self.valid_from.store(now, Ordering::Relaxed);
            self.measure();
        }
        match self.valid_ticks.load(Ordering::Relaxed) {
            0 => Start::Moment(Instant::now()),
            _ => Start::Ticks(now),
        }
    }

    /// Whether the period of the ratio is over at this tick, or the counter went backwards by more than the period. A tick
    /// shortly before `valid_from` was read by a thread that was interrupted while another measured.
    fn is_period_over(&self, now: u64) -> bool {
        let length = self.valid_ticks.load(Ordering::Relaxed);
        let ticks_since = now.wrapping_sub(self.valid_from.load(Ordering::Relaxed));
        ticks_since.wrapping_add(length) >= length.saturating_mul(2)
    }

    /// Measures the ratio since the last reading. Stops using the counter if the kernel does, or if the ratio deviates
    /// from the previous one.
    fn measure(&self) {
        let Some(Some(first)) = self.first.get() else { return };
        if !(self.is_kernel_clock)() {
            self.valid_ticks.store(0, Ordering::Relaxed);
            return;
        }
        let (last, now) = (self.last(first), read_both());
        match compare(self.ratio.load(Ordering::Relaxed), &last, &now) {
            Comparison::Agrees(ratio) => {
                self.ratio.store(ratio, Ordering::Relaxed);
                self.deviations.store(0, Ordering::Relaxed);
            }
            Comparison::Unknown => {}
            Comparison::Deviates => return self.fall_back(first, &now),
        }
        self.set_last(first, &now);
        self.begin_period(&now);
    }

    /// Switches to the kernel's clock, either until the ratio has been measured again, starting from this reading, or
    /// permanently.
    fn fall_back(&self, first: &ClockPair, now: &ClockPair) {
        self.set_last(first, now);
        self.valid_ticks.store(0, Ordering::Relaxed);
        self.doublings.store(0, Ordering::Relaxed);
        let deviations = self.deviations.load(Ordering::Relaxed) + 1;
        self.deviations.store(deviations, Ordering::Relaxed);
        self.is_calibrating.store(deviations < MAX_DEVIATIONS, Ordering::Relaxed);
    }

    /// The time of the last reading of both clocks, since the first one.
    fn last_elapsed(&self) -> Duration {
        Duration::from_nanos(self.last[1].load(Ordering::Relaxed))
    }

    /// The last reading of both clocks.
    fn last(&self, first: &ClockPair) -> ClockPair {
        let [ticks, _, uncertainty] = self.last.each_ref().map(|word| word.load(Ordering::Relaxed));
        ClockPair { ticks, moment: first.moment + self.last_elapsed(), uncertainty }
    }

    fn set_last(&self, first: &ClockPair, now: &ClockPair) {
        let since_first_ns =
            u64::try_from(now.moment.duration_since(first.moment).as_nanos()).unwrap_or(u64::MAX);
        for (word, value) in self.last.iter().zip([now.ticks, since_first_ns, now.uncertainty]) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

/// Held by the thread that measures the ratio. Only one thread measures at a time.
struct Measuring<'a>(&'a AtomicU32);

impl<'a> Measuring<'a> {
    /// Returns `None` if another thread measures the ratio. Does not wait: a signal handler may have interrupted that thread.
    fn begin(clock: &'a Clock) -> Option<Self> {
        let (word, process) = (&clock.measuring, std::process::id());
        let known = word.load(Ordering::Relaxed);
        // If another process is stored, a thread of the parent was measuring at the fork; it does not exist in this
        // process.
        let is_free = known != process;
        let begin = || word.compare_exchange(known, process, Ordering::Acquire, Ordering::Relaxed).ok();
        is_free.then(begin).flatten().map(|_| Self(word))
    }
}

impl Drop for Measuring<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// The result of comparing a new ratio with the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    /// The ratios are about the same; contains the new ratio, which is more precise.
    Agrees(u64),
    /// Unknown, because the readings were interrupted.
    Unknown,
    /// The ratios differ too much, or the counter went backwards.
    Deviates,
}

/// Compares the ratio between two readings with the previous ratio.
fn compare(before: u64, last: &ClockPair, now: &ClockPair) -> Comparison {
    if !is_plausible_between(last, now) {
        return Comparison::Deviates;
    }
    match ratio_between(last, now) {
        None => Comparison::Unknown,
        Some(ratio) if ratio.abs_diff(before) > before / MAX_DEVIATION_PARTS => Comparison::Deviates,
        Some(ratio) => Comparison::Agrees(ratio),
    }
}

#[inline]
fn nanoseconds(ticks: u64, ratio: u64) -> u64 {
    ((u128::from(ticks) * u128::from(ratio)) >> 32) as u64
}

fn is_plausible_between(last: &ClockPair, now: &ClockPair) -> bool {
    is_plausible(now.ticks.wrapping_sub(last.ticks), now.moment.duration_since(last.moment).as_nanos())
}

fn ratio_between(last: &ClockPair, now: &ClockPair) -> Option<u64> {
    let elapsed = now.moment.duration_since(last.moment).as_nanos();
    ratio(now.ticks.wrapping_sub(last.ticks), elapsed, last.uncertainty.saturating_add(now.uncertainty))
}

/// Whether the counter's frequency is plausible: 10 MHz to 100 GHz. It is not if the counter went backwards.
fn is_plausible(ticks: u64, nanoseconds: u128) -> bool {
    u128::from(ticks) * 100 >= nanoseconds && u128::from(ticks) <= nanoseconds * 100
}

/// Nanoseconds per tick, times 2^32; `None` if the uncertainty of the readings is more than 1 ppm of the ticks, or the
/// frequency is implausible.
fn ratio(ticks: u64, nanoseconds: u128, uncertainty: u64) -> Option<u64> {
    if !is_plausible(ticks, nanoseconds) || u128::from(uncertainty) * 1_000_000 > u128::from(ticks) {
        return None;
    }
    u64::try_from((nanoseconds << 32) / u128::from(ticks)).ok()
}

/// Reads both clocks a few times, and returns the reading with the smallest uncertainty.
fn read_both() -> ClockPair {
    let read = || {
        let before = ticks();
        let moment = Instant::now();
        let uncertainty = ticks().wrapping_sub(before);
        ClockPair { ticks: before.wrapping_add(uncertainty / 2), moment, uncertainty }
    };
    (0..10)
        .map(|_| read())
        .fold(read(), |best, next| if next.uncertainty < best.uncertainty { next } else { best })
}

#[cfg(test)]
mod tests;
