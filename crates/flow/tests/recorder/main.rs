//! The recorder: logs of a made machine on a made disk, read back.

mod clocks;
mod crash;
mod full;
mod made;
mod moved;
mod segments;
mod whole;
