//! Types that describe counter sets, shared by all crates: GUIDs, counter types, instance types, aggregates,
//! attributes, counters and counter sets.
//!
//! This crate has no dependencies and does no I/O.

#![forbid(unsafe_code)]

mod check;
mod companions;
mod counter_set;
mod counter_type;
mod error_text;
mod formula;
mod guid;
mod kinds;
pub mod naming;
mod poison;
pub mod words;

pub use check::{RegistrationError, SCALES, is_detail_level};
pub use companions::{CompanionFault, check_companions};
pub use counter_set::{CounterInfo, CounterSetInfo, Text};
pub use counter_type::{Class, CounterType, Size, Subtype, Suffix, TimeBase};
pub use error_text::io_error_text;
pub use formula::Formula;
pub use guid::{Guid, GuidError};
pub use kinds::{Aggregate, Attributes, CellKind, InstanceType};
pub use poison::IgnorePoison;
