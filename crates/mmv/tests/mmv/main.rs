//! MMV files as counter sets, with files that the tests write byte by byte.

#[path = "../../../../fuzz/mmv_checks.rs"]
mod checks;
mod damage;

mod mapping;
mod peers;
mod sampling;
mod seeds;
mod sets;
mod watched;
mod writer;
