//! The values of one group, from sample to sample.

use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances, rows_before};
use tachograph_counters::{Calculator, Origin, RawValue};

use super::Reach;
use super::columns::Columns;
use super::tracked::{Label, SeriesKey, Tracked};

/// In place of a series: the value counts elsewhere.
pub(super) const COUNTED_ELSEWHERE: u32 = u32::MAX;

/// Values of one group are gathered over a run of samples and then added series by series. A series spans several cache
/// lines, and a log can have more of them than caches hold: so each is fetched once a run, not once a sample.
const RUN_BYTES: usize = 4 << 20;
const MAX_RUN_SAMPLES: usize = 32;
/// The same for the runs of all groups together: a text log can have a million groups of one value.
const RUNS_BYTES: usize = 64 << 20;

/// Maximum number of samples in a run whose samples have this number of groups and values.
pub(super) fn run_samples(groups: usize, values: usize) -> usize {
    let bytes = groups * size_of::<Moment>() + values * size_of::<RawValue>();
    (RUNS_BYTES / bytes.max(1)).clamp(1, MAX_RUN_SAMPLES)
}

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
    /// For each value of the group, its series: as many per row of `instances` as there are counters.
    pub(super) series: Vec<u32>,
    /// The run: sample after sample, `series.len()` values each.
    values: Vec<RawValue>,
    moments: Vec<Moment>,
    /// The numbers of the run's first and last sample.
    first: u64,
    last: u64,
    pub(super) boot_time: FileTime,
    /// The number of the last sample that the group was part of, baselines too.
    pub(super) seen: Option<u64>,
    /// For each counter its index in [`Columns`]; empty where the group is of one fixed instance.
    pub(super) columns: Vec<u32>,
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
            values: Vec::new(),
            moments: Vec::new(),
            first: 0,
            last: 0,
            boot_time: FileTime(0),
            seen: None,
            columns: Vec::new(),
        }
    }

    /// Whether the sample's group may join the run: the same rows, with the same processes behind them.
    pub(super) fn continues(&self, group: &Group, sample: &Sample) -> bool {
        !sample.is_baseline
            && Arc::ptr_eq(&self.instances, &group.instances)
            // Most have none; to compare nothing is the slowest comparison of all on some processors.
            && (self.identities.len() == group.identities.len())
            && (self.identities.is_empty() || self.identities == group.identities)
            && self.boot_time == sample.boot_time_of(group)
    }

    /// Takes over the group's instances. Series of instances that went away are interrupted, also of those that were in
    /// another log before and went away between the logs; `find` gives the series of those that were absent from the group
    /// before.
    pub(super) fn follow(
        &mut self,
        group: &Group,
        log: u32,
        sample_number: u64,
        columns: &Columns,
        series: &mut Vec<Tracked>,
        mut find: impl FnMut(SeriesKey, usize, &Arc<Instance>, &mut Vec<Tracked>) -> Option<u32>,
    ) {
        let width = self.calculators.len();
        let rows = rows_before(&self.instances, &group.instances);
        let mut is_gone = vec![true; self.instances.len()];
        let mut now = Vec::with_capacity(group.instances.len() * width);
        for (instance, row) in group.instances.iter().zip(&rows) {
            match *row {
                Some(row) => {
                    is_gone[row] = false;
                    now.extend_from_slice(&self.series[row * width..(row + 1) * width]);
                }
                None => now.extend((0..width).map(|column| {
                    let key = self.key(column, instance);
                    find(key, column, instance, series).unwrap_or(COUNTED_ELSEWHERE)
                })),
            }
        }
        let before = std::mem::replace(&mut self.series, now);
        for (row, _) in is_gone.iter().enumerate().filter(|(_, is_gone)| **is_gone) {
            for &gone in &before[row * width..(row + 1) * width] {
                if gone != COUNTED_ELSEWHERE {
                    series[gone as usize].leave(log);
                }
            }
        }
        self.instances = Arc::clone(&group.instances);
        for (row, _) in rows.iter().enumerate().filter(|(_, row_before)| row_before.is_none()) {
            for (column, &number) in self.series[row * width..(row + 1) * width].iter().enumerate() {
                if number == COUNTED_ELSEWHERE {
                    continue;
                }
                let tracked = &mut series[number as usize];
                if let Some(last) = tracked.last_in_other_log(log)
                    && self.has_missed(last, self.columns.get(column), sample_number, columns)
                {
                    tracked.series.interrupt();
                }
            }
        }
    }

    /// Whether an instance that arrives with a sample, and was in another log up to the sample `last`, was missing from one
    /// in between: from one of this log, or from the first of another.
    fn has_missed(&self, last: u64, column: Option<&u32>, sample_number: u64, columns: &Columns) -> bool {
        self.seen.is_some_and(|seen| seen > last)
            || column.is_some_and(|&column| columns.began_between(column, last, sample_number))
    }

    /// The key of a counter of the group, without an instance.
    pub(super) fn column_key(&self, column: usize) -> SeriesKey {
        SeriesKey {
            machine: Arc::clone(&self.names.machine),
            set: Arc::clone(&self.names.set),
            instance: None,
            counter: Arc::clone(&self.names.counters[column]),
            formula: self.set.counters[column].counter_type.formula(),
        }
    }

    pub(super) fn key(&self, column: usize, instance: &Arc<Instance>) -> SeriesKey {
        let instance = self.set.has_instances.then(|| Label(Arc::clone(instance)));
        SeriesKey { instance, ..self.column_key(column) }
    }

    /// Where the values of this place are from.
    fn origin(&self, place: usize, calculator: &Calculator) -> Origin {
        let identity =
            self.identities.get(place / self.calculators.len().max(1)).copied().unwrap_or_default();
        Origin::new(calculator, identity, self.boot_time)
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
                tracked.follow(sample.log, self.origin(place, calculator));
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
        run_samples: usize,
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
        if self.moments.len() >= run_samples || size_of_val(&*self.values) >= RUN_BYTES {
            self.add_run(sample.log, series, reach);
        }
    }

    /// Adds the run to the series, and forgets which series there are: what follows begins as a log does.
    pub(super) fn interrupt(&mut self, log: u32, series: &mut [Tracked], reach: &mut Reach) {
        self.add_run(log, series, reach);
        self.series.clear();
        self.seen = None;
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
                tracked.follow(log, self.origin(place, calculator));
                if tracked.is_shared {
                    reach.note(0);
                } else if tracked.series.has_previous() || was_seen && reach.has_other_lists {
                    reach.note(tracked.sample);
                }
                tracked.sample = self.last;
                tracked.is_counted = true;
                let values = self.values[place..].iter().step_by(width);
                tracked.add_run(calculator, values.zip(self.moments.iter().copied()));
            }
        }
        self.values.clear();
        self.moments.clear();
    }
}
