//! Sends counters to other systems while they are sampled: to Prometheus and other receivers of its remote-write
//! protocol, and to OpenTelemetry collectors.
//!
//! ```text
//! Query -> MetricReader -> Encoder (remote-write or OTLP) -> Queue (a folder) -> Sender (a thread) -> receiver
//! ```
//!
//! Raw values are sent, so the receiver can compute correct averages. Names, labels and units are those of `/metrics`
//! (`docs/metrics.md`). Each sample is first written to a queue on disk, from which a thread sends it, in order. A slow
//! or unreachable receiver therefore delays nothing, and gets the samples that it missed when it is back.

#![forbid(unsafe_code)]

mod encoder;
mod error;
mod export;
mod otlp;
mod outage;
mod queue;
mod remote_write;
mod sender;
mod target;
mod tracker;
mod wire;

pub use error::ExportError;
pub use export::{Export, ExportOptions, ExportSummary, Notify};
pub use target::{Authorization, Protocol, Target};
