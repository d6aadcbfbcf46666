//! Samples with their numbers, and the places of some of them.

use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::{CounterSet, Instances};

use crate::merge::MergeMark;
use crate::window::signature_of;
use crate::{FlowError, Merge, Sink, Source, UnionScan};

/// Most places that are kept of one log, a few MB; where there are more samples, a place is kept of every second, fourth,
/// ... of them.
const MAX_MARKS: usize = 1 << 15;

/// How often lists of counters may change from sample to sample, and be remembered.
const MAX_CHANGES: usize = 4096;

/// Most instances that are noted of all sets.
const MAX_SCANNED: usize = 1 << 20;

/// Numbers the samples of logs; while they come for the first time, notes where they are and what they hold.
pub(super) struct Numbered {
    merge: Merge,
    /// The number of the next sample.
    number: u64,
    /// How many samples were given out at most: what comes next was not seen before.
    seen: u64,
    /// Places are noted of samples with the numbers `step - 1`, `2 * step - 1`, ..., and of the first.
    step: u64,
    marks: Vec<(u64, MergeMark)>,
    /// The descriptions and instances of the sample before.
    known: Vec<(Arc<CounterSet>, Instances)>,
    known_log: u32,
    signature: u64,
    /// The numbers of samples from which on the signature is another.
    changes: Vec<(u64, u64)>,
    is_wild: bool,
    scan: UnionScan,
    is_scan_full: bool,
}

impl Numbered {
    pub(super) fn new(merge: Merge) -> Self {
        Self {
            merge,
            number: 0,
            seen: 0,
            step: 1,
            marks: Vec::new(),
            known: Vec::new(),
            known_log: 0,
            signature: 0,
            changes: Vec::new(),
            is_wild: false,
            scan: UnionScan::default(),
            is_scan_full: false,
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
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

    /// Makes the next place be gone to, wherever the logs stand now.
    pub(super) fn leave(&mut self) {
        self.number = u64::MAX;
    }

    /// Goes to the sample, or to one before it from which on nothing better is known than to read.
    pub(super) fn go_near(&mut self, number: u64) -> Result<bool, FlowError> {
        let place = self.marks.partition_point(|&(marked, _)| marked <= number).checked_sub(1);
        let Some((marked, mark)) = place.map(|place| &self.marks[place]) else {
            return Ok(self.number <= number);
        };
        if self.number <= number && *marked <= self.number {
            return Ok(true);
        }
        // Whatever happens, the reader stands elsewhere.
        self.number = u64::MAX;
        if !self.merge.go_to(mark)? {
            return Ok(false);
        }
        self.number = *marked;
        Ok(true)
    }

    pub(super) fn baselines_before(&self, number: u64) -> Option<Vec<u64>> {
        if self.is_wild {
            return None;
        }
        let mut found: Vec<(u64, u64)> = Vec::new();
        let mut end = number;
        for &(from, signature) in self.changes.iter().rev().filter(|(from, _)| *from < number) {
            if !found.iter().any(|(known, _)| *known == signature) {
                found.push((signature, end - 1));
            }
            end = from;
        }
        let mut numbers: Vec<u64> = found.into_iter().map(|(_, number)| number).collect();
        numbers.sort_unstable();
        Some(numbers)
    }

    fn note_place(&mut self) -> Result<(), FlowError> {
        let is_due = self.number == 0 || (self.number + 1).is_multiple_of(self.step);
        if !is_due {
            return Ok(());
        }
        let Some(mark) = self.merge.mark()? else { return Ok(()) };
        if self.marks.last().is_none_or(|(last, _)| *last < self.number) {
            self.marks.push((self.number, mark));
        }
        // A place in several logs is one in each of them.
        if self.marks.len() > (MAX_MARKS / self.merge.len().max(1)).max(64) {
            self.step *= 2;
            let step = self.step;
            self.marks.retain(|(number, _)| *number == 0 || (number + 1).is_multiple_of(step));
        }
        Ok(())
    }

    /// Whether the sample's groups are others than those of the sample before.
    fn take(&mut self, sample: &Sample) -> bool {
        let is_listed = self.known_log == sample.log
            && self.known.len() == sample.groups.len()
            && self.known.iter().zip(&sample.groups).all(|((set, _), group)| Arc::ptr_eq(set, &group.set));
        let is_known = is_listed
            && self
                .known
                .iter()
                .zip(&sample.groups)
                .all(|((_, instances), group)| Arc::ptr_eq(instances, &group.instances));
        if is_known {
            return false;
        }
        self.known_log = sample.log;
        self.known.clear();
        let pairs = sample.groups.iter().map(|group| (Arc::clone(&group.set), Arc::clone(&group.instances)));
        self.known.extend(pairs);
        if !is_listed {
            self.signature = signature_of(sample);
        }
        true
    }

    /// Notes what came for the first time.
    fn note(&mut self, sample: &Sample) {
        if self.changes.last().is_none_or(|&(_, signature)| signature != self.signature) {
            if self.changes.len() < MAX_CHANGES {
                self.changes.push((self.number, self.signature));
            } else {
                self.is_wild = true;
            }
        }
        if !self.is_scan_full {
            // A scan never fails.
            let _ = self.scan.take(sample);
            let scanned: usize = self.scan.groups().iter().map(|group| group.instances.len()).sum();
            self.is_scan_full = scanned > MAX_SCANNED;
        }
    }
}

impl Source for Numbered {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let is_new = self.number == self.seen;
        if is_new {
            self.note_place()?;
        }
        if !self.merge.next(sample)? {
            return Ok(false);
        }
        if self.take(sample) && is_new {
            self.note(sample);
        }
        self.number += 1;
        if is_new {
            self.seen = self.number;
        }
        Ok(true)
    }
}
