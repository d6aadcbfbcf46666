//! Archives: write-then-read equality, damage.

mod damage;
pub(crate) mod generated;
mod laws;
mod listing;
mod ranges;
mod selected;
mod skipped_damage;
