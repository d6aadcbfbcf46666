//! Adding many consecutive samples of one counter at once.

use tachograph_schema::Formula;

use super::{Intervals, Series};
use crate::civil::Moment;
use crate::formula::{Calculator, evaluate};
use crate::raw::RawValue;

/// Maximum number of values that are added together.
const MAX_BATCH: usize = 32;

impl Series {
    /// Adds consecutive raw values of the same [origin](crate::Origin), each with its time. Equivalent to calling
    /// [`add`](Self::add) for each of them, but faster: batches without errors or other special cases are added
    /// together.
    pub fn add_run<'a>(
        &mut self,
        calculator: &Calculator,
        raws: impl Iterator<Item = &'a RawValue> + Clone,
        times: &[Moment],
    ) {
        // One loop per formula, so that the compiler knows the formula in each of them.
        match calculator.formula() {
            Some(Formula::Rate) => self.add_batches::<{ Formula::Rate as u8 }>(calculator, raws, times),
            Some(Formula::Ratio) => self.add_batches::<{ Formula::Ratio as u8 }>(calculator, raws, times),
            Some(Formula::Percent) => self.add_batches::<{ Formula::Percent as u8 }>(calculator, raws, times),
            Some(Formula::InversePercent) => {
                self.add_batches::<{ Formula::InversePercent as u8 }>(calculator, raws, times);
            }
            Some(Formula::AverageTime) => {
                self.add_batches::<{ Formula::AverageTime as u8 }>(calculator, raws, times);
            }
            Some(Formula::Value) => self.add_batches::<{ Formula::Value as u8 }>(calculator, raws, times),
            Some(Formula::Fraction) => {
                self.add_batches::<{ Formula::Fraction as u8 }>(calculator, raws, times);
            }
            Some(Formula::Elapsed) => self.add_batches::<{ Formula::Elapsed as u8 }>(calculator, raws, times),
            _ => self.add_each(calculator, raws, times),
        }
    }

    fn add_each<'a>(
        &mut self,
        calculator: &Calculator,
        raws: impl Iterator<Item = &'a RawValue>,
        times: &[Moment],
    ) {
        for (raw, at) in raws.zip(times) {
            self.add(calculator, raw, *at);
        }
    }

    fn add_batches<'a, const FORMULA: u8>(
        &mut self,
        calculator: &Calculator,
        mut raws: impl Iterator<Item = &'a RawValue> + Clone,
        mut times: &[Moment],
    ) {
        while !times.is_empty() {
            let opens_interval = self.pairer.previous.is_some_and(|previous| previous.status.is_good());
            let needs_opening = formula_of(FORMULA).needs_two_samples() && !opens_interval;
            let len = if needs_opening { 1 } else { times.len().min(MAX_BATCH) };
            let (batch_times, later) = times.split_at(len);
            if needs_opening || !self.add_batch::<FORMULA>(calculator, raws.clone(), batch_times) {
                self.add_each(calculator, raws.clone(), batch_times);
            }
            times = later;
            if !times.is_empty() {
                raws.nth(len - 1);
            }
        }
    }

    /// Adds up to [`MAX_BATCH`] raw values, one for each time. If one of them is an error or another special case,
    /// changes nothing and returns false.
    #[inline(always)]
    fn add_batch<'a, const FORMULA: u8>(
        &mut self,
        calculator: &Calculator,
        raws: impl Iterator<Item = &'a RawValue>,
        times: &[Moment],
    ) -> bool {
        let formula = formula_of(FORMULA);
        let time_base = calculator.time_base() as f64;
        let statistics = &mut self.statistics;
        let is_usual = statistics.intervals == Intervals::All
            && statistics.formula == Some(formula)
            && (!formula.uses_time_base() || calculator.time_base() > 0)
            // If the clock was set back, the last value of the batch is not the latest one.
            && times.is_sorted_by(|one, next| one.utc < next.utc);
        let (true, [first_time, ..], [.., last_time]) = (is_usual, times, times) else { return false };
        let opening = self.pairer.previous.unwrap_or_default();
        let mut last = &opening;
        let mut values = [0.0; MAX_BATCH];
        let values = &mut values[..times.len()];
        let (mut firsts, mut count) = (0, 0);
        for (value, raw) in values.iter_mut().zip(raws) {
            if raw.status.is_error() {
                return false;
            }
            let usual = match formula.needs_two_samples() {
                true => two_samples(formula, last, raw, time_base),
                false => one_sample(formula, raw, time_base),
            };
            let Some(usual) = usual else { return false };
            *value = usual;
            if formula == Formula::Value {
                firsts += i128::from(raw.first);
            }
            last = raw;
            count += 1;
        }
        if count < times.len() {
            return false;
        }
        let values = &*values;
        let (numerator, denominator) = match formula {
            Formula::Value => (firsts, 0),
            Formula::Fraction => {
                values.iter().for_each(|&value| statistics.sums.add_formatted(value));
                (0, 0)
            }
            // The sum of all differences is the last raw value minus the opening one.
            _ if formula.needs_two_samples() => (
                i128::from(last.first) - i128::from(opening.first),
                i128::from(last.second) - i128::from(opening.second),
            ),
            _ => (0, 0),
        };
        let count = values.len() as u64;
        statistics.sums.add_many(formula, numerator, denominator, count, calculator.time_base());
        statistics.values += count;
        let (mut minimum, mut maximum) = (statistics.minimum, statistics.maximum);
        for &value in values {
            // Values are never NaN, so plain comparisons are enough, and they are cheaper than `min` and `max`.
            minimum = if value < minimum { value } else { minimum };
            maximum = if value > maximum { value } else { maximum };
        }
        (statistics.minimum, statistics.maximum) = (minimum, maximum);
        statistics.quantiles.add_all(values);
        statistics.replace_own_last(values[values.len() - 1], last_time.utc.0);
        statistics.extend_to(*first_time);
        statistics.extend_to(*last_time);
        self.pairer.previous = Some(*last);
        true
    }
}

/// The value of a two-sample formula; `None` if the interval is a special case.
#[inline(always)]
fn two_samples(formula: Formula, older: &RawValue, newer: &RawValue, time_base: f64) -> Option<f64> {
    let (n, d) = (newer.first.wrapping_sub(older.first), newer.second.wrapping_sub(older.second));
    // Raw values that decreased, and differences of more than 63 bits, which wrap to negative numbers.
    if newer.first < older.first || newer.second < older.second || (n | d) < 0 {
        return None;
    }
    // If the numerator increased but the denominator did not, the value is not meaningful.
    (d != 0 || n == 0).then(|| evaluate(formula, n as f64, d as f64, time_base, 1))
}

/// The value of a one-sample formula; `None` if the raw value is a special case.
#[inline(always)]
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

/// The formula with this discriminant, which must be one that [`Series::add_run`] passes to `add_batches`.
const fn formula_of(discriminant: u8) -> Formula {
    const RATE: u8 = Formula::Rate as u8;
    const RATIO: u8 = Formula::Ratio as u8;
    const PERCENT: u8 = Formula::Percent as u8;
    const INVERSE_PERCENT: u8 = Formula::InversePercent as u8;
    const AVERAGE_TIME: u8 = Formula::AverageTime as u8;
    const FRACTION: u8 = Formula::Fraction as u8;
    const ELAPSED: u8 = Formula::Elapsed as u8;
    match discriminant {
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
