//! The average of a counter: the part of its statistics that SQL needs.

use tachograph_schema::Formula;

use super::sums::{Differences, Sums};
use crate::civil::FileTime;

/// The state from which the average of counters with one formula is computed, as in [`Statistics`](super::Statistics).
///
/// Averages of differences are bit-identical for any split and any order of merging.
#[derive(Clone, Debug)]
pub struct Average {
    formula: Formula,
    sums: Sums,
    minimum: f64,
    maximum: f64,
    /// For elapsed times: the last value.
    last: f64,
    /// The time of `last` in UTC; `i64::MIN` without a value.
    last_at: i64,
}

/// The differences of one interval, or their sums over intervals with the same time base and multiplier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DifferenceSums {
    /// The sum of the differences of the first raw values; for counts, the sum of the counts.
    pub numerator: i128,
    /// The sum of the differences of the second raw values.
    pub denominator: i128,
    /// The number of intervals.
    pub count: u64,
    /// Units per second of the counter's clock.
    pub time_base: i64,
    /// The multiplier of a multi timer.
    pub multi_count: u32,
}

impl Average {
    /// The average of no values.
    pub fn new(formula: Formula) -> Self {
        Self {
            formula,
            sums: Sums::default(),
            minimum: f64::INFINITY,
            maximum: f64::NEG_INFINITY,
            last: 0.0,
            last_at: i64::MIN,
        }
    }

    /// The formula of the counters.
    pub fn formula(&self) -> Formula {
        self.formula
    }

    /// Adds intervals, for formulas that sum differences or counts.
    #[inline]
    pub fn add(&mut self, part: &DifferenceSums) {
        let DifferenceSums { numerator, denominator, count, time_base, multi_count } = *part;
        self.sums.add_sums(&Differences {
            time_base: if self.formula.uses_time_base() { time_base } else { 0 },
            multi_count: if self.formula.uses_multiplier() { multi_count } else { 0 },
            count,
            numerator,
            denominator,
        });
    }

    /// Adds the displayed value of an interval, for formulas that average displayed values.
    pub fn add_displayed(&mut self, value: f64) {
        self.sums.add_formatted(value);
        self.sums.add_sums(&Differences { count: 1, ..Differences::default() });
        self.minimum = self.minimum.min(value);
        self.maximum = self.maximum.max(value);
    }

    /// Adds `ticks` of an elapsed time, measured at `at`.
    pub fn add_elapsed(&mut self, ticks: i64, time_base: i64, at: FileTime) {
        let value = if ticks == 0 { 0.0 } else { ticks as f64 / time_base as f64 };
        self.add_last(value, at.0);
        self.sums.add_sums(&Differences { count: 1, ..Differences::default() });
    }

    fn add_last(&mut self, value: f64, at: i64) {
        if at > self.last_at || (at == self.last_at && value.total_cmp(&self.last).is_gt()) {
            (self.last, self.last_at) = (value, at);
        }
    }

    /// Adds the state of another average with the same formula.
    pub fn merge(&mut self, other: &Self) {
        self.sums.merge(&other.sums);
        self.minimum = self.minimum.min(other.minimum);
        self.maximum = self.maximum.max(other.maximum);
        self.add_last(other.last, other.last_at);
    }

    /// The average; `None` without a value.
    pub fn value(&self) -> Option<f64> {
        match self.formula {
            Formula::Elapsed => (self.last_at != i64::MIN).then_some(self.last),
            // Because of rounding and overflow, the average could exceed the extremes.
            Formula::Double | Formula::Fraction => {
                self.sums.average(self.formula).map(|average| average.clamp(self.minimum, self.maximum))
            }
            formula => self.sums.average(formula),
        }
    }

    /// Number of bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.sums.heap_bytes()
    }

    /// Appends the encoded state to `out`, for [`decode`](Self::decode).
    pub fn encode(&self, out: &mut Vec<u8>) {
        for part in self.sums.parts() {
            out.extend_from_slice(&part.time_base.to_le_bytes());
            out.extend_from_slice(&part.multi_count.to_le_bytes());
            out.extend_from_slice(&part.count.to_le_bytes());
            out.extend_from_slice(&part.numerator.to_le_bytes());
            out.extend_from_slice(&part.denominator.to_le_bytes());
        }
        let [sum, error] = self.sums.formatted_parts();
        for number in [sum, error, self.minimum, self.maximum, self.last] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.last_at.to_le_bytes());
    }

    /// Decodes the state that [`encode`](Self::encode) wrote; `None` if the bytes are invalid.
    pub fn decode(formula: Formula, bytes: &[u8]) -> Option<Self> {
        const PART_BYTES: usize = 52;
        let (mut parts, end) = bytes.split_at_checked(bytes.len().checked_sub(48)?)?;
        if !parts.len().is_multiple_of(PART_BYTES) {
            return None;
        }
        let mut average = Self::new(formula);
        while let Some((part, rest)) = parts.split_at_checked(PART_BYTES) {
            parts = rest;
            average.sums.add_sums(&Differences {
                time_base: i64::from_le_bytes(*part.first_chunk()?),
                multi_count: u32::from_le_bytes(*part.get(8..)?.first_chunk()?),
                count: u64::from_le_bytes(*part.get(12..)?.first_chunk()?),
                numerator: i128::from_le_bytes(*part.get(20..)?.first_chunk()?),
                denominator: i128::from_le_bytes(*part.get(36..)?.first_chunk()?),
            });
        }
        let number_at =
            |index: usize| end.get(index * 8..)?.first_chunk().map(|bytes| f64::from_le_bytes(*bytes));
        average.sums.set_formatted_parts([number_at(0)?, number_at(1)?]);
        (average.minimum, average.maximum, average.last) = (number_at(2)?, number_at(3)?, number_at(4)?);
        average.last_at = i64::from_le_bytes(*end.get(40..)?.first_chunk()?);
        Some(average)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Intervals, Statistics};
    use super::*;
    use crate::civil::Moment;
    use crate::formula::Calculator;
    use crate::raw::RawValue;
    use proptest::prelude::*;
    use tachograph_schema::CounterType;

    fn raws() -> impl Strategy<Value = Vec<(i64, i64, i64, u32)>> {
        let number = || prop_oneof![0..1000i64, 0..i64::MAX / 4];
        prop::collection::vec((number(), number(), 1..3i64, 1..3u32), 1..40)
    }

    proptest! {
        /// The average is bit-identical to that of the statistics, regardless of how its states are split, merged and encoded.
        #[test]
        fn averages_equal_those_of_statistics(raws in raws(), split in 0..40usize) {
            for counter_type in CounterType::all() {
                let Some(formula) = counter_type.formula() else { continue };
                let mut statistics = Statistics::new(Some(formula), Intervals::All, None);
                let mut averages = [Average::new(formula), Average::new(formula)];
                let mut older: Option<RawValue> = None;
                for (at, &(first, second, time_base, multi_count)) in raws.iter().enumerate() {
                    let calculator = Calculator::new(counter_type, time_base);
                    let newer = RawValue { multi_count, ..RawValue::new(first, second) };
                    let average = &mut averages[usize::from(at < split)];
                    let moment = Moment { utc: FileTime(at as i64), bias_minutes: 0 };
                    statistics.add(&calculator, older.as_ref(), &newer, moment);
                    if let Ok(terms) = calculator.terms(older.as_ref(), &newer) {
                        match formula {
                            Formula::Double | Formula::Fraction => average.add_displayed(terms.formatted),
                            Formula::Elapsed => {
                                let ticks = if first == 0 { 0 } else { second - first };
                                average.add_elapsed(ticks, time_base, moment.utc);
                            }
                            _ => average.add(&DifferenceSums {
                                numerator: match formula {
                                    Formula::Value => i128::from(first),
                                    _ => i128::from(terms.numerator),
                                },
                                denominator: i128::from(terms.denominator),
                                count: 1,
                                time_base,
                                multi_count,
                            }),
                        }
                    }
                    older = Some(newer);
                }
                let [mut average, other] = averages;
                let mut bytes = Vec::new();
                other.encode(&mut bytes);
                average.merge(&Average::decode(formula, &bytes).expect("the encoded state"));
                let expected = statistics.summary().average;
                if formula == Formula::Fraction || formula == Formula::Double {
                    let pair = average.value().zip(expected);
                    prop_assert!(pair.is_none_or(|(found, expected)| (found - expected).abs() <= 1e-12 * expected.abs()));
                    prop_assert_eq!(average.value().is_some(), expected.is_some());
                } else {
                    prop_assert_eq!(average.value().map(f64::to_bits), expected.map(f64::to_bits), "{:?}", counter_type);
                }
                for cut in 0..bytes.len().min(60) {
                    let _ = Average::decode(formula, &bytes[cut..]);
                }
            }
        }
    }
}
