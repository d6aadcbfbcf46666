//! Fuzz target: see `perflib_checks::perflib_registration`.
#![no_main]

#[path = "../perflib_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::perflib_registration(data));
