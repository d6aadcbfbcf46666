//! Queries, raw data blocks and registration data.

mod blocks;
mod blocks_laws;
mod blocks_vectors;
#[path = "../../../../fuzz/perflib_checks.rs"]
mod checks;
mod hostile;
mod hostile_seeds;
mod query;
mod reference_cases;
mod registration_bytes;
