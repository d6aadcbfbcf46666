//! Histograms: the number of values per bucket.

use super::bucket::Bucket;
use super::bucket_counts::{BucketCounts, total};

/// Number of values that are collected before they are counted. A histogram spans many cache lines, which are
/// rarely in the cache, so it is faster to count many values at once.
const MAX_PENDING: usize = 512;

/// The number of values of each bucket, from the lowest to the highest bucket in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Histogram {
    /// The bucket of the first count.
    lowest: Bucket,
    /// The number of values of each bucket. Saturates.
    counts: Vec<u32>,
    /// Buckets of values that are not counted yet.
    pending: Vec<Bucket>,
}

impl Histogram {
    /// Counts the buckets in a list.
    pub(super) fn from_buckets(buckets: &[Bucket]) -> Self {
        let Some([lowest, highest]) = Bucket::range(buckets) else { return Self::default() };
        let mut counts = vec![0u32; highest.distance_from(lowest) + 1];
        for bucket in buckets {
            // Cannot overflow: a list of buckets is short.
            counts[bucket.distance_from(lowest)] += 1;
        }
        Self { lowest, counts, pending: Vec::new() }
    }

    /// Adds values to the pending ones, which are counted when there are [`MAX_PENDING`] or more.
    pub(super) fn extend(&mut self, buckets: &[Bucket]) {
        if self.pending.capacity() == 0 {
            self.pending.reserve_exact(MAX_PENDING);
        }
        self.pending.extend_from_slice(buckets);
        if self.pending.len() >= MAX_PENDING {
            self.flush();
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if let Some(last) = other.counts.len().checked_sub(1) {
            self.extend_range(other.lowest, other.lowest.above(last));
            let offset = other.lowest.distance_from(self.lowest);
            for (count, added) in self.counts[offset..].iter_mut().zip(&other.counts) {
                *count = count.saturating_add(*added);
            }
        }
        self.count_all(&other.pending);
    }

    /// The number of values.
    pub(super) fn count(&self) -> u64 {
        total(&self.counts) + self.pending.len() as u64
    }

    /// The counts. Requires that no values are pending.
    pub(super) fn counts(&self) -> BucketCounts<'_, u32> {
        BucketCounts { lowest: self.lowest, counts: &self.counts }
    }

    /// Counts the pending values.
    pub(super) fn flush(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        self.count_all(&pending);
        pending.clear();
        self.pending = pending;
    }

    fn count_all(&mut self, buckets: &[Bucket]) {
        let Some([lowest, highest]) = Bucket::range(buckets) else { return };
        self.extend_range(lowest, highest);
        for bucket in buckets {
            let count = &mut self.counts[bucket.distance_from(self.lowest)];
            *count = count.saturating_add(1);
        }
    }

    /// Reserves space for `further` more buckets, plus an eighth, which keeps reallocations rare. A vector would double
    /// its capacity, which would exceed the documented memory.
    fn reserve(&mut self, further: usize) {
        let len = self.counts.len() + further;
        if len > self.counts.capacity() {
            let spacious = (len + len / 8).min(Bucket::COUNT).max(len);
            self.counts.reserve_exact(spacious - self.counts.len());
        }
    }

    /// Extends the range to include these buckets.
    fn extend_range(&mut self, lowest: Bucket, highest: Bucket) {
        if self.counts.is_empty() {
            self.lowest = lowest;
        } else if lowest < self.lowest {
            let missing = self.lowest.distance_from(lowest);
            self.reserve(missing);
            self.counts.splice(..0, std::iter::repeat_n(0, missing));
            self.lowest = lowest;
        }
        let len = highest.max(self.lowest).distance_from(self.lowest) + 1;
        if len > self.counts.len() {
            self.reserve(len - self.counts.len());
            self.counts.resize(len, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(values: &[f64]) -> Histogram {
        Histogram::from_buckets(&values.iter().copied().map(Bucket::from_value).collect::<Vec<_>>())
    }

    fn values(mut histogram: Histogram) -> Vec<f64> {
        histogram.flush();
        (0..histogram.count()).map(histogram.counts().by_rank()).collect()
    }

    fn count_negative(histogram: &Histogram) -> u64 {
        histogram.counts().negative_count()
    }

    /// The range is extended by one bucket at a time, upwards and downwards.
    #[test]
    fn memory_is_bounded() {
        let buckets: Vec<_> =
            (0..Bucket::COUNT).map(|distance| Bucket::from_value(-f64::MAX).above(distance)).collect();
        let middle = buckets.len() / 2;
        let mut histogram = Histogram::default();
        for distance in 0..=middle {
            histogram.count_all(&[
                buckets[middle - distance],
                buckets[(middle + distance).min(buckets.len() - 1)],
            ]);
        }
        assert_eq!((histogram.counts.len(), histogram.counts.capacity()), (Bucket::COUNT, Bucket::COUNT));
        assert!(size_of_val(&*histogram.counts) + MAX_PENDING * size_of::<Bucket>() <= 68_000);
    }

    #[test]
    fn counts_values_per_bucket() {
        let mut merged = histogram(&[4.0, -2.0, 4.0]);
        assert_eq!((values(merged.clone()), count_negative(&merged)), (vec![-2.0, 4.0, 4.0], 1));
        merged.merge(&histogram(&[]));
        merged.merge(&histogram(&[3.0]));
        merged.extend(&[Bucket::from_value(9.0); 2]);
        merged.merge(&histogram(&[-5.0, 9.0, 4.0]));
        assert_eq!((merged.count(), count_negative(&merged)), (9, 2));
        assert_eq!(values(merged), [-5.0, -2.0, 3.0, 4.0, 4.0, 4.0, 9.0, 9.0, 9.0]);
        assert_eq!(count_negative(&histogram(&[1e6, 2e6])), 0);
        assert_eq!(count_negative(&histogram(&[-1e6, -2e6])), 2);
    }

    #[test]
    fn counts_never_overflow() {
        let mut full =
            Histogram { lowest: Bucket::from_value(1.0), counts: vec![u32::MAX - 1], pending: Vec::new() };
        full.merge(&histogram(&[1.0; 3]));
        full.merge(&full.clone());
        assert_eq!((full.count(), full.counts().by_rank()(u64::from(u32::MAX) - 1)), (u32::MAX.into(), 1.0));
    }
}
