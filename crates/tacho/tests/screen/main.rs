//! The monitor on a terminal, as people see it: under tmux, which is asked what is on the screen.
//!
//! Where tmux is missing nothing is tested, and that is said.

mod live;
mod logs;
#[path = "../cli/made.rs"]
#[allow(dead_code)]
mod made;
#[cfg(feature = "screen")]
mod panics;
#[path = "../cli/run.rs"]
#[allow(dead_code)]
mod run;
mod terminal;
mod tmux;
