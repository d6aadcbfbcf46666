//! Every n-th sample.

use std::collections::HashMap;

use tachograph_counters::sample::Sample;

use crate::window::signature_of;
use crate::{FlowError, Source};

/// Passes on every n-th sample, beginning with the first; baselines always. Raw samples thinned out keep their averages
/// right.
pub struct Thin<S> {
    source: S,
    every: u64,
    /// By list of counters: how many samples with it came. Logs side by side are thinned each for itself.
    counts: HashMap<u64, Count>,
    came: u64,
}

struct Count {
    samples: u64,
    /// When its last sample came, counted over all.
    last: u64,
}

/// How many lists of counters are counted at a time; one that did not come for longer begins again.
const MAX_LISTS: usize = 1 << 14;

impl<S: Source> Thin<S> {
    /// A stage over `source`; `every` 0 or 1 passes all on.
    pub fn new(source: S, every: u64) -> Self {
        Self { source, every, counts: HashMap::new(), came: 0 }
    }

    /// How many samples with this list of counters came before.
    fn count(&mut self, signature: u64) -> u64 {
        self.came += 1;
        if self.counts.len() >= MAX_LISTS && !self.counts.contains_key(&signature) {
            let mut lasts: Vec<_> = self.counts.values().map(|count| count.last).collect();
            let (_, &mut middle, _) = lasts.select_nth_unstable(MAX_LISTS / 2);
            self.counts.retain(|_, count| count.last >= middle);
        }
        let count = self.counts.entry(signature).or_insert(Count { samples: 0, last: 0 });
        count.last = self.came;
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
