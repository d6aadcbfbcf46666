//! Fuzz target: see `cpi_checks::cpi_trace`.
#![no_main]

#[path = "../cpi_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::cpi_trace(data));
