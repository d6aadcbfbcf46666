//! Quantiles of the interval values: exact for a few values, a sketch for many.

use sketches_ddsketch::{Config, DDSketch};

/// Up to this many non-zero values are kept as they are.
const EXACT: usize = 128;
/// Up to this many are kept in single precision: as much as the buckets of a sketch would take, and cheaper.
const ROUNDED: usize = 1024;
/// Once there is a sketch, this many are gathered between two visits of it. Its buckets are mostly not in the cache: the
/// more values one visit brings, the fewer misses each of them costs.
const PENDING: usize = 256;
/// Room for this many at first.
const FEW: usize = 8;

/// Relative accuracy of the sketch. A little under the promised 1 %, to leave room for rounding at bucket borders.
const ACCURACY: f64 = 0.0099;

/// Magnitudes that the sketch tells apart; smaller ones count as 0, larger ones as the largest. The range covers what
/// counters of 64 bits can show (at most 2^63 per 100 ns), and bounds a sketch to about 40 kB whatever a log holds.
const SMALLEST: f64 = 1e-12;
const LARGEST: f64 = 1e27;

/// More buckets than the range above has, so that the sketch never collapses its lowest ones.
const MAX_BUCKETS: u32 = 1 << 14;

/// A mergeable summary of values that answers any quantile within 1 % of the value of the nearest rank: exactly for up to
/// 128 values that differ from zero, to single precision for up to 1024, by a sketch beyond.
///
/// The answer depends only on the values, never on the order in which they came or were merged, nor on clones in between:
/// how values are kept is decided by their number alone.
#[derive(Clone, Default)]
pub struct Quantiles {
    zeros: u64,
    kept: Kept,
    sketch: Option<Box<DDSketch>>,
}

/// Values that differ from zero and are in no sketch.
#[derive(Clone)]
enum Kept {
    /// At most [`EXACT`], while there is no sketch.
    Exact(Vec<f64>),
    /// At most [`ROUNDED`], with a sketch [`PENDING`].
    Rounded(Vec<f32>),
    /// None: nobody will ask.
    Off,
}

impl Default for Kept {
    fn default() -> Self {
        Self::Exact(Vec::new())
    }
}

impl std::fmt::Debug for Quantiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quantiles").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Quantiles {
    /// A summary that keeps nothing and answers nothing, for states of which there are very many.
    pub fn off() -> Self {
        Self { kept: Kept::Off, ..Self::default() }
    }

    /// Whether this is a summary that keeps nothing.
    pub fn is_off(&self) -> bool {
        matches!(self.kept, Kept::Off)
    }

    /// Adds one value, which must be finite.
    #[inline]
    pub fn add(&mut self, observed: f64) {
        if observed == 0.0 {
            self.zeros += 1;
            return;
        }
        let is_sketched = self.sketch.is_some();
        match &mut self.kept {
            Kept::Exact(kept) if kept.len() < EXACT => push(kept, observed, EXACT),
            Kept::Rounded(kept) if kept.len() < rounded_limit(is_sketched) => kept.push(rounded(observed)),
            Kept::Off => {}
            _ => self.add_past_limit(observed),
        }
    }

    /// Adds a value where as many are kept as may be kept this way.
    #[cold]
    fn add_past_limit(&mut self, observed: f64) {
        match &mut self.kept {
            Kept::Exact(kept) => {
                let mut all = Vec::with_capacity(ROUNDED);
                all.extend(kept.iter().map(|&exact| rounded(exact)));
                all.push(rounded(observed));
                self.kept = Kept::Rounded(all);
            }
            Kept::Rounded(_) => {
                self.empty_into_sketch();
                self.add(observed);
            }
            Kept::Off => {}
        }
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.is_off() {
            return;
        }
        self.zeros += other.zeros;
        if let Some(theirs) = &other.sketch {
            self.empty_into_sketch();
            if let Some(ours) = &mut self.sketch {
                // Both have the one configuration of this module, so they always merge.
                let merged = ours.merge(theirs);
                debug_assert!(merged.is_ok());
            }
        }
        match &other.kept {
            Kept::Exact(kept) => kept.iter().for_each(|&observed| self.add(observed)),
            Kept::Rounded(kept) => kept.iter().for_each(|&observed| self.add(f64::from(observed))),
            Kept::Off => {}
        }
    }

    /// How many values were added.
    pub fn count(&self) -> u64 {
        let sketched = self.sketch.as_ref().map_or(0, |sketch| sketch.count() as u64);
        let kept = match &self.kept {
            Kept::Exact(kept) => kept.len(),
            Kept::Rounded(kept) => kept.len(),
            Kept::Off => return 0,
        };
        self.zeros + kept as u64 + sketched
    }

    /// The values of the nearest ranks of `quantiles`, each between 0 and 1; `None` without values.
    ///
    /// The nearest rank of `q` over `n` values is the `ceil(q * n)`-th smallest.
    pub fn at<const N: usize>(&self, quantiles: [f64; N]) -> Option<[f64; N]> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let ranks = quantiles.map(|quantile| ((quantile * count as f64).ceil() as u64).clamp(1, count) - 1);
        if self.sketch.is_none() {
            return Some(match &self.kept {
                Kept::Exact(kept) => select(kept, self.zeros, ranks, f64::total_cmp),
                Kept::Rounded(kept) => select(kept, self.zeros, ranks, f32::total_cmp).map(f64::from),
                Kept::Off => return None,
            });
        }
        let mut whole = self.clone();
        whole.empty_into_sketch();
        let mut sketch = whole.sketch?;
        sketch.add_with_count(0.0, self.zeros);
        Some(ranks.map(|rank| {
            // The sketch takes floor(q * (count - 1)) as rank: half a rank more keeps clear of the rounding.
            let within = (rank as f64 + 0.5) / (count as f64 - 1.0).max(1.0);
            sketch.quantile(within.min(1.0)).ok().flatten().unwrap_or(0.0)
        }))
    }

    fn empty_into_sketch(&mut self) {
        let sketch = self
            .sketch
            .get_or_insert_with(|| Box::new(DDSketch::new(Config::new(ACCURACY, MAX_BUCKETS, SMALLEST))));
        match &mut self.kept {
            Kept::Exact(kept) => kept.iter().for_each(|&exact| sketch.add(f64::from(rounded(exact)))),
            Kept::Rounded(kept) => kept.iter().for_each(|&kept| sketch.add(f64::from(kept))),
            Kept::Off => {}
        }
        match &mut self.kept {
            // Room for more than is gathered from here on is given back.
            Kept::Rounded(kept) if kept.capacity() <= PENDING => kept.clear(),
            kept => *kept = Kept::Rounded(Vec::with_capacity(PENDING)),
        }
    }
}

/// How many values are kept in single precision before they go into a sketch.
fn rounded_limit(is_sketched: bool) -> usize {
    if is_sketched { PENDING } else { ROUNDED }
}

/// Appends a value, with little room for few values and all of the room for more.
#[inline]
fn push(kept: &mut Vec<f64>, observed: f64, limit: usize) {
    if kept.len() == kept.capacity() {
        kept.reserve_exact(if kept.is_empty() { FEW } else { limit - kept.len() });
    }
    kept.push(observed);
}

/// Single precision, within the range that the sketch tells apart. It keeps the order of values, and is far finer than
/// the sketch.
fn rounded(observed: f64) -> f32 {
    observed.clamp(-LARGEST, LARGEST) as f32
}

/// The values of the given ranks among `kept` and `zeros` zeros.
fn select<T: Copy + Default + PartialOrd, const N: usize>(
    kept: &[T],
    zeros: u64,
    ranks: [u64; N],
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> [T; N] {
    let mut values = kept.to_vec();
    let negative = kept.iter().filter(|&&value| value < T::default()).count() as u64;
    ranks.map(|rank| {
        let place = if rank < negative {
            rank
        } else if rank < negative + zeros {
            return T::default();
        } else {
            rank - zeros
        };
        *values.select_nth_unstable_by(place as usize, &order).1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest_rank(values: &mut [f64], quantile: f64) -> f64 {
        values.sort_by(f64::total_cmp);
        values[((quantile * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1]
    }

    #[test]
    fn what_is_off_keeps_nothing() {
        let mut on = Quantiles::default();
        let mut off = Quantiles::off();
        for value in 0..2_000 {
            on.add(f64::from(value));
            off.add(f64::from(value));
        }
        off.merge(&on);
        assert_eq!((off.count(), off.at([0.5])), (0, None));
    }

    #[test]
    fn a_few_values_are_exact() {
        let mut quantiles = Quantiles::default();
        assert_eq!(quantiles.at([0.5]), None);
        for value in [3.0, 0.0, -1.5, 7.25] {
            quantiles.add(value);
        }
        assert_eq!(quantiles.at([0.0, 0.25, 0.5, 0.75, 1.0]), Some([-1.5, -1.5, 0.0, 3.0, 7.25]));
    }

    #[test]
    fn many_values_stay_within_one_percent() {
        let mut seed = 7u64;
        let mut values: Vec<f64> = (0..20_000)
            .map(|at| {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let uniform = (seed >> 11) as f64 / (1u64 << 53) as f64;
                if at % 7 == 0 {
                    0.0
                } else {
                    (uniform * 40.0 - 20.0).exp() * if at % 5 == 0 { -1.0 } else { 1.0 }
                }
            })
            .collect();
        let mut quantiles = Quantiles::default();
        values.iter().for_each(|&value| quantiles.add(value));
        assert_eq!(quantiles.count(), 20_000);
        let asked = [0.001, 0.05, 0.14, 0.25, 0.3, 0.5, 0.9, 0.95, 0.99, 0.9999];
        for (quantile, got) in asked.into_iter().zip(quantiles.at(asked).expect("values")) {
            let expected = nearest_rank(&mut values, quantile);
            assert!((got - expected).abs() <= expected.abs() * 0.01, "{quantile}: {got} for {expected}");
        }
    }

    #[test]
    fn a_clone_continues_as_the_original() {
        for count in [100, 200, ROUNDED, ROUNDED + 1, ROUNDED + PENDING - 3] {
            let values: Vec<f64> = (1..=count + 100).map(|at| (at * 7919 % 4001) as f64 * 1.37).collect();
            let mut original = Quantiles::default();
            values[..count].iter().for_each(|&value| original.add(value));
            let mut clone = original.clone();
            for summary in [&mut original, &mut clone] {
                values[count..].iter().for_each(|&value| summary.add(value));
            }
            let all = [0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0];
            assert_eq!(clone.at(all), original.at(all), "{count}");
            assert_eq!(clone.sketch.is_some(), original.sketch.is_some(), "{count}");
        }
    }

    #[test]
    fn order_and_split_change_nothing() {
        let values: Vec<f64> = (0..500).map(|at| f64::from(at % 83) * 1.7 - 9.0).collect();
        let all = |parts: &[&[f64]]| {
            let mut merged = Quantiles::default();
            for part in parts {
                let mut one = Quantiles::default();
                part.iter().for_each(|&value| one.add(value));
                merged.merge(&one);
            }
            merged.at([0.01, 0.5, 0.9, 0.95, 0.99, 1.0])
        };
        let whole = all(&[&values]);
        assert_eq!(whole, all(&[&values[..20], &values[20..400], &values[400..]]));
        assert_eq!(whole, all(&[&values[400..], &values[..20], &values[20..400]]));
        // Each way of keeping values is left at its own number of them.
        for count in [EXACT, EXACT + 1, ROUNDED, ROUNDED + 1, ROUNDED + PENDING + 2] {
            let values: Vec<f64> = (1..=count).map(|at| at as f64 * 1.1).collect();
            let (front, back) = values.split_at(count / 3);
            let whole = all(&[&values]);
            assert_eq!(whole, all(&[front, back]), "{count}");
            assert_eq!(whole, all(&[back, front]), "{count}");
            let median = values[count.div_ceil(2) - 1];
            let got = whole.expect("values")[1];
            assert!((got - median).abs() <= median * 0.01, "{count}: {got} for {median}");
        }
    }
}
