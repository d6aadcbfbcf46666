//! The PerfLib V2 model: counter sets that providers register, queries that consumers open, and the raw data blocks
//! that carry the results.
//!
//! Reference: "Using the PerfLib Functions to Consume Counter Data", perflib.h, \[MS-PCQ\].

#![forbid(unsafe_code)]

pub mod block;
mod clock;
mod code;
mod connector;
mod counter_error;
mod filter;
mod host;
mod instance;
pub mod manifest;
mod numbering;
mod provider;
pub mod published;
mod query;
pub mod registration;
mod registry;
mod rows;
mod shared_reading;

pub use clock::{Clock, FREQUENCY, Timestamps};
pub use code::ErrorCode;
pub use connector::Connector;
pub use counter_error::CounterError;
pub use filter::InstanceFilter;
pub use instance::InstanceKey;
pub use numbering::{MatchedBy, Numbering};
pub use provider::{CollectionId, Failure, Provider};
pub use query::{PathMatch, QueriedSet, Query, SetSelection};
pub use registry::Registry;
pub use rows::{Row, Rows};
pub use shared_reading::{Reading, SharedReading};
pub use tachograph_schema::{Guid, GuidError, IgnorePoison};
