//! Calls to the C library: the number of processors, the environment, an exit handler.

#![allow(unsafe_code, reason = "calls to the C library")]

use std::ffi::{CStr, OsStr, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Once;

pub(crate) fn processors_online() -> c_int {
    // SAFETY: sysconf takes an integer, and does not access our memory.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    // -1 means that the number is unknown; at least the processor that executes this code is online.
    c_int::try_from(count).unwrap_or(c_int::MAX).max(1)
}

/// Whether the program runs with more rights than its caller (set-user-ID), and must not trust the caller's environment.
pub(crate) fn has_more_rights_than_caller() -> bool {
    // SAFETY: getauxval takes an integer, and does not access our memory.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The file that `TACHO_CPI_TRACE` names. The variable is ignored in a program that runs with more rights than its caller,
/// because the caller could otherwise make the program create files where the caller itself may not.
pub(crate) fn trace_path() -> Option<PathBuf> {
    if has_more_rights_than_caller() {
        return None;
    }
    // SAFETY: the name is NUL-terminated. As in any C program, no thread may change the environment while another one
    // reads it. The variable is read once, by the first CpiInit.
    let value = unsafe { libc::getenv(c"TACHO_CPI_TRACE".as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: not null, so it is a NUL-terminated value, which is valid while the environment does not change.
    let value = unsafe { CStr::from_ptr(value) };
    (!value.is_empty()).then(|| insert_process_id(value.to_bytes(), std::process::id()))
}

/// Replaces `%p` with the process id, so that child processes, which inherit the variable, create their own files.
fn insert_process_id(value: &[u8], process_id: u32) -> PathBuf {
    let mut path = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(index) = rest.windows(2).position(|word| word == b"%p") {
        path.extend_from_slice(&rest[..index]);
        path.extend_from_slice(process_id.to_string().as_bytes());
        rest = &rest[index + 2..];
    }
    path.extend_from_slice(rest);
    PathBuf::from(OsStr::from_bytes(&path))
}

/// Registers a function to be called when the program exits or the library is unloaded. Calls after the first have no
/// effect.
pub(crate) fn at_exit(body: extern "C" fn()) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: `body` is code of this library, and the C library calls it before it unloads this library. If registration
        // fails, only the end time of a trace is missing.
        let _ = unsafe { libc::atexit(body) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_p_is_replaced_by_the_process_id() {
        for (value, path) in [
            ("a.nrm2", "a.nrm2"),
            ("%p", "42"),
            ("/tmp/%p/x%p.nrm2", "/tmp/42/x42.nrm2"),
            ("100%", "100%"),
            ("%%p", "%42"),
        ] {
            assert_eq!(insert_process_id(value.as_bytes(), 42), PathBuf::from(path), "{value}");
        }
    }
}
