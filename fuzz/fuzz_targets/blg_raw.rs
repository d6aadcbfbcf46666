//! Fuzz target: see `checks::blg_raw`.
#![no_main]

#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::blg_raw(data));
