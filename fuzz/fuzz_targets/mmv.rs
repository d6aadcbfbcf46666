//! Fuzz target: see `mmv_checks::mmv`.
#![no_main]

#[path = "../mmv_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::mmv(data));
