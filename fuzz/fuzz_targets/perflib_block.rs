//! Fuzz target: see `perflib_checks::perflib_block`.
#![no_main]

#[path = "../perflib_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::perflib_block(data));
