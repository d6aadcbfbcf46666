//! Joining samples of the same moment.

use std::sync::Arc;

use tachograph_counters::Status;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;

use crate::union::GroupIndexes;
use crate::{FlowError, Source};

/// Joins consecutive samples of the same moment that have different groups: samples of different machines, or from logs of one
/// machine with different counters. All samples of the source must come from one [`Union`](crate::Union), so that they have
/// the same groups in the same order.
pub struct Joined<S> {
    source: S,
    /// The sample that follows the last returned one.
    next_sample: Sample,
    state: State,
}

/// Whether the field `next` contains a sample.
#[derive(PartialEq)]
enum State {
    NotStarted,
    HasNext,
    Ended,
}

impl<S: Source> Joined<S> {
    /// A stage over `source`.
    pub fn new(source: S) -> Self {
        Self { source, next_sample: Sample::default(), state: State::NotStarted }
    }

    fn advance(&mut self) -> Result<(), FlowError> {
        self.state = if self.source.next(&mut self.next_sample)? { State::HasNext } else { State::Ended };
        Ok(())
    }
}

impl<S: Source> Source for Joined<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if self.state == State::NotStarted {
            self.advance()?;
        }
        if self.state == State::Ended {
            return Ok(false);
        }
        std::mem::swap(sample, &mut self.next_sample);
        self.advance()?;
        while self.state == State::HasNext && can_join(sample, &self.next_sample) {
            let boot_time = self.next_sample.boot_time;
            for (group, next) in sample.groups.iter_mut().zip(&mut self.next_sample.groups) {
                if next.is_present() {
                    std::mem::swap(group, next);
                    if group.boot_time.0 == 0 {
                        group.boot_time = boot_time;
                    }
                }
            }
            self.advance()?;
        }
        Ok(true)
    }
}

fn can_join(one: &Sample, other: &Sample) -> bool {
    one.at.utc == other.at.utc
        && one.is_baseline == other.is_baseline
        && one.groups.len() == other.groups.len()
        && one.groups.iter().zip(&other.groups).all(|(one, other)| !(one.is_present() && other.is_present()))
}

/// Joins consecutive samples of the same moment from different logs of one machine, whose groups need not be those of a
/// [`Union`](crate::Union). A joined sample has the id of its first log. If a later sample with this id lacks one of the
/// joined logs, the groups of that log are added without rows and with the status [`Status::ITEM_NOT_VALIDATED`], which
/// means that they are not part of the sample. If they were missing, their intervals would be interrupted.
pub struct JoinedLogs<S> {
    source: S,
    /// The sample that follows the last returned one.
    next_sample: Sample,
    state: State,
    indexes: GroupIndexes,
    /// The last occurrence of each group, by group index.
    last_groups: Vec<LastGroup>,
}

struct LastGroup {
    set: Arc<CounterSet>,
    /// The id of the group's log.
    log: u32,
    /// The id of the joined sample in which the group was returned: that of the sample's first log.
    returned_log: u32,
    /// The sequence number of that joined sample.
    sample: u64,
}

impl<S: Source> JoinedLogs<S> {
    /// A stage over `source`.
    pub fn new(source: S) -> Self {
        Self {
            source,
            next_sample: Sample::default(),
            state: State::NotStarted,
            indexes: GroupIndexes::default(),
            last_groups: Vec::new(),
        }
    }

    fn advance(&mut self) -> Result<(), FlowError> {
        self.state = if self.source.next(&mut self.next_sample)? { State::HasNext } else { State::Ended };
        Ok(())
    }

    /// Records the groups of `part`, which is joined into the returned sample with the sequence number `sample`.
    fn record(&mut self, part: &Sample, returned_log: u32, sample: u64) {
        for (set, index) in self.indexes.find(part) {
            let group = LastGroup { set: Arc::clone(set), log: part.log, returned_log, sample };
            match self.last_groups.get_mut(*index) {
                Some(last) => *last = group,
                // Indexes are assigned in the order of appearance.
                None => self.last_groups.push(group),
            }
        }
    }

    /// Whether `next` has no group in common with the returned sample with the sequence number `sample`.
    fn is_disjoint(&mut self, sample: u64) -> bool {
        let last = &self.last_groups;
        self.indexes
            .find(&self.next_sample)
            .iter()
            .all(|(_, index)| last.get(*index).is_none_or(|group| group.sample != sample))
    }
}

impl<S: Source> Source for JoinedLogs<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if self.state == State::NotStarted {
            self.advance()?;
        }
        if self.state == State::Ended {
            return Ok(false);
        }
        std::mem::swap(sample, &mut self.next_sample);
        let number = self.last_groups.iter().map(|group| group.sample).max().unwrap_or_default() + 1;
        let mut logs = vec![sample.log];
        self.record(sample, sample.log, number);
        self.advance()?;
        while self.state == State::HasNext
            && sample.at.utc == self.next_sample.at.utc
            && sample.is_baseline == self.next_sample.is_baseline
            && !logs.contains(&self.next_sample.log)
            && self.is_disjoint(number)
        {
            let mut next = std::mem::take(&mut self.next_sample);
            self.record(&next, sample.log, number);
            for group in next.groups.iter_mut().filter(|group| group.boot_time.0 == 0) {
                group.boot_time = next.boot_time;
            }
            logs.push(next.log);
            sample.groups.append(&mut next.groups);
            self.advance()?;
        }
        let is_of_other_log =
            |group: &&LastGroup| group.returned_log == sample.log && !logs.contains(&group.log);
        let absent = self.last_groups.iter().filter(is_of_other_log).map(|group| {
            let mut absent = Group::new(Arc::clone(&group.set));
            absent.status = Status::ITEM_NOT_VALIDATED;
            absent
        });
        let absent: Vec<Group> = absent.collect();
        sample.groups.extend(absent);
        Ok(true)
    }
}
