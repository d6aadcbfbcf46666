//! The one description of counter sets, which everything else parses into, derives, publishes and registers: GUIDs, counter
//! types, instance types, aggregates, attributes, counters and counter sets.
//!
//! No dependencies and no I/O.

#![forbid(unsafe_code)]

mod check;
mod companions;
mod counter_set;
mod counter_type;
mod formula;
mod guid;
mod kinds;
pub mod naming;
pub mod words;

pub use check::{RegistrationError, SCALES, is_detail_level};
pub use companions::{CompanionFault, check_companions};
pub use counter_set::{CounterInfo, CounterSetInfo, Text};
pub use counter_type::{Class, CounterType, Size, Subtype, Suffix, TimeBase};
pub use formula::Formula;
pub use guid::{Guid, GuidError};
pub use kinds::{Aggregate, Attributes, CellKind, InstanceType};
