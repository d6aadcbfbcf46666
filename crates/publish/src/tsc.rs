//! The time between two moments, by the processor's own counter where that can be trusted.
//!
//! Reading the counter costs half of what the kernel's clock does. It is used where the kernel keeps its own time with it
//! (`clocksource0` is `tsc` on x86-64; on aarch64 it always is), since then it goes at one rate on all processors. What a
//! tick is in nanoseconds, x86-64 does not tell: two readings of both clocks do, at least 100 ms apart, so until then the
//! kernel's clock measures. The ratio is off by less than a millionth.

#![allow(unsafe_code, reason = "the instructions that read the processor's counter")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long the ratio of the clocks is measured at least.
const LEARNING: Duration = Duration::from_millis(100);

/// Nanoseconds of a tick, times 2^32; 0 as long as it is not known, or where the counter is not used.
static NANOSECONDS: AtomicU64 = AtomicU64::new(0);

/// The first reading of both clocks; `None` where the counter is not used.
static FIRST: OnceLock<Option<Both>> = OnceLock::new();

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
        if NANOSECONDS.load(Ordering::Relaxed) != 0 { Self::Ticks(ticks()) } else { Self::while_learning() }
    }

    #[cold]
    fn while_learning() -> Self {
        learn();
        Self::Moment(Instant::now())
    }

    /// Nanoseconds since then; 0 where the counter went back.
    #[inline]
    pub(crate) fn elapsed_ns(self) -> u64 {
        match self {
            Self::Ticks(start) => {
                let elapsed = (ticks().wrapping_sub(start) as i64).max(0) as u64;
                nanoseconds(elapsed, NANOSECONDS.load(Ordering::Relaxed))
            }
            Self::Moment(start) => start.elapsed().as_nanos() as u64,
        }
    }
}

#[inline]
fn nanoseconds(ticks: u64, ratio: u64) -> u64 {
    ((u128::from(ticks) * u128::from(ratio)) >> 32) as u64
}

/// Reads both clocks for the first time, so that the ratio is known 100 ms later.
pub(crate) fn prepare() {
    FIRST.get_or_init(|| is_clock().then(both));
}

/// Learns the ratio where the time for it has come.
fn learn() {
    let Some(Some(first)) = FIRST.get() else { return };
    if first.moment.elapsed() < LEARNING {
        return;
    }
    let now = both();
    let ticks = now.ticks.wrapping_sub(first.ticks);
    let elapsed = now.moment.duration_since(first.moment).as_nanos();
    // Readings that were interrupted in between are too far apart. The next measurement tries again.
    if let Some(ratio) = ratio(ticks, elapsed, first.within.saturating_add(now.within)) {
        NANOSECONDS.store(ratio, Ordering::Relaxed);
    }
}

/// Nanoseconds of a tick, times 2^32; `None` where the clocks were read so far apart that it would be off by a millionth, or
/// where it makes no sense.
fn ratio(ticks: u64, nanoseconds: u128, within: u64) -> Option<u64> {
    // A counter of less than 10 MHz or more than 100 GHz there is not; one that went back is wrong, too.
    let is_sensible = u128::from(ticks) * 100 >= nanoseconds && u128::from(ticks) <= nanoseconds * 100;
    if !is_sensible || u128::from(within) * 1_000_000 > u128::from(ticks) {
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

/// The processor's counter.
#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every processor of this architecture has the instruction, and `is_clock` saw that the kernel uses it: no
    // process is kept from it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The system's counter.
#[cfg(target_arch = "aarch64")]
#[inline]
fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets every process read this register, which has no other effect.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
    };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn ticks() -> u64 {
    0
}

/// Whether the kernel keeps time with the counter.
fn is_clock() -> bool {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let name = if cfg!(target_arch = "aarch64") { "arch_sys_counter" } else { "tsc" };
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
        && std::fs::read_to_string(path).is_ok_and(|clock| clock.trim() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_that_cannot_be_are_refused() {
        assert_eq!(ratio(250_000_000, 100_000_000, 100), Some((100_000_000_u64 << 32) / 250_000_000));
        assert_eq!(ratio(250_000_000, 100_000_000, 251), None, "read too far apart");
        assert_eq!(ratio(0, 100_000_000, 0), None);
        assert_eq!(ratio(u64::MAX, 100_000_000, 0), None, "it went back");
        assert_eq!(
            nanoseconds(250_000_000, ratio(250_000_000, 100_000_000, 1).expect("a ratio")),
            99_999_999
        );
        // A hundred years are not too long.
        let years = 100 * 365 * 86_400 * 1_000_000_000_u64;
        let off = nanoseconds(years, 1 << 32).abs_diff(years);
        assert_eq!(off, 0);
    }

    #[test]
    fn a_counter_that_goes_back_counts_nothing() {
        assert_eq!(Start::Ticks(ticks().wrapping_add(1 << 40)).elapsed_ns(), 0);
    }

    #[test]
    fn both_clocks_agree() {
        prepare();
        if !is_clock() {
            assert!(matches!(Start::now(), Start::Moment(_)), "without the counter, the kernel's clock");
            return;
        }
        let tries = Instant::now();
        while !matches!(Start::now(), Start::Ticks(_)) {
            assert!(tries.elapsed() < Duration::from_secs(20), "the ratio was never learned");
            std::thread::sleep(Duration::from_millis(10));
        }
        // An interruption between the readings of the two clocks is not the counter's fault: the best of some.
        let off = (0..5).map(|_| {
            let (moment, start) = (Instant::now(), Start::now());
            std::thread::sleep(Duration::from_millis(100));
            let (by_counter, by_kernel) = (start.elapsed_ns() as f64, moment.elapsed().as_nanos() as f64);
            (by_counter / by_kernel - 1.0).abs()
        });
        let best = off.fold(f64::INFINITY, f64::min);
        assert!(best < 1e-4, "off by {best}");
    }
}
