//! Archives: write-then-read equality, damage.

mod damage;
mod generated;
mod laws;
