//! Quantiles of a set of values: exact for a few values, within 1 % for many.

mod bucket;
mod bucket_counts;
mod histogram;

use bucket::Bucket;
use bucket_counts::{BucketCounts, NARROW_RANGE};
use histogram::Histogram;

/// Maximum number of nonzero values that are stored exactly.
const MAX_EXACT: usize = 128;
/// Maximum number of nonzero values that are stored as a list of buckets (rounded values). The list usually takes less
/// memory than a histogram.
const MAX_LISTED: usize = 2048;
/// Initial capacity of the list. The list then has as many bytes as a buffer of [`MAX_EXACT`] values, so the allocator can
/// reuse a buffer that another summary has just freed.
const INITIAL_LISTED: usize = MAX_EXACT * size_of::<f64>() / size_of::<Bucket>();
/// Initial capacity of the list of exact values.
const INITIAL_EXACT: usize = 8;
/// Maximum number of values that are added at a time.
const MAX_BATCH: usize = 64;

/// A mergeable summary of values that returns any quantile: exact for up to 128 values that differ from zero, otherwise
/// within 1 % of the value of the nearest rank. With more than 128 values, magnitudes below 2^-40 (about 1e-12) count
/// as 0, and those above 2^90 (about 1e27) as 2^90.
///
/// The quantiles depend only on the values, never on the order in which they were added or merged. Memory is bounded:
/// usually less than 5 kB, at most 68 kB.
///
/// ```
/// use tachograph_counters::Quantiles;
///
/// let mut latencies = Quantiles::default();
/// (1..=10_000).for_each(|latency| latencies.add(f64::from(latency)));
/// let [median, p99] = latencies.at([0.5, 0.99]).expect("there are values");
/// assert!((median - 5_000.0).abs() <= 50.0 && (p99 - 9_900.0).abs() <= 99.0);
/// ```
#[derive(Clone, Default)]
pub struct Quantiles {
    /// The number of zeros, which are not stored.
    zeros: u64,
    storage: Storage,
}

/// The nonzero values, in one of several states. When a value is added to a full state, the storage changes to the next
/// state.
#[derive(Clone)]
enum Storage {
    /// Up to [`MAX_EXACT`] values.
    Exact(Vec<f64>),
    /// The buckets of up to [`MAX_LISTED`] values.
    Listed(Vec<Bucket>),
    /// The number of values per bucket.
    Counted(Box<Histogram>),
    /// All values are discarded.
    Off,
}

impl Default for Storage {
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
    /// A summary that discards all values, for statistics without quantiles.
    pub fn off() -> Self {
        Self { zeros: 0, storage: Storage::Off }
    }

    /// Whether values are discarded.
    pub fn is_off(&self) -> bool {
        matches!(self.storage, Storage::Off)
    }

    /// Adds a value, which must be finite.
    pub fn add(&mut self, value: f64) {
        self.add_all(&[value]);
    }

    /// Adds values, which must be finite.
    pub fn add_all(&mut self, values: &[f64]) {
        for values in values.chunks(MAX_BATCH) {
            let zeros = values.iter().filter(|value| **value == 0.0).count();
            self.zeros += zeros as u64;
            if zeros == 0 {
                self.storage.extend(values);
            } else if zeros < values.len() {
                let (mut nonzero, mut len) = ([0.0; MAX_BATCH], 0);
                for &value in values {
                    // Overwritten by the next value if this one is zero.
                    nonzero[len] = value;
                    len += usize::from(value != 0.0);
                }
                self.storage.extend(&nonzero[..len]);
            }
        }
    }

    /// Prefetches the memory to which the next value is written, by reading it; see [`Series::load`](crate::Series::load).
    #[inline]
    pub(crate) fn prefetch(&self) -> u64 {
        match &self.storage {
            Storage::Exact(values) => values.last().map_or(0, |value| value.to_bits()),
            Storage::Listed(buckets) => {
                buckets.last().map_or(0, |bucket| u64::from(*bucket > Bucket::default()))
            }
            Storage::Counted(_) | Storage::Off => 0,
        }
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.zeros += other.zeros;
        match &other.storage {
            Storage::Exact(values) => self.storage.extend(values),
            Storage::Listed(buckets) => self.storage.merge_buckets(buckets),
            Storage::Counted(histogram) => self.storage.merge_histogram(histogram),
            Storage::Off => {}
        }
    }

    /// The number of values that were added.
    pub fn count(&self) -> u64 {
        let nonzero = match &self.storage {
            Storage::Exact(values) => values.len() as u64,
            Storage::Listed(buckets) => buckets.len() as u64,
            Storage::Counted(histogram) => histogram.count(),
            Storage::Off => return 0,
        };
        self.zeros + nonzero
    }

    /// The values of `quantiles`, which are numbers between 0 and 1. `None` if no values were added.
    ///
    /// By nearest rank, the quantile `q` of `n` values is the `ceil(q * n)`-th smallest value.
    pub fn at<const N: usize>(&self, quantiles: [f64; N]) -> Option<[f64; N]> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let ranks = quantiles.map(|quantile| {
            // A product can be slightly above a whole number because of rounding: a double cannot represent 0.999 exactly.
            let rank = quantile * count as f64 * (1.0 - 4.0 * f64::EPSILON);
            (rank.ceil() as u64).clamp(1, count) - 1
        });
        Some(match &self.storage {
            Storage::Exact(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable_by(f64::total_cmp);
                let negative = sorted.partition_point(|value| *value < 0.0);
                self.at_ranks(ranks, negative as u64, |rank| sorted[rank as usize])
            }
            Storage::Listed(buckets) => match BucketCounts::from_narrow_list(buckets, &mut [0; NARROW_RANGE])
            {
                Some(counts) => self.at_ranks(ranks, counts.negative_count(), counts.by_rank()),
                None => {
                    let histogram = Histogram::from_buckets(buckets);
                    let counts = histogram.counts();
                    self.at_ranks(ranks, counts.negative_count(), counts.by_rank())
                }
            },
            Storage::Counted(histogram) => {
                let mut histogram = histogram.clone();
                histogram.flush();
                let counts = histogram.counts();
                self.at_ranks(ranks, counts.negative_count(), counts.by_rank())
            }
            Storage::Off => return None,
        })
    }

    /// The values with these ranks, counted from 0 in ascending order. `nonzero_at` returns a nonzero value by its rank
    /// among the nonzero values. `negative` is the number of values below zero.
    fn at_ranks<const N: usize>(
        &self,
        ranks: [u64; N],
        negative: u64,
        mut nonzero_at: impl FnMut(u64) -> f64,
    ) -> [f64; N] {
        ranks.map(|rank| match rank {
            _ if rank < negative => nonzero_at(rank),
            _ if rank < negative + self.zeros => 0.0,
            _ => nonzero_at(rank - self.zeros),
        })
    }
}

impl Storage {
    /// The number of values that can be added before the state must change.
    fn remaining_capacity(&self) -> usize {
        match self {
            Self::Exact(values) => MAX_EXACT - values.len(),
            Self::Listed(buckets) => MAX_LISTED - buckets.len(),
            Self::Counted(_) | Self::Off => usize::MAX,
        }
    }

    /// Changes to the next state.
    fn advance(&mut self) {
        match self {
            Self::Exact(values) => {
                let mut buckets = [Bucket::default(); MAX_EXACT];
                let mut list = Vec::with_capacity(INITIAL_LISTED);
                list.extend_from_slice(Bucket::from_values(values, &mut buckets));
                *self = Self::Listed(list);
            }
            Self::Listed(buckets) => *self = Self::Counted(Box::new(Histogram::from_buckets(buckets))),
            Self::Counted(_) | Self::Off => {}
        }
    }

    /// Adds nonzero values.
    fn extend(&mut self, mut values: &[f64]) {
        while !values.is_empty() {
            if self.remaining_capacity() == 0 {
                self.advance();
            }
            let (batch, remaining) =
                values.split_at(values.len().min(self.remaining_capacity()).min(MAX_BATCH));
            self.push_all(batch);
            values = remaining;
        }
    }

    /// Adds up to [`MAX_BATCH`] nonzero values, for which there must be room.
    fn push_all(&mut self, values: &[f64]) {
        let mut buckets = [Bucket::default(); MAX_BATCH];
        match self {
            Self::Exact(exact) => {
                let len = exact.len() + values.len();
                if len > exact.capacity() {
                    let capacity = if len <= INITIAL_EXACT { INITIAL_EXACT } else { MAX_EXACT };
                    exact.reserve_exact(capacity - exact.len());
                }
                exact.extend_from_slice(values);
            }
            Self::Listed(list) => list.extend_from_slice(Bucket::from_values(values, &mut buckets)),
            Self::Counted(histogram) => histogram.extend(Bucket::from_values(values, &mut buckets)),
            Self::Off => {}
        }
    }

    fn merge_buckets(&mut self, added: &[Bucket]) {
        while matches!(self, Self::Exact(_)) || self.remaining_capacity() < added.len() {
            self.advance();
        }
        match self {
            Self::Listed(buckets) => buckets.extend_from_slice(added),
            Self::Counted(histogram) => histogram.extend(added),
            Self::Exact(_) | Self::Off => {}
        }
    }

    fn merge_histogram(&mut self, other: &Histogram) {
        while self.remaining_capacity() < usize::MAX {
            self.advance();
        }
        if let Self::Counted(histogram) = self {
            histogram.merge(other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const QUANTILES: [f64; 8] = [0.0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0];

    fn summary(values: &[f64]) -> Quantiles {
        let mut summary = Quantiles::default();
        summary.add_all(values);
        summary
    }

    fn nearest_rank(sorted: &[f64], quantile: f64) -> f64 {
        sorted[((quantile * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
    }

    #[test]
    fn off_discards_values() {
        let mut off = Quantiles::off();
        off.add_all(&[0.0; 2_000]);
        off.merge(&summary(&[3.0; 2_000]));
        assert_eq!((off.count(), off.at([0.5])), (0, None));
    }

    #[test]
    fn a_few_values_are_exact() {
        assert_eq!(Quantiles::default().at([0.5]), None);
        let few = summary(&[3.1, 0.0, -1.51, 7.2501]);
        assert_eq!(few.at([1.0, 0.0, 0.25, 0.5, 0.75]), Some([7.2501, -1.51, -1.51, 0.0, 3.1]));
        assert_eq!(summary(&[-2.0, 0.0, 0.0]).at([0.3, 0.5, 1.0]), Some([-2.0, 0.0, 0.0]));
    }

    /// Zeros are only counted, so they do not change the state.
    #[test]
    fn zeros_do_not_count_as_stored_values() {
        let mut values = vec![0.0; 10_000];
        values.extend([1.001; MAX_EXACT]);
        values.extend([0.0; 10]);
        let summary = summary(&values);
        assert_eq!((summary.count(), summary.at([0.5, 1.0])), (10_138, Some([0.0, 1.001])));
    }

    /// The state of the storage depends only on the number of nonzero values, not on their order, nor on the sizes
    /// of the chunks in which they are added, merged or cloned.
    #[test]
    fn quantiles_do_not_depend_on_order_chunks_or_clones() {
        for count in [1, MAX_EXACT, MAX_EXACT + 1, MAX_LISTED, MAX_LISTED + 1, 3 * MAX_LISTED] {
            let values: Vec<f64> = (0..count).map(|at| (at * 7919 % 4001) as f64 * 1.37 - 99.0).collect();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let whole = summary(&values).at(QUANTILES);
            assert_eq!(summary(&sorted).at(QUANTILES), whole, "{count}");
            for chunk_size in [1, 100, 1_000] {
                let mut added = Quantiles::default();
                let mut merged = Quantiles::default();
                for chunk in values.chunks(chunk_size) {
                    added = added.clone();
                    added.add_all(chunk);
                    let mut reversed = summary(chunk);
                    reversed.merge(&merged);
                    merged = reversed;
                }
                for found in [added, merged] {
                    assert_eq!((found.at(QUANTILES), found.count()), (whole, count as u64));
                    let state = std::mem::discriminant(&found.storage);
                    assert_eq!(state, std::mem::discriminant(&summary(&values).storage));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_quantile_is_within_one_percent(
            mut values in prop::collection::vec(
                prop_oneof![Just(0.0), -1e3..1e3, (-27.0..60.0f64).prop_map(f64::exp)],
                1..3 * MAX_LISTED,
            ),
            quantiles in prop::array::uniform8(0.0..=1.0),
        ) {
            let found = summary(&values).at(quantiles).expect("there are values");
            values.sort_by(f64::total_cmp);
            for (quantile, found) in quantiles.into_iter().zip(found) {
                let expected = nearest_rank(&values, quantile);
                prop_assert!((found - expected).abs() <= expected.abs() * 0.01, "{quantile}: {found} for {expected}");
            }
        }
    }
}
