//! Sums as a stage between a source and its reader, or between a writer and its sink.

use tachograph_counters::sample::Sample;

use super::{NameSums, copy_values};
use crate::{FlowError, Sink, Source};

/// Sums the samples of another source with [`NameSums`].
pub struct NameSumsSource<S> {
    source: S,
    sums: NameSums,
    /// Buffer for the source's sample.
    sample: Sample,
}

impl<S> NameSumsSource<S> {
    /// A stage over `source`.
    pub fn new(source: S) -> Self {
        Self { source, sums: NameSums::default(), sample: Sample::default() }
    }
}

impl<S: Source> Source for NameSumsSource<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.source.next(&mut self.sample)? {
            return Ok(false);
        }
        let summed = self.sums.push(&self.sample);
        sample.copy_head(summed);
        sample.groups.truncate(summed.groups.len());
        for (known, group) in sample.groups.iter_mut().zip(&summed.groups) {
            known.describe(&group.set);
            known.set_rows(&group.instances);
            copy_values(group, known);
            (known.read_at, known.clocks, known.boot_time) = (group.read_at, group.clocks, group.boot_time);
        }
        let added = summed.groups.get(sample.groups.len()..).unwrap_or_default();
        sample.groups.extend_from_slice(added);
        Ok(true)
    }
}

/// Sums each sample with [`NameSums`] and passes the result to another sink.
pub struct NameSumsSink<S> {
    sums: NameSums,
    /// The sink of the sums.
    pub sink: S,
}

impl<S> NameSumsSink<S> {
    /// A sink that passes sums to `sink`.
    pub fn new(sink: S) -> Self {
        Self { sums: NameSums::default(), sink }
    }
}

impl<S: Sink> Sink for NameSumsSink<S> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.sink.push(self.sums.push(sample))
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.sink.finish()
    }
}
