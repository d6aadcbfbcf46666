//! Sources one after another.

use std::collections::VecDeque;

use tachograph_counters::sample::Sample;

use crate::{FlowError, Source};

/// The samples of several sources, each to its end before the next begins: machines for a sink that asks nothing of
/// their order, each with its own window and its own stretch of time.
pub struct Chain {
    sources: VecDeque<Box<dyn Source>>,
}

impl Chain {
    /// Over the given sources.
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
