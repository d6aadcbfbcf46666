//! Random access to the samples of one machine's logs.

mod indexed;

use tachograph_counters::sample::Sample;

use crate::logs::LogReport;
use crate::{FlowError, Identity, Merge, Select, Selection, Source, UnionScan};
use indexed::IndexedMerge;

/// The selected counters of the samples of one machine's logs, in the order of time, as in [`LogQuery::samples`].
/// Positions are recorded while samples are read, so that any sample can be read again.
///
/// [`LogQuery::samples`]: crate::query::LogQuery::samples
pub struct SeekableSource {
    source: Select<Identity<IndexedMerge>>,
    reports: Vec<LogReport>,
}

impl SeekableSource {
    pub(crate) fn new(merge: Merge, selection: &Selection, reports: Vec<LogReport>) -> Self {
        let identity = Identity::new(IndexedMerge::new(merge), selection.clone());
        Self { source: Select::new(identity, selection.clone()), reports }
    }

    /// The reports of the logs.
    pub fn reports(&self) -> &[LogReport] {
        &self.reports
    }

    /// The index (from 0) of the next sample. Baselines have an index, too.
    pub fn next_index(&mut self) -> u64 {
        self.ensure_index().next_index()
    }

    /// Makes the sample with this index the next one. This is slow if the nearest recorded position is far before the
    /// sample. Returns false if there are fewer samples, or if a circular log has overwritten this one.
    ///
    /// # Errors
    ///
    /// When a log cannot be read.
    pub fn seek(&mut self, index: u64) -> Result<bool, FlowError> {
        if !self.ensure_index().seek_before(index)? {
            return Ok(false);
        }
        let mut passed = Sample::default();
        while self.next_index() < index {
            if !self.ensure_index().next(&mut passed)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Like [`seek`](Self::seek), but for a sample that was appended to the logs after they were read. Returns false if the
    /// logs must be opened again to read it, as is the case for circular logs.
    ///
    /// # Errors
    ///
    /// When a log cannot be read.
    pub fn seek_to_appended(&mut self, index: u64) -> Result<bool, FlowError> {
        if !self.ensure_index().follows_growth() {
            return Ok(false);
        }
        self.ensure_index().invalidate();
        self.seek(index)
    }

    /// The indexes of the baselines of a [`Window`](crate::Window) that begins with this sample: for each list of
    /// counters, the last earlier sample that has it. `None` if the lists changed too often; use
    /// [`signature`](Self::signature) then.
    pub fn baselines_before(&mut self, index: u64) -> Option<Vec<u64>> {
        self.ensure_index().baselines_before(index)
    }

    /// A hash of the list of counters of the last sample.
    pub fn signature(&mut self) -> u64 {
        self.ensure_index().signature()
    }

    /// All counters and instances in the part of the logs that was read so far, whether selected or not.
    pub fn scan(&mut self) -> &UnionScan {
        self.ensure_index().scan()
    }

    fn ensure_index(&mut self) -> &mut IndexedMerge {
        self.source.source_mut().source_mut()
    }
}

impl Source for SeekableSource {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        self.source.next(sample)
    }
}
