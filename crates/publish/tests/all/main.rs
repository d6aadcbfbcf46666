//! What applications publish, as a reader sees it.

mod control;
mod dynamic;
mod seen;
mod threads;
mod typed;
mod types;
