//! The data model of performance counters and computations on it: counter types, raw values, formulas, statistics,
//! counter sets, samples, counter paths and times. This crate does no I/O.
//!
//! ```
//! use tachograph_counters::{Calculator, CounterType, FormatOptions, RawValue};
//!
//! // One read since the first sample. It took 2,147,727 ticks of a clock with 14,318,180 ticks per second: 150 ms.
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
mod problem;
mod quantiles;
mod raw;
pub mod sample;
pub mod set;
mod statistics;
mod status;
pub mod time_zone;
pub mod wildcard;

pub use formula::{Calculator, FormatOptions, Terms};
pub use pairing::{Origin, Pairer};
pub use problem::Problem;
pub use quantiles::Quantiles;
pub use raw::RawValue;
pub use statistics::{
    Average, AverageKind, DifferenceSums, DifferentFormulas, Intervals, PackedStatistics, Packing, RawRun,
    RunBuffers, RunTimes, SampleTimes, Series, Statistics, Summary,
};
pub use status::Status;
pub use tachograph_schema::{
    Class, CounterType, Formula, IgnorePoison, Size, Subtype, Suffix, TimeBase, io_error_text,
};
