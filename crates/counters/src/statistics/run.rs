//! Adding many consecutive samples of one counter at once.

use tachograph_schema::Formula;

use super::{Intervals, Series};
use crate::civil::Moment;
use crate::formula::{Calculator, divide, divisor};
use crate::raw::RawValue;
use crate::status::Status;

/// Maximum number of values that are added at a time.
const MAX_BATCH: usize = 64;

/// Consecutive raw values of one counter, stored as one list per field. `firsts` and `seconds` must have equal length.
#[derive(Clone, Copy, Debug)]
pub struct RawRun<'a> {
    /// [`RawValue::first`] of each value.
    pub firsts: &'a [i64],
    /// [`RawValue::second`] of each value.
    pub seconds: &'a [i64],
    /// [`RawValue::multi_count`] and [`RawValue::status`] of each value, or a single pair that applies to all values.
    pub tails: &'a [(u32, Status)],
}

/// The times of consecutive samples.
#[derive(Clone, Debug, Default)]
pub struct SampleTimes {
    times: Vec<Moment>,
    /// Whether a time is not later than the one before it: the clock was set back.
    is_set_back: bool,
}

/// The times of a run's values.
#[derive(Clone, Copy, Debug)]
pub struct RunTimes<'a> {
    times: &'a [Moment],
    /// Whether the clock may have been set back between these times.
    is_set_back: bool,
}

/// Buffers for adding runs. The divisors of the last batch are kept, because counters of one sample usually share their
/// clock.
#[derive(Debug)]
pub struct RunBuffers {
    numerators: [u64; MAX_BATCH],
    divisors: Divisors,
    values: [f64; MAX_BATCH],
}

/// The divisors of consecutive intervals, and the numbers from which they were computed.
#[derive(Debug)]
struct Divisors {
    formula: Formula,
    time_base: i64,
    start: i64,
    seconds: [i64; MAX_BATCH],
    len: usize,
    list: [f64; MAX_BATCH],
    /// Whether the second number did not change in one of the intervals.
    has_zero: bool,
    /// Whether a second number is negative, or less than the one before it. Then the divisors are meaningless.
    is_unusual: bool,
}

impl Default for RunBuffers {
    fn default() -> Self {
        let divisors = Divisors {
            formula: Formula::Rate,
            time_base: 0,
            start: 0,
            seconds: [0; MAX_BATCH],
            len: 0,
            list: [0.0; MAX_BATCH],
            has_zero: false,
            is_unusual: false,
        };
        Self { numerators: [0; MAX_BATCH], divisors, values: [0.0; MAX_BATCH] }
    }
}

impl Divisors {
    /// Computes the divisors of a formula, unless the last call had the same arguments. `start` is the number before
    /// `seconds`.
    #[inline(always)]
    fn update(&mut self, formula: Formula, time_base: i64, start: i64, seconds: &[i64]) {
        // Of the formulas without a multiplier, only `Rate` uses the time base for the divisor.
        let is_known = (self.formula == Formula::Rate) == (formula == Formula::Rate)
            && self.time_base == time_base
            && self.start == start
            && self.seconds[..self.len] == *seconds;
        if !is_known {
            self.compute(formula, time_base, start, seconds);
        }
    }

    #[inline(never)]
    fn compute(&mut self, formula: Formula, time_base: i64, start: i64, seconds: &[i64]) {
        let seconds = &seconds[..seconds.len().min(MAX_BATCH)];
        (self.formula, self.time_base, self.start) = (formula, time_base, start);
        self.len = seconds.len();
        self.seconds[..self.len].copy_from_slice(seconds);
        let mut numbers = [0; MAX_BATCH];
        self.is_unusual = !differences(start, seconds, &mut numbers);
        let numbers = &numbers[..self.len];
        self.has_zero = numbers.contains(&0);
        for (list, &d) in self.list.iter_mut().zip(numbers) {
            *list = divisor(formula, d as f64, time_base as f64);
        }
    }
}

impl RawRun<'_> {
    /// The raw values.
    pub fn iter(&self) -> impl Iterator<Item = RawValue> {
        (0..self.firsts.len()).filter_map(|index| self.get(index))
    }

    fn get(&self, index: usize) -> Option<RawValue> {
        let (multi_count, status) = *self.tails.get(index).or(self.tails.first())?;
        Some(RawValue {
            first: *self.firsts.get(index)?,
            second: *self.seconds.get(index)?,
            multi_count,
            status,
        })
    }

    /// Whether all values are valid. False if `tails` has an entry per value.
    fn is_good(&self) -> bool {
        matches!(self.tails, [(_, status)] if status.is_good())
    }

    /// A part of a run whose values share their tail.
    fn range(&self, from: usize, to: usize) -> Self {
        Self { firsts: &self.firsts[from..to], seconds: &self.seconds[from..to], tails: self.tails }
    }
}

impl SampleTimes {
    /// Appends a time.
    pub fn push(&mut self, at: Moment) {
        self.is_set_back |= self.times.last().is_some_and(|last| last.utc >= at.utc);
        self.times.push(at);
    }

    /// Removes all times.
    pub fn clear(&mut self) {
        self.times.clear();
        self.is_set_back = false;
    }

    /// The number of times.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are no times.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The times from the one with this index on, for a counter that was not in the samples before.
    pub fn since(&self, index: usize) -> RunTimes<'_> {
        RunTimes { times: self.times.get(index..).unwrap_or_default(), is_set_back: self.is_set_back }
    }
}

impl<'a> RunTimes<'a> {
    /// The times, in the order of the samples.
    pub fn as_slice(&self) -> &'a [Moment] {
        self.times
    }
}

impl Series {
    /// Adds consecutive raw values of the same [origin](crate::Origin), each with its time. Equivalent to calling
    /// [`add`](Self::add) for each of them, but faster, because batches without errors or other special cases are added
    /// at once.
    pub fn add_run(
        &mut self,
        calculator: &Calculator,
        raws: &RawRun<'_>,
        times: RunTimes<'_>,
        buffers: &mut RunBuffers,
    ) {
        // One function per formula, so that the compiler knows the formula in its loops.
        let add = match calculator.formula() {
            Some(Formula::Rate) => Self::add_batches::<{ Formula::Rate as u8 }>,
            Some(Formula::Ratio) => Self::add_batches::<{ Formula::Ratio as u8 }>,
            Some(Formula::Percent) => Self::add_batches::<{ Formula::Percent as u8 }>,
            Some(Formula::InversePercent) => Self::add_batches::<{ Formula::InversePercent as u8 }>,
            Some(Formula::AverageTime) => Self::add_batches::<{ Formula::AverageTime as u8 }>,
            Some(Formula::Value) => Self::add_batches::<{ Formula::Value as u8 }>,
            Some(Formula::Fraction) => Self::add_batches::<{ Formula::Fraction as u8 }>,
            Some(Formula::Elapsed) => Self::add_batches::<{ Formula::Elapsed as u8 }>,
            _ => return self.add_each(calculator, raws, times.as_slice()),
        };
        let is_usual = raws.is_good()
            // If the clock was set back, the last value is not the latest one.
            && !times.is_set_back
            && self.statistics.intervals == Intervals::All
            && self.statistics.formula == calculator.formula()
            && (calculator.time_base() > 0 || !calculator.formula().is_some_and(Formula::uses_time_base));
        match is_usual {
            true => add(self, calculator, raws, times.as_slice(), buffers),
            false => self.add_each(calculator, raws, times.as_slice()),
        }
    }

    fn add_each(&mut self, calculator: &Calculator, raws: &RawRun<'_>, times: &[Moment]) {
        for (raw, at) in raws.iter().zip(times) {
            self.add(calculator, &raw, *at);
        }
    }

    fn add_batches<const FORMULA: u8>(
        &mut self,
        calculator: &Calculator,
        raws: &RawRun<'_>,
        times: &[Moment],
        buffers: &mut RunBuffers,
    ) {
        let len = raws.firsts.len().min(raws.seconds.len()).min(times.len());
        let mut from = 0;
        while from < len {
            let has_start = self.pairer.previous.is_some_and(|previous| previous.status.is_good());
            let needs_start = formula_from_discriminant(FORMULA).needs_two_samples() && !has_start;
            let to = if needs_start { from + 1 } else { len.min(from + MAX_BATCH) };
            let (raws, times) = (&raws.range(from, to), &times[from..to]);
            if needs_start || !self.add_batch::<FORMULA>(calculator, raws, times, buffers) {
                self.add_each(calculator, raws, times);
            }
            from = to;
        }
    }

    /// Adds a valid raw value for each of up to [`MAX_BATCH`] ascending times. Returns false without changing anything
    /// in a special case, such as a decreased counter, which only [`add`](Self::add) handles.
    #[inline(always)]
    fn add_batch<const FORMULA: u8>(
        &mut self,
        calculator: &Calculator,
        raws: &RawRun<'_>,
        times: &[Moment],
        buffers: &mut RunBuffers,
    ) -> bool {
        let formula = formula_from_discriminant(FORMULA);
        let start = self.pairer.previous.unwrap_or_default();
        let count = times.len();
        let (Some(last), [first_time, ..], [.., last_time]) = (raws.get(count - 1), times, times) else {
            return false;
        };
        let is_usual = match formula.needs_two_samples() {
            true => two_samples(formula, &start, raws, calculator.time_base(), buffers),
            false => one_sample(formula, raws, calculator.time_base() as f64, &mut buffers.values),
        };
        if !is_usual {
            return false;
        }
        let values = &buffers.values[..count];
        let statistics = &mut self.statistics;
        let (numerator, denominator) = match formula {
            Formula::Value => (sum(raws.firsts), 0),
            Formula::Fraction => {
                values.iter().for_each(|&value| statistics.sums.add_formatted(value));
                (0, 0)
            }
            // The sum of all differences is the last raw value minus the one before the batch.
            _ if formula.needs_two_samples() => (
                i128::from(last.first) - i128::from(start.first),
                i128::from(last.second) - i128::from(start.second),
            ),
            _ => (0, 0),
        };
        let count = count as u64;
        statistics.sums.add_many(formula, numerator, denominator, count, calculator.time_base());
        statistics.values += count;
        let (low, high) = extremes(values);
        statistics.minimum = if low < statistics.minimum { low } else { statistics.minimum };
        if high >= statistics.maximum {
            if !statistics.maximum_time.is_off()
                && let Some(position) = values.iter().position(|value| *value == high)
            {
                statistics.maximum_time.record(high > statistics.maximum, times[position]);
            }
            statistics.maximum = high;
        }
        statistics.quantiles.add_all(values);
        if let Some(regression) = &mut statistics.sums.regression {
            values.iter().zip(times).for_each(|(&value, &at)| regression.add(value, at));
        }
        statistics.replace_own_last(values[values.len() - 1], last_time.utc.0);
        statistics.extend_to(*first_time);
        statistics.extend_to(*last_time);
        self.pairer.previous = Some(last);
        true
    }
}

/// Computes the values of a two-sample formula; `start` is the raw value before the batch. Returns false if one of the
/// intervals is a special case.
#[inline(always)]
fn two_samples(
    formula: Formula,
    start: &RawValue,
    raws: &RawRun<'_>,
    time_base: i64,
    buffers: &mut RunBuffers,
) -> bool {
    let RunBuffers { numerators, divisors, values } = buffers;
    divisors.update(formula, time_base, start.second, raws.seconds);
    if divisors.is_unusual || !differences(start.first, raws.firsts, numerators) {
        return false;
    }
    let count = raws.firsts.len().min(MAX_BATCH);
    let intervals = values[..count].iter_mut().zip(&numerators[..count]).zip(&divisors.list[..count]);
    if !divisors.has_zero {
        for ((value, &n), &divisor) in intervals {
            *value = divide(formula, n as f64, divisor, time_base as f64);
        }
        return true;
    }
    // If the numerator increased but the denominator did not, the value is not meaningful. An early exit would prevent
    // the compiler from computing several values at a time.
    let mut meaningless = 0;
    for ((value, &n), &divisor) in intervals {
        meaningless |= if divisor == 0.0 { n } else { 0 };
        let quotient = divide(formula, n as f64, divisor, time_base as f64);
        *value = if divisor == 0.0 { 0.0 } else { quotient };
    }
    meaningless == 0
}

/// Computes the difference of each number and the one before it. Returns false if a number is negative or less than the
/// one before it.
#[inline(always)]
fn differences(start: i64, numbers: &[i64], differences: &mut [u64; MAX_BATCH]) -> bool {
    let mut before = start;
    let mut signs = start;
    for (difference, &number) in differences.iter_mut().zip(numbers) {
        let increase = number.wrapping_sub(before);
        *difference = increase as u64;
        signs |= number | increase;
        before = number;
    }
    signs >= 0
}

/// Computes the values of a one-sample formula. Returns false if one of the raw values is a special case.
#[inline(always)]
fn one_sample(formula: Formula, raws: &RawRun<'_>, time_base: f64, values: &mut [f64]) -> bool {
    // `signs` becomes negative if there is a special case. An early exit would prevent the compiler from computing several
    // values at a time.
    let mut signs = 0;
    for ((value, &first), &second) in values.iter_mut().zip(raws.firsts).zip(raws.seconds) {
        signs |= first;
        *value = match formula {
            Formula::Fraction => {
                signs |= second | second.wrapping_sub(1);
                (first as u64 as f64 / second as u64 as f64) * 100.0
            }
            Formula::Elapsed => {
                let elapsed = second.wrapping_sub(first);
                signs |= second | elapsed | first.wrapping_sub(1);
                elapsed as u64 as f64 / time_base
            }
            _ => first as u64 as f64,
        };
    }
    signs >= 0
}

/// The sum of numbers that are not negative.
#[inline(always)]
fn sum(numbers: &[i64]) -> i128 {
    // Sums the lower and the upper halves separately, so that the compiler can add several numbers at a time. A batch is
    // too short for an overflow.
    let (mut low, mut high) = (0u64, 0u64);
    for &number in numbers {
        low += number as u64 & u64::from(u32::MAX);
        high += number as u64 >> 32;
    }
    (i128::from(high) << 32) + i128::from(low)
}

/// The smallest and the largest value.
#[inline(always)]
fn extremes(values: &[f64]) -> (f64, f64) {
    // Values are never NaN, so plain comparisons are enough, and they are cheaper than `min` and `max`.
    let smaller = |a: f64, b: f64| if a < b { a } else { b };
    let larger = |a: f64, b: f64| if a > b { a } else { b };
    // Four independent lanes, since each comparison in a lane waits for the one before it.
    let (mut low, mut high) = ([f64::INFINITY; 4], [f64::NEG_INFINITY; 4]);
    let (fours, rest) = values.as_chunks::<4>();
    for four in fours {
        low = std::array::from_fn(|lane| smaller(four[lane], low[lane]));
        high = std::array::from_fn(|lane| larger(four[lane], high[lane]));
    }
    let all_values = |lanes: [f64; 4]| lanes.into_iter().chain(rest.iter().copied());
    (all_values(low).fold(f64::INFINITY, smaller), all_values(high).fold(f64::NEG_INFINITY, larger))
}

/// The formula with this discriminant, which must be one that [`Series::add_run`] passes to `add_batches`.
const fn formula_from_discriminant(discriminant: u8) -> Formula {
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
