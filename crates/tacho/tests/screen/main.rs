//! The monitor as seen on a terminal, under tmux.
//!
//! Skipped, with a message, if tmux is missing.

mod live;
#[path = "../cli/log_fixture.rs"]
#[allow(dead_code)]
mod log_fixture;
mod logs;
#[cfg(feature = "screen")]
mod panics;
#[path = "../cli/run.rs"]
#[allow(dead_code)]
mod run;
mod tables;
mod terminal;
mod tmux;
