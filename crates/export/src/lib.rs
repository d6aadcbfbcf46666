//! Sends counters to other systems while they are sampled: to Prometheus and others that accept its remote-write, and to
//! collectors of OpenTelemetry.
//!
//! ```text
//! Query -> MetricReader -> Encoder (remote-write or OTLP) -> Queue (a folder) -> Sender (a thread) -> receiver
//! ```
//!
//! Raw numbers are sent, so the receiver computes right averages from sums. Names, labels and units are those of `/metrics`
//! (`docs/metrics.md`). Each sample is first written to a queue on disk, from which a thread sends it, in order. So a receiver
//! that is slow or down delays nothing, and receives what it missed when it returns.

#![forbid(unsafe_code)]

mod encoder;
mod error;
mod export;
mod otlp;
mod queue;
mod remote_write;
mod sender;
mod target;
mod tracker;
mod wire;

pub use error::ExportError;
pub use export::{Export, ExportOptions, ExportSummary, Notify};
pub use target::{Authorization, Protocol, Target};
