//! The terminal monitor: charts, legend, report and histogram of counters, live or of logs.
//!
//! [`App`] is the state of the screen, independent of any terminal. [Inputs](Input) change the state and return
//! [`Request`]s; the state can be drawn into any buffer. [`run()`] shows an `App` on a terminal: it takes samples on
//! schedule, reads logs on a thread, performs the requests, and redraws after changes.
//!
//! ```text
//! keys, mouse, samples, charts --Input--> App::update --Request--> run: board, files, terminal
//!                                             `--> App::draw -> buffer -> changed cells go to the terminal
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

pub use app::{App, CounterName, DEFAULT_POINTS, Existing, Facts, Input, Recording, Request, TableId};
pub use run::{End, Live, Logs, ScreenError, Source, run};
pub use theme::{ColourDepth, Theme, ThemeChoice};
pub use tree::Instances;
