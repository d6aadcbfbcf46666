//! The values of one group, from sample to sample.

use std::sync::Arc;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use tachograph_counters::{Calculator, RawValue};

use super::Reach;
use super::tracked::{Label, SeriesKey, Tracked};

/// In place of a series: the value counts elsewhere.
pub(super) const COUNTED_ELSEWHERE: u32 = u32::MAX;

/// Values of one group are gathered over a run of samples and then added series by series. A series spans several cache
/// lines, and a log can have more of them than caches hold: so each is fetched once a run, not once a sample.
const RUN_BYTES: usize = 4 << 20;
const MAX_RUN_SAMPLES: usize = 32;

/// Names of a set in lower case, for keys.
struct LowerNames {
    machine: Arc<str>,
    pub(super) set: Arc<str>,
    counters: Vec<Arc<str>>,
}

impl LowerNames {
    pub(super) fn new(set: &CounterSet) -> Self {
        Self {
            machine: set.machine.to_lowercase().into(),
            set: set.name.to_lowercase().into(),
            counters: set.counters.iter().map(|counter| counter.name.to_lowercase().into()).collect(),
        }
    }
}

pub(super) struct Slot {
    pub(super) number: usize,
    pub(super) set: Arc<CounterSet>,
    names: LowerNames,
    pub(super) instances: Instances,
    pub(super) identities: Vec<u64>,
    calculators: Vec<Calculator>,
    /// For each value of the group, its series.
    pub(super) series: Vec<u32>,
    /// By the instance's number: the series of its row, for every instance that was ever here.
    by_instance: Vec<Vec<u32>>,
    /// The run: sample after sample, `series.len()` values each.
    values: Vec<RawValue>,
    moments: Vec<Moment>,
    /// The numbers of the run's first and last sample.
    first: u64,
    last: u64,
    pub(super) boot_time: i64,
}

impl Slot {
    pub(super) fn new(number: usize, group: &Group) -> Self {
        Self {
            number,
            names: LowerNames::new(&group.set),
            set: Arc::clone(&group.set),
            instances: Instances::default(),
            identities: Vec::new(),
            calculators: group.set.counters.iter().map(Counter::calculator).collect(),
            series: Vec::new(),
            by_instance: Vec::new(),
            values: Vec::new(),
            moments: Vec::new(),
            first: 0,
            last: 0,
            boot_time: 0,
        }
    }

    /// Whether the sample's group may join the run: the same rows, with the same processes behind them.
    pub(super) fn continues(&self, group: &Group, sample: &Sample) -> bool {
        !sample.is_baseline
            && Arc::ptr_eq(&self.instances, &group.instances)
            // Most have none; to compare nothing is the slowest comparison of all on some processors.
            && (self.identities.len() == group.identities.len())
            && (self.identities.is_empty() || self.identities == group.identities)
            && self.boot_time == sample.boot_time_of(group).0
    }

    /// Takes over the group's instances. Series of instances that went away are interrupted; `find` gives the series of
    /// those that were never here.
    pub(super) fn follow(
        &mut self,
        group: &Group,
        log: u32,
        series: &mut Vec<Tracked>,
        mut find: impl FnMut(SeriesKey, usize, &Arc<Instance>, &mut Vec<Tracked>) -> Option<u32>,
    ) {
        let before = std::mem::take(&mut self.series);
        for instance in group.instances.iter() {
            let id = instance.id() as usize;
            if id >= self.by_instance.len() {
                self.by_instance.resize(id + 1, Vec::new());
            }
            if self.by_instance[id].is_empty() {
                self.by_instance[id] = (0..group.set.counters.len())
                    .map(|column| {
                        let key = self.key(column, instance);
                        find(key, column, instance, series).unwrap_or(COUNTED_ELSEWHERE)
                    })
                    .collect();
            }
            self.series.extend_from_slice(&self.by_instance[id]);
        }
        self.instances = Arc::clone(&group.instances);
        let mut now = self.series.clone();
        now.sort_unstable();
        let is_gone = |number: &u32| *number != COUNTED_ELSEWHERE && now.binary_search(number).is_err();
        for gone in before.into_iter().filter(is_gone) {
            series[gone as usize].leave(log);
        }
    }

    pub(super) fn key(&self, column: usize, instance: &Arc<Instance>) -> SeriesKey {
        SeriesKey {
            machine: Arc::clone(&self.names.machine),
            set: Arc::clone(&self.names.set),
            instance: self.set.has_instances.then(|| Label(Arc::clone(instance))),
            counter: Arc::clone(&self.names.counters[column]),
            formula: self.set.counters[column].counter_type.formula(),
        }
    }

    pub(super) fn identity(&self, place: usize) -> u64 {
        self.identities.get(place / self.calculators.len().max(1)).copied().unwrap_or_default()
    }

    pub(super) fn add_baseline(
        &self,
        group: &Group,
        sample: &Sample,
        sample_number: u64,
        series: &mut [Tracked],
    ) {
        for (place, (raw, &number)) in group.values.iter().zip(&self.series).enumerate() {
            if number != COUNTED_ELSEWHERE {
                let tracked = &mut series[number as usize];
                let calculator = &self.calculators[place % self.calculators.len()];
                tracked.pairing(sample.log, self.boot_time, self.identity(place), calculator.time_base());
                tracked.series.add_baseline(calculator, raw, sample.at);
                tracked.sample = sample_number;
            }
        }
    }

    /// Adds the group's values to the run, and the run to the series when it is long enough.
    pub(super) fn gather(
        &mut self,
        group: &Group,
        sample: &Sample,
        number: u64,
        series: &mut [Tracked],
        reach: &mut Reach,
    ) {
        if self.moments.is_empty() {
            self.first = number;
        } else if self.last + 1 != number {
            // The group was not part of the samples between.
            reach.note(self.last);
        }
        self.last = number;
        self.values.extend_from_slice(&group.values);
        self.moments.push(sample.at);
        if self.moments.len() >= MAX_RUN_SAMPLES || size_of_val(&*self.values) >= RUN_BYTES {
            self.add_run(sample.log, series, reach);
        }
    }

    /// Adds the run to the series, and forgets which series there are.
    pub(super) fn interrupt(&mut self, log: u32, series: &mut [Tracked], reach: &mut Reach) {
        self.add_run(log, series, reach);
        self.series.clear();
        self.instances = Instances::default();
    }

    /// Adds the run to the series.
    pub(super) fn add_run(&mut self, log: u32, series: &mut [Tracked], reach: &mut Reach) {
        let width = self.series.len();
        // A run is empty where a baseline or other rows come before its first sample.
        if !self.moments.is_empty() {
            let calculators = self.calculators.iter().cycle();
            for (place, (&number, calculator)) in self.series.iter().zip(calculators).enumerate() {
                if number == COUNTED_ELSEWHERE {
                    continue;
                }
                let tracked = &mut series[number as usize];
                let was_seen = tracked.was_seen();
                let pairing =
                    tracked.pairing(log, self.boot_time, self.identity(place), calculator.time_base());
                if tracked.is_shared {
                    reach.note(0);
                } else if tracked.series.has_previous() || was_seen && reach.has_other_lists {
                    reach.note(tracked.sample);
                }
                tracked.sample = self.last;
                let values = self.values[place..].iter().step_by(width);
                tracked.series.add_run(calculator, values.zip(self.moments.iter().copied()), pairing);
            }
        }
        self.values.clear();
        self.moments.clear();
    }
}
