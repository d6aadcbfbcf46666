//! The formulas: from one or two raw values to a displayed value.

use tachograph_schema::{CounterType, Formula, Suffix};

use crate::raw::RawValue;
use crate::status::Status;

/// How a value is made, beside its formula. The default is what all tools of this project show: uncapped, unscaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FormatOptions {
    /// Percentages above 100 become 100. Off by default, as in Get-Counter (`PDH_FMT_NOCAP100`).
    pub cap_at_100: bool,
    /// A power of ten to multiply by, -7 to 7; out of range: [`Status::INVALID_ARGUMENT`].
    pub scale: i8,
    /// Multiply by 1000 (`PDH_FMT_1000`).
    pub times_1000: bool,
    /// A 32-bit counter that is smaller than before has rolled over once: add 2^32. Off by default, as in PDH.
    pub unwrap_32_bit: bool,
}

/// A counter's formula with what it needs, looked up once: the way from raw to formatted values.
///
/// ```
/// use tachograph_counters::{Calculator, CounterType, FormatOptions, RawValue};
///
/// // "Bytes Total/sec" of two samples about three seconds apart, on a clock of 2,630,633 ticks a second.
/// let calculator = Calculator::new(CounterType::BULK_COUNT, 2_630_633);
/// let older = RawValue::new(3983296633, 2006530743703);
/// let newer = RawValue::new(3983303676, 2006538643468);
/// let per_second = calculator.format(Some(&older), &newer, &FormatOptions::default());
/// assert_eq!(per_second, Ok(2345.3290343446924));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calculator {
    counter_type: CounterType,
    formula: Option<Formula>,
    time_base: i64,
    data_is_32_bit: bool,
}

/// What one sample, or the interval between two, contributes: exact numbers before any division.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Terms {
    /// `n`, or `N` for one-sample formulas.
    pub(crate) numerator: u64,
    /// `d`, or `D`.
    pub(crate) denominator: u64,
    /// The formatted value.
    pub(crate) formatted: f64,
}

impl Calculator {
    /// The way from raw to formatted values for a counter of this type whose `second` counts `time_base` units a second.
    pub fn new(counter_type: CounterType, time_base: i64) -> Self {
        Self { counter_type, formula: counter_type.formula(), time_base, data_is_32_bit: false }
    }

    /// Says that the counter's data is 4 bytes wide, which [`FormatOptions::unwrap_32_bit`] asks for.
    pub fn with_32_bit_data(mut self, data_is_32_bit: bool) -> Self {
        self.data_is_32_bit = data_is_32_bit;
        self
    }

    /// The counter's type.
    pub fn counter_type(&self) -> CounterType {
        self.counter_type
    }

    /// The counter's formula; `None` for types without a number.
    pub fn formula(&self) -> Option<Formula> {
        self.formula
    }

    /// Units of `second` in one second.
    pub fn time_base(&self) -> i64 {
        self.time_base
    }

    /// The displayed value of `newer`, with the sample before it for types that need two. Never infinite, never NaN.
    ///
    /// # Errors
    ///
    /// In this order: [`INVALID_DATA`](Status::INVALID_DATA) when a sample has an error status;
    /// [`INVALID_ARGUMENT`](Status::INVALID_ARGUMENT) for types without a number and
    /// [`FUNCTION_NOT_FOUND`](Status::FUNCTION_NOT_FOUND) for unknown ones; `INVALID_DATA` when two samples are needed
    /// and one is given; [`NEGATIVE_DENOMINATOR`](Status::NEGATIVE_DENOMINATOR) when the clock or the base went back;
    /// [`NEGATIVE_TIMEBASE`](Status::NEGATIVE_TIMEBASE) when the formula uses a time base that is not positive;
    /// [`NEGATIVE_VALUE`](Status::NEGATIVE_VALUE) when the counter went back. A denominator of 0 is no error: nothing
    /// happened, and the value is 0.
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
        if *options == FormatOptions::default() { Ok(plain) } else { self.dress(plain, options) }
    }

    /// The numbers that `newer` contributes, and their formatted value.
    #[inline]
    pub(crate) fn terms(&self, older: Option<&RawValue>, newer: &RawValue) -> Result<Terms, Status> {
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
        // Not below zero, so the distance of two i64 always fits u64 and is exact.
        let n = newer.first.wrapping_sub(older.first) as u64;
        let d = newer.second.wrapping_sub(older.second) as u64;
        let formatted = evaluate(formula, n as f64, d as f64, self.time_base as f64, newer.multi_count);
        Ok(Terms { numerator: n, denominator: d, formatted })
    }

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
                // A start of 0 means "not started" (.NET's rule).
                let elapsed = newer.second.wrapping_sub(newer.first) as u64;
                if newer.first == 0 { 0.0 } else { elapsed as f64 / self.time_base as f64 }
            }
            _ => newer.first as f64,
        };
        Ok(Terms { numerator: newer.first as u64, denominator: newer.second as u64, formatted })
    }

    #[cold]
    fn no_formula(&self) -> Status {
        if self.counter_type.is_known() { Status::INVALID_ARGUMENT } else { Status::FUNCTION_NOT_FOUND }
    }

    /// The older sample moved down by 2^32 where the newer one has rolled over.
    fn unwrap(&self, older: &RawValue, newer: &RawValue) -> RawValue {
        let mut older = *older;
        if self.formula.is_some_and(Formula::needs_two_samples) && newer.first < older.first {
            older.first = older.first.wrapping_sub(1 << 32);
        }
        older
    }

    fn dress(&self, plain: f64, options: &FormatOptions) -> Result<f64, Status> {
        if !(-7..=7).contains(&options.scale) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let mut dressed = plain;
        if options.cap_at_100 && matches!(self.counter_type.suffix(), Suffix::Percent) {
            dressed = dressed.min(100.0);
        }
        dressed *= 10f64.powi(i32::from(options.scale));
        if options.times_1000 {
            dressed *= 1000.0;
        }
        if dressed.is_finite() { Ok(dressed) } else { Err(Status::INVALID_DATA) }
    }
}

/// A two-sample formula over differences (or over sums of differences): 0 where the denominator is 0.
#[inline]
pub(crate) fn evaluate(formula: Formula, n: f64, d: f64, time_base: f64, multi_count: u32) -> f64 {
    if d == 0.0 && formula.uses_second_difference() {
        return 0.0;
    }
    match formula {
        Formula::Rate => n / (d / time_base),
        Formula::Percent => (n / d) * 100.0,
        Formula::InversePercent => not_negative((1.0 - n / d) * 100.0),
        Formula::AverageTime => (n / time_base) / d,
        Formula::Ratio => n / d,
        Formula::MultiPercent if multi_count == 0 => 0.0,
        Formula::MultiPercent => ((n / d) / f64::from(multi_count)) * 100.0,
        Formula::MultiInversePercent => not_negative((f64::from(multi_count) - n / d) * 100.0),
        Formula::Delta | Formula::Value | Formula::Double | Formula::Fraction | Formula::Elapsed => n,
    }
}

/// Idle time often advances a little more than the clock: an inverse timer then says 0, not a negative share.
pub(crate) fn not_negative(percent: f64) -> f64 {
    if percent > 0.0 { percent } else { 0.0 }
}
