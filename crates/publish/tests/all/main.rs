//! Published sets, as a reader sees them.

mod control;
mod dynamic;
mod seen;
mod threads;
mod typed;
mod types;
