//! Fuzz target: see `manifest_checks::manifest`.
#![no_main]

#[path = "../manifest_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::manifest(data));
