//! The library for test programs, with one more function, which replaces this machine with a fake one. perfutil.h does
//! not declare the function.

#![allow(unsafe_code, reason = "a symbol for C")]

// Links all functions of the library into this static library.
extern crate tachograph as _;

use std::ffi::c_int;

/// Replaces this machine with a fake one with this number of processors, for the whole process. Returns 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "names of the C interface")]
pub extern "C" fn TachoUseFakeMachine(processors: u32) -> c_int {
    tachograph_cpi::install_fake_machine(processors);
    0
}
