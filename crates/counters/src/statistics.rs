//! Statistics of one counter over time: a small state that merges.

mod packed;
mod run;
mod series;
mod sums;

use std::sync::Arc;

use tachograph_schema::Formula;

use crate::civil::Moment;
use crate::formula::Calculator;
use crate::quantiles::Quantiles;
use crate::raw::RawValue;
use crate::status::Status;

pub use packed::{PackedStatistics, Packing};
pub use series::Series;
use sums::Sums;

/// Which intervals minimum, maximum, quantiles and the number of values are taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Intervals {
    /// All of them: an interval without activity counts as 0, as Windows shows it.
    #[default]
    All,
    /// Only those in which the denominator moved. For averages per operation this leaves out the zeros that stand for
    /// "no operation"; the average is the same, since it never counted them.
    Active,
}

/// The statistics of one counter of one instance over a stretch of time: the state, from which
/// [`summary`](Self::summary) makes the figures.
///
/// The average is the counter's own formula over the summed differences, which are kept as exact integers: without a
/// reset it equals the formula over the first and last raw values. Plain counts and fractions average arithmetically.
/// Intervals in error add to nothing but the number of errors.
///
/// Two states of adjacent stretches, or of two machines, [`merge`](Self::merge): any split and any order give the same
/// figures (sums of fractions and of doubles agree to about 1e-30).
///
/// Source: "Counter Types", Windows Server 2003 Deployment Kit, "Average" of each type; PdhComputeCounterStatistics.
#[derive(Clone, Debug)]
pub struct Statistics {
    formula: Option<Formula>,
    intervals: Intervals,
    sums: Sums,
    values: u64,
    errors: u64,
    minimum: f64,
    maximum: f64,
    last: f64,
    last_value_at: i64,
    last_machine: Option<Arc<str>>,
    first_time: Option<Moment>,
    last_time: Option<Moment>,
    quantiles: Quantiles,
}

/// How the average of a [`Summary`] was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AverageKind {
    /// From raw values, by the counter type's formula.
    #[default]
    Raw,
    /// The arithmetic mean of already formatted values: all that a text log allows.
    Arithmetic,
}

/// The figures of [`Statistics`], in the counter's unit. `None` where there was no value: that is not zero.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Summary {
    /// How many formatted values there were (a two-sample type has one fewer than samples).
    pub values: u64,
    /// How many intervals (for one-sample types: samples) had an error status.
    pub errors: u64,
    /// The last value.
    pub last: Option<f64>,
    /// The average by the type's own formula.
    pub average: Option<f64>,
    /// How the average was made.
    pub average_kind: AverageKind,
    /// The smallest interval value.
    pub minimum: Option<f64>,
    /// The largest interval value.
    pub maximum: Option<f64>,
    /// The interval values of the nearest ranks of 50, 90, 95 and 99 %, within 1 %.
    pub quantiles: Option<[f64; 4]>,
    /// The moment of the first good raw value.
    pub first_time: Option<Moment>,
    /// The moment of the last good raw value.
    pub last_time: Option<Moment>,
}

/// Two states of different formulas cannot be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferentFormulas;

impl std::fmt::Display for DifferentFormulas {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("statistics of counters with different formulas cannot be merged")
    }
}

impl std::error::Error for DifferentFormulas {}

impl Statistics {
    /// An empty state for counters of this formula. `machine` orders last values of the same moment after a merge.
    pub fn new(formula: Option<Formula>, intervals: Intervals, machine: Option<Arc<str>>) -> Self {
        Self {
            formula,
            intervals,
            sums: Sums::default(),
            values: 0,
            errors: 0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            last: 0.0,
            last_value_at: i64::MIN,
            last_machine: machine,
            first_time: None,
            last_time: None,
            quantiles: Quantiles::default(),
        }
    }

    /// The same without quantiles: a state of fixed size, for charts that keep one per column.
    #[must_use]
    pub fn without_quantiles(mut self) -> Self {
        self.quantiles = Quantiles::off();
        self
    }

    /// Takes out what was added so far, and goes on empty.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let empty = self.emptied();
        std::mem::replace(self, empty)
    }

    /// A state like this one, to which nothing was added.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let mut empty = Self::new(self.formula, self.intervals, self.last_machine.clone());
        if self.quantiles.is_off() {
            empty.quantiles = Quantiles::off();
        }
        empty
    }

    /// Whether nothing was added, not even an error.
    pub fn is_empty(&self) -> bool {
        self.errors == 0 && self.first_time.is_none()
    }

    /// Adds the interval from `older` to `newer` (for one-sample types: `newer` alone), which ended at `at`. Returns why it
    /// is an error where it is one.
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
                    self.reach(at);
                }
                return Some(terms.err().unwrap_or(Status::INVALID_DATA));
            }
        };
        self.sums.add(formula, &terms, calculator.time_base(), newer.multi_count);
        self.reach(at);
        self.take_own_last(terms.formatted, at.utc.0);
        let moved = !formula.uses_second_difference() || terms.denominator != 0;
        if !moved && self.intervals == Intervals::Active {
            return None;
        }
        self.values += 1;
        // A numerator that moved without its denominator is formatted as 0, but that 0 measures nothing.
        if moved || terms.numerator == 0 {
            // Counters are never NaN here, so plain comparisons do, and are cheaper than min and max.
            if terms.formatted < self.minimum {
                self.minimum = terms.formatted;
            }
            if terms.formatted > self.maximum {
                self.maximum = terms.formatted;
            }
            self.quantiles.add(terms.formatted);
        }
        None
    }

    /// Notes that the stretch covers `at`, the moment of a good raw value.
    #[inline]
    pub fn reach(&mut self, at: Moment) {
        // The bias decides between machines of different zones, so that the order of merging does not.
        if self.first_time.is_none_or(|first| at < first) {
            self.first_time = Some(at);
        }
        if self.last_time.is_none_or(|last| at > last) {
            self.last_time = Some(at);
        }
    }

    /// Adds the state of another stretch of time or of another machine.
    ///
    /// # Errors
    ///
    /// [`DifferentFormulas`] when the counters' types compute different things; nothing was merged then.
    pub fn merge(&mut self, other: &Self) -> Result<(), DifferentFormulas> {
        if self.formula != other.formula {
            return Err(DifferentFormulas);
        }
        self.sums.merge(&other.sums);
        self.take_last(other.last, other.last_value_at, &other.last_machine);
        self.values += other.values;
        self.errors += other.errors;
        self.minimum = self.minimum.min(other.minimum);
        self.maximum = self.maximum.max(other.maximum);
        self.quantiles.merge(&other.quantiles);
        for reached in [other.first_time, other.last_time].into_iter().flatten() {
            self.reach(reached);
        }
        Ok(())
    }

    /// Takes a value of this state's own, where it is later: a clock that is set back makes what follows earlier. Of one moment
    /// the larger, as when states are merged.
    #[inline(always)]
    fn take_own_last(&mut self, last: f64, at: i64) {
        if at > self.last_value_at || (at == self.last_value_at && last.total_cmp(&self.last).is_gt()) {
            self.last = last;
            self.last_value_at = at;
        }
    }

    /// Takes the last value of another state, where it is later.
    #[inline]
    fn take_last(&mut self, last: f64, at: i64, machine: &Option<Arc<str>>) {
        let later = at.cmp(&self.last_value_at).then_with(|| {
            // Instances of one machine, at one moment: the larger value, whatever the order of merging.
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

    /// The figures so far.
    pub fn summary(&self) -> Summary {
        let measured = self.minimum <= self.maximum;
        let has_value = self.last_value_at != i64::MIN;
        Summary {
            values: self.values,
            errors: self.errors,
            last: has_value.then_some(self.last),
            average: self.average(),
            average_kind: match self.formula {
                Some(Formula::Double) => AverageKind::Arithmetic,
                _ => AverageKind::Raw,
            },
            minimum: measured.then_some(self.minimum),
            maximum: measured.then_some(self.maximum),
            quantiles: self.quantiles.at([0.5, 0.9, 0.95, 0.99]),
            first_time: self.first_time,
            last_time: self.last_time,
        }
    }

    fn average(&self) -> Option<f64> {
        if self.last_value_at == i64::MIN {
            return None;
        }
        match self.formula? {
            // The documented average of an elapsed time is its value at the end.
            Formula::Elapsed => Some(self.last),
            formula => self.sums.average(formula).map(|average| match formula {
                // Rounding, or an overflow of huge doubles, must not carry a mean past its own values.
                Formula::Double | Formula::Fraction => average.clamp(self.minimum, self.maximum),
                _ => average,
            }),
        }
    }
}
