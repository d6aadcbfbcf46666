//! Many consecutive samples of one counter at once.

use tachograph_schema::Formula;

use super::{Intervals, Series, Statistics};
use crate::civil::Moment;
use crate::formula::{Calculator, evaluate};
use crate::raw::RawValue;

impl Series {
    /// Takes consecutive raw values of one [origin](crate::Origin): the same as [`add`](Self::add) for each of them, and faster,
    /// since sums stay in registers while nothing is out of the ordinary.
    pub fn add_run<'a>(
        &mut self,
        calculator: &Calculator,
        run: impl Iterator<Item = (&'a RawValue, Moment)>,
    ) {
        // One loop per formula, each with its formula known when it is compiled.
        match calculator.formula() {
            Some(Formula::Rate) => self.add_ordinary::<{ Formula::Rate as u8 }>(calculator, run),
            Some(Formula::Ratio) => self.add_ordinary::<{ Formula::Ratio as u8 }>(calculator, run),
            Some(Formula::Percent) => self.add_ordinary::<{ Formula::Percent as u8 }>(calculator, run),
            Some(Formula::InversePercent) => {
                self.add_ordinary::<{ Formula::InversePercent as u8 }>(calculator, run);
            }
            Some(Formula::AverageTime) => {
                self.add_ordinary::<{ Formula::AverageTime as u8 }>(calculator, run)
            }
            Some(Formula::Value) => self.add_ordinary::<{ Formula::Value as u8 }>(calculator, run),
            Some(Formula::Fraction) => self.add_ordinary::<{ Formula::Fraction as u8 }>(calculator, run),
            Some(Formula::Elapsed) => self.add_ordinary::<{ Formula::Elapsed as u8 }>(calculator, run),
            _ => {
                for (raw, at) in run {
                    self.add(calculator, raw, at);
                }
            }
        }
    }

    fn add_ordinary<'a, const FORMULA: u8>(
        &mut self,
        calculator: &Calculator,
        run: impl Iterator<Item = (&'a RawValue, Moment)>,
    ) {
        let formula = formula_of(FORMULA);
        let time_base = calculator.time_base() as f64;
        // What the loop below does not do: leave intervals out, and refuse a time base.
        let is_plain = self.statistics.intervals == Intervals::All
            && (!formula.uses_time_base() || calculator.time_base() > 0)
            && self.statistics.formula == Some(formula);
        let has_quantiles = !self.statistics.quantiles.is_off();
        let before = self.pairer.previous;
        let mut previous = before.as_ref();
        let mut sums = RunSums::from(previous);
        for (raw, at) in run {
            let ordinary = match previous {
                _ if !is_plain || raw.status.is_error() => None,
                // The clock was set back, or stood: which value is the last is seen to below.
                _ if sums.count > 0 && at.utc <= sums.last_time.utc => None,
                _ if !formula.needs_two_samples() => one_sample(formula, raw, time_base),
                Some(previous) if previous.status.is_error() => None,
                Some(previous) => two_samples(formula, previous, raw, time_base),
                None => None,
            };
            let Some(formatted) = ordinary else {
                sums.give(&mut self.statistics, calculator, previous);
                self.pairer.previous = previous.copied();
                self.add(calculator, raw, at);
                previous = self.pairer.previous.is_some().then_some(raw);
                sums = RunSums::from(previous);
                continue;
            };
            previous = Some(raw);
            if formula == Formula::Fraction {
                self.statistics.sums.add_formatted(formatted);
            }
            if formula == Formula::Value {
                sums.firsts += i128::from(raw.first);
            }
            sums.add(formatted, at);
            if has_quantiles {
                self.statistics.quantiles.add(formatted);
            }
        }
        sums.give(&mut self.statistics, calculator, previous);
        self.pairer.previous = previous.copied();
    }
}

/// What a two-sample formula makes of two ordinary raw values.
#[inline(always)]
fn two_samples(formula: Formula, older: &RawValue, newer: &RawValue, time_base: f64) -> Option<f64> {
    let (n, d) = (newer.first.wrapping_sub(older.first), newer.second.wrapping_sub(older.second));
    // Not ordinary: what went back, and differences beyond 63 bits, which differ in sign.
    if newer.first < older.first || newer.second < older.second || (n | d) < 0 {
        return None;
    }
    // A numerator without a denominator is formatted, but measures nothing.
    (d != 0 || n == 0).then(|| evaluate(formula, n as f64, d as f64, time_base, 1))
}

/// What a one-sample formula makes of an ordinary raw value.
#[inline]
fn one_sample(formula: Formula, raw: &RawValue, time_base: f64) -> Option<f64> {
    match formula {
        Formula::Fraction if raw.second > 0 => Some((raw.first as f64 / raw.second as f64) * 100.0),
        Formula::Elapsed if raw.first <= raw.second && raw.first != 0 => {
            Some(raw.second.wrapping_sub(raw.first) as u64 as f64 / time_base)
        }
        Formula::Value => Some(raw.first as f64),
        _ => None,
    }
}

/// The formula of a number that [`Series::add_run`] gave.
const fn formula_of(number: u8) -> Formula {
    const RATE: u8 = Formula::Rate as u8;
    const RATIO: u8 = Formula::Ratio as u8;
    const PERCENT: u8 = Formula::Percent as u8;
    const INVERSE_PERCENT: u8 = Formula::InversePercent as u8;
    const AVERAGE_TIME: u8 = Formula::AverageTime as u8;
    const FRACTION: u8 = Formula::Fraction as u8;
    const ELAPSED: u8 = Formula::Elapsed as u8;
    match number {
        RATE => Formula::Rate,
        RATIO => Formula::Ratio,
        PERCENT => Formula::Percent,
        INVERSE_PERCENT => Formula::InversePercent,
        AVERAGE_TIME => Formula::AverageTime,
        FRACTION => Formula::Fraction,
        ELAPSED => Formula::Elapsed,
        _ => Formula::Value,
    }
}

/// What ordinary values that follow one another add up to.
struct RunSums<'a> {
    /// The raw value that opens the first interval: the differences of all intervals add up to that of last and first.
    opening: Option<&'a RawValue>,
    /// Of plain counts the sum.
    firsts: i128,
    count: u64,
    minimum: f64,
    maximum: f64,
    last: f64,
    /// They are in the order of time.
    first_time: Moment,
    last_time: Moment,
}

impl<'a> RunSums<'a> {
    fn from(opening: Option<&'a RawValue>) -> Self {
        Self {
            opening,
            firsts: 0,
            count: 0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            last: 0.0,
            first_time: Moment::default(),
            last_time: Moment::default(),
        }
    }

    #[inline(always)]
    fn add(&mut self, formatted: f64, at: Moment) {
        if formatted < self.minimum {
            self.minimum = formatted;
        }
        if formatted > self.maximum {
            self.maximum = formatted;
        }
        self.last = formatted;
        if self.count == 0 {
            self.first_time = at;
        }
        self.last_time = at;
        self.count += 1;
    }

    /// Adds them to the statistics; `last` is the last raw value.
    fn give(&self, statistics: &mut Statistics, calculator: &Calculator, last: Option<&RawValue>) {
        let (Some(formula), 1..) = (calculator.formula(), self.count) else { return };
        let difference = |of: fn(&RawValue) -> i64| {
            i128::from(last.map_or(0, of)) - i128::from(self.opening.map_or(0, of))
        };
        let (numerator, denominator) = match formula {
            Formula::Value => (self.firsts, 0),
            _ if formula.needs_two_samples() => (difference(|raw| raw.first), difference(|raw| raw.second)),
            _ => (0, 0),
        };
        statistics.sums.add_many(formula, numerator, denominator, self.count, calculator.time_base());
        statistics.values += self.count;
        statistics.minimum = statistics.minimum.min(self.minimum);
        statistics.maximum = statistics.maximum.max(self.maximum);
        statistics.take_own_last(self.last, self.last_time.utc.0);
        statistics.reach(self.first_time);
        statistics.reach(self.last_time);
    }
}
