//! Counters and clocks that are read without the kernel: one of the two files of this crate that hold `unsafe`.
//!
//! The kernel shares a page per counter (`perf_event_mmap_page`) that says in which register of the processor the counter
//! is at the moment, if in any. The register is good for the *calling thread's own* counters only.
#![allow(unsafe_code, reason = "a page that the kernel writes, and registers that only instructions read")]

use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{Ordering, compiler_fence};

use perf_event_open_sys::bindings::perf_event_mmap_page as Page;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The page of a counter.
#[derive(Debug)]
pub(crate) struct UserPage(NonNull<Page>);

// SAFETY: the page is read-only for us and every read of it is volatile, under the sequence lock; it belongs to no thread.
// (Whether the *register* may be read is the caller's concern: see `UserPage::read`.)
unsafe impl Send for UserPage {}
// SAFETY: as above; there is no state of ours in it.
unsafe impl Sync for UserPage {}

/// A counter as it stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserReading {
    pub(crate) count: u64,
    pub(crate) enabled_ns: u64,
    pub(crate) running_ns: u64,
}

/// How often a page that keeps changing is read again before the kernel is asked.
const MOST_TRIES: usize = 16;

impl UserPage {
    /// Maps the page of a counter; `None` where that cannot be done, or the kernel does not allow reading the register.
    pub(crate) fn map(counter: BorrowedFd<'_>) -> Option<Self> {
        let bytes = rustix::param::page_size();
        if bytes < size_of::<Page>() {
            return None;
        }
        // SAFETY: a new mapping at an address that the kernel chooses; nothing of ours is replaced.
        let address =
            unsafe { mmap(null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, counter, 0) }.ok()?;
        let page = Self(NonNull::new(address.cast())?);
        page.allows_register().then_some(page)
    }

    fn page(&self) -> *const Page {
        self.0.as_ptr()
    }

    fn capabilities(&self) -> u64 {
        // SAFETY: the mapping is as long as a page of memory, at least a `Page`, and lives as long as `self`; a volatile
        // read of an aligned word of it is always good, whatever the kernel writes meanwhile.
        unsafe { (&raw const (*self.page()).__bindgen_anon_1.capabilities).read_volatile() }
    }

    /// Whether the kernel lets user code read the register (`cap_user_rdpmc`).
    fn allows_register(&self) -> bool {
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
            && self.capabilities() & CAP_USER_RDPMC != 0
    }

    /// The counter as it stands now; `None` where it is in no register at the moment, or the kernel must be asked for
    /// another reason.
    ///
    /// To be called by the thread that the counter belongs to only: with any other the register is someone else's and
    /// the count is wrong without a sign of it.
    #[inline]
    pub(crate) fn read(&self) -> Option<UserReading> {
        for _ in 0..MOST_TRIES {
            let begun = self.sequence();
            compiler_fence(Ordering::SeqCst);
            let reading = self.read_once();
            compiler_fence(Ordering::SeqCst);
            // The kernel writes the page on this processor, between two instructions of this thread: what was read
            // belongs together when the number is still the same and the kernel was not in the middle of it (odd).
            if begun & 1 == 0 && self.sequence() == begun {
                return reading;
            }
        }
        None
    }

    #[inline]
    fn sequence(&self) -> u32 {
        // SAFETY: as in `capabilities`.
        unsafe { (&raw const (*self.page()).lock).read_volatile() }
    }

    #[inline]
    fn read_once(&self) -> Option<UserReading> {
        let page = self.page();
        // SAFETY: as in `capabilities`, for each of the fields.
        let (capabilities, index, offset, width, mut enabled, mut running) = unsafe {
            (
                (&raw const (*page).__bindgen_anon_1.capabilities).read_volatile(),
                (&raw const (*page).index).read_volatile(),
                (&raw const (*page).offset).read_volatile(),
                (&raw const (*page).pmc_width).read_volatile(),
                (&raw const (*page).time_enabled).read_volatile(),
                (&raw const (*page).time_running).read_volatile(),
            )
        };
        // What the times have grown by since the kernel last wrote them needs its formula.
        if capabilities & CAP_USER_RDPMC == 0 || capabilities & CAP_USER_TIME == 0 {
            return None;
        }
        let register = index.checked_sub(1)?;
        let width = u32::from(width);
        if width == 0 || width > 64 {
            return None;
        }
        let delta = self.since_written(capabilities);
        enabled = enabled.wrapping_add(delta);
        running = running.wrapping_add(delta);
        // SAFETY: the page says that this very moment the counter is in this register and that user code may read it
        // (`cap_user_rdpmc`, a register other than none); should the thread be moved before the instruction, the kernel
        // still lets it read the register, and the sequence number, which it then has changed, discards what was read.
        let raw = unsafe { read_register(register) }?;
        let unused = 64 - width;
        // Sign-extended from the width of the register.
        let value = ((raw << unused) as i64) >> unused;
        let count = offset.wrapping_add(value) as u64;
        Some(UserReading { count, enabled_ns: enabled, running_ns: running })
    }

    /// How the kernel's nanoseconds are made of ticks of the clock.
    pub(crate) fn tick_rate(&self) -> Option<TickRate> {
        let page = self.page();
        // SAFETY: as in `capabilities`, for each of the fields.
        let (shift, multiplier) = unsafe {
            ((&raw const (*page).time_shift).read_volatile(), (&raw const (*page).time_mult).read_volatile())
        };
        let is_usable = self.capabilities() & CAP_USER_TIME != 0 && multiplier != 0 && shift < 64;
        is_usable.then_some(TickRate { multiplier, shift: shift.into() })
    }

    /// Nanoseconds since the kernel wrote the times, by the formula of `perf_event_mmap_page`.
    #[inline]
    fn since_written(&self, capabilities: u64) -> u64 {
        let page = self.page();
        // SAFETY: as in `capabilities`, for each of the fields.
        let (shift, multiplier, offset, cycles, mask) = unsafe {
            (
                (&raw const (*page).time_shift).read_volatile(),
                (&raw const (*page).time_mult).read_volatile(),
                (&raw const (*page).time_offset).read_volatile(),
                (&raw const (*page).time_cycles).read_volatile(),
                (&raw const (*page).time_mask).read_volatile(),
            )
        };
        let mut now = clock_ticks();
        if capabilities & CAP_USER_TIME_SHORT != 0 {
            now = cycles.wrapping_add(now.wrapping_sub(cycles) & mask);
        }
        let shift = u32::from(shift).min(63);
        let (whole, rest) = (now >> shift, now & ((1 << shift) - 1));
        let multiplier = u64::from(multiplier);
        offset
            .wrapping_add(whole.wrapping_mul(multiplier))
            .wrapping_add(rest.wrapping_mul(multiplier) >> shift)
    }
}

/// Ticks of the clock and the kernel's nanoseconds: `ns = ticks * multiplier >> shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TickRate {
    multiplier: u32,
    shift: u32,
}

impl TickRate {
    /// The ticks in this many nanoseconds.
    #[inline]
    pub(crate) fn ticks(self, ns: u64) -> u64 {
        let ticks = (u128::from(ns) << self.shift) / u128::from(self.multiplier);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

impl Drop for UserPage {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `map` with this length, and nothing refers to it after `self`.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), rustix::param::page_size()) };
    }
}

/// `cap_user_rdpmc`.
const CAP_USER_RDPMC: u64 = 1 << 2;
/// `cap_user_time`.
const CAP_USER_TIME: u64 = 1 << 3;
/// `cap_user_time_short`.
const CAP_USER_TIME_SHORT: u64 = 1 << 5;

/// The clock of intervals and of the trace: ticks of the time stamp counter on x86-64, of the virtual count of the generic
/// timer on arm64, elsewhere nanoseconds of CLOCK_MONOTONIC.
#[inline]
pub(crate) fn clock_ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the instruction exists on every x86-64 processor, and only reads a register. (A process that turned it
        // off for itself, by PR_SET_TSC, asked for the fault.)
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets user code read the virtual count, or reads it for it; nothing else is touched.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
        };
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        (now.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(now.tv_nsec as u64)
    }
}

/// Reads a counter's register.
///
/// # Safety
///
/// User code must be allowed to read it now (`cap_user_rdpmc`): else the instruction faults.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn read_register(register: u32) -> Option<u64> {
    let (low, high): (u32, u32);
    // SAFETY: the caller's promise; the instruction writes these two registers only.
    unsafe {
        core::arch::asm!("rdpmc", in("ecx") register, out("eax") low, out("edx") high,
            options(nomem, nostack, preserves_flags));
    }
    Some(u64::from(high) << 32 | u64::from(low))
}

/// Reads a counter's register: 31 is the cycle counter, those below are event counters.
///
/// # Safety
///
/// User code must be allowed to read it now (`cap_user_rdpmc`): else the instruction faults.
#[cfg(target_arch = "aarch64")]
#[inline]
unsafe fn read_register(register: u32) -> Option<u64> {
    macro_rules! registers {
        ($($number:literal)*) => {
            match register {
                $($number => {
                    let value: u64;
                    // SAFETY: the caller's promise; the instruction writes one register only.
                    unsafe {
                        core::arch::asm!(
                            concat!("mrs {}, pmevcntr", $number, "_el0"), out(reg) value,
                            options(nomem, nostack, preserves_flags)
                        );
                    }
                    Some(value)
                })*
                31 => {
                    let value: u64;
                    // SAFETY: the caller's promise; the instruction writes one register only.
                    unsafe {
                        core::arch::asm!("mrs {}, pmccntr_el0", out(reg) value,
                            options(nomem, nostack, preserves_flags));
                    }
                    Some(value)
                }
                _ => None,
            }
        };
    }
    registers!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
}

/// There is no such register known here.
///
/// # Safety
///
/// None is needed.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline]
unsafe fn read_register(_register: u32) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use perf_event_open_sys::bindings::perf_event_mmap_page__bindgen_ty_1__bindgen_ty_1 as Bits;

    use super::*;

    #[test]
    fn bits_are_the_kernels() {
        let mut bits = Bits::default();
        bits.set_cap_user_rdpmc(1);
        assert_eq!(bits._bitfield_1.get(0, 64), CAP_USER_RDPMC);
        let mut bits = Bits::default();
        bits.set_cap_user_time(1);
        assert_eq!(bits._bitfield_1.get(0, 64), CAP_USER_TIME);
        let mut bits = Bits::default();
        bits.set_cap_user_time_short(1);
        assert_eq!(bits._bitfield_1.get(0, 64), CAP_USER_TIME_SHORT);
    }

    #[test]
    fn ticks_of_nanoseconds() {
        // 2 GHz: half a nanosecond per tick.
        let rate = TickRate { multiplier: 1 << 9, shift: 10 };
        assert_eq!(rate.ticks(1_000_000), 2_000_000);
        assert_eq!(TickRate { multiplier: 1, shift: 63 }.ticks(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_clock_goes_on() {
        let begun = clock_ticks();
        while clock_ticks() == begun {}
        assert!(clock_ticks() > begun);
    }
}
