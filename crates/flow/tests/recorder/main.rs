//! The recorder, with a simulated machine and disk.

mod clocks;
mod crash;
mod fixture;
mod full;
mod moved;
mod segments;
mod whole;
