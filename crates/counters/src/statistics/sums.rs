//! The sums from which averages are computed.

use tachograph_schema::Formula;

use super::regression::Regression;
use crate::formula::{Terms, evaluate, not_negative};

/// Sums over the intervals. Sums of differences are exact integers. There is one pair of sums per time base and
/// multiplier that the formula uses; a log of one machine usually has one time base and one multiplier.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// The sums for the first time base and multiplier.
    main: Differences,
    /// Sums for other time bases and multipliers, sorted by key. Needed after statistics of different machines were
    /// merged, or if the clock changed at a reboot.
    other_sums: Vec<Differences>,
    /// The sum of displayed values times [`SCALE_DOWN`], for formulas that average displayed values that are not
    /// integers.
    formatted: Compensated,
    /// The sums for the standard deviation and the slope, if they were requested. They are stored here because this struct
    /// has room for a pointer, so states without them are no larger.
    pub(super) regression: Option<Box<Regression>>,
}

/// Factor by which doubles are scaled down before they are added, because the sum of two doubles of a text log can
/// overflow. Scaling by a power of two is exact, except for magnitudes below 1e-288.
const SCALE_DOWN: f64 = 1.0 / SCALE_UP;
const SCALE_UP: f64 = (1u128 << 64) as f64;

/// Sums of the differences for one time base and multiplier.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Differences {
    /// The frequency of the counter's clock in units per second.
    pub(super) time_base: i64,
    /// The multiplier of a multi timer; 0 if the formula does not use it.
    pub(super) multi_count: u32,
    /// The number of differences.
    pub(super) count: u64,
    pub(super) numerator: i128,
    pub(super) denominator: i128,
}

impl Differences {
    fn key(&self) -> (i64, u32) {
        (self.time_base, self.multi_count)
    }

    /// Adds sums for the same time base and multiplier.
    fn add_sums(&mut self, other: &Self) {
        self.count += other.count;
        self.numerator += other.numerator;
        self.denominator += other.denominator;
    }
}

/// Sums for a single time base and multiplier, in 64 bits each.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlainSums {
    pub(super) time_base: i64,
    pub(super) multi_count: u32,
    /// The number of addends.
    pub(super) count: u64,
    /// For formulas that sum differences of raw values: the numerator and denominator of the average; for sums of
    /// displayed values: the bits of the sum and of its rounding error.
    pub(super) words: [u64; 2],
}

/// Whether a formula averages displayed values that are not integers.
fn sums_formatted(formula: Option<Formula>) -> bool {
    matches!(formula, Some(Formula::Double | Formula::Fraction))
}

impl Sums {
    /// The time base and the multiplier of the first addend.
    pub(super) fn key(&self) -> (i64, u32) {
        self.main.key()
    }

    /// Prefetches the memory of the sums, by reading it; see [`Series::load`](super::Series::load).
    #[inline]
    pub(super) fn prefetch(&self) -> u64 {
        self.main.count | self.formatted.sum.to_bits()
    }

    /// The number of addends.
    pub(super) fn count(&self) -> u64 {
        std::iter::once(&self.main).chain(&self.other_sums).map(|part| part.count).sum()
    }

    /// The sums in 64 bits each; `None` if there are several time bases or multipliers, sums for the
    /// standard deviation, or a sum that is too large.
    pub(super) fn to_plain(&self, formula: Option<Formula>) -> Option<PlainSums> {
        let Self { main, other_sums: others, formatted, regression } = self;
        let word = |sum: i128| i64::try_from(sum).map(|word| word as u64).ok();
        let words = match sums_formatted(formula) {
            true => [formatted.sum.to_bits(), formatted.error.to_bits()],
            false => [word(main.numerator)?, word(main.denominator)?],
        };
        let Differences { time_base, multi_count, count, .. } = *main;
        (others.is_empty() && regression.is_none()).then_some(PlainSums {
            time_base,
            multi_count,
            count,
            words,
        })
    }

    /// Adds the result of [`plain`](Self::plain) for the same formula.
    #[inline]
    pub(super) fn merge_plain(&mut self, formula: Option<Formula>, plain: &PlainSums) {
        let PlainSums { time_base, multi_count, count, words: [first, second] } = *plain;
        let mut part = Differences { time_base, multi_count, count, numerator: 0, denominator: 0 };
        if sums_formatted(formula) {
            self.formatted.add(f64::from_bits(first));
            self.formatted.add(f64::from_bits(second));
        } else {
            part.numerator = i128::from(first as i64);
            part.denominator = i128::from(second as i64);
        }
        self.add_sums(&part);
    }

    #[inline]
    pub(super) fn add(&mut self, formula: Formula, terms: &Terms, time_base: i64, multi_count: u32) {
        let (numerator, denominator) = match formula {
            Formula::Value => (i128::from(terms.numerator as i64), 0),
            Formula::Double | Formula::Fraction => {
                self.add_formatted(terms.formatted);
                (0, 0)
            }
            _ => (i128::from(terms.numerator), i128::from(terms.denominator)),
        };
        let addend = Differences {
            time_base: if formula.uses_time_base() { time_base } else { 0 },
            multi_count: if formula.uses_multiplier() { multi_count } else { 0 },
            count: 1,
            numerator,
            denominator,
        };
        if addend.key() == self.main.key() {
            self.main.add_sums(&addend);
        } else {
            self.add_sums(&addend);
        }
    }

    /// Adds a displayed value, for formulas that average displayed values.
    #[inline]
    pub(super) fn add_formatted(&mut self, formatted: f64) {
        self.formatted.add(formatted * SCALE_DOWN);
    }

    /// Adds the sums of `count` intervals, for a formula that does not use the multiplier.
    pub(super) fn add_many(
        &mut self,
        formula: Formula,
        numerator: i128,
        denominator: i128,
        count: u64,
        time_base: i64,
    ) {
        let time_base = if formula.uses_time_base() { time_base } else { 0 };
        self.add_sums(&Differences { time_base, multi_count: 0, count, numerator, denominator });
    }

    pub(super) fn merge(&mut self, other: &Self) {
        other.parts().for_each(|part| self.add_sums(part));
        self.formatted.add(other.formatted.sum);
        self.formatted.add(other.formatted.error);
        if let (Some(regression), Some(other)) = (&mut self.regression, &other.regression) {
            regression.merge(other);
        }
    }

    /// The sums of each time base and multiplier.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Differences> {
        std::iter::once(&self.main).chain(&self.other_sums).filter(|part| part.count > 0)
    }

    /// The sum of displayed values, and its rounding error.
    pub(super) fn formatted_parts(&self) -> [f64; 2] {
        [self.formatted.sum, self.formatted.error]
    }

    /// Sets the result of [`formatted_parts`](Self::formatted_parts).
    pub(super) fn set_formatted_parts(&mut self, [sum, error]: [f64; 2]) {
        self.formatted = Compensated { sum, error };
    }

    /// Number of bytes on the heap, without those of the regression.
    pub(super) fn heap_bytes(&self) -> usize {
        self.other_sums.capacity() * size_of::<Differences>()
    }

    /// Adds sums for any time base and multiplier.
    #[inline]
    pub(super) fn add_sums(&mut self, part: &Differences) {
        if self.main.count == 0 {
            self.main = *part;
        } else if self.main.key() == part.key() {
            self.main.add_sums(part);
        } else {
            match self.other_sums.binary_search_by_key(&part.key(), Differences::key) {
                Ok(at) => self.other_sums[at].add_sums(part),
                Err(at) => self.other_sums.insert(at, *part),
            }
        }
    }

    /// Applies the formula to the sums. `None` if nothing was added.
    pub(super) fn average(&self, formula: Formula) -> Option<f64> {
        let mut parts: Vec<_> = std::iter::once(self.main).chain(self.other_sums.iter().copied()).collect();
        parts.sort_by_key(Differences::key);
        let count: u64 = parts.iter().map(|part| part.count).sum();
        if count == 0 {
            return None;
        }
        let numerator: i128 = parts.iter().map(|part| part.numerator).sum();
        let denominator: i128 = parts.iter().map(|part| part.denominator).sum();
        Some(match formula {
            Formula::Value | Formula::Delta => numerator as f64 / count as f64,
            Formula::Double | Formula::Fraction => {
                (self.formatted.sum + self.formatted.error) / count as f64 * SCALE_UP
            }
            _ => match parts.as_slice() {
                [one] => evaluate(
                    formula,
                    one.numerator as f64,
                    one.denominator as f64,
                    one.time_base as f64,
                    one.multi_count,
                ),
                _ if denominator == 0 => 0.0,
                several => evaluate_parts(formula, several, numerator as f64, denominator as f64),
            },
        })
    }
}

/// Applies the formula to parts with different time bases or multipliers. Each part is weighted with its own time base
/// or multiplier.
fn evaluate_parts(formula: Formula, parts: &[Differences], numerator: f64, denominator: f64) -> f64 {
    let weighted: i128 = parts.iter().map(|part| part.denominator * i128::from(part.multi_count)).sum();
    match formula {
        Formula::Rate => {
            let seconds: f64 = parts.iter().map(|part| part.denominator as f64 / part.time_base as f64).sum();
            numerator / seconds
        }
        Formula::AverageTime => {
            let seconds: f64 = parts.iter().map(|part| part.numerator as f64 / part.time_base as f64).sum();
            seconds / denominator
        }
        Formula::MultiPercent if weighted == 0 => 0.0,
        Formula::MultiPercent => (numerator / weighted as f64) * 100.0,
        Formula::MultiInversePercent => not_negative(((weighted as f64 - numerator) / denominator) * 100.0),
        _ => evaluate(formula, numerator, denominator, 1.0, 1),
    }
}

/// A sum and its accumulated rounding error (Knuth's two-sum). The order and grouping of addends affect the total by
/// only about one part in 1e30.
#[derive(Clone, Copy, Debug, Default)]
struct Compensated {
    sum: f64,
    /// The rounding error: the exact sum is about `sum + error`.
    error: f64,
}

impl Compensated {
    #[inline]
    fn add(&mut self, addend: f64) {
        let sum = self.sum + addend;
        let back = sum - self.sum;
        self.error += (self.sum - (sum - back)) + (addend - back);
        self.sum = sum;
    }
}
