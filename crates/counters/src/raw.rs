//! The raw value: what a source yields, before any formula.

use crate::status::Status;

/// One raw value of one counter of one instance at one moment (`PDH_RAW_COUNTER` without its time stamp).
///
/// `first` is the counter's own value. `second` depends on the counter's type: 0 for plain numbers, a time stamp for
/// rates and timers (ticks, 100 ns UTC or the object's clock), the value of the base for averages and fractions.
/// `multi_count` is the multiplier of a multi-counter; for other types it means nothing and is never used
/// (Windows writes 1 in single records, 0 in multi records).
///
/// Source: pdh.h; \[MS-PCQ\].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[doc(alias = "PDH_RAW_COUNTER")]
pub struct RawValue {
    /// The counter's value, 32-bit data extended with zeros.
    pub first: i64,
    /// The time stamp or the base's value.
    pub second: i64,
    /// The multiplier of a multi-counter.
    pub multi_count: u32,
    /// Whether the two numbers may be used.
    pub status: Status,
}

impl RawValue {
    /// A good raw value without a multiplier.
    pub const fn new(first: i64, second: i64) -> Self {
        Self { first, second, multi_count: 1, status: Status::VALID_DATA }
    }

    /// No value, for the reason that `status` gives.
    pub const fn error(status: Status) -> Self {
        Self { first: 0, second: 0, multi_count: 1, status }
    }

    /// An already formatted value, for a counter of type [`CounterType::DOUBLE_RAW`](crate::CounterType::DOUBLE_RAW).
    pub const fn from_double(double: f64) -> Self {
        Self::new(double.to_bits() as i64, 0)
    }

    /// The already formatted value of a counter of type `DOUBLE_RAW`.
    pub const fn as_double(self) -> f64 {
        f64::from_bits(self.first as u64)
    }
}
