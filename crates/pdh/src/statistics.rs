//! Minimum, maximum and mean of raw values.

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::{Intervals, Series, Suffix, Summary};

use crate::format::flags;
use crate::{CounterKind, Format, FormattedValue, NoValue, PdhStatus, RawCounter, Result};

/// Minimum, maximum and mean over raw values, each with a status of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "PDH_STATISTICS")]
pub struct Statistics {
    /// How many raw values were given.
    pub count: u32,
    /// The smallest value.
    #[doc(alias = "min")]
    pub minimum: FormattedValue,
    /// The largest value.
    #[doc(alias = "max")]
    pub maximum: FormattedValue,
    /// The mean: the type's own formula over the first and last raw values; of plain counts and fractions the
    /// arithmetic mean.
    pub mean: FormattedValue,
}

/// Statistics of raw values of one counter, which lie in a ring: `entries[first_entry]` is the oldest, and after the last
/// comes `entries[0]`.
///
/// The mean is made from raw values: for types of differences it is the formula over what all good intervals add up to,
/// which without an error among them is the formula over the first and the last raw value. So ten seconds in which one read
/// took 150 ms give 0.15 s per read, and not a tenth of it. Minimum and maximum are those of the values of neighbouring
/// samples (for types of one sample: of the samples). Cap, factor 1000 and scale factor apply to the three results.
///
/// Raw values in error are left out, and no interval reaches across them. Where nothing is left, or there is one sample of a
/// type that needs two, all three have the status [`PdhStatus::CSTATUS_INVALID_DATA`].
///
/// Source: PdhComputeCounterStatistics; "Counter Types", Windows Server 2003 Deployment Kit, "Average" of each type.
///
/// # Errors
///
/// [`PdhStatus::INVALID_ARGUMENT`] where there are no entries or `first_entry` is none of them, and for types without a
/// number; [`PdhStatus::FUNCTION_NOT_FOUND`] for unknown types.
#[doc(alias = "PdhComputeCounterStatistics")]
pub fn compute_statistics(
    kind: &CounterKind,
    format: Format,
    first_entry: usize,
    entries: &[RawCounter],
) -> Result<Statistics> {
    let Some((newest, oldest)) =
        entries.split_at_checked(first_entry).filter(|(_, oldest)| !oldest.is_empty())
    else {
        return Err(PdhStatus::INVALID_ARGUMENT);
    };
    let count = u32::try_from(entries.len()).map_err(|_| PdhStatus::INVALID_ARGUMENT)?;
    let calculator = kind.calculator();
    if calculator.formula().is_none() {
        let is_known = kind.counter_type.is_known();
        return Err(if is_known { PdhStatus::INVALID_ARGUMENT } else { PdhStatus::FUNCTION_NOT_FOUND });
    }
    let state = tachograph_counters::Statistics::new(calculator.formula(), Intervals::All, None);
    let mut series = Series::new(state);
    for (place, entry) in (0..).zip(oldest.iter().chain(newest)) {
        // Their order says which is the last, whatever their time stamps.
        let at = Moment { utc: FileTime(place), bias_minutes: 0 };
        series.add(&calculator, &entry.value(), at);
    }
    let Summary { minimum, maximum, average, .. } = series.statistics().summary();
    let result = |number: Option<f64>| result(kind, format, number);
    Ok(Statistics { count, minimum: result(minimum), maximum: result(maximum), mean: result(average) })
}

/// A figure with cap, factor and scale, in the wanted format.
fn result(kind: &CounterKind, format: Format, number: Option<f64>) -> FormattedValue {
    let none = NoValue::of_call(PdhStatus::INVALID_DATA).in_place(format);
    let Some(mut number) = number else { return none };
    if format.flags() & flags::NOCAP100 == 0 && kind.counter_type.suffix() == Suffix::Percent {
        number = number.min(100.0);
    }
    // What is formatted already goes through the same scaling as a single value.
    let double = tachograph_counters::RawValue::from_double(number);
    let calculator = tachograph_counters::Calculator::new(tachograph_counters::CounterType::DOUBLE_RAW, 1);
    match calculator.format(None, &double, &format.options(kind.scale)) {
        Ok(number) => FormattedValue { status: PdhStatus::VALID_DATA, value: format.value_of(number) },
        Err(_) => none,
    }
}
