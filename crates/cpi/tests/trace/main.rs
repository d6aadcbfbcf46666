//! Traces of hooks: written, read, damaged, and read by another program.

#[path = "../../../../fuzz/cpi_checks.rs"]
mod checks;
mod decimal;
mod golden;
mod independent;
mod made;
mod read;
mod seeds;
mod write;
