//! Statistics of one counter over time: a small state that can be merged.

mod average;
mod maximum_time;
mod packed;
mod regression;
mod run;
mod series;
mod sums;
mod wide_integer;

use std::sync::Arc;

use tachograph_schema::Formula;

use crate::civil::Moment;
use crate::formula::Calculator;
use crate::quantiles::Quantiles;
use crate::raw::RawValue;
use crate::status::Status;

pub use average::{Average, DifferenceSums};
use maximum_time::MaximumTime;
pub use packed::{PackedStatistics, Packing};
pub use run::{RawRun, RunBuffers, RunTimes, SampleTimes};
pub use series::Series;
use sums::Sums;

/// The intervals from which the minimum, the maximum, the quantiles and the number of values are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Intervals {
    /// All intervals. An interval without activity counts as 0, as in Windows.
    #[default]
    All,
    /// Only intervals in which the denominator increased. For averages per operation, this omits the zeros of intervals
    /// without an operation. The average is the same as with all intervals, since such zeros do not affect it.
    Active,
}

/// The statistics of one counter of one instance over a time range. This is the state from which
/// [`summary`](Self::summary) computes the results.
///
/// The average is computed by applying the counter's formula to the sums of the differences, which are exact integers.
/// If the counter was never reset, the result equals the formula applied to the first and last raw values. The
/// average of counts, changes, fractions and formatted values is arithmetic; the average of an elapsed time is its last
/// value. An interval with an error only increments the number of errors.
///
/// States of adjacent time ranges or of several machines can be [merged](Self::merge). The results do not depend on how
/// the range was split or on the order of merging (for sums of fractions and of doubles, to about one part in 1e30).
///
/// Source: "Counter Types", Windows Server 2003 Deployment Kit, "Average" of each type; PdhComputeCounterStatistics.
#[derive(Clone, Debug)]
pub struct Statistics {
    formula: Option<Formula>,
    intervals: Intervals,
    sums: Sums,
    /// The number of values.
    values: u64,
    /// The number of intervals (for one-sample formulas, samples) with an error status.
    errors: u64,
    minimum: f64,
    maximum: f64,
    maximum_time: MaximumTime,
    /// The last value.
    last: f64,
    /// The time of the last value in UTC; `i64::MIN` without a value.
    last_value_at: i64,
    /// The machine that the last value comes from, if known.
    last_machine: Option<Arc<str>>,
    first_time: Option<Moment>,
    last_time: Option<Moment>,
    quantiles: Quantiles,
}

/// How the average of a [`Summary`] was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AverageKind {
    /// From raw values, with the formula of the counter type.
    #[default]
    Raw,
    /// As the arithmetic mean of formatted values, which is all that a text log has.
    Arithmetic,
}

/// The results of [`Statistics`], in the counter's unit. Fields are `None` if there was no value.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Summary {
    /// The number of displayed values. For two-sample types, this is usually one less than the number of samples.
    pub values: u64,
    /// The number of intervals (for one-sample types, samples) with a valid value, including those without activity that
    /// [`Intervals::Active`] does not count in `values`. So it is a measure of the time in which the instance was present.
    pub intervals: u64,
    /// The number of intervals (for one-sample types, samples) with an error status.
    pub errors: u64,
    /// The last value.
    pub last: Option<f64>,
    /// The average; see [`Statistics`].
    pub average: Option<f64>,
    /// How the average was computed.
    pub average_kind: AverageKind,
    /// The smallest value of an interval.
    pub minimum: Option<f64>,
    /// The largest value of an interval.
    pub maximum: Option<f64>,
    /// The 50th, 90th, 95th and 99th percentile (nearest rank) of the interval values, within 1 % (see [`Quantiles`]).
    pub quantiles: Option<[f64; 4]>,
    /// The time of the first valid raw value.
    pub first_time: Option<Moment>,
    /// The time of the last valid raw value.
    pub last_time: Option<Moment>,
    /// Whether the denominator of the formula did not increase in any interval, for example because there was no operation whose
    /// duration an average could measure. The values are then 0, as PDH returns in this case, although they mean nothing.
    pub is_idle: bool,
}

impl Summary {
    /// The average, weighted by the time for which the instance was present: the average multiplied by the number of
    /// intervals. Used to rank instances, so that an instance that was present for a second is not ranked above one that
    /// was almost as busy for an hour.
    pub fn rank(&self) -> Option<f64> {
        Some(self.average? * self.intervals as f64)
    }
}

/// The error of merging statistics with different formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferentFormulas;

impl std::fmt::Display for DifferentFormulas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("statistics of counters with different formulas cannot be merged")
    }
}

impl std::error::Error for DifferentFormulas {}

impl Statistics {
    /// An empty state for counters with this formula. If merged states have their last values at the same
    /// time, `machine` decides which of these values is the last.
    pub fn new(formula: Option<Formula>, intervals: Intervals, machine: Option<Arc<str>>) -> Self {
        Self {
            formula,
            intervals,
            sums: Sums::default(),
            values: 0,
            errors: 0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            maximum_time: MaximumTime::Off,
            last: 0.0,
            last_value_at: i64::MIN,
            last_machine: machine,
            first_time: None,
            last_time: None,
            quantiles: Quantiles::default(),
        }
    }

    /// Returns this state without quantiles. It has a fixed size, for charts, which keep one state per column.
    #[must_use]
    pub fn without_quantiles(mut self) -> Self {
        self.quantiles = Quantiles::off();
        self
    }

    /// Returns this state with the sums for [`standard_deviation`](Self::standard_deviation) and
    /// [`slope_per_hour`](Self::slope_per_hour), which take about 1.2 kB.
    #[must_use]
    pub fn with_regression(mut self) -> Self {
        self.sums.regression = Some(Box::default());
        self
    }

    /// Returns this state with the [time of the maximum](Self::maximum_time).
    #[must_use]
    pub fn with_maximum_time(mut self) -> Self {
        self.maximum_time = MaximumTime::None;
        self
    }

    /// Returns the state and resets it.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let empty = self.emptied();
        std::mem::replace(self, empty)
    }

    /// An empty state for the same counter and with the same options.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let mut empty = Self::new(self.formula, self.intervals, self.last_machine.clone());
        if self.quantiles.is_off() {
            empty.quantiles = Quantiles::off();
        }
        empty.maximum_time = self.maximum_time.emptied();
        empty.sums.regression = self.sums.regression.as_ref().map(|_| Box::default());
        empty
    }

    /// Prefetches the memory of the state, by reading it; see [`Series::load`].
    #[inline]
    fn prefetch(&self) -> u64 {
        let times = [self.first_time, self.last_time].map(|at| at.map_or(0, |at| at.utc.0 as u64));
        self.values
            | self.minimum.to_bits()
            | times[0]
            | times[1]
            | self.sums.prefetch()
            | self.quantiles.prefetch()
    }

    /// Whether nothing was added, that is, no valid raw values and no errors.
    pub fn is_empty(&self) -> bool {
        self.errors == 0 && self.first_time.is_none()
    }

    /// Adds the interval from `older` to `newer` (for one-sample types, just `newer`), which ended at `at`. Returns the
    /// status if the interval is an error.
    #[inline]
    pub fn add(
        &mut self,
        calculator: &Calculator,
        older: Option<&RawValue>,
        newer: &RawValue,
        at: Moment,
    ) -> Option<Status> {
        let (formula, terms) = match (self.formula, calculator.terms(older, newer)) {
            (Some(formula), Ok(terms)) => (formula, terms),
            (_, terms) => {
                self.errors += 1;
                if newer.status.is_good() {
                    self.extend_to(at);
                }
                return Some(terms.err().unwrap_or(Status::INVALID_DATA));
            }
        };
        self.sums.add(formula, &terms, calculator.time_base(), newer.multi_count);
        self.extend_to(at);
        self.replace_own_last(terms.formatted, at.utc.0);
        let is_active = !formula.uses_second_difference() || terms.denominator != 0;
        if !is_active && self.intervals == Intervals::Active {
            return None;
        }
        self.values += 1;
        // If the numerator increased but the denominator did not, the value 0 is meaningless and is only counted.
        if is_active || terms.numerator == 0 {
            // Values are never NaN, so plain comparisons are enough, and they are cheaper than `min` and `max`.
            if terms.formatted < self.minimum {
                self.minimum = terms.formatted;
            }
            if terms.formatted >= self.maximum {
                self.maximum_time.record(terms.formatted > self.maximum, at);
                self.maximum = terms.formatted;
            }
            self.quantiles.add(terms.formatted);
            if let Some(regression) = &mut self.sums.regression {
                regression.add(terms.formatted, at);
            }
        }
        None
    }

    /// Extends the time range to `at`, the time of a valid raw value.
    #[inline]
    pub fn extend_to(&mut self, at: Moment) {
        // Moments with equal UTC are ordered by bias, so that the order of merging does not matter.
        if self.first_time.is_none_or(|first| at < first) {
            self.first_time = Some(at);
        }
        if self.last_time.is_none_or(|last| at > last) {
            self.last_time = Some(at);
        }
    }

    /// Adds the state of another time range or machine.
    ///
    /// # Errors
    ///
    /// [`DifferentFormulas`] if the counter types have different formulas; the state is unchanged.
    pub fn merge(&mut self, other: &Self) -> Result<(), DifferentFormulas> {
        if self.formula != other.formula {
            return Err(DifferentFormulas);
        }
        self.sums.merge(&other.sums);
        self.replace_last(other.last, other.last_value_at, &other.last_machine);
        self.values += other.values;
        self.errors += other.errors;
        self.minimum = self.minimum.min(other.minimum);
        if other.maximum >= self.maximum
            && let Some(at) = other.maximum_time.get()
        {
            self.maximum_time.record(other.maximum > self.maximum, at);
        }
        self.maximum = self.maximum.max(other.maximum);
        self.quantiles.merge(&other.quantiles);
        for reached in [other.first_time, other.last_time].into_iter().flatten() {
            self.extend_to(reached);
        }
        Ok(())
    }

    /// Replaces the last value with `last`, unless `at` is earlier because the clock was set back. If the times are equal,
    /// the larger value is kept, as in a merge.
    #[inline(always)]
    fn replace_own_last(&mut self, last: f64, at: i64) {
        if at > self.last_value_at || (at == self.last_value_at && last.total_cmp(&self.last).is_gt()) {
            self.last = last;
            self.last_value_at = at;
        }
    }

    /// Replaces the last value with that of another state, if the other state's value is later.
    #[inline]
    fn replace_last(&mut self, last: f64, at: i64, machine: &Option<Arc<str>>) {
        let later = at.cmp(&self.last_value_at).then_with(|| {
            // If times and machines are equal, the larger value is kept, so that the order of merging does not matter.
            machine.cmp(&self.last_machine).then_with(|| last.total_cmp(&self.last))
        });
        if later.is_gt() {
            self.last = last;
            self.last_value_at = at;
            if *machine != self.last_machine {
                self.last_machine.clone_from(machine);
            }
        }
    }

    /// The results so far.
    pub fn summary(&self) -> Summary {
        let has_extremes = self.minimum <= self.maximum;
        let has_value = self.last_value_at != i64::MIN;
        Summary {
            values: self.values,
            intervals: self.sums.count(),
            errors: self.errors,
            last: has_value.then_some(self.last),
            average: self.average(),
            average_kind: match self.formula {
                Some(Formula::Double) => AverageKind::Arithmetic,
                _ => AverageKind::Raw,
            },
            minimum: has_extremes.then_some(self.minimum),
            maximum: has_extremes.then_some(self.maximum),
            // Because of rounding, a quantile could exceed the extremes.
            quantiles: self
                .quantiles
                .at([0.5, 0.9, 0.95, 0.99])
                .map(|found| found.map(|value| value.clamp(self.minimum, self.maximum))),
            first_time: self.first_time,
            last_time: self.last_time,
            is_idle: has_value
                && self.formula.is_some_and(Formula::uses_second_difference)
                && self.sums.has_no_denominator(),
        }
    }

    /// The percentiles of the interval values (nearest rank) for these percentages, each from 0 to 100. Computed like
    /// [`Summary::quantiles`].
    pub fn percentiles(&self, percentages: &[f64]) -> Option<Vec<f64>> {
        let percentile = |percentage: &f64| {
            let [value] = self.quantiles.at([percentage / 100.0])?;
            Some(value.clamp(self.minimum, self.maximum))
        };
        percentages.iter().map(percentile).collect()
    }

    /// The end of the interval with the maximum; of the earliest one if there are several. `None` without a value, or without
    /// [`with_maximum_time`](Self::with_maximum_time).
    pub fn maximum_time(&self) -> Option<Moment> {
        self.maximum_time.get()
    }

    /// The standard deviation of the interval values from which the minimum and the maximum are computed:
    /// `sqrt(sum((value - mean)^2) / (n - 1))`, with the arithmetic mean of the `n` values. `None` with fewer than two
    /// values, or without [`with_regression`](Self::with_regression).
    ///
    /// The result is bit-identical for any split into time ranges and any order of merging.
    pub fn standard_deviation(&self) -> Option<f64> {
        self.sums.regression.as_ref()?.standard_deviation()
    }

    /// The slope of the least-squares line through the interval values, in the counter's unit per hour:
    /// `sum((time - mean time) * (value - mean)) / sum((time - mean time)^2)`, where a value has the time at
    /// which its interval ends. `None` if there are no two values at different times, or without
    /// [`with_regression`](Self::with_regression).
    ///
    /// The result is bit-identical for any split into time ranges and any order of merging.
    pub fn slope_per_hour(&self) -> Option<f64> {
        self.sums.regression.as_ref()?.slope_per_hour()
    }

    fn average(&self) -> Option<f64> {
        if self.last_value_at == i64::MIN {
            return None;
        }
        match self.formula? {
            // According to Windows' documentation, the average of an elapsed time is its last value.
            Formula::Elapsed => Some(self.last),
            formula => self.sums.average(formula).map(|average| match formula {
                // Because of rounding and overflow, the average could exceed the extremes.
                Formula::Double | Formula::Fraction => average.clamp(self.minimum, self.maximum),
                _ => average,
            }),
        }
    }
}
