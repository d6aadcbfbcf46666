//! The structures of PerfLib V2 in memory and in blocks, all little-endian.
//!
//! Every structure starts at a multiple of 8 bytes. Reserved bytes are fields.
//!
//! Source: perflib.h; \[MS-PCQ\] 2.2.4.

mod data;
mod provider;
mod registration;

pub use data::{
    CounterData, CounterIdentifier, DataHeader, InstanceHeader, MultiCounters, MultiInstances, ResultHeader,
};
pub use provider::{CounterIdentity, CounterSetInstance, CounterSetTemplate, CounterTemplate};
pub use registration::{CounterRegistration, CounterSetRegistration, StringBuffer, StringHeader};

/// The next multiple of 8.
pub const fn round_up_8(bytes: usize) -> usize {
    bytes.next_multiple_of(8)
}
