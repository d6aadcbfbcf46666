//! The web monitor: a page built into the library, its HTTP interface (`openapi.json`), and `/metrics`.
//!
//! A [`Server`] is bound and then run until it is stopped. One thread collects live values for all clients, a bounded number
//! of threads reads logs, and handlers only wait for results.
//!
//! ```text
//! LiveSource -> hub (a ring of raw samples) -> streams, series, statistics, export
//! logs ------> sources (LogBoard per source) -> series, statistics, export
//! ```

#![forbid(unsafe_code)]

mod admission;
mod api;
mod assets;
mod bodies;
mod compression;
mod connection;
mod embedding;
mod export;
mod flush;
mod folders;
mod guard;
mod hub;
mod options;
mod parameters;
mod recording;
mod response;
mod series;
mod server;
mod sessions;
mod sources;
mod tls;
mod token_throttle;
mod workers;

pub use options::{
    Embedding, HostFacts, HostFactsNow, LineLog, LiveOptions, MachineList, RecordingOptions, RegistryNow,
    ReleaseMemory, ServeError, ServeOptions, Services, Uploads,
};
pub use server::{Server, Stopper};
pub use tachograph_remote::Token;
pub use tls::random_secret;
