//! The number of values of each bucket of a range, and the values by rank.

use super::bucket::Bucket;

/// Maximum number of buckets in a range that is counted without allocating memory: 32 powers of two.
pub(super) const NARROW_RANGE: usize = 2048;

/// The number of values of consecutive buckets.
#[derive(Clone, Copy)]
pub(super) struct BucketCounts<'a, C> {
    /// The bucket of the first count.
    pub(super) lowest: Bucket,
    pub(super) counts: &'a [C],
}

impl<'a> BucketCounts<'a, u16> {
    /// Counts the buckets of a list in `counts`, which must contain only zeros. The list must have fewer than 2^16 entries.
    /// `None` if the range from its lowest to its highest bucket has more than [`NARROW_RANGE`] buckets.
    pub(super) fn from_narrow_list(buckets: &[Bucket], counts: &'a mut [u16; NARROW_RANGE]) -> Option<Self> {
        let [lowest, highest] = Bucket::range(buckets)?;
        let len = highest.distance_from(lowest) + 1;
        if len > NARROW_RANGE {
            return None;
        }
        for bucket in buckets {
            // The remainder does not change the index, but shows the compiler that the index is valid.
            counts[bucket.distance_from(lowest) % NARROW_RANGE] += 1;
        }
        Some(Self { lowest, counts: &counts[..len] })
    }
}

impl<'a, C: Copy + Into<u64>> BucketCounts<'a, C> {
    /// The number of values below zero.
    pub(super) fn negative_count(&self) -> u64 {
        let zero = Bucket::default().max(self.lowest).distance_from(self.lowest);
        total(&self.counts[..zero.min(self.counts.len())])
    }

    /// A function that returns the rounded value with a rank, counted from 0 in ascending order. Ascending ranks are found in
    /// one pass.
    pub(super) fn by_rank(self) -> impl FnMut(u64) -> f64 + use<'a, C> {
        let (mut distance, mut before) = (0, 0);
        move |rank| {
            if rank < before {
                (distance, before) = (0, 0);
            }
            // Most counts are skipped in chunks.
            for size in [32, 1] {
                for counts in self.counts[distance..].chunks(size) {
                    let count = total(counts);
                    if rank < before + count {
                        break;
                    }
                    before += count;
                    distance += counts.len();
                }
            }
            self.lowest.above(distance).value()
        }
    }
}

/// The sum of counts.
pub(super) fn total<C: Copy + Into<u64>>(counts: &[C]) -> u64 {
    counts.iter().map(|&count| count.into()).sum()
}

#[cfg(test)]
mod tests {
    use super::super::histogram::Histogram;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_narrow_list_has_the_counts_of_a_histogram(
            values in prop::collection::vec(prop_oneof![9 => 1.0..1e3, 1 => -1e3..1e3, 1 => 1e-9..1e9], 1..300),
        ) {
            let buckets: Vec<_> = values.iter().copied().map(Bucket::from_value).collect();
            let histogram = Histogram::from_buckets(&buckets);
            let expected = histogram.counts();
            match BucketCounts::from_narrow_list(&buckets, &mut [0; NARROW_RANGE]) {
                None => prop_assert!(expected.counts.len() > NARROW_RANGE),
                Some(found) => {
                    prop_assert_eq!((found.lowest, found.negative_count()), (expected.lowest, expected.negative_count()));
                    prop_assert!(found.counts.iter().map(|&count| u32::from(count)).eq(expected.counts.iter().copied()));
                    let ranks = || 0..values.len() as u64;
                    prop_assert!(ranks().map(found.by_rank()).eq(ranks().map(expected.by_rank())));
                }
            }
        }
    }
}
