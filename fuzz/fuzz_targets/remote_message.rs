//! Fuzz target: see `remote_checks::remote_message`.
#![no_main]

#[path = "../remote_checks.rs"]
mod remote_checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| remote_checks::remote_message(data));
