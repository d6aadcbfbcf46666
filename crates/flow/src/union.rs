//! One fixed list of groups for sinks that need it, whatever the samples hold.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::Status;
use tachograph_counters::civil::Moment;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Extent, Instance, Instances};
use tachograph_counters::wildcard::eq_ignore_case;

use crate::identity::identity_counter;
use crate::{FlowError, Sink, Source};

/// What tells one group from another: machine, set and, but for whole sets, counter and fixed instance. Names compare
/// without case, and equal groups of one sample are told apart by their order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct GroupKey {
    machine: String,
    set: String,
    extent: Extent,
    instance: Option<String>,
    counter: Option<String>,
    occurrence: usize,
}

/// The groups of one sample, each with its place in the union.
#[derive(Default)]
struct Places {
    /// By key: the place in the union.
    by_key: HashMap<GroupKey, usize>,
    /// The descriptions seen last, per log, with the places found for them.
    known: HashMap<u32, Vec<(Arc<CounterSet>, usize)>>,
}

impl Places {
    /// The place of each group of `sample`; `None` for a group that is not in the union yet.
    fn find(&mut self, sample: &Sample) -> &[(Arc<CounterSet>, usize)] {
        forget_old_logs(&mut self.known, sample.log);
        let known = self.known.entry(sample.log).or_default();
        let same = known.len() == sample.groups.len()
            && known.iter().zip(&sample.groups).all(|((set, _), group)| Arc::ptr_eq(set, &group.set));
        if !same {
            let mut occurrences: HashMap<GroupKey, usize> = HashMap::new();
            known.clear();
            for group in &sample.groups {
                let mut key = key_of(&group.set);
                let occurrence = occurrences.entry(key.clone()).or_default();
                key.occurrence = *occurrence;
                *occurrence += 1;
                let next = self.by_key.len();
                let place = *self.by_key.entry(key).or_insert(next);
                known.push((Arc::clone(&group.set), place));
            }
        }
        known
    }
}

/// How many logs, or parts of logs, are remembered at a time. A log can have a new part with every sample; what is
/// forgotten is found again.
const MAX_LOGS: usize = 1024;

/// Makes room where a log comes that is not known yet.
pub(crate) fn forget_old_logs<T>(known: &mut HashMap<u32, T>, log: u32) {
    if known.len() >= MAX_LOGS && !known.contains_key(&log) {
        // Numbers rise with time, so the lower half is the older one.
        let mut numbers: Vec<_> = known.keys().copied().collect();
        let (_, &mut middle, _) = numbers.select_nth_unstable(MAX_LOGS / 2);
        known.retain(|&number, _| number >= middle);
    }
}

fn key_of(set: &CounterSet) -> GroupKey {
    let counter = match set.extent {
        Extent::Table => None,
        _ => set.counters.first().map(|counter| counter.name.to_lowercase()),
    };
    GroupKey {
        machine: set.machine.to_lowercase(),
        set: set.name.to_lowercase(),
        extent: set.extent,
        instance: set.instance.as_ref().map(|instance| instance.label().to_owned()),
        counter,
        occurrence: 0,
    }
}

/// A sink that gathers which groups, counters and instances a source has: the scan before a log is written.
#[derive(Default)]
pub struct UnionScan {
    places: Places,
    groups: Vec<ScannedGroup>,
    rows: ScannedRows,
    values: u64,
}

/// The samples that a scan met.
#[derive(Default)]
pub(crate) struct ScannedRows {
    samples: u64,
    /// Intervals between samples in 100 ns units, the first few thousand of them.
    intervals: Vec<i64>,
    first: Option<Moment>,
    last: Option<Moment>,
}

/// A group of the union with everything that occurred in it.
#[derive(Clone, Debug)]
pub struct ScannedGroup {
    /// The description as it was seen last, with every counter that was ever seen.
    pub set: Arc<CounterSet>,
    /// The instances in the order of their first appearance.
    pub instances: Vec<Arc<Instance>>,
    seen: HashMap<String, usize>,
    last_instances: Instances,
    last_set: Arc<CounterSet>,
}

impl UnionScan {
    /// Takes out the rows scanned so far, keeping the groups: the samples of another machine follow.
    pub(crate) fn take_rows(&mut self) -> ScannedRows {
        // Another machine's logs have numbers of their own.
        self.places.known.clear();
        std::mem::take(&mut self.rows)
    }

    /// Puts back the rows of the machine by whose clock the log is written.
    pub(crate) fn set_rows(&mut self, rows: ScannedRows) {
        self.rows = rows;
    }

    /// Adds the rows of a machine whose samples are written with those of the others.
    pub(crate) fn add_rows(&mut self, rows: ScannedRows) {
        let ScannedRows { samples, intervals, first, last } = rows;
        self.rows.samples += samples;
        self.rows.intervals.extend(intervals);
        self.rows.first = [self.rows.first, first].into_iter().flatten().min();
        self.rows.last = self.rows.last.max(last);
    }

    /// The groups found, in the order of their first appearance.
    pub fn groups(&self) -> &[ScannedGroup] {
        &self.groups
    }

    /// Whether there is a counter that identifies processes or threads, which
    /// [`Selection::with_identities`](crate::Selection::with_identities) keeps.
    pub fn has_identities(&self) -> bool {
        self.groups.iter().any(|group| group.set.counters.iter().any(|it| identity_counter(it).is_some()))
    }

    /// How many samples were seen, baselines not counted.
    pub fn samples(&self) -> u64 {
        self.rows.samples
    }

    /// The moments of the first and the last sample, in the order in which they came; baselines not counted.
    pub fn time_range(&self) -> Option<(Moment, Moment)> {
        Some((self.rows.first?, self.rows.last?))
    }

    /// How many raw values there were, baselines and absent instances not counted.
    pub fn values(&self) -> u64 {
        self.values
    }

    /// The median time between samples, 100 ns units; `None` with fewer than two samples.
    pub fn typical_interval(&self) -> Option<i64> {
        let mut intervals = self.rows.intervals.clone();
        intervals.sort_unstable();
        intervals.get(intervals.len() / 2).copied()
    }
}

/// How many intervals the median is taken over.
const MAX_INTERVALS: usize = 100_000;

impl Sink for UnionScan {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        if !sample.is_baseline {
            self.count(sample);
        }
        for ((_, place), group) in self.places.find(sample).iter().zip(&sample.groups) {
            if *place == self.groups.len() {
                self.groups.push(ScannedGroup::new(group));
            }
            self.groups[*place].add(group);
        }
        Ok(())
    }
}

impl UnionScan {
    fn count(&mut self, sample: &Sample) {
        self.rows.samples += 1;
        let values = sample.groups.iter().flat_map(|group| &group.values);
        self.values += values.filter(|raw| raw.status != Status::NO_INSTANCE).count() as u64;
        self.rows.first.get_or_insert(sample.at);
        if let Some(last) = self.rows.last.replace(sample.at)
            && self.rows.intervals.len() < MAX_INTERVALS
        {
            self.rows.intervals.push(sample.at.utc.since(last.utc));
        }
    }
}

impl ScannedGroup {
    fn new(group: &Group) -> Self {
        let mut scanned = Self {
            set: Arc::clone(&group.set),
            instances: Vec::new(),
            seen: HashMap::new(),
            last_instances: Instances::default(),
            last_set: Arc::clone(&group.set),
        };
        // A fixed instance has its column even where it never appears.
        if let Some(instance) = &group.set.instance {
            scanned.note(instance);
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
                self.note(instance);
            }
        }
    }

    fn note(&mut self, instance: &Arc<Instance>) {
        if !self.seen.contains_key(instance.label()) {
            self.seen.insert(instance.label().to_owned(), self.instances.len());
            self.instances.push(Arc::clone(instance));
        }
    }

    /// Adds the counters of a later description that the earlier ones did not have.
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

    /// The number of an instance among [`instances`](Self::instances).
    pub fn place_of(&self, instance: &Instance) -> Option<usize> {
        self.seen.get(instance.label()).copied()
    }
}

/// Gives every sample the groups of a union, in its order. A group that a sample lacks is there without values, marked as
/// [not part of it](Status::ITEM_NOT_VALIDATED).
pub struct Union<S> {
    source: S,
    places: Places,
    sets: Vec<Arc<CounterSet>>,
    /// Without a scan, the first sample's groups are the union.
    is_scanned: bool,
    inner: Sample,
}

impl<S: Source> Union<S> {
    /// A stage over a source whose first sample has every group that will come; the error
    /// [`NewGroups`](FlowError::NewGroups) says that it had not.
    pub fn of_first_sample(source: S) -> Self {
        Self {
            source,
            places: Places::default(),
            sets: Vec::new(),
            is_scanned: false,
            inner: Sample::default(),
        }
    }

    /// A stage over a source that was scanned before.
    pub fn scanned(source: S, scan: &UnionScan) -> Self {
        let mut union = Self::of_first_sample(source);
        union.is_scanned = true;
        union.sets = scan.groups.iter().map(|group| Arc::clone(&group.set)).collect();
        // Both scans number groups in the order of their appearance.
        union.places.by_key.clone_from(&scan.places.by_key);
        union
    }
}

impl<S: Source> Source for Union<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.source.next(&mut self.inner)? {
            return Ok(false);
        }
        let places = self.places.find(&self.inner);
        if self.sets.is_empty() && !self.is_scanned {
            self.sets = self.inner.groups.iter().map(|group| Arc::clone(&group.set)).collect();
            if self.sets.is_empty() {
                return Err(FlowError::NewGroups);
            }
        }
        let as_it_is = places.len() == self.sets.len()
            && places.iter().enumerate().all(|(number, (_, place))| number == *place);
        if as_it_is {
            std::mem::swap(sample, &mut self.inner);
            return Ok(true);
        }
        if places.iter().any(|(_, place)| *place >= self.sets.len()) {
            return Err(FlowError::NewGroups);
        }
        sample.take_head(&self.inner);
        sample.groups.truncate(self.sets.len());
        for (number, set) in self.sets.iter().enumerate() {
            if number == sample.groups.len() {
                sample.groups.push(Group::new(Arc::clone(set)));
            }
            let group = &mut sample.groups[number];
            group.clear();
            group.describe(set);
            group.status = Status::ITEM_NOT_VALIDATED;
        }
        for ((_, place), group) in places.iter().zip(&mut self.inner.groups) {
            std::mem::swap(&mut sample.groups[*place], group);
        }
        Ok(true)
    }
}
