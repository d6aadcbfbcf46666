//! Traces of hooks: written, read, damaged, and read by another program.

#[path = "../../../../fuzz/cpi_checks.rs"]
mod checks;
mod decimal;
mod fixture;
mod golden;
mod independent;
mod read;
mod seeds;
mod write;
