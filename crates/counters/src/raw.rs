//! Raw values, to which no formula has been applied yet.

use crate::status::Status;

/// One raw value of one counter of one instance at one moment (`PDH_RAW_COUNTER` without its time stamp).
///
/// `first` is the counter's own value. `second` depends on the counter's type: it is 0 for plain numbers, a time stamp
/// for rates and timers (ticks, 100 ns UTC or the object's clock), and the value of the base for averages and
/// fractions. `multi_count` is the multiplier of a multi timer and is ignored for other types (Windows writes 1 in
/// single records, and 0 in multi records).
///
/// Source: pdh.h; \[MS-PCQ\].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[doc(alias = "PDH_RAW_COUNTER")]
pub struct RawValue {
    /// The counter's value; 32-bit data is zero-extended.
    pub first: i64,
    /// The time stamp, or the value of the base.
    pub second: i64,
    /// The multiplier of a multi timer.
    pub multi_count: u32,
    /// Whether the value is valid.
    pub status: Status,
}

impl RawValue {
    /// A valid raw value without a multiplier.
    pub const fn new(first: i64, second: i64) -> Self {
        Self { first, second, multi_count: 1, status: Status::VALID_DATA }
    }

    /// A missing value, with the reason as its status.
    pub const fn error(status: Status) -> Self {
        Self { first: 0, second: 0, multi_count: 1, status }
    }

    /// A formatted value, for a counter of type [`CounterType::DOUBLE_RAW`](crate::CounterType::DOUBLE_RAW).
    pub const fn from_double(double: f64) -> Self {
        Self::new(double.to_bits() as i64, 0)
    }

    /// The formatted value of a counter of type `DOUBLE_RAW`.
    pub const fn as_double(self) -> f64 {
        f64::from_bits(self.first as u64)
    }
}
