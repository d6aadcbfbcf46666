//! The binary formats of raw data blocks, instance lists and identifiers.
//!
//! Consumers read bytes that another process wrote, so every size, count and offset is checked before it is used, and a
//! block that violates a rule is rejected with a [`BlockError`]. [`Rule`] lists the checks, [`raw`] the layouts.
//!
//! | structure | writer | decoder |
//! | --- | --- | --- |
//! | a raw data block (`PerfQueryCounterData`) | [`BlockWriter`] | [`decode`], [`decode_with`] |
//! | an instance list (`PerfEnumerateCounterSetInstances`) | [`push_instance`] | [`decode_instances`] |
//! | identifiers (`PerfAddCounters`, `PerfQueryCounterInfo`) | [`Identifier::push`] | [`decode_identifiers`] |
//!
//! ```
//! use tachograph_counters::civil::FileTime;
//! use tachograph_perflib::block::{BlockWriter, Content, Stamp, decode};
//!
//! let stamp = Stamp { ticks: 5, frequency: 1_000_000_000, system_time: FileTime::UNIX_EPOCH };
//! let mut bytes = Vec::new();
//! let mut block = BlockWriter::begin(&mut bytes, &stamp);
//! let mut instances = block.counterset(&[1, 4])?;
//! instances.instance("0 C:", 0)?;
//! instances.value(Some(7))?;
//! instances.value(Some(8))?;
//! instances.close()?;
//! block.finish()?;
//!
//! let block = decode(&bytes)?;
//! block.expect_results(1)?;
//! for result in block.results() {
//!     let Content::CounterSet(instances) = result.content() else { continue };
//!     for instance in instances {
//!         assert!(instance.name() == "0 C:");
//!         assert!(instance.values().eq([Some(7), Some(8)]));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: "Using the PerfLib Functions to Consume Counter Data"; perflib.h; \[MS-PCQ\].

mod capacity;
mod error;
mod identifier;
mod instance_list;
mod kind;
pub mod raw;
mod read;
pub(crate) mod section;
mod stamp;
pub(crate) mod text;
pub(crate) mod unique;
mod write;

pub use capacity::{CallError, MAX_BLOCK_BYTES, MAX_CALLS, grow_and_retry};
pub(crate) use error::count;
pub use error::{BlockError, Expected, Found, Rule};
pub use identifier::{Identifier, Identifiers, decode_identifiers, write_statuses};
pub use instance_list::{InstanceList, ListedInstance, decode_instances, push_instance};
pub use kind::Kind;
pub use read::{
    Block, Content, DecodeOptions, Ids, Instance, Instances, QueryResult, Results, Values, decode,
    decode_with, reopen,
};
pub use stamp::Stamp;
pub use text::{MAX_NAME_UNITS, Text};
pub use write::{BlockWriter, InstancesWriter, WriteError};

/// The id that selects all counters or all instances. As the id of a counter's companion in a registration, it means
/// that the counter has no such companion.
#[doc(alias = "PERF_WILDCARD_COUNTER")]
pub const WILDCARD_ID: u32 = u32::MAX;

/// Maximum number of counters in a set. Source: perflib.h.
#[doc(alias = "PERF_MAX_COUNTERS")]
pub const MAX_COUNTERS: usize = tachograph_schema::CounterSetInfo::MAX_COUNTERS;
