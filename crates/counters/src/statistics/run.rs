//! Many consecutive samples of one counter at once.

use super::{Intervals, Pairing, Series, Statistics};
use crate::civil::Moment;
use crate::formula::{Calculator, Formula, evaluate};
use crate::raw::RawValue;

impl Series {
    /// Takes consecutive raw values, the first of them paired as `pairing` says: the same as [`add`](Self::add) for each
    /// of them, and faster, since sums stay in registers while nothing is out of the ordinary.
    pub fn add_run<'a>(
        &mut self,
        calculator: &Calculator,
        run: impl Iterator<Item = (&'a RawValue, Moment)>,
        pairing: Pairing,
    ) {
        // One loop per formula, each with its formula known when it is compiled.
        match calculator.formula() {
            Some(Formula::Rate) => self.follow::<{ Formula::Rate as u8 }>(calculator, run, pairing),
            Some(Formula::Ratio) => self.follow::<{ Formula::Ratio as u8 }>(calculator, run, pairing),
            Some(Formula::Percent) => self.follow::<{ Formula::Percent as u8 }>(calculator, run, pairing),
            Some(Formula::InversePercent) => {
                self.follow::<{ Formula::InversePercent as u8 }>(calculator, run, pairing);
            }
            Some(Formula::AverageTime) => {
                self.follow::<{ Formula::AverageTime as u8 }>(calculator, run, pairing)
            }
            Some(Formula::Value) => self.follow::<{ Formula::Value as u8 }>(calculator, run, pairing),
            Some(Formula::Fraction) => self.follow::<{ Formula::Fraction as u8 }>(calculator, run, pairing),
            Some(Formula::Elapsed) => self.follow::<{ Formula::Elapsed as u8 }>(calculator, run, pairing),
            _ => {
                let mut pairing = pairing;
                for (raw, at) in run {
                    self.add(calculator, raw, at, pairing);
                    pairing = Pairing::Continues;
                }
            }
        }
    }

    fn follow<'a, const FORMULA: u8>(
        &mut self,
        calculator: &Calculator,
        run: impl Iterator<Item = (&'a RawValue, Moment)>,
        mut pairing: Pairing,
    ) {
        let formula = formula_of(FORMULA);
        let time_base = calculator.time_base() as f64;
        // What the loop below does not do: leave intervals out, and refuse a time base.
        let is_plain = self.statistics.intervals == Intervals::All
            && (!formula.uses_time_base() || calculator.time_base() > 0)
            && self.statistics.formula == Some(formula);
        let mut sums = RunSums::default();
        for (raw, at) in run {
            let ordinary = match &self.previous {
                _ if !is_plain || pairing != Pairing::Continues || raw.status.is_error() => None,
                _ if !formula.needs_two_samples() => one_sample(formula, raw, time_base),
                Some(previous) if previous.status.is_error() => None,
                Some(previous) if raw.first < previous.first || raw.second < previous.second => None,
                Some(previous) => {
                    let n = raw.first.wrapping_sub(previous.first) as u64;
                    let d = raw.second.wrapping_sub(previous.second) as u64;
                    // A numerator without a denominator is formatted, but measures nothing.
                    (d != 0 || n == 0).then(|| (n, d, evaluate(formula, n as f64, d as f64, time_base, 1)))
                }
                None => None,
            };
            let Some((numerator, denominator, formatted)) = ordinary else {
                sums.give(&mut self.statistics, calculator);
                sums = RunSums::default();
                self.add(calculator, raw, at, pairing);
                pairing = Pairing::Continues;
                continue;
            };
            self.previous = Some(*raw);
            if formula == Formula::Fraction {
                self.statistics.sums.add_formatted(formatted);
            }
            sums.add(formula, numerator, denominator, formatted, at);
            self.statistics.quantiles.add(formatted);
        }
        sums.give(&mut self.statistics, calculator);
    }
}

/// What a one-sample formula makes of an ordinary raw value.
#[inline]
fn one_sample(formula: Formula, raw: &RawValue, time_base: f64) -> Option<(u64, u64, f64)> {
    let formatted = match formula {
        Formula::Fraction if raw.second > 0 => (raw.first as f64 / raw.second as f64) * 100.0,
        Formula::Elapsed if raw.first <= raw.second && raw.first != 0 => {
            raw.second.wrapping_sub(raw.first) as u64 as f64 / time_base
        }
        Formula::Value => return Some((raw.first as u64, 0, raw.first as f64)),
        _ => return None,
    };
    Some((0, 0, formatted))
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

/// What ordinary values of a run add up to.
struct RunSums {
    numerator: i128,
    denominator: i128,
    count: u64,
    minimum: f64,
    maximum: f64,
    last: f64,
    last_value_at: i64,
    first_time: Moment,
    last_time: Moment,
}

impl Default for RunSums {
    fn default() -> Self {
        Self {
            numerator: 0,
            denominator: 0,
            count: 0,
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            last: 0.0,
            last_value_at: 0,
            first_time: Moment::default(),
            last_time: Moment::default(),
        }
    }
}

impl RunSums {
    #[inline]
    fn add(&mut self, formula: Formula, numerator: u64, denominator: u64, formatted: f64, at: Moment) {
        self.numerator +=
            if formula == Formula::Value { i128::from(numerator as i64) } else { i128::from(numerator) };
        self.denominator += i128::from(denominator);
        if formatted < self.minimum {
            self.minimum = formatted;
        }
        if formatted > self.maximum {
            self.maximum = formatted;
        }
        self.last = formatted;
        self.last_value_at = at.utc.0;
        if self.count == 0 || at < self.first_time {
            self.first_time = at;
        }
        if self.count == 0 || at > self.last_time {
            self.last_time = at;
        }
        self.count += 1;
    }

    fn give(&self, statistics: &mut Statistics, calculator: &Calculator) {
        let (Some(formula), 1..) = (calculator.formula(), self.count) else { return };
        statistics.sums.add_many(
            formula,
            self.numerator,
            self.denominator,
            self.count,
            calculator.time_base(),
        );
        statistics.values += self.count;
        statistics.minimum = statistics.minimum.min(self.minimum);
        statistics.maximum = statistics.maximum.max(self.maximum);
        statistics.last = self.last;
        statistics.last_value_at = self.last_value_at;
        statistics.reach(self.first_time);
        statistics.reach(self.last_time);
    }
}
