//! The one description of counter sets, which everything else parses into, derives, publishes and registers: GUIDs, counter
//! types, instance types, aggregates, attributes, counters and counter sets.
//!
//! No dependencies and no I/O.

#![forbid(unsafe_code)]

mod counter_type;
mod formula;
mod guid;

pub use counter_type::{Class, CounterType, Size, Subtype, Suffix, TimeBase};
pub use formula::Formula;
pub use guid::{Guid, GuidError};
