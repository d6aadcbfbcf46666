//! Raw values, and functions that format them without a query.

use tachograph_counters::civil::FileTime;
use tachograph_counters::{Calculator, CounterType, RawValue};

use crate::format::format_result;
use crate::{Format, FormattedValue, NoValue, PdhStatus};

/// A raw value with its time.
///
/// The meaning of `first` and `second` depends on the counter type: `second` is 0 for plain numbers, a time stamp for
/// rates and timers, and the value of the base counter for averages and fractions. Only multi timers use `multi_count`.
///
/// Source: pdh.h, `PDH_RAW_COUNTER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[doc(alias = "PDH_RAW_COUNTER")]
pub struct RawCounter {
    /// Whether the other fields are valid; otherwise the reason.
    #[doc(alias = "CStatus")]
    pub status: PdhStatus,
    /// The time of the sample: 100 ns units since 1601, *local* time.
    #[doc(alias = "TimeStamp")]
    pub time_stamp: FileTime,
    /// The counter's value.
    #[doc(alias = "FirstValue")]
    pub first: i64,
    /// A time stamp, the value of the base counter, or 0.
    #[doc(alias = "SecondValue")]
    pub second: i64,
    /// The multiplier of a multi timer.
    #[doc(alias = "MultiCount")]
    pub multi_count: u32,
}

impl RawCounter {
    /// Creates the raw value of a sample taken at a local time.
    pub(crate) fn new(raw: &RawValue, time_stamp: FileTime) -> Self {
        Self {
            status: raw.status.into(),
            time_stamp,
            first: raw.first,
            second: raw.second,
            multi_count: raw.multi_count,
        }
    }

    /// The raw value without its time.
    pub(crate) fn value(&self) -> RawValue {
        RawValue {
            first: self.first,
            second: self.second,
            multi_count: self.multi_count,
            status: self.status.into(),
        }
    }
}

/// The properties of a counter that are needed to format its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterKind {
    /// The type.
    pub counter_type: CounterType,
    /// Ticks per second of a raw value's `second`.
    pub time_base: i64,
    /// The scale factor, -7 to 7: values are multiplied by 10 to the power of `scale`.
    pub scale: i8,
}

impl CounterKind {
    pub(crate) fn calculator(&self) -> Calculator {
        Calculator::new(self.counter_type, self.time_base)
    }
}

/// Computes a formatted value from the raw value `newer` and, for types that need two, `older`.
///
/// The first of these checks that fails determines the status:
///
/// 1. a required sample has an error status: [`PdhStatus::INVALID_DATA`], and the value has the sample's status;
/// 2. the type has no displayed value: [`PdhStatus::INVALID_ARGUMENT`]; it is unknown: [`PdhStatus::FUNCTION_NOT_FOUND`];
/// 3. two samples are required and `older` is missing: [`PdhStatus::INVALID_DATA`];
/// 4. the base or clock went backwards: [`PdhStatus::NEGATIVE_DENOMINATOR`];
/// 5. the time base is required and not positive: [`PdhStatus::NEGATIVE_TIMEBASE`];
/// 6. the counter went backwards: [`PdhStatus::NEGATIVE_VALUE`].
///
/// A denominator of 0 is not an error: the value is 0. Windows does not document the order of its checks; it may differ.
///
/// # Errors
///
/// As listed above. The status of the value is that of the invalid sample, or else [`PdhStatus::CSTATUS_INVALID_DATA`].
///
/// ```
/// use tachograph_counters::CounterType;
/// use tachograph_pdh::{CounterKind, Format, RawCounter, Value, calculate_from_raw};
///
/// let kind = CounterKind { counter_type: CounterType::AVERAGE_TIMER, time_base: 14_318_180, scale: 0 };
/// let older = RawCounter { first: 0, second: 0, ..RawCounter::default() };
/// let newer = RawCounter { first: 2_147_727, second: 1, ..RawCounter::default() };
/// let value = calculate_from_raw(&kind, Format::DOUBLE, &newer, Some(&older))?;
/// assert_eq!(value.value, Value::Double(0.15));
/// # Ok::<(), tachograph_pdh::NoValue>(())
/// ```
#[doc(alias = "PdhCalculateCounterFromRawValue")]
pub fn calculate_from_raw(
    kind: &CounterKind,
    format: Format,
    newer: &RawCounter,
    older: Option<&RawCounter>,
) -> std::result::Result<FormattedValue, NoValue> {
    let older_value = older.map(RawCounter::value);
    let result = kind.calculator().format(older_value.as_ref(), &newer.value(), &format.options(kind.scale));
    // The status of the older sample matters only if the type needs it.
    let older = older.filter(|_| kind.counter_type.needs_two_samples());
    let raw_status = [Some(newer), older].into_iter().flatten().map(|raw| raw.status).find(|s| s.is_error());
    format_result(result, format, raw_status)
}

/// Like [`calculate_from_raw`], but takes a counter type and a time base, and applies no scale factor.
///
/// # Errors
///
/// [`PdhStatus::INVALID_ARGUMENT`] if the type needs a time base and `time_base` is `None`; otherwise the same as
/// [`calculate_from_raw`].
#[doc(alias = "PdhFormatFromRawValue")]
pub fn format_from_raw(
    counter_type: u32,
    format: Format,
    time_base: Option<i64>,
    newer: &RawCounter,
    older: Option<&RawCounter>,
) -> std::result::Result<FormattedValue, NoValue> {
    let counter_type = CounterType(counter_type);
    let needs_time_base = counter_type.formula().is_some_and(|formula| formula.uses_time_base());
    if needs_time_base && time_base.is_none() {
        return Err(NoValue::from_call_status(PdhStatus::INVALID_ARGUMENT));
    }
    let kind = CounterKind { counter_type, time_base: time_base.unwrap_or_default(), scale: 0 };
    calculate_from_raw(&kind, format, newer, older)
}
