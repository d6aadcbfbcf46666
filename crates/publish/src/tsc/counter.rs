//! Reads the processor's time stamp counter, and checks whether the kernel keeps time with it.

#![allow(unsafe_code, reason = "an instruction of the processor; reading a file without allocating")]

use std::ffi::CStr;

/// The processor's time stamp counter.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(super) fn ticks() -> u64 {
    // SAFETY: every processor of this architecture has the instruction, and `is_kernel_clock` checked that the kernel
    // uses it, so processes are allowed to.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The system counter, which all processors share.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(super) fn ticks() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets every process read this register, which has no other effect.
    unsafe {
        std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
    };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn ticks() -> u64 {
    0
}

/// Whether the kernel keeps time with the counter. Must not allocate, because timers call it.
pub(super) fn is_kernel_clock() -> bool {
    let name = if cfg!(target_arch = "aarch64") { &b"arch_sys_counter"[..] } else { b"tsc" };
    let path = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let mut text = [0_u8; 64];
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64"))
        && read_file(path, &mut text).is_some_and(|text| text.trim_ascii() == name)
}

/// The contents of a file, up to the size of the buffer.
fn read_file<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: the path is NUL-terminated, and the kernel writes at most the buffer's length; this function owns the
    // descriptor.
    let length = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let length = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(file);
        length
    };
    buffer.get(..usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_source_is_read_from_a_file() {
        let mut buffer = [0; 8];
        assert_eq!(read_file(c"/no/such/file", &mut buffer), None);
        assert_eq!(read_file(c"/proc/self/comm", &mut [0; 0]), Some(&[][..]));
        assert!(read_file(c"/proc/self/comm", &mut buffer).is_some_and(|text| !text.is_empty()));
    }
}
