//! The library with one more function, which puts a made machine in the place of this one: for programs of these tests.
//! Not declared in perfutil.h.

#![allow(unsafe_code, reason = "a symbol for C")]

// All its functions are in the static library, too.
extern crate tachograph as _;

use std::ffi::c_int;

/// Puts a machine by formula with this many processors in the place of this one, for the whole process. Always 0.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "names of the C interface")]
pub extern "C" fn TachoMadeMachine(processors: u32) -> c_int {
    tachograph_cpi::made::install(processors);
    0
}
