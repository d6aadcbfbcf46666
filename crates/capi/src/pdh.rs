//! The functions of pdh.h: counters by path, of this machine, of other machines and of logs.
//!
//! [`tachograph_pdh`] does the work. This module handles strings of 16-bit characters and of bytes ([`character`]),
//! buffers with their sizes ([`buffer`]), structures in Windows' layout ([`structures`]) and handles ([`objects`]).
//! `boundary.rs` contains the `unsafe` code, `boundary_exports.rs` the exported symbols.

mod boundary;
mod boundary_exports;
mod buffer;
mod character;
mod event;
mod logs;
mod names;
mod objects;
mod queries;
mod structures;
mod values;

use std::cell::Cell;

use tachograph_pdh::{PdhStatus, Result};

use crate::code::Code;
use crate::failure::{Failure, call_or};
use crate::perflib::machine;

/// Windows' `ERROR_INTERNAL_ERROR`: a bug in the library. The error message is available as the calling thread's
/// last error.
const ERROR_INTERNAL_ERROR: u32 = 1359;

/// Runs the body of a function, and returns its status.
fn call(body: impl FnOnce() -> Result<()>) -> i32 {
    call_with(|status| status.0.cast_signed(), body)
}

/// Like [`call`], for another result type: `from_status` converts the status to it.
fn call_with<T>(from_status: impl Fn(PdhStatus) -> T, body: impl FnOnce() -> Result<()>) -> T {
    let failure_status = Cell::new(PdhStatus(ERROR_INTERNAL_ERROR));
    // Discards the reason of an earlier call.
    machine::take_connection_failure();
    call_or(
        |_| from_status(failure_status.get()),
        || match body() {
            Ok(()) => Ok(from_status(PdhStatus::SUCCESS)),
            // A buffer that is too small is not an error: callers query the required size in this way.
            Err(PdhStatus::MORE_DATA) => Ok(from_status(PdhStatus::MORE_DATA)),
            Err(status) => {
                failure_status.set(status);
                Err(Failure::new(Code::PU_FAILURE, message(status)))
            }
        },
    )
}

/// The name of a status, and why the call failed. If another machine could not be reached, also what to do.
fn message(status: PdhStatus) -> String {
    let is_of_machine = matches!(status, PdhStatus::NO_MACHINE | PdhStatus::CANNOT_CONNECT_MACHINE);
    match machine::take_connection_failure().filter(|_| is_of_machine) {
        Some(reason) => format!("{status}: {reason}"),
        None => match status.meaning() {
            Some(meaning) => format!("{status}: {meaning}"),
            None => status.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_the_result_and_a_panic_is_an_internal_error() {
        assert_eq!(call(|| Ok(())), 0);
        assert_eq!(call(|| Err(PdhStatus::MORE_DATA)), 0x8000_07D2_u32.cast_signed());
        assert_eq!(call(|| Err(PdhStatus::INVALID_HANDLE)), 0xC000_0BBC_u32.cast_signed());
        assert_eq!(call(|| panic!("a test")), 1359);
        assert_eq!(call_with(|status| u8::from(status == PdhStatus::SUCCESS), || panic!("a test")), 0);
    }
}
