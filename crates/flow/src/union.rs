//! The union of the groups of all samples, for sinks that need the same groups in each sample.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::Status;
use tachograph_counters::civil::Moment;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent, Instance, Instances};
use tachograph_counters::wildcard::eq_ignore_case;

use crate::identity::identity_counter;
use crate::{FlowError, Sink, Source};

/// Identifies a group by machine, set, extent, fixed instance and, except for tables, counters. Only the instance is
/// case-sensitive. Groups of a sample that are equal in all of these are distinguished by their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GroupKey {
    machine: String,
    set: String,
    extent: Extent,
    instance: Option<String>,
    counters: Vec<String>,
    occurrence: usize,
}

/// Maps the groups of samples to their indexes in the union.
#[derive(Default)]
pub(crate) struct GroupIndexes {
    by_key: HashMap<GroupKey, usize>,
    /// Keyed by log: the descriptions in its last sample, with their indexes.
    known_sets: HashMap<u32, Vec<(Arc<CounterSet>, usize)>>,
}

impl GroupIndexes {
    /// Returns the index of each group of `sample`. New groups are added at the end.
    pub(crate) fn find(&mut self, sample: &Sample) -> &[(Arc<CounterSet>, usize)] {
        forget_old_logs(&mut self.known_sets, sample.log);
        let known = self.known_sets.entry(sample.log).or_default();
        if !sample.has_sets(known.iter().map(|(set, _)| set)) {
            let mut occurrences: HashMap<GroupKey, usize> = HashMap::new();
            known.clear();
            for group in &sample.groups {
                let mut key = key_of(&group.set);
                let occurrence = occurrences.entry(key.clone()).or_default();
                key.occurrence = *occurrence;
                *occurrence += 1;
                let next = self.by_key.len();
                let index = *self.by_key.entry(key).or_insert(next);
                known.push((Arc::clone(&group.set), index));
            }
        }
        known
    }
}

/// Maximum number of logs, or parts of logs, whose state is kept. Every sample of a log can start a new part.
const MAX_LOGS: usize = 1024;

/// Makes room for the state of a new log, by dropping the older half if necessary.
pub(crate) fn forget_old_logs<T>(known: &mut HashMap<u32, T>, log: u32) {
    if known.len() >= MAX_LOGS && !known.contains_key(&log) {
        // Ids ascend with time, so the lower half is the older one.
        let mut ids: Vec<_> = known.keys().copied().collect();
        let (_, &mut middle, _) = ids.select_nth_unstable(MAX_LOGS / 2);
        known.retain(|&id, _| id >= middle);
    }
}

fn key_of(set: &CounterSet) -> GroupKey {
    let counters = match set.extent {
        Extent::Table => Vec::new(),
        _ => set.counters.iter().map(|counter| counter.name.to_lowercase()).collect(),
    };
    GroupKey {
        machine: set.machine.to_lowercase(),
        set: set.name.to_lowercase(),
        extent: set.extent,
        instance: set.instance.as_ref().map(|instance| instance.label().to_owned()),
        counters,
        occurrence: 0,
    }
}

/// Collects the groups, counters and instances of a source before a log is written.
#[derive(Default)]
pub struct UnionScan {
    indexes: GroupIndexes,
    groups: Vec<ScannedGroup>,
    rows: ScannedRows,
    values: u64,
}

/// The number, times and intervals of the scanned samples, which become the rows of the written log.
#[derive(Default)]
pub(crate) struct ScannedRows {
    samples: u64,
    /// The first [`MAX_INTERVALS`] intervals between samples, in units of 100 ns.
    intervals: Vec<i64>,
    first_time: Option<Moment>,
    last_time: Option<Moment>,
    /// The time of the sample that was scanned last. With several machines, it can be earlier than `last_time`.
    previous_time: Option<Moment>,
}

/// A group of the union with all its counters and instances.
#[derive(Clone, Debug)]
pub struct ScannedGroup {
    /// The description, with the counters of every description that the group has had.
    pub set: Arc<CounterSet>,
    /// The instances in the order of their first appearance.
    pub instances: Vec<Arc<Instance>>,
    /// The index in `instances` of each label.
    label_indexes: HashMap<String, usize>,
    /// The instances and the description in the last sample.
    last_instances: Instances,
    last_set: Arc<CounterSet>,
}

impl UnionScan {
    /// Returns the rows scanned so far and resets them, but keeps the groups. Must be called before the samples of
    /// another machine.
    pub(crate) fn take_rows(&mut self) -> ScannedRows {
        // The logs of another machine can have the same ids.
        self.indexes.known_sets.clear();
        std::mem::take(&mut self.rows)
    }

    /// Sets the rows to those of the machine whose samples become rows of the written log.
    pub(crate) fn set_rows(&mut self, rows: ScannedRows) {
        self.rows = rows;
    }

    /// Adds the rows of a further machine whose samples become rows of the written log.
    pub(crate) fn add_rows(&mut self, rows: ScannedRows) {
        let ScannedRows { samples, intervals, first_time: first_sample, last_time: last, .. } = rows;
        self.rows.samples += samples;
        self.rows.intervals.extend(intervals);
        self.rows.first_time = [self.rows.first_time, first_sample].into_iter().flatten().min();
        self.rows.last_time = self.rows.last_time.max(last);
    }

    /// The groups, in the order of their first appearance.
    pub fn groups(&self) -> &[ScannedGroup] {
        &self.groups
    }

    /// Whether there is a counter that identifies processes or threads, which
    /// [`Selection::with_identities`](crate::Selection::with_identities) adds.
    pub fn has_identities(&self) -> bool {
        self.groups.iter().any(|group| group.set.counters.iter().any(|it| identity_counter(it).is_some()))
    }

    /// Number of samples, not counting baselines.
    pub fn samples(&self) -> u64 {
        self.rows.samples
    }

    /// The moments of the first and the last sample, not counting baselines.
    pub fn time_range(&self) -> Option<(Moment, Moment)> {
        Some((self.rows.first_time?, self.rows.last_time?))
    }

    /// Number of values, not counting baselines and missing values.
    pub fn values(&self) -> u64 {
        self.values
    }

    /// The median time between samples, in units of 100 ns; `None` with fewer than two samples.
    pub fn typical_interval(&self) -> Option<i64> {
        let mut intervals = self.rows.intervals.clone();
        intervals.sort_unstable();
        intervals.get(intervals.len() / 2).copied()
    }
}

/// Maximum number of intervals from which the median is computed.
const MAX_INTERVALS: usize = 100_000;

impl Sink for UnionScan {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        if !sample.is_baseline {
            self.count(sample);
        }
        for ((_, index), group) in self.indexes.find(sample).iter().zip(&sample.groups) {
            if *index == self.groups.len() {
                self.groups.push(ScannedGroup::new(group));
            }
            self.groups[*index].add(group);
        }
        Ok(())
    }
}

impl UnionScan {
    fn count(&mut self, sample: &Sample) {
        self.rows.samples += 1;
        self.values += sample.value_count() as u64;
        // Machines are scanned one after another, and the samples of the next one can be earlier.
        self.rows.first_time = Some(self.rows.first_time.map_or(sample.at, |first| first.min(sample.at)));
        self.rows.last_time = self.rows.last_time.max(Some(sample.at));
        if let Some(previous) = self.rows.previous_time.replace(sample.at)
            && previous.utc <= sample.at.utc
            && self.rows.intervals.len() < MAX_INTERVALS
        {
            self.rows.intervals.push(sample.at.utc.since(previous.utc));
        }
    }
}

impl ScannedGroup {
    fn new(group: &Group) -> Self {
        let mut scanned = Self {
            set: Arc::clone(&group.set),
            instances: Vec::new(),
            label_indexes: HashMap::new(),
            last_instances: Instances::default(),
            last_set: Arc::clone(&group.set),
        };
        // A fixed instance has a column even if it never appears.
        if let Some(instance) = &group.set.instance {
            scanned.add_instance(instance);
        }
        scanned
    }

    fn add(&mut self, group: &Group) {
        if !Arc::ptr_eq(&self.last_set, &group.set) {
            self.last_set = Arc::clone(&group.set);
            self.widen(&group.set);
        }
        if !Arc::ptr_eq(&self.last_instances, &group.instances) {
            self.last_instances = Arc::clone(&group.instances);
            for instance in group.instances.iter() {
                self.add_instance(instance);
            }
        }
    }

    fn add_instance(&mut self, instance: &Arc<Instance>) {
        if !self.label_indexes.contains_key(instance.label()) {
            self.label_indexes.insert(instance.label().to_owned(), self.instances.len());
            self.instances.push(Arc::clone(instance));
        }
    }

    /// Adds the new counters in a later description.
    fn widen(&mut self, other: &CounterSet) {
        let new: Vec<_> = other
            .counters
            .iter()
            .filter(|counter| {
                self.set.counters.iter().all(|known| !eq_ignore_case(&known.name, &counter.name))
            })
            .cloned()
            .collect();
        if !new.is_empty() || self.set.counters.is_empty() {
            let mut set = CounterSet::clone(&self.set);
            set.has_instances = other.has_instances;
            set.english_name.clone_from(&other.english_name);
            set.indexes = other.indexes;
            set.counters.extend(new);
            self.set = Arc::new(set);
        }
    }

    /// The index of an instance in [`instances`](Self::instances).
    pub fn index_of(&self, instance: &Instance) -> Option<usize> {
        self.label_indexes.get(instance.label()).copied()
    }
}

/// Gives every sample the same groups, those of a union, in the same order. A group that a sample lacks is added empty,
/// with the status [`Status::ITEM_NOT_VALIDATED`].
pub struct Union<S> {
    source: S,
    indexes: GroupIndexes,
    sets: Vec<Arc<CounterSet>>,
    /// Whether the groups are from a scan. If false, they are those of the first sample.
    is_scanned: bool,
    /// Buffer for the source's sample.
    source_sample: Sample,
}

impl<S: Source> Union<S> {
    /// A stage over a source whose first sample has all groups. A later sample with other groups is a
    /// [`NewGroups`](FlowError::NewGroups) error.
    pub fn of_first_sample(source: S) -> Self {
        Self {
            source,
            indexes: GroupIndexes::default(),
            sets: Vec::new(),
            is_scanned: false,
            source_sample: Sample::default(),
        }
    }

    /// A stage over a source whose samples were all added to `scan` before.
    pub fn scanned(source: S, scan: &UnionScan) -> Self {
        let mut union = Self::of_first_sample(source);
        union.is_scanned = true;
        union.sets = scan.groups.iter().map(|group| Arc::clone(&group.set)).collect();
        // Keys were added in the order of appearance, so their indexes are those of `sets`.
        union.indexes.by_key.clone_from(&scan.indexes.by_key);
        union
    }
}

impl<S: Source> Source for Union<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.source.next(&mut self.source_sample)? {
            return Ok(false);
        }
        let indexes = self.indexes.find(&self.source_sample);
        if self.sets.is_empty() && !self.is_scanned {
            self.sets = self.source_sample.groups.iter().map(|group| Arc::clone(&group.set)).collect();
            if self.sets.is_empty() {
                return Err(FlowError::NewGroups);
            }
        }
        let is_complete = indexes.len() == self.sets.len()
            && indexes.iter().enumerate().all(|(position, (_, index))| position == *index);
        if is_complete {
            std::mem::swap(sample, &mut self.source_sample);
            return Ok(true);
        }
        if indexes.iter().any(|(_, index)| *index >= self.sets.len()) {
            return Err(FlowError::NewGroups);
        }
        sample.copy_head(&self.source_sample);
        sample.groups.truncate(self.sets.len());
        for (index, set) in self.sets.iter().enumerate() {
            if index == sample.groups.len() {
                sample.groups.push(Group::new(Arc::clone(set)));
            }
            let group = &mut sample.groups[index];
            group.clear();
            group.describe(set);
            group.status = Status::ITEM_NOT_VALIDATED;
        }
        for ((_, index), group) in indexes.iter().zip(&mut self.source_sample.groups) {
            std::mem::swap(&mut sample.groups[*index], group);
        }
        Ok(true)
    }
}
