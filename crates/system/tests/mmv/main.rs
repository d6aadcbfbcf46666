//! Programs' MMV files as counter sets, over files that are made here byte by byte.

#[path = "../../../../fuzz/mmv_checks.rs"]
mod checks;
mod damage;
mod live;
mod look;
mod mapping;
mod peers;
mod seeds;
mod sets;
mod writer;
