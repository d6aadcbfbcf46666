//! The statistics of one of the two logs, and the identities of its instances.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::Instances;
use tachograph_logs::{LogError, ReadOptions};

use super::has_several_machines;
use crate::identity::key_of;
use crate::sinks::statistics::{StatisticsOptions, StatisticsRow, StatisticsSink};
use crate::{FlowError, NameSumsSink, Sink};

/// A sink that computes what [`compare`](super::compare) needs from a log.
pub struct ComparedLog {
    instances: StatisticsSink,
    /// The statistics of the sums over the instances of each name; `None` if instances are paired by number.
    sums: Option<NameSumsSink<StatisticsSink>>,
    identities: Identities,
    range: Option<(Moment, Moment)>,
}

/// The statistics of a log to compare: the result of a [`ComparedLog`], or rows of statistics, whose instances are paired by name
/// and number.
pub struct ComparedRows {
    /// A row per counter of an instance.
    pub(super) instances: Vec<StatisticsRow>,
    /// A row per counter of a name; `None` if instances are paired by number.
    pub(super) sums: Option<Vec<StatisticsRow>>,
    pub(super) identities: Identities,
}

impl ComparedLog {
    /// A sink for the samples of a log. With `by_identity`, instances are paired with those of the other log only if they
    /// are the same, or not known to be others; see [`InstancePairing`](super::InstancePairing). Otherwise they are paired by name
    /// and number.
    pub fn new(by_identity: bool) -> Self {
        let sink = || {
            StatisticsSink::new(StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() })
        };
        Self {
            instances: sink(),
            sums: by_identity.then(|| NameSumsSink::new(sink())),
            identities: Identities::default(),
            range: None,
        }
    }

    /// The times of the first and the last sample; `None` before the first.
    pub fn range(&self) -> Option<(Moment, Moment)> {
        self.range
    }

    /// Counts the sink's memory against the budget of the log. Pushing a sample fails if it needs more memory than is left.
    ///
    /// # Errors
    ///
    /// When nothing is left of the budget.
    pub fn count_memory(&mut self, reading: &ReadOptions) -> Result<(), LogError> {
        let reserve = || reading.budget.reserve(0).map_err(LogError::over_budget);
        self.instances.count_memory(reserve()?);
        if let Some(sums) = &mut self.sums {
            sums.sink.count_memory(reserve()?);
        }
        Ok(())
    }

    /// The number of series whose state is held: of instances, and of sums.
    pub fn len(&self) -> usize {
        self.instances.len() + self.sums.as_ref().map_or(0, |sums| sums.sink.len())
    }

    /// Whether the log had no values of the selected counters.
    pub fn is_empty(&self) -> bool {
        !self.instances.has_rows()
    }
}

impl ComparedRows {
    /// The only machine of the log; `None` if there are several, or if the log does not name it.
    pub fn machine(&self) -> Option<&Arc<str>> {
        let machine = self.instances.first()?.machine.as_ref()?;
        (!has_several_machines(&self.instances)).then_some(machine)
    }
}

impl From<ComparedLog> for ComparedRows {
    fn from(log: ComparedLog) -> Self {
        Self {
            instances: log.instances.rows(),
            sums: log.sums.map(|sums| sums.sink.rows()),
            identities: log.identities,
        }
    }
}

impl From<Vec<StatisticsRow>> for ComparedRows {
    fn from(instances: Vec<StatisticsRow>) -> Self {
        Self { instances, sums: None, identities: Identities::default() }
    }
}

impl Sink for ComparedLog {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        if !sample.is_baseline {
            self.range = Some((self.range.map_or(sample.at, |(first, _)| first), sample.at));
        }
        self.instances.push(sample)?;
        if let Some(sums) = &mut self.sums {
            sums.push(sample)?;
            self.identities.push(sample);
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.instances.finish()?;
        self.sums.as_mut().map_or(Ok(()), Sink::finish)
    }
}

/// The processes or threads that had each name.
#[derive(Default)]
pub(super) struct Identities {
    /// Keyed by machine and set, both in lower case, then by the label of the instance. `None` if several processes had the
    /// name one after another.
    sets: HashMap<(String, String), HashMap<Box<str>, Option<u64>>>,
    /// The instances and identities of the groups of the last sample.
    last: Vec<(Instances, Vec<u64>)>,
}

impl Identities {
    fn push(&mut self, sample: &Sample) {
        // The instances that are only in a baseline have no statistics.
        if sample.is_baseline {
            return;
        }
        self.last.resize_with(sample.groups.len(), Default::default);
        for (index, group) in sample.groups.iter().enumerate().filter(|(_, group)| group.is_present()) {
            let is_same = |(instances, identities): &(Instances, Vec<u64>)| {
                Arc::ptr_eq(instances, &group.instances) && *identities == group.identities
            };
            if !is_same(&self.last[index]) {
                self.add(group);
                let (instances, identities) = &mut self.last[index];
                instances.clone_from(&group.instances);
                identities.clone_from(&group.identities);
            }
        }
    }

    fn add(&mut self, group: &Group) {
        if group.identities.is_empty() {
            return;
        }
        let known = self.sets.entry(key_of(&group.set)).or_default();
        for (instance, &identity) in group.instances.iter().zip(&group.identities) {
            match known.get_mut(instance.label()) {
                _ if identity == 0 => {}
                Some(known) if *known != Some(identity) => *known = None,
                Some(_) => {}
                None => drop(known.insert(instance.label().into(), Some(identity))),
            }
        }
    }

    /// The process or thread with a name: `None` if unknown, `Some(None)` if there were several one after another.
    pub(super) fn get(&self, machine: &str, set: &str, label: &str) -> Option<Option<u64>> {
        self.sets.get(&(machine.to_lowercase(), set.to_lowercase()))?.get(label).copied()
    }
}
