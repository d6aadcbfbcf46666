//! What is asked of the C library: processors, the environment, the end of the program.

#![allow(unsafe_code, reason = "calls of the C library")]

use std::ffi::{CStr, OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Once;

/// How many processors are online.
pub(crate) fn processors_online() -> c_int {
    // SAFETY: sysconf takes a number, and touches no memory of ours.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    // Where the system cannot tell (-1) there is the one that runs this.
    c_int::try_from(count).unwrap_or(c_int::MAX).max(1)
}

/// The file that `TACHO_CPI_TRACE` names. In programs that run with more rights than who started them it is
/// not looked at: it would make a file where only the program may.
pub(crate) fn trace_path() -> Option<PathBuf> {
    // SAFETY: getauxval takes a number, and touches no memory of ours.
    if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
        return None;
    }
    // SAFETY: the name ends in a zero byte. The C library's rule holds here as in any C program: nobody
    // changes the environment while another thread reads it. It is read once, by the first CpiInit.
    let value = unsafe { libc::getenv(c"TACHO_CPI_TRACE".as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: not null, so it is the value, which ends in a zero byte and stays while nobody changes the
    // environment.
    let value = unsafe { CStr::from_ptr(value) };
    (!value.is_empty()).then(|| of_this_process(value.to_bytes(), std::process::id()))
}

/// The path with the process's number in place of `%p`: programs inherit the variable from those that start them, and each
/// makes its file anew.
fn of_this_process(value: &[u8], process: u32) -> PathBuf {
    let mut path = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(place) = rest.windows(2).position(|word| word == b"%p") {
        path.extend_from_slice(&rest[..place]);
        path.extend_from_slice(process.to_string().as_bytes());
        rest = &rest[place + 2..];
    }
    path.extend_from_slice(rest);
    PathBuf::from(OsStr::from_bytes(&path))
}

/// Has this called when the program ends, or the library is unloaded. Only the first call counts.
pub(crate) fn at_exit(body: extern "C" fn()) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a function without captures lives as long as the library, and the C library calls it before
        // it unloads that. Where there is no room for it (not 0), a trace lacks the time of its end, and no
        // hook.
        let _ = unsafe { libc::atexit(body) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_process() {
        for (value, path) in [
            ("a.nrm2", "a.nrm2"),
            ("%p", "42"),
            ("/tmp/%p/x%p.nrm2", "/tmp/42/x42.nrm2"),
            ("100%", "100%"),
            ("%%p", "%42"),
        ] {
            assert_eq!(of_this_process(value.as_bytes(), 42), PathBuf::from(path), "{value}");
        }
    }
}
