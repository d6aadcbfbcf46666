//! The recorder, with a simulated machine and disk.

mod archive;
mod archive_disk;
mod archive_maintenance;
mod archive_recovery;
mod clocks;
mod crash;
mod fixture;
mod full;
mod machines;
mod moved;
mod segments;
mod whole;
