//! The time between two moments, by the processor's own counter where that can be trusted.
//!
//! Reading the counter costs half of what the kernel's clock does. It is used where the kernel keeps its own time with it
//! (`clocksource0` is `tsc` on x86-64; on aarch64 it always is), since then it has one rate on all processors. What a
//! tick is in nanoseconds, x86-64 does not say: two readings of both clocks do, at least 100 ms apart, so until then the
//! kernel's clock measures. The ratio is measured again over 100 ms, 200 ms and so on up to about a minute, and then every
//! minute, since the kernel's clock follows a time server. The measurement that finds its minute over does that, without
//! memory and without waiting for another thread; each of the others compares two numbers.
//!
//! A kernel that finds the counter unreliable changes its clock source: that is looked up whenever the ratio is measured, and
//! after that the kernel's clock measures. A ratio that contradicts the one before is learned again, and the kernel's clock
//! measures until then; after three contradictions in a row it does so for good.

mod counter;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use counter::{is_clock, ticks};

/// How long the ratio of the clocks is measured at first.
const LEARNING: Duration = Duration::from_millis(100);

/// The ratio is measured over twice the time before, this often: up to 100 ms << 9, which is 51 s.
const DOUBLINGS: u32 = 9;

/// Ratios that differ by more than this part of them contradict each other. A time server's client usually changes the rate of
/// the kernel's clock by at most 500 millionths (`ADJ_FREQUENCY`). It can change it by a tenth (`ADJ_TICK`): such a ratio is
/// learned again.
const CONTRADICTION: u64 = 1000;

/// After this many contradictions in a row the counter is not used any more. A single one has other causes: a machine that was
/// suspended, where the counter may run and the kernel's clock does not, or a clock whose rate was changed.
const MAX_CONTRADICTIONS: u32 = 3;

/// The clock of this process.
static CLOCK: Clock = Clock::new(LEARNING, is_clock);

/// The processor's counter as a clock.
#[derive(Debug)]
#[repr(align(64))]
struct Clock {
    /// The ratio holds from this tick on.
    from: AtomicU64,
    /// For this many ticks, then it is measured again; 0 where the kernel's clock is used.
    length: AtomicU64,
    /// Nanoseconds of a tick, times 2^32: what was measured last.
    ratio: AtomicU64,
    /// The last reading of both clocks: ticks, nanoseconds since the first one, ticks between the two readings.
    last: [AtomicU64; 3],
    doublings: AtomicU32,
    contradictions: AtomicU32,
    /// The ratio is unknown and is to be learned. While this is set, `length` is 0.
    is_learning: AtomicBool,
    /// The process in which a thread measures the ratio; 0 for none.
    measuring: AtomicU32,
    /// The first reading of both clocks; `None` where the counter is not used.
    first: OnceLock<Option<Both>>,
    learning: Duration,
    /// Whether the kernel keeps time with the counter.
    is_clock: fn() -> bool,
}

/// A reading of both clocks at a moment.
#[derive(Clone, Copy, Debug)]
struct Both {
    ticks: u64,
    moment: Instant,
    /// How far apart the two readings can be, in ticks.
    within: u64,
}

/// When a measurement began.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// By the processor's counter.
    Ticks(u64),
    /// By the kernel's clock.
    Moment(Instant),
}

impl Start {
    /// Now.
    #[inline]
    pub(crate) fn now() -> Self {
        CLOCK.now()
    }

    /// Nanoseconds since then; 0 where the counter went back.
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
    const fn new(learning: Duration, is_clock: fn() -> bool) -> Self {
        Self {
            from: AtomicU64::new(0),
            length: AtomicU64::new(0),
            ratio: AtomicU64::new(0),
            last: [const { AtomicU64::new(0) }; 3],
            doublings: AtomicU32::new(0),
            contradictions: AtomicU32::new(0),
            is_learning: AtomicBool::new(true),
            measuring: AtomicU32::new(0),
            first: OnceLock::new(),
            learning,
            is_clock,
        }
    }

    fn prepare(&self) {
        self.first.get_or_init(|| {
            let first = (self.is_clock)().then(both)?;
            self.set_last(&first, &first);
            Some(first)
        });
    }

    #[inline]
    fn now(&self) -> Start {
        let length = self.length.load(Ordering::Acquire);
        if length == 0 {
            return self.while_learning();
        }
        let now = ticks();
        // Where the counter went back, this is a large number.
        if now.wrapping_sub(self.from.load(Ordering::Relaxed)) < length {
            return Start::Ticks(now);
        }
        self.measure_again(now)
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

    #[cold]
    fn while_learning(&self) -> Start {
        self.learn();
        Start::Moment(Instant::now())
    }

    /// Learns the ratio where the time for it has come.
    fn learn(&self) {
        let Some(Some(first)) = self.first.get() else { return };
        let is_early = || first.moment.elapsed() < self.last_moment().saturating_add(self.learning);
        if !self.is_learning.load(Ordering::Relaxed) || is_early() {
            return;
        }
        let Some(_measuring) = Measuring::begin(self) else { return };
        // Another thread may have measured meanwhile.
        if !self.is_learning.load(Ordering::Relaxed) || is_early() {
            return;
        }
        if !(self.is_clock)() {
            self.is_learning.store(false, Ordering::Relaxed);
            return;
        }
        let (last, now) = (self.last(first), both());
        match ratio_between(&last, &now) {
            Some(ratio) => {
                self.set_last(first, &now);
                self.ratio.store(ratio, Ordering::Relaxed);
                self.is_learning.store(false, Ordering::Relaxed);
                self.begin(&now);
            }
            None if !is_sensible_between(&last, &now) => self.contradict(first, &now),
            // The readings were interrupted in between and are too far apart. The next measurement tries again.
            None => {}
        }
    }

    /// The ratio holds from now on, for twice the time of the last one.
    fn begin(&self, now: &Both) {
        let doublings = self.doublings.load(Ordering::Relaxed);
        let time = self.learning.saturating_mul(1 << doublings);
        let ratio = u128::from(self.ratio.load(Ordering::Relaxed).max(1));
        let length = u64::try_from((time.as_nanos() << 32) / ratio).unwrap_or(u64::MAX).max(1);
        self.doublings.store((doublings + 1).min(DOUBLINGS), Ordering::Relaxed);
        self.from.store(now.ticks, Ordering::Relaxed);
        // With what was learned: it is read where this is not 0.
        self.length.store(length, Ordering::Release);
    }

    /// The time of the ratio may be over: one of the threads that find it so measures it again.
    #[cold]
    fn measure_again(&self, now: u64) -> Start {
        if !self.is_over(now) {
            return Start::Ticks(now);
        }
        let Some(_measuring) = Measuring::begin(self) else { return Start::Ticks(now) };
        // Another thread may have measured meanwhile.
        if self.length.load(Ordering::Relaxed) != 0 && self.is_over(now) {
            // The other threads go on with the old ratio meanwhile.
            self.from.store(now, Ordering::Relaxed);
            self.measure();
        }
        match self.length.load(Ordering::Relaxed) {
            0 => Start::Moment(Instant::now()),
            _ => Start::Ticks(now),
        }
    }

    /// Whether the time of the ratio is over at this tick, or the counter went back by more than that time. A tick of a little
    /// before `from` was read by a thread that was interrupted while another measured.
    fn is_over(&self, now: u64) -> bool {
        let length = self.length.load(Ordering::Relaxed);
        let since = now.wrapping_sub(self.from.load(Ordering::Relaxed));
        since.wrapping_add(length) >= length.saturating_mul(2)
    }

    /// Measures the ratio since the last reading, or ends the use of the counter.
    fn measure(&self) {
        let Some(Some(first)) = self.first.get() else { return };
        if !(self.is_clock)() {
            self.length.store(0, Ordering::Relaxed);
            return;
        }
        let (last, now) = (self.last(first), both());
        match judge(self.ratio.load(Ordering::Relaxed), &last, &now) {
            Judgement::Agrees(ratio) => {
                self.ratio.store(ratio, Ordering::Relaxed);
                self.contradictions.store(0, Ordering::Relaxed);
            }
            Judgement::Unknown => {}
            Judgement::Contradicts => return self.contradict(first, &now),
        }
        self.set_last(first, &now);
        self.begin(&now);
    }

    /// The kernel's clock measures: until the ratio is learned again, from this reading on, or for good.
    fn contradict(&self, first: &Both, now: &Both) {
        self.set_last(first, now);
        self.length.store(0, Ordering::Relaxed);
        self.doublings.store(0, Ordering::Relaxed);
        let contradictions = self.contradictions.load(Ordering::Relaxed) + 1;
        self.contradictions.store(contradictions, Ordering::Relaxed);
        self.is_learning.store(contradictions < MAX_CONTRADICTIONS, Ordering::Relaxed);
    }

    /// When both clocks were read last, since the first reading.
    fn last_moment(&self) -> Duration {
        Duration::from_nanos(self.last[1].load(Ordering::Relaxed))
    }

    /// The last reading of both clocks.
    fn last(&self, first: &Both) -> Both {
        let [ticks, _, within] = self.last.each_ref().map(|word| word.load(Ordering::Relaxed));
        Both { ticks, moment: first.moment + self.last_moment(), within }
    }

    fn set_last(&self, first: &Both, now: &Both) {
        let since = u64::try_from(now.moment.duration_since(first.moment).as_nanos()).unwrap_or(u64::MAX);
        for (word, value) in self.last.iter().zip([now.ticks, since, now.within]) {
            word.store(value, Ordering::Relaxed);
        }
    }
}

/// The thread that measures the ratio has this; there is one at a time.
struct Measuring<'a>(&'a AtomicU32);

impl<'a> Measuring<'a> {
    /// `None` where another thread measures. It never waits: a signal may have interrupted that thread.
    fn begin(clock: &'a Clock) -> Option<Self> {
        let (word, process) = (&clock.measuring, std::process::id());
        let known = word.load(Ordering::Relaxed);
        // A thread of another process measured when that process forked: it is not in this one.
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

/// What a ratio that was measured again says of the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    /// About the same: this one is nearer to the truth.
    Agrees(u64),
    /// The readings were interrupted.
    Unknown,
    /// Another rate, or the counter went back.
    Contradicts,
}

fn judge(before: u64, last: &Both, now: &Both) -> Judgement {
    if !is_sensible_between(last, now) {
        return Judgement::Contradicts;
    }
    match ratio_between(last, now) {
        None => Judgement::Unknown,
        Some(ratio) if ratio.abs_diff(before) > before / CONTRADICTION => Judgement::Contradicts,
        Some(ratio) => Judgement::Agrees(ratio),
    }
}

#[inline]
fn nanoseconds(ticks: u64, ratio: u64) -> u64 {
    ((u128::from(ticks) * u128::from(ratio)) >> 32) as u64
}

fn is_sensible_between(last: &Both, now: &Both) -> bool {
    is_sensible(now.ticks.wrapping_sub(last.ticks), now.moment.duration_since(last.moment).as_nanos())
}

fn ratio_between(last: &Both, now: &Both) -> Option<u64> {
    let elapsed = now.moment.duration_since(last.moment).as_nanos();
    ratio(now.ticks.wrapping_sub(last.ticks), elapsed, last.within.saturating_add(now.within))
}

/// A counter of less than 10 MHz or more than 100 GHz does not exist; one that went back is wrong, too.
fn is_sensible(ticks: u64, nanoseconds: u128) -> bool {
    u128::from(ticks) * 100 >= nanoseconds && u128::from(ticks) <= nanoseconds * 100
}

/// Nanoseconds of a tick, times 2^32; `None` where the clocks were read so far apart that it would be off by a millionth, or
/// where it makes no sense.
fn ratio(ticks: u64, nanoseconds: u128, within: u64) -> Option<u64> {
    if !is_sensible(ticks, nanoseconds) || u128::from(within) * 1_000_000 > u128::from(ticks) {
        return None;
    }
    u64::try_from((nanoseconds << 32) / u128::from(ticks)).ok()
}

/// Reads both clocks, of a few tries the one in which they were read the closest together.
fn both() -> Both {
    let read = || {
        let before = ticks();
        let moment = Instant::now();
        let within = ticks().wrapping_sub(before);
        Both { ticks: before.wrapping_add(within / 2), moment, within }
    };
    (0..10).map(|_| read()).fold(read(), |best, next| if next.within < best.within { next } else { best })
}

#[cfg(test)]
mod tests;
