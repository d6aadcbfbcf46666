//! Minimum, maximum and mean of raw values.

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::{Intervals, Series, Suffix, Summary};

use crate::format::flags;
use crate::{CounterKind, Format, FormattedValue, NoValue, PdhStatus, RawCounter, Result};

/// Minimum, maximum and mean of raw values, each with its own status.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "PDH_STATISTICS")]
pub struct Statistics {
    /// The number of raw values.
    pub count: u32,
    /// The smallest value.
    #[doc(alias = "min")]
    pub minimum: FormattedValue,
    /// The largest value.
    #[doc(alias = "max")]
    pub maximum: FormattedValue,
    /// The mean: for types that need two samples, the type's formula over the first and last raw values; for others, the
    /// arithmetic mean.
    pub mean: FormattedValue,
}

/// Computes statistics of a counter's raw values. `entries` is a ring buffer: `entries[first_entry]` is the oldest, and
/// `entries[0]` comes after the last element.
///
/// For types that need two samples, the mean is the formula over the sum of all valid intervals; without errors, that
/// is the formula over the first and last raw values. For example, if a single read takes 150 ms in ten one-second
/// intervals, the mean is 0.15 s per read, not a tenth of it. The minimum and maximum are taken over the values of
/// consecutive pairs of samples, or over the single samples for types that need only one. The cap, the factor 1000 and
/// the scale factor are applied to the three results.
///
/// Raw values with an error status are skipped, and intervals do not extend across them. If no value remains, all three
/// results have the status [`PdhStatus::CSTATUS_INVALID_DATA`].
///
/// Source: PdhComputeCounterStatistics; "Counter Types", Windows Server 2003 Deployment Kit, "Average" of each type.
///
/// # Errors
///
/// [`PdhStatus::INVALID_ARGUMENT`] if `first_entry` is not an index of `entries`, and for types without a displayed value;
/// [`PdhStatus::FUNCTION_NOT_FOUND`] for unknown types.
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
    for (index, entry) in (0..).zip(oldest.iter().chain(newest)) {
        // The entries are ordered by position, not by their time stamps.
        let at = Moment { utc: FileTime(index), bias_minutes: 0 };
        series.add(&calculator, &entry.value(), at);
    }
    let Summary { minimum, maximum, average, .. } = series.statistics().summary();
    let formatted_value = |number: Option<f64>| formatted_value(kind, format, number);
    Ok(Statistics {
        count,
        minimum: formatted_value(minimum),
        maximum: formatted_value(maximum),
        mean: formatted_value(average),
    })
}

/// Applies the cap, the factor 1000 and the scale factor, and formats the number.
fn formatted_value(kind: &CounterKind, format: Format, number: Option<f64>) -> FormattedValue {
    let missing = NoValue::from_call_status(PdhStatus::INVALID_DATA).to_value(format);
    let Some(mut number) = number else { return missing };
    if format.flags() & flags::NOCAP100 == 0 && kind.counter_type.suffix() == Suffix::Percent {
        number = number.min(100.0);
    }
    // Reuses the calculator's scaling, by treating the number as a raw double.
    let double = tachograph_counters::RawValue::from_double(number);
    let calculator = tachograph_counters::Calculator::new(tachograph_counters::CounterType::DOUBLE_RAW, 1);
    match calculator.format(None, &double, &format.options(kind.scale)) {
        Ok(number) => FormattedValue { status: PdhStatus::VALID_DATA, value: format.value_of(number) },
        Err(_) => missing,
    }
}
