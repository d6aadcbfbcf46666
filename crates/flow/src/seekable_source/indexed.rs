//! The indexes and positions of samples in merged logs.

use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::{CounterSet, Instances};

use crate::merge::MergeMark;
use crate::window::signature_of;
use crate::{FlowError, Merge, Sink, Source, UnionScan};

/// Maximum number of recorded positions, shared by all logs; a few MB. When it is reached, every second position is
/// dropped and the distance between recorded positions doubles.
const MAX_MARKS: usize = 1 << 15;

/// Maximum number of recorded changes of the list of counters.
const MAX_CHANGES: usize = 4096;

/// The maximum number of instances in the scan. When it is exceeded, no further samples are added.
const MAX_SCANNED: usize = 1 << 20;

/// Merges logs and numbers their samples. Records positions and contents when a sample is read for the first time.
pub(super) struct IndexedMerge {
    merge: Merge,
    /// The index of the next sample.
    next: u64,
    /// The number of samples read so far, not counting repeated reads.
    known_samples: u64,
    /// Positions are recorded for the first sample and for those with the indexes `step - 1`, `2 * step - 1`, ...
    step: u64,
    /// The recorded positions, each with the index of the sample there.
    marks: Vec<(u64, MergeMark)>,
    /// The descriptions and instances of the last sample.
    known_groups: Vec<(Arc<CounterSet>, Instances)>,
    /// The log id of the last sample.
    known_log: u32,
    /// A hash of the list of counters of the last sample.
    signature: u64,
    /// Each change of the signature: the index of the first sample with the new signature, and that signature.
    signature_changes: Vec<(u64, u64)>,
    /// Whether `changes` is incomplete because there were more than [`MAX_CHANGES`].
    has_lost_changes: bool,
    /// All groups, counters and instances in the samples read so far.
    scan: UnionScan,
    is_scan_full: bool,
}

impl IndexedMerge {
    pub(super) fn new(merge: Merge) -> Self {
        Self {
            merge,
            next: 0,
            known_samples: 0,
            step: 1,
            marks: Vec::new(),
            known_groups: Vec::new(),
            known_log: 0,
            signature: 0,
            signature_changes: Vec::new(),
            has_lost_changes: false,
            scan: UnionScan::default(),
            is_scan_full: false,
        }
    }

    pub(super) fn next_index(&self) -> u64 {
        self.next
    }

    pub(super) fn signature(&self) -> u64 {
        self.signature
    }

    pub(super) fn scan(&self) -> &UnionScan {
        &self.scan
    }

    pub(super) fn follows_growth(&self) -> bool {
        self.merge.follows_growth()
    }

    /// Makes the next seek use a recorded position, even if the logs seem to be at the right sample already.
    pub(super) fn invalidate(&mut self) {
        self.next = u64::MAX;
    }

    /// Seeks to the nearest recorded position at or before a sample. Returns false if no such position can be reached.
    pub(super) fn seek_before(&mut self, index: u64) -> Result<bool, FlowError> {
        let position = self.marks.partition_point(|&(marked, _)| marked <= index).checked_sub(1);
        let Some((marked, mark)) = position.map(|position| &self.marks[position]) else {
            return Ok(self.next <= index);
        };
        if self.next <= index && *marked <= self.next {
            return Ok(true);
        }
        // On failure the position is unknown.
        self.next = u64::MAX;
        if !self.merge.seek(mark)? {
            return Ok(false);
        }
        self.next = *marked;
        Ok(true)
    }

    /// See [`SeekableSource::baselines_before`](super::SeekableSource::baselines_before).
    pub(super) fn baselines_before(&self, index: u64) -> Option<Vec<u64>> {
        if self.has_lost_changes {
            return None;
        }
        let mut found: Vec<(u64, u64)> = Vec::new();
        let mut end = index;
        for &(from, signature) in self.signature_changes.iter().rev().filter(|(from, _)| *from < index) {
            if !found.iter().any(|(known, _)| *known == signature) {
                found.push((signature, end - 1));
            }
            end = from;
        }
        let mut indexes: Vec<u64> = found.into_iter().map(|(_, index)| index).collect();
        indexes.sort_unstable();
        Some(indexes)
    }

    fn record_position(&mut self) -> Result<(), FlowError> {
        let is_due = self.next == 0 || (self.next + 1).is_multiple_of(self.step);
        if !is_due {
            return Ok(());
        }
        let Some(mark) = self.merge.position_mark()? else { return Ok(()) };
        if self.marks.last().is_none_or(|(last, _)| *last < self.next) {
            self.marks.push((self.next, mark));
        }
        // A position has one entry per log, so fewer positions are kept with more logs.
        if self.marks.len() > (MAX_MARKS / self.merge.len().max(1)).max(64) {
            self.step *= 2;
            let step = self.step;
            self.marks.retain(|(index, _)| *index == 0 || (index + 1).is_multiple_of(step));
        }
        Ok(())
    }

    /// Updates the known groups and the signature. Returns whether the sample has other groups or instances than the
    /// previous one.
    fn update(&mut self, sample: &Sample) -> bool {
        let has_same_sets =
            self.known_log == sample.log && sample.has_sets(self.known_groups.iter().map(|(set, _)| set));
        let is_unchanged = has_same_sets
            && self
                .known_groups
                .iter()
                .zip(&sample.groups)
                .all(|((_, instances), group)| Arc::ptr_eq(instances, &group.instances));
        if is_unchanged {
            return false;
        }
        self.known_log = sample.log;
        self.known_groups.clear();
        let pairs = sample.groups.iter().map(|group| (Arc::clone(&group.set), Arc::clone(&group.instances)));
        self.known_groups.extend(pairs);
        if !has_same_sets {
            self.signature = signature_of(sample);
        }
        true
    }

    /// Records the contents of a sample that is read for the first time.
    fn record(&mut self, sample: &Sample) {
        if self.signature_changes.last().is_none_or(|&(_, signature)| signature != self.signature) {
            if self.signature_changes.len() < MAX_CHANGES {
                self.signature_changes.push((self.next, self.signature));
            } else {
                self.has_lost_changes = true;
            }
        }
        if !self.is_scan_full {
            // Adding to a scan cannot fail.
            let _ = self.scan.push(sample);
            let scanned: usize = self.scan.groups().iter().map(|group| group.instances.len()).sum();
            self.is_scan_full = scanned > MAX_SCANNED;
        }
    }
}

impl Source for IndexedMerge {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let is_new = self.next == self.known_samples;
        if is_new {
            self.record_position()?;
        }
        if !self.merge.next(sample)? {
            return Ok(false);
        }
        if self.update(sample) && is_new {
            self.record(sample);
        }
        self.next += 1;
        if is_new {
            self.known_samples = self.next;
        }
        Ok(true)
    }
}
