//! The terminal monitor: charts, legend, report and histogram of counters, live or of logs.
//!
//! [`App`] is the screen without a terminal: a state that [inputs](Input) change, that says what it wants done
//! ([`Request`]), and that is drawn into any buffer. [`run()`] puts it on a terminal: it takes samples at their moments, reads
//! logs on a thread, does what is wanted, and draws when something changed.
//!
//! ```text
//! keys, mouse, samples, figures --Input--> App::update --Request--> run: board, files, terminal
//!                                             `--> App::draw -> buffer -> what differs goes to the terminal
//! ```

#![forbid(unsafe_code)]

mod app;
mod canvas;
mod draw;
mod keys;
mod messages;
mod run;
mod terminal;
mod text;
mod theme;
mod tree;

pub use app::{App, DEFAULT_POINTS, Existing, Facts, Input, Recording, Request};
pub use run::{End, Live, Logs, ScreenError, Source, run};
pub use theme::{ColourDepth, Theme, ThemeChoice};
pub use tree::Instances;
