//! Formulas, which compute a displayed value from one or two raw values.

use tachograph_schema::{CounterType, Formula, Suffix};

use crate::raw::RawValue;
use crate::status::Status;

/// Options for displayed values. By default, values are neither capped nor scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FormatOptions {
    /// Limit percentages to 100. Off by default, as in Get-Counter (`PDH_FMT_NOCAP100`).
    pub cap_at_100: bool,
    /// The power of ten to multiply by, from -7 to 7. With any other scale, the result is [`Status::INVALID_ARGUMENT`].
    pub scale: i8,
    /// Multiply by 1000 (`PDH_FMT_1000`).
    pub times_1000: bool,
    /// Assume that a 32-bit counter that decreased has wrapped once, and add 2^32. Off by default, as in PDH.
    pub unwrap_32_bit: bool,
}

/// Computes the displayed values of a counter with the formula of its type.
///
/// ```
/// use tachograph_counters::{Calculator, CounterType, FormatOptions, RawValue};
///
/// // "Bytes Total/sec" of two samples about three seconds apart, with a clock of 2,630,633 ticks per second.
/// let calculator = Calculator::new(CounterType::BULK_COUNT, 2_630_633);
/// let older = RawValue::new(3983296633, 2006530743703);
/// let newer = RawValue::new(3983303676, 2006538643468);
/// let per_second = calculator.format(Some(&older), &newer, &FormatOptions::default());
/// assert_eq!(per_second, Ok(2345.3290343446924));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calculator {
    counter_type: CounterType,
    /// `None` for types without a displayed value.
    formula: Option<Formula>,
    /// The frequency of the counter's clock in units per second.
    time_base: i64,
    /// Whether the counter's data has 4 bytes.
    data_is_32_bit: bool,
}

/// The terms that a sample, or the interval between two samples, adds to the sums of statistics. The numerator and the
/// denominator are exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// `n`, or `N` for one-sample formulas; see [`Formula`].
    pub numerator: u64,
    /// `d`, or `D`.
    pub denominator: u64,
    /// The displayed value.
    pub formatted: f64,
}

impl Calculator {
    /// A calculator for a counter of this type, with a clock of `time_base` units per second.
    pub fn new(counter_type: CounterType, time_base: i64) -> Self {
        Self { counter_type, formula: counter_type.formula(), time_base, data_is_32_bit: false }
    }

    /// Sets whether the counter's data has 4 bytes, for [`FormatOptions::unwrap_32_bit`].
    pub fn with_32_bit_data(mut self, data_is_32_bit: bool) -> Self {
        self.data_is_32_bit = data_is_32_bit;
        self
    }

    /// The counter's type.
    pub fn counter_type(&self) -> CounterType {
        self.counter_type
    }

    /// The counter's formula; `None` for types without a displayed value.
    pub fn formula(&self) -> Option<Formula> {
        self.formula
    }

    /// Units of the clock per second.
    pub fn time_base(&self) -> i64 {
        self.time_base
    }

    /// The displayed value of `newer`, or for two-sample types, of the interval from `older` to `newer`. Never infinite
    /// or NaN.
    ///
    /// A denominator of 0 is not an error: nothing happened in the interval, and the value is 0.
    ///
    /// # Errors
    ///
    /// In this order: [`INVALID_DATA`](Status::INVALID_DATA) if `newer` has an error status;
    /// [`INVALID_ARGUMENT`](Status::INVALID_ARGUMENT) for types without a value and
    /// [`FUNCTION_NOT_FOUND`](Status::FUNCTION_NOT_FOUND) for unknown types; `INVALID_DATA` if the type needs two
    /// samples and `older` is missing or has an error status; [`NEGATIVE_DENOMINATOR`](Status::NEGATIVE_DENOMINATOR) if
    /// the clock or the base decreased; [`NEGATIVE_TIMEBASE`](Status::NEGATIVE_TIMEBASE) if the formula uses a time
    /// base that is not positive; [`NEGATIVE_VALUE`](Status::NEGATIVE_VALUE) if the counter decreased.
    pub fn format(
        &self,
        older: Option<&RawValue>,
        newer: &RawValue,
        options: &FormatOptions,
    ) -> Result<f64, Status> {
        let unwrapped;
        let older = match older {
            Some(older) if options.unwrap_32_bit && self.data_is_32_bit => {
                unwrapped = self.unwrap(older, newer);
                Some(&unwrapped)
            }
            other => other,
        };
        let plain = self.terms(older, newer)?.formatted;
        if *options == FormatOptions::default() { Ok(plain) } else { self.apply(options, plain) }
    }

    /// The contribution of `newer` to sums.
    ///
    /// # Errors
    ///
    /// Those of [`format`](Self::format).
    #[inline]
    pub fn terms(&self, older: Option<&RawValue>, newer: &RawValue) -> Result<Terms, Status> {
        if newer.status.is_error() {
            return Err(Status::INVALID_DATA);
        }
        let Some(formula) = self.formula else { return Err(self.no_formula()) };
        if !formula.needs_two_samples() {
            return self.one_sample(formula, newer);
        }
        let Some(older) = older.filter(|older| older.status.is_good()) else {
            return Err(Status::INVALID_DATA);
        };
        if formula.uses_second_difference() && newer.second < older.second {
            return Err(Status::NEGATIVE_DENOMINATOR);
        }
        if formula.uses_time_base() && self.time_base <= 0 {
            return Err(Status::NEGATIVE_TIMEBASE);
        }
        if newer.first < older.first {
            return Err(Status::NEGATIVE_VALUE);
        }
        // The differences of values that did not decrease fit into u64, even if they overflow i64.
        let n = newer.first.wrapping_sub(older.first) as u64;
        let d = newer.second.wrapping_sub(older.second) as u64;
        let formatted = evaluate(formula, n as f64, d as f64, self.time_base as f64, newer.multi_count);
        Ok(Terms { numerator: n, denominator: d, formatted })
    }

    /// The terms of a one-sample formula.
    fn one_sample(&self, formula: Formula, newer: &RawValue) -> Result<Terms, Status> {
        let formatted = match formula {
            Formula::Double => {
                let double = newer.as_double();
                if !double.is_finite() {
                    return Err(Status::INVALID_DATA);
                }
                double
            }
            Formula::Fraction => {
                if newer.second < 0 {
                    return Err(Status::NEGATIVE_DENOMINATOR);
                }
                if newer.second == 0 { 0.0 } else { (newer.first as f64 / newer.second as f64) * 100.0 }
            }
            Formula::Elapsed => {
                if newer.first > newer.second {
                    return Err(Status::NEGATIVE_DENOMINATOR);
                }
                if self.time_base <= 0 {
                    return Err(Status::NEGATIVE_TIMEBASE);
                }
                // A start of 0 means "not started", as in .NET.
                let elapsed = newer.second.wrapping_sub(newer.first) as u64;
                if newer.first == 0 { 0.0 } else { elapsed as f64 / self.time_base as f64 }
            }
            _ => newer.first as f64,
        };
        Ok(Terms { numerator: newer.first as u64, denominator: newer.second as u64, formatted })
    }

    /// The status for a type without a formula.
    #[cold]
    fn no_formula(&self) -> Status {
        if self.counter_type.is_known() { Status::INVALID_ARGUMENT } else { Status::FUNCTION_NOT_FOUND }
    }

    /// The older raw value, minus 2^32 if the counter has wrapped between the two samples.
    fn unwrap(&self, older: &RawValue, newer: &RawValue) -> RawValue {
        let mut older = *older;
        if self.formula.is_some_and(Formula::needs_two_samples) && newer.first < older.first {
            older.first = older.first.wrapping_sub(1 << 32);
        }
        older
    }

    /// Applies the options to a displayed value.
    fn apply(&self, options: &FormatOptions, plain: f64) -> Result<f64, Status> {
        if !(-7..=7).contains(&options.scale) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let mut value = plain;
        if options.cap_at_100 && matches!(self.counter_type.suffix(), Suffix::Percent) {
            value = value.min(100.0);
        }
        value *= 10f64.powi(i32::from(options.scale));
        if options.times_1000 {
            value *= 1000.0;
        }
        if value.is_finite() { Ok(value) } else { Err(Status::INVALID_DATA) }
    }
}

/// Applies a two-sample formula to `n`, the difference of the first raw values, and `d`, that of the second raw values,
/// or to sums of such differences. Returns 0 if the formula divides by `d` and `d` is 0.
#[inline]
pub(crate) fn evaluate(formula: Formula, n: f64, d: f64, time_base: f64, multi_count: u32) -> f64 {
    if d == 0.0 && formula.uses_second_difference() {
        return 0.0;
    }
    match formula {
        Formula::MultiPercent if multi_count == 0 => 0.0,
        Formula::MultiPercent => ((n / d) / f64::from(multi_count)) * 100.0,
        Formula::MultiInversePercent => not_negative((f64::from(multi_count) - n / d) * 100.0),
        formula => divide(formula, n, divisor(formula, d, time_base), time_base),
    }
}

/// The number by which [`divide`] divides.
#[inline(always)]
pub(crate) fn divisor(formula: Formula, d: f64, time_base: f64) -> f64 {
    if formula == Formula::Rate { d / time_base } else { d }
}

/// Applies a two-sample formula without a multiplier to `n`, the difference of the first raw values. The [`divisor`] must
/// not be 0.
#[inline(always)]
pub(crate) fn divide(formula: Formula, n: f64, divisor: f64, time_base: f64) -> f64 {
    match formula {
        Formula::Rate | Formula::Ratio => n / divisor,
        Formula::Percent => (n / divisor) * 100.0,
        Formula::InversePercent => not_negative((1.0 - n / divisor) * 100.0),
        Formula::AverageTime => (n / time_base) / divisor,
        _ => n,
    }
}

/// Replaces the negative value of an inverse timer with 0. The value is often slightly negative, because idle time
/// can increase slightly more than the clock.
pub(crate) fn not_negative(percent: f64) -> f64 {
    if percent > 0.0 { percent } else { 0.0 }
}
