//! The state of the kernel's clock discipline, from the system call `adjtimex`, which rustix does not have.

#![allow(unsafe_code, reason = "a system call that fills a struct")]

use std::io;
use std::mem::MaybeUninit;

/// The state of the clock discipline (`man 2 adjtimex`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockState {
    /// The remaining correction of the clock, in nanoseconds; positive if the clock is slow.
    pub(crate) offset_ns: i64,
    /// By how much the clock's frequency is corrected, in parts per billion.
    pub(crate) frequency_ppb: i64,
    /// The maximum error of the clock, in nanoseconds.
    pub(crate) max_error_ns: i64,
    /// The estimated error of the clock, in nanoseconds.
    pub(crate) estimated_error_ns: i64,
    /// Whether a program such as chrony or ntpd keeps the clock synchronized.
    pub(crate) is_synchronized: bool,
}

impl ClockState {
    /// Reads the current state. No privilege is needed.
    ///
    /// # Errors
    ///
    /// When a sandbox forbids the call.
    #[allow(clippy::useless_conversion, reason = "c_long has 32 bits on some machines")]
    pub(crate) fn read() -> io::Result<Self> {
        let mut timex = MaybeUninit::<libc::timex>::zeroed();
        // SAFETY: zeros are a valid `timex`, which consists of integers. The call writes only to it, and its `modes` of 0
        // changes nothing.
        let (state, timex) = unsafe { (libc::adjtimex(timex.as_mut_ptr()), timex.assume_init()) };
        if state < 0 {
            return Err(io::Error::last_os_error());
        }
        let offset_unit = if timex.status & libc::STA_NANO != 0 { 1 } else { 1000 };
        Ok(Self {
            offset_ns: i64::from(timex.offset).saturating_mul(offset_unit),
            // The kernel's number is in ppm with a fraction of 16 bits.
            frequency_ppb: i64::from(timex.freq).saturating_mul(1000) >> 16,
            max_error_ns: i64::from(timex.maxerror).saturating_mul(1000),
            estimated_error_ns: i64::from(timex.esterror).saturating_mul(1000),
            is_synchronized: state != libc::TIME_ERROR,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Calls the C library from Python, which decodes the struct independently.
    const SCRIPT: &str = "
import ctypes, struct
timex = ctypes.create_string_buffer(208)
state = ctypes.CDLL(None, use_errno=True).adjtimex(timex)
_, offset, freq, maxerror, esterror, status = struct.unpack_from('@Illlli', timex.raw)
offset *= 1 if status & 0x2000 else 1000
print(offset, freq * 1000 // 65536, maxerror * 1000, esterror * 1000, int(state != 5))";

    fn read_with_python() -> Option<[i64; 5]> {
        let output = Command::new("python3").args(["-c", SCRIPT]).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let numbers: Vec<i64> = text.split_whitespace().map_while(|word| word.parse().ok()).collect();
        numbers.try_into().ok()
    }

    fn read() -> [i64; 5] {
        let ClockState { offset_ns, frequency_ppb, max_error_ns, estimated_error_ns, is_synchronized } =
            ClockState::read().expect("permitted");
        [offset_ns, frequency_ppb, max_error_ns, estimated_error_ns, is_synchronized.into()]
    }

    #[test]
    fn the_state_matches_the_c_library() {
        // The state changes each second, so it is compared only if it is the same before and after Python's call.
        for _ in 0..1000 {
            let before = read();
            let Some(other) = read_with_python() else {
                eprintln!("skipped: no Python");
                return;
            };
            if before == read() {
                assert_eq!(before, other);
                return;
            }
        }
        panic!("the state changes all the time");
    }
}
