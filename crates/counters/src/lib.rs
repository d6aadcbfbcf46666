//! The model of performance counters and its maths.
//!
//! What a counter is, what its raw values mean, and how two raw samples become one displayed value: counter types,
//! statuses, formulas, statistics, counter paths, times, and the sample that flows from every source to every sink.
//! No I/O and no `unsafe`.
//!
//! ```
//! use tachograph_counters::{Calculator, CounterType, FormatOptions, RawValue};
//!
//! // One read took 150 ms: 2,147,727 ticks of a clock of 14,318,180 a second, and one more read than before.
//! let calculator = Calculator::new(CounterType::AVERAGE_TIMER, 14_318_180);
//! let value = calculator.format(
//!     Some(&RawValue::new(0, 0)),
//!     &RawValue::new(2_147_727, 1),
//!     &FormatOptions::default(),
//! );
//! assert_eq!(value, Ok(0.15));
//! ```

#![forbid(unsafe_code)]

pub mod civil;
mod formula;
pub mod pairing;
pub mod path;
mod quantiles;
mod raw;
pub mod sample;
pub mod set;
mod statistics;
mod status;
pub mod time_zone;
pub mod wildcard;

pub use formula::{Calculator, FormatOptions};
pub use pairing::{Origin, Pairer};
pub use quantiles::Quantiles;
pub use raw::RawValue;
pub use statistics::{
    AverageKind, DifferentFormulas, Intervals, PackedStatistics, Packing, Series, Statistics, Summary,
};
pub use status::Status;
pub use tachograph_schema::{Class, CounterType, Formula, Size, Subtype, Suffix, TimeBase};
