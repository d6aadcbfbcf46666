//! Reads counters and clocks without the kernel: one of the two files of this crate with `unsafe`.
//!
//! The kernel shares one page per counter (`perf_event_mmap_page`). The page names the register that currently holds
//! the counter, if any. The register is valid only for counters of the *calling thread*.
#![allow(unsafe_code, reason = "a page that the kernel writes, and registers that only instructions read")]

use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

use perf_event_open_sys::bindings::perf_event_mmap_page as Page;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The mapped page of a counter.
#[derive(Debug)]
pub(crate) struct UserPage {
    page: NonNull<Page>,
    /// The [`generation`] of the process that mapped the page: a forked child does not inherit the mapping.
    generation: u32,
}

// SAFETY: the mapping is read-only, every read is volatile under the sequence lock, and the page is not tied to a thread.
// (The caller ensures that the *register* may be read: see `UserPage::read_pair`.)
unsafe impl Send for UserPage {}
// SAFETY: as for `Send`; the type has no other state.
unsafe impl Sync for UserPage {}

/// A counter as read from its page and register. Values are computed later, away from the measured region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct RawCounter {
    register: u64,
    offset: i64,
    width: u16,
    enabled_ns: u64,
    running_ns: u64,
    capabilities: u64,
    ticks: u64,
    time_shift: u16,
    time_multiplier: u32,
    time_offset: u64,
    time_cycles: u64,
    time_mask: u64,
}

/// Maximum number of tries while the kernel changes a page, before the counter is read through the kernel.
const MAX_TRIES: usize = 16;

impl UserPage {
    /// Maps the page of a counter; `None` if that fails or the kernel does not allow reading the register.
    pub(crate) fn map(counter: BorrowedFd<'_>) -> Option<Self> {
        let bytes = rustix::param::page_size();
        generation();
        if bytes < size_of::<Page>() || !IS_COUNTED.load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: a new mapping at an address that the kernel chooses; no existing mapping is replaced.
        let address =
            unsafe { mmap(null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, counter, 0) }.ok()?;
        let page = Self { page: NonNull::new(address.cast())?, generation: generation() };
        page.allows_register().then_some(page)
    }

    fn page(&self) -> *const Page {
        self.page.as_ptr()
    }

    fn capabilities(&self) -> u64 {
        // SAFETY: the mapping is as long as a page of memory, at least a `Page`, and lives as long as `self`; a
        // volatile read of an aligned word in it is always valid, whatever the kernel writes at the same time.
        unsafe { (&raw const (*self.page()).__bindgen_anon_1.capabilities).read_volatile() }
    }

    /// Whether the kernel allows user code to read the register (`cap_user_rdpmc`) and provides its times (`cap_user_time`).
    fn allows_register(&self) -> bool {
        let needed = CAP_USER_RDPMC | CAP_USER_TIME;
        cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) && self.capabilities() & needed == needed
    }

    /// Reads two counters, one register directly after the other; `false` if a counter is in no register at the moment,
    /// or the kernel is needed for another reason.
    ///
    /// May be called only by the thread that owns the counters, in the process that mapped the pages. In any other thread, the
    /// registers belong to another counter, so the counts would be wrong without any error.
    ///
    /// An administrator can forbid reading registers at any time by writing 0 to the unit's file `rdpmc`: the
    /// instruction then ends the program with SIGSEGV.
    #[inline]
    pub(crate) fn read_pair(pages: &[Self; 2], into: &mut [RawCounter; 2]) -> bool {
        for _ in 0..MAX_TRIES {
            let sequences = [pages[0].sequence(), pages[1].sequence()];
            compiler_fence(Ordering::SeqCst);
            let ticks = clock_ticks();
            let registers = [pages[0].copy(&mut into[0], ticks), pages[1].copy(&mut into[1], ticks)];
            let [Some(first), Some(second)] = registers else { return false };
            // SAFETY: according to the pages, the counters are in these registers now, and user code may read them
            // (`cap_user_rdpmc`, a register other than none). If the thread is moved before the instructions, the
            // kernel still allows it to read the registers, but changes the sequence numbers, so the values are
            // discarded.
            let read = unsafe { (read_register(first), read_register(second)) };
            compiler_fence(Ordering::SeqCst);
            // The kernel updates the pages on this processor, between two instructions of this thread. The values read are
            // consistent if the sequence numbers are unchanged and even (odd: the kernel was interrupted during an
            // update).
            if (sequences[0] | sequences[1]) & 1 == 0
                && pages[0].sequence() == sequences[0]
                && pages[1].sequence() == sequences[1]
            {
                let (Some(first), Some(second)) = read else { return false };
                (into[0].register, into[1].register) = (first, second);
                return true;
            }
        }
        false
    }

    /// Whether the counter was in a register when the page was last written; always false if user code may not read
    /// registers.
    pub(crate) fn is_in_register(&self) -> bool {
        // SAFETY: as in `capabilities`.
        unsafe { (&raw const (*self.page()).index).read_volatile() != 0 }
    }

    #[inline]
    fn sequence(&self) -> u32 {
        // SAFETY: as in `capabilities`.
        unsafe { (&raw const (*self.page()).lock).read_volatile() }
    }

    /// Copies the page; returns the register that holds the counter.
    #[inline]
    fn copy(&self, into: &mut RawCounter, ticks: u64) -> Option<u32> {
        let page = self.page();
        // SAFETY: as in `capabilities`, for each of the fields.
        let index = unsafe {
            into.capabilities = (&raw const (*page).__bindgen_anon_1.capabilities).read_volatile();
            into.offset = (&raw const (*page).offset).read_volatile();
            into.width = (&raw const (*page).pmc_width).read_volatile();
            into.enabled_ns = (&raw const (*page).time_enabled).read_volatile();
            into.running_ns = (&raw const (*page).time_running).read_volatile();
            into.time_shift = (&raw const (*page).time_shift).read_volatile();
            into.time_multiplier = (&raw const (*page).time_mult).read_volatile();
            into.time_offset = (&raw const (*page).time_offset).read_volatile();
            into.time_cycles = (&raw const (*page).time_cycles).read_volatile();
            into.time_mask = (&raw const (*page).time_mask).read_volatile();
            (&raw const (*page).index).read_volatile()
        };
        into.ticks = ticks;
        // `cap_user_time` is needed to compute how far the times have advanced since the kernel's last write.
        let needed = CAP_USER_RDPMC | CAP_USER_TIME;
        let is_readable = into.capabilities & needed == needed && into.width != 0 && into.width <= 64;
        if is_readable { index.checked_sub(1) } else { None }
    }

    /// The conversion between ticks of the clock and the kernel's nanoseconds.
    pub(crate) fn tick_rate(&self) -> Option<TickRate> {
        let page = self.page();
        // SAFETY: as in `capabilities`, for each of the fields.
        let (shift, multiplier) = unsafe {
            ((&raw const (*page).time_shift).read_volatile(), (&raw const (*page).time_mult).read_volatile())
        };
        let is_usable = self.capabilities() & CAP_USER_TIME != 0 && multiplier != 0 && shift < 64;
        is_usable.then_some(TickRate { multiplier, shift: shift.into() })
    }
}

impl RawCounter {
    /// The count: the offset, and the register sign-extended from its width.
    pub(crate) fn count(&self) -> u64 {
        let unused = 64 - u32::from(self.width).clamp(1, 64);
        let value = ((self.register << unused) as i64) >> unused;
        self.offset.wrapping_add(value) as u64
    }

    /// Nanoseconds for which the counter was enabled, and for which it ran.
    pub(crate) fn times(&self) -> (u64, u64) {
        let delta = self.since_written();
        (self.enabled_ns.wrapping_add(delta), self.running_ns.wrapping_add(delta))
    }

    /// Nanoseconds since the kernel wrote the times, by the formula of `perf_event_mmap_page`.
    fn since_written(&self) -> u64 {
        let mut now = self.ticks;
        if self.capabilities & CAP_USER_TIME_SHORT != 0 {
            now = self.time_cycles.wrapping_add(now.wrapping_sub(self.time_cycles) & self.time_mask);
        }
        let shift = u32::from(self.time_shift).min(63);
        let (whole, rest) = (now >> shift, now & ((1 << shift) - 1));
        let multiplier = u64::from(self.time_multiplier);
        let ns = whole.wrapping_mul(multiplier).wrapping_add(rest.wrapping_mul(multiplier) >> shift);
        self.time_offset.wrapping_add(ns)
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
        // A forked child does not have this mapping, and the address may belong to another one.
        if self.generation != generation() {
            return;
        }
        // SAFETY: `map` created this mapping in this process with this length, and nothing refers to it after `self`.
        let _ = unsafe { munmap(self.page.as_ptr().cast(), rustix::param::page_size()) };
    }
}

/// Number of forks between the ancestor process that first called this function and this process. So a child's number
/// differs from its parent's, unless the child was created by the bare system call, which runs no fork handlers.
#[inline]
pub(crate) fn generation() -> u32 {
    static COUNTING: Once = Once::new();
    if !COUNTING.is_completed() {
        COUNTING.call_once(|| {
            // SAFETY: a function without captures lives as long as the program. It runs in forked children, where
            // changing an atomic is allowed. If it cannot be registered (the outcome is not 0), `map` maps nothing.
            let outcome = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
            IS_COUNTED.store(outcome == 0, Ordering::Relaxed);
        });
    }
    GENERATION.load(Ordering::Relaxed)
}

/// The value that [`generation`] returns.
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// Whether forks are counted: false until the fork handler is registered.
static IS_COUNTED: AtomicBool = AtomicBool::new(false);

extern "C" fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
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
        // SAFETY: the instruction exists on every x86-64 processor, and only reads a register. (It faults only if the
        // process has disabled it with PR_SET_TSC.)
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets user code read the virtual count, or emulates the read; nothing else is touched.
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

/// Reads a counter's register. (Without `nomem`, so that the compiler keeps the instruction between the reads of the page.)
///
/// # Safety
///
/// User code must be allowed to read it now (`cap_user_rdpmc`); otherwise the instruction faults.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn read_register(register: u32) -> Option<u64> {
    let (low, high): (u32, u32);
    // SAFETY: reading is allowed, as this function's safety contract guarantees; the instruction writes only these two
    // registers.
    unsafe {
        core::arch::asm!("rdpmc", in("ecx") register, out("eax") low, out("edx") high,
            options(nostack, preserves_flags));
    }
    Some(u64::from(high) << 32 | u64::from(low))
}

/// Reads a counter's register: 31 is the cycle counter, those below are event counters.
///
/// # Safety
///
/// User code must be allowed to read it now (`cap_user_rdpmc`); otherwise the instruction faults.
#[cfg(target_arch = "aarch64")]
#[inline]
unsafe fn read_register(register: u32) -> Option<u64> {
    macro_rules! registers {
        ($($number:literal)*) => {
            match register {
                $($number => {
                    let value: u64;
                    // SAFETY: reading is allowed, as this function's safety contract guarantees; the instruction writes only one register.
                    unsafe {
                        core::arch::asm!(
                            concat!("mrs {}, pmevcntr", $number, "_el0"), out(reg) value,
                            options(nostack, preserves_flags)
                        );
                    }
                    Some(value)
                })*
                31 => {
                    let value: u64;
                    // SAFETY: reading is allowed, as this function's safety contract guarantees; the instruction writes only one register.
                    unsafe {
                        core::arch::asm!("mrs {}, pmccntr_el0", out(reg) value,
                            options(nostack, preserves_flags));
                    }
                    Some(value)
                }
                _ => None,
            }
        };
    }
    registers!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30)
}

/// No register is known on this architecture.
///
/// # Safety
///
/// Always safe.
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
    fn capability_bits_equal_those_of_the_kernel() {
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
    fn registers_are_sign_extended() {
        let counter =
            |register, offset, width| RawCounter { register, offset, width, ..RawCounter::default() };
        assert_eq!(counter(5, 100, 48).count(), 105);
        // The kernel starts counters at negative values, so that they overflow before the register wraps.
        assert_eq!(counter(0xFFFF_FFFF_FFFE, 100, 48).count(), 98);
        assert_eq!(counter(0x8000_0000, 1 << 31, 32).count(), 0);
        assert_eq!(counter(u64::MAX, 1, 64).count(), 0);
    }

    #[test]
    fn times_advance_since_the_page_was_written() {
        let mut counter = RawCounter {
            enabled_ns: 1000,
            running_ns: 500,
            ticks: 64,
            time_shift: 4,
            // 4 ns a tick.
            time_multiplier: 64,
            time_offset: 0_u64.wrapping_sub(200),
            ..RawCounter::default()
        };
        assert_eq!(counter.times(), (1056, 556));
        // A clock of 8 bits that has wrapped around.
        counter.capabilities = CAP_USER_TIME_SHORT;
        (counter.time_cycles, counter.time_mask, counter.ticks) = (254, 255, 2);
        counter.time_offset = 0_u64.wrapping_sub(254 * 4);
        assert_eq!(counter.times(), (1016, 516));
    }

    #[test]
    fn nanoseconds_are_converted_to_ticks() {
        // 2 GHz: half a nanosecond per tick.
        let rate = TickRate { multiplier: 1 << 9, shift: 10 };
        assert_eq!(rate.ticks(1_000_000), 2_000_000);
        assert_eq!(TickRate { multiplier: 1, shift: 63 }.ticks(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_clock_advances() {
        let begun = clock_ticks();
        while clock_ticks() == begun {}
        assert!(clock_ticks() > begun);
    }
}
