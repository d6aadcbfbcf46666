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
    /// By the groups of a log: how many of its samples came. Logs side by side are thinned each for itself.
    counts: HashMap<u64, u64>,
}

impl<S: Source> Thin<S> {
    /// A stage over `source`; `every` 0 or 1 passes all on.
    pub fn new(source: S, every: u64) -> Self {
        Self { source, every, counts: HashMap::new() }
    }
}

impl<S: Source> Source for Thin<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        while self.source.next(sample)? {
            if self.every <= 1 || sample.is_baseline {
                return Ok(true);
            }
            let count = self.counts.entry(signature_of(sample)).or_default();
            let keep = count.is_multiple_of(self.every);
            *count += 1;
            if keep {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
