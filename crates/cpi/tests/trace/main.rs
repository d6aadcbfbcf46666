//! Tests of CPI traces: writing, reading, damaged files, and another program that reads them.

#[path = "../../../../fuzz/cpi_checks.rs"]
mod checks;
mod decimal;
mod fixture;
mod golden;
mod independent;
mod read;
mod seeds;
mod write;
