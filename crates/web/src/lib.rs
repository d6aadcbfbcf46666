//! The web monitor: a page built into the library, its HTTP interface (`openapi.json`), and `/metrics`.
//!
//! A [`Server`] is bound and then run until it is told to stop. Live values come from one collection for all who
//! look, on a thread of its own; logs are read by a bounded number of threads; handlers only wait and hand out.
//!
//! ```text
//! LiveSource -> hub (a ring of raw samples) -> streams, series, statistics, export
//! logs ------> sources (LogBoard per source) -> series, statistics, export
//! ```

#![forbid(unsafe_code)]

mod admission;
mod answer;
mod api;
mod assets;
mod connection;
mod download;
mod export;
mod guard;
mod guesses;
mod hub;
mod listing;
pub mod metrics;
mod options;
mod parameters;
mod secret_file;
mod series;
mod server;
mod sources;
mod tls;
mod unsent;
mod work;

pub use options::{
    LineLog, LiveOptions, RegistryNow, ReleaseMemory, ServeError, ServeOptions, Token, Uploads,
};
pub use server::{Server, Stopper};
