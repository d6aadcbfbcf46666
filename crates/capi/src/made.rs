//! A made machine for tests in C. Not declared in perfutil.h.

#![allow(unsafe_code, reason = "a symbol for C")]

use std::ffi::c_int;

use crate::failure::call;

/// Puts a machine by formula with this many processors in the place of this one, for the whole process.
// SAFETY: no other symbol has this name.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "names of the C interface")]
pub extern "C" fn TachoMadeMachine(processors: u32) -> c_int {
    call(|| {
        tachograph_cpi::made::install(processors);
        Ok(())
    })
}
