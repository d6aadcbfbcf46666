//! Fuzz target: see `sql_checks::sql`.
#![no_main]

#[path = "../sql_checks.rs"]
mod sql_checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sql_checks::sql(data));
