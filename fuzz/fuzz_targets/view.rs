//! Fuzz target: see `view_checks::view`.
#![no_main]

#[path = "../view_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::view(data));
