//! Sources one after another.

use std::collections::VecDeque;

use tachograph_counters::sample::Sample;

use crate::{FlowError, Source};

/// Yields all samples of the first source, then all of the second, and so on. Used for the sources of several machines
/// if the sink does not need the samples in the order of time.
pub struct Chain {
    sources: VecDeque<Box<dyn Source>>,
}

impl Chain {
    /// A source that reads `sources` one after another.
    pub fn new(sources: impl IntoIterator<Item = Box<dyn Source>>) -> Self {
        Self { sources: sources.into_iter().collect() }
    }
}

impl Source for Chain {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        while let Some(source) = self.sources.front_mut() {
            if source.next(sample)? {
                return Ok(true);
            }
            self.sources.pop_front();
        }
        Ok(false)
    }
}
