//! Quantiles of the interval values: exact for a few values, a sketch for many.

use sketches_ddsketch::{Config, DDSketch};

/// How many non-zero values are kept as they are before a sketch takes over, and how many are gathered between two
/// visits of the sketch. A sketch's buckets are mostly not in the cache: the more values one visit brings, the fewer
/// misses each of them costs.
const KEPT: usize = 128;
/// Room for this many of them at first.
const FEW: usize = 8;

/// Relative accuracy of the sketch. A little under the promised 1 %, to leave room for rounding at bucket borders.
const ACCURACY: f64 = 0.0099;

/// Magnitudes that the sketch tells apart; smaller ones count as 0, larger ones as the largest. The range covers what
/// counters of 64 bits can show (at most 2^63 per 100 ns), and bounds a sketch to about 40 kB whatever a log holds.
const SMALLEST: f64 = 1e-12;
const LARGEST: f64 = 1e27;

/// More buckets than the range above has, so that the sketch never collapses its lowest ones.
const MAX_BUCKETS: u32 = 1 << 14;

/// A mergeable summary of values that answers any quantile within 1 % of the value of the nearest rank; exactly while
/// no more than 128 values differ from zero.
///
/// The answer depends only on the values, never on the order in which they came or were merged.
#[derive(Clone, Default)]
pub struct Quantiles {
    zeros: u64,
    kept: Vec<f64>,
    sketch: Option<Box<DDSketch>>,
}

impl std::fmt::Debug for Quantiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Quantiles").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Quantiles {
    /// Adds one value, which must be finite.
    #[inline]
    pub fn add(&mut self, observed: f64) {
        if observed == 0.0 {
            self.zeros += 1;
            return;
        }
        if self.kept.len() == KEPT {
            self.empty_into_sketch();
        }
        if self.kept.len() == self.kept.capacity() {
            // Few values need little room; a counter that goes on being busy needs all of it.
            self.kept.reserve_exact(if self.kept.is_empty() { FEW } else { KEPT - self.kept.len() });
        }
        self.kept.push(observed);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.zeros += other.zeros;
        if let Some(theirs) = &other.sketch {
            self.empty_into_sketch();
            if let Some(ours) = &mut self.sketch {
                // Both have the one configuration of this module, so they always merge.
                let merged = ours.merge(theirs);
                debug_assert!(merged.is_ok());
            }
        }
        for &observed in &other.kept {
            self.add(observed);
        }
    }

    /// How many values were added.
    pub fn count(&self) -> u64 {
        let sketched = self.sketch.as_ref().map_or(0, |sketch| sketch.count() as u64);
        self.zeros + self.kept.len() as u64 + sketched
    }

    /// The values of the nearest ranks of `quantiles`, each between 0 and 1; `None` without values.
    ///
    /// The nearest rank of `q` over `n` values is the `ceil(q * n)`-th smallest.
    pub fn at<const N: usize>(&self, quantiles: [f64; N]) -> Option<[f64; N]> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank_of = |quantile: f64| ((quantile * count as f64).ceil() as u64).clamp(1, count) - 1;
        let exact = self.sketch.is_none();
        if exact {
            let mut sorted = self.kept.clone();
            sorted.sort_by(f64::total_cmp);
            let negative = sorted.partition_point(|&kept| kept < 0.0) as u64;
            return Some(quantiles.map(|quantile| {
                let rank = rank_of(quantile);
                if rank < negative {
                    sorted[rank as usize]
                } else if rank < negative + self.zeros {
                    0.0
                } else {
                    sorted[(rank - self.zeros) as usize]
                }
            }));
        }
        let mut whole = self.clone();
        whole.empty_into_sketch();
        let mut sketch = whole.sketch?;
        sketch.add_with_count(0.0, self.zeros);
        Some(quantiles.map(|quantile| {
            // The sketch takes floor(q * (count - 1)) as rank: half a rank more keeps clear of the rounding.
            let within = (rank_of(quantile) as f64 + 0.5) / (count as f64 - 1.0).max(1.0);
            sketch.quantile(within.min(1.0)).ok().flatten().unwrap_or(0.0)
        }))
    }

    fn empty_into_sketch(&mut self) {
        let sketch = self
            .sketch
            .get_or_insert_with(|| Box::new(DDSketch::new(Config::new(ACCURACY, MAX_BUCKETS, SMALLEST))));
        for &observed in &self.kept {
            sketch.add(observed.clamp(-LARGEST, LARGEST));
        }
        self.kept.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest_rank(values: &mut [f64], quantile: f64) -> f64 {
        values.sort_by(f64::total_cmp);
        values[((quantile * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1]
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
    }
}
