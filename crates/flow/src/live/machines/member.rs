//! One of the machines of a [`MachinesSource`](super::MachinesSource).

use std::sync::Arc;
use std::time::Duration;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_counters::{RawValue, Status};

use super::super::LiveReport;
use super::MachineMember;
use super::outages::{Availability, MissingAnswer};
use super::readers::Reader;

/// How far a machine has come with the current sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The request was sent by [`Exchanges::begin`].
    Exchanging,
    /// A thread takes the sample.
    Reading,
    /// The sample was taken.
    Taken,
    /// A thread is taking a sample that is too late.
    Late,
}

/// A machine, and how far it has come with the current sample.
pub(super) struct Member {
    pub(super) machine: Arc<str>,
    /// Whether the machine's samples are taken before those of other machines that wait for a thread.
    pub(super) is_first: bool,
    pub(super) progress: Progress,
    /// Whether the last answer was late, or reported the machine as unreachable.
    pub(super) is_silent: bool,
    pub(super) availability: Availability,
    /// `None` while a thread has it.
    pub(super) reader: Option<Box<Reader>>,
    /// The paths to set when the thread has returned the reader.
    pub(super) new_paths: Option<Vec<PathPattern>>,
    /// Whether the next request differs from the last one.
    pub(super) is_changed: bool,
    /// Groups without values, for samples in which the machine is late.
    pub(super) groups: Vec<Group>,
    /// The descriptions of the groups of the last answer, which are also used for a sample without an answer.
    pub(super) descriptions: Vec<Arc<CounterSet>>,
}

impl Member {
    pub(super) fn new(member: MachineMember, max_wait: Duration, report: &LiveReport) -> Self {
        let MachineMember { mut source, boot_time } = member;
        source.limit_wait(max_wait);
        source.set_report(report.clone());
        Self {
            machine: Arc::clone(source.registry().machine()),
            is_first: false,
            progress: Progress::Late,
            is_silent: false,
            availability: Availability::default(),
            descriptions: source.descriptions().cloned().collect(),
            reader: Some(Box::new(Reader { source, boot_time, sample: Sample::default() })),
            new_paths: None,
            is_changed: true,
            groups: Vec::new(),
        }
    }

    /// Sets the paths of the machine; returns for each whether it selects a counter.
    pub(super) fn set_paths(&mut self, paths: Vec<PathPattern>) -> Vec<bool> {
        self.is_changed = true;
        let Some(reader) = &mut self.reader else {
            let matched = vec![true; paths.len()];
            self.new_paths = Some(paths);
            return matched;
        };
        let resolved: Vec<_> = paths.iter().map(|path| reader.source.registry().resolve_path(path)).collect();
        let matched = reader.source.select_paths(&resolved);
        self.descriptions = reader.source.descriptions().cloned().collect();
        matched
    }

    /// Takes a sample from the answer that has arrived. If it turns out to need another exchange, the sample has no values,
    /// and a thread takes the next one: waiting here would delay all machines.
    pub(super) fn collect_received(&mut self, max_wait: Duration) {
        if let Some(mut reader) = self.reader.take() {
            reader.source.limit_wait(Duration::ZERO);
            reader.collect();
            reader.source.limit_wait(max_wait);
            self.take_back(reader, true);
            self.is_changed |= self.is_silent;
        }
    }

    /// Takes back the reader from a thread. The sample that it has taken is used if `is_current`.
    pub(super) fn take_back(&mut self, reader: Box<Reader>, is_current: bool) {
        self.is_silent = reader.is_unreachable();
        if is_current {
            let groups = &reader.sample.groups;
            let is_same = |(group, known): (&Group, &Arc<CounterSet>)| Arc::ptr_eq(&group.set, known);
            if groups.len() != self.descriptions.len() || !groups.iter().zip(&self.descriptions).all(is_same)
            {
                self.descriptions = groups.iter().map(|group| Arc::clone(&group.set)).collect();
            }
            self.groups = Vec::new();
            self.progress = Progress::Taken;
        }
        self.reader = Some(reader);
        if let Some(paths) = self.new_paths.take() {
            self.set_paths(paths);
        }
    }

    /// Why the current sample has no values of the machine.
    pub(super) fn missing_answer(&self, late_reason: &Arc<str>) -> Option<MissingAnswer> {
        let failure = || match (&self.reader, self.progress) {
            (Some(reader), Progress::Taken) => reader.failure(),
            _ => None,
        };
        let missing = || match failure() {
            Some(failure) => MissingAnswer::of_failure(failure),
            None => MissingAnswer::late(late_reason),
        };
        self.is_silent.then(missing)
    }

    /// The groups of the current sample.
    pub(super) fn groups(&mut self) -> &mut [Group] {
        match &mut self.reader {
            Some(reader) if self.progress == Progress::Taken => &mut reader.sample.groups,
            _ => &mut self.groups,
        }
    }

    /// Sets the groups of the current sample to those of the last answer, without values.
    pub(super) fn mark_late(&mut self) {
        self.groups.truncate(self.descriptions.len());
        for (index, description) in self.descriptions.iter().enumerate() {
            if index == self.groups.len() {
                self.groups.push(Group::new(Arc::clone(description)));
            }
            let group = &mut self.groups[index];
            group.describe(description);
            group.clear_values();
            match &group.set.instance {
                Some(instance) => {
                    // The list is kept for as long as the instance is the same.
                    if !matches!(&group.instances[..], [known] if Arc::ptr_eq(known, instance)) {
                        group.instances = [Arc::clone(instance)].into();
                    }
                    let missing = RawValue::error(Status::NO_MACHINE);
                    group.values.resize(group.set.counters.len(), missing);
                    group.identities.push(0);
                }
                None => {
                    group.clear_rows();
                    group.status = Status::NO_MACHINE;
                }
            }
        }
    }
}
