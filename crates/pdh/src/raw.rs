//! Raw values, and formatting them without a query.

use tachograph_counters::civil::FileTime;
use tachograph_counters::{Calculator, CounterType, RawValue};

use crate::format::formatted;
use crate::{Format, FormattedValue, NoValue, PdhStatus};

/// A raw value with the moment at which it was taken.
///
/// What `first` and `second` are depends on the counter's type: 0 for plain numbers, a time stamp for rates and timers, the
/// value of the base for averages and fractions. `multi_count` means something for multi timers only.
///
/// Source: pdh.h, `PDH_RAW_COUNTER`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[doc(alias = "PDH_RAW_COUNTER")]
pub struct RawCounter {
    /// Whether the numbers may be used.
    #[doc(alias = "CStatus")]
    pub status: PdhStatus,
    /// When the value was taken: 100 ns units since 1601, *local* time.
    #[doc(alias = "TimeStamp")]
    pub time_stamp: FileTime,
    /// The counter's value.
    #[doc(alias = "FirstValue")]
    pub first: i64,
    /// The time stamp or the base's value.
    #[doc(alias = "SecondValue")]
    pub second: i64,
    /// The multiplier of a multi-counter.
    #[doc(alias = "MultiCount")]
    pub multi_count: u32,
}

impl RawCounter {
    /// A raw value of a sample, with the sample's local time.
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

/// What formatting needs to know of a counter, beside raw values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterKind {
    /// The type.
    pub counter_type: CounterType,
    /// Units of a raw value's `second` in one second.
    pub time_base: i64,
    /// The scale factor that was set, -7 to 7: values are multiplied by 10 to its power.
    pub scale: i8,
}

impl CounterKind {
    /// The way from raw to formatted values.
    pub(crate) fn calculator(&self) -> Calculator {
        Calculator::new(self.counter_type, self.time_base)
    }
}

/// The formatted value of a counter's raw values: `newer`, and `older` for types that need two.
///
/// The checks are made in this order, and each answers with a status of its own:
///
/// 1. a sample that is needed has an error status: [`PdhStatus::INVALID_DATA`], the value has the sample's status;
/// 2. types without a number: [`PdhStatus::INVALID_ARGUMENT`]; unknown types: [`PdhStatus::FUNCTION_NOT_FOUND`];
/// 3. two samples are needed and one is there: [`PdhStatus::INVALID_DATA`];
/// 4. the base or clock went back: [`PdhStatus::NEGATIVE_DENOMINATOR`];
/// 5. the time base is needed and not positive: [`PdhStatus::NEGATIVE_TIMEBASE`];
/// 6. the counter went back: [`PdhStatus::NEGATIVE_VALUE`].
///
/// A denominator of 0 is no error: the value is 0. Source: the order is this project's, since none is published.
///
/// # Errors
///
/// As above. The value's status is that of the sample where it has an error, else
/// [`PdhStatus::CSTATUS_INVALID_DATA`].
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
    // The older sample is looked at where the type needs it.
    let older = older.filter(|_| kind.counter_type.needs_two_samples());
    let raw_status = [Some(newer), older].into_iter().flatten().map(|raw| raw.status).find(|s| s.is_error());
    formatted(result, format, raw_status)
}

/// As [`calculate_from_raw`], for a type and a time base instead of a counter; there is no scale factor.
///
/// # Errors
///
/// As [`calculate_from_raw`]; [`PdhStatus::INVALID_ARGUMENT`] where the type needs a time base and none is given.
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
        return Err(NoValue::of_call(PdhStatus::INVALID_ARGUMENT));
    }
    let kind = CounterKind { counter_type, time_base: time_base.unwrap_or_default(), scale: 0 };
    calculate_from_raw(&kind, format, newer, older)
}
