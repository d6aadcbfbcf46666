//! Fuzz target: see `published_checks::published`.
#![no_main]

#[path = "../published_checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    checks::published(data);
});
