//! Thinning: passing every n-th sample.

use std::collections::HashMap;

use tachograph_counters::sample::Sample;

use crate::window::signature_of;
use crate::{FlowError, Source};

/// Passes every n-th sample, starting with the first, and all baselines. Averages of thinned raw samples are still
/// correct.
pub struct Thin<S> {
    source: S,
    /// n; 0 and 1 pass all samples.
    every: u64,
    /// Keyed by the signature of the list of counters, so that parallel logs are thinned separately.
    counts: HashMap<u64, Count>,
    /// Number of samples with any list of counters.
    samples: u64,
}

struct Count {
    /// Number of samples with this list.
    samples: u64,
    /// Sequence number, among the samples of all lists, of this list's last sample.
    last_sequence_number: u64,
}

/// Maximum number of lists that are counted. When a new list would exceed it, the counts of the older half are dropped,
/// and restart if these lists return.
const MAX_LISTS: usize = 1 << 14;

impl<S: Source> Thin<S> {
    /// A stage over `source`; `every` 0 or 1 passes all samples.
    pub fn new(source: S, every: u64) -> Self {
        Self { source, every, counts: HashMap::new(), samples: 0 }
    }

    /// Counts a sample with this list of counters. Returns the number of earlier samples with the same list.
    fn count(&mut self, signature: u64) -> u64 {
        self.samples += 1;
        if self.counts.len() >= MAX_LISTS && !self.counts.contains_key(&signature) {
            let mut lasts: Vec<_> = self.counts.values().map(|count| count.last_sequence_number).collect();
            let (_, &mut middle, _) = lasts.select_nth_unstable(MAX_LISTS / 2);
            self.counts.retain(|_, count| count.last_sequence_number >= middle);
        }
        let count = self.counts.entry(signature).or_insert(Count { samples: 0, last_sequence_number: 0 });
        count.last_sequence_number = self.samples;
        count.samples += 1;
        count.samples - 1
    }
}

impl<S: Source> Source for Thin<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        while self.source.next(sample)? {
            if self.every <= 1 || sample.is_baseline {
                return Ok(true);
            }
            if self.count(signature_of(sample)).is_multiple_of(self.every) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
