//! Statistics of every counter that comes along.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use tachograph_counters::{Calculator, Formula, Intervals, Pairing, RawValue, Series, Statistics, Summary};

use crate::union::forget_old_logs;
use crate::{FlowError, Sink};

/// How statistics are taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatisticsOptions {
    /// Which intervals minimum, maximum, quantiles and the number of values are taken over.
    pub intervals: Intervals,
    /// Merge counters of equal path over machines.
    pub across_machines: bool,
    /// Keep no quantiles: for many small states, as charts need them.
    pub without_quantiles: bool,
}

/// A sink that keeps the statistics of every counter.
pub struct StatisticsSink {
    options: StatisticsOptions,
    series: Vec<Tracked>,
    by_key: HashMap<SeriesKey, u32>,
    /// Per log: what its groups were like in its last sample, and which series their values belong to.
    slots: HashMap<u32, Vec<Slot>>,
    /// The log whose slots may hold values that are not added yet.
    current_log: Option<u32>,
    /// How many samples were taken; by the number of each log but the current one, that of its last one.
    taken: u64,
    left_at: HashMap<u32, u64>,
    /// The earliest sample that opened an interval which ended since [`take_reach`](StatisticsSink::take_reach).
    reach: u64,
}

/// What tells one series from another. Strings are shared: a log can have a million series.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SeriesKey {
    /// Without case, as the set's and the counter's names.
    machine: Arc<str>,
    set: Arc<str>,
    /// With case: two names on Linux may differ in case alone.
    instance: Option<Label>,
    counter: Arc<str>,
    formula: Option<Formula>,
}

/// An instance, compared by its label.
#[derive(Clone)]
struct Label(Arc<Instance>);

impl PartialEq for Label {
    fn eq(&self, other: &Self) -> bool {
        self.0.label() == other.0.label()
    }
}

impl Eq for Label {}

impl std::hash::Hash for Label {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.label().hash(state);
    }
}

/// Most series that statistics are kept of: about 1.5 GB of them.
const MAX_SERIES: usize = 1 << 20;

struct Tracked {
    series: Series,
    set: Arc<CounterSet>,
    column: usize,
    instance: Arc<Instance>,
    /// The log that the value before is from.
    log: Option<u32>,
    boot_time: i64,
    identity: u64,
    /// The clock of the value before.
    time_base: i64,
    /// The number of the sample that the value before is from.
    sample: u64,
    /// Whether logs that lie side by side both have it: which of its values make a pair hangs on all that came before.
    is_shared: bool,
    /// The log and its group that values come from. A log can hold a counter twice, by itself and within a wildcard:
    /// the first one counts.
    claimed_log: Option<u32>,
    slot: usize,
}

/// In place of a series: the value counts elsewhere.
const COUNTED_ELSEWHERE: u32 = u32::MAX;

/// Values of one group are gathered over a run of samples and then added series by series. A series spans several cache
/// lines, and a log can have more of them than caches hold: so each is fetched once a run, not once a sample.
const RUN_BYTES: usize = 4 << 20;
const MAX_RUN_SAMPLES: usize = 32;

/// Names of a set in lower case, for keys.
struct LowerNames {
    machine: Arc<str>,
    set: Arc<str>,
    counters: Vec<Arc<str>>,
}

impl LowerNames {
    fn new(set: &CounterSet) -> Self {
        Self {
            machine: set.machine.to_lowercase().into(),
            set: set.name.to_lowercase().into(),
            counters: set.counters.iter().map(|counter| counter.name.to_lowercase().into()).collect(),
        }
    }
}

struct Slot {
    number: usize,
    set: Arc<CounterSet>,
    names: LowerNames,
    instances: Instances,
    identities: Vec<u64>,
    calculators: Vec<Calculator>,
    /// For each value of the group, its series.
    series: Vec<u32>,
    /// By the instance's number: the series of its row, for every instance that was ever here.
    by_instance: Vec<Vec<u32>>,
    /// The run: sample after sample, `series.len()` values each.
    values: Vec<RawValue>,
    moments: Vec<Moment>,
    /// The numbers of the run's first and last sample.
    first: u64,
    last: u64,
    boot_time: i64,
}

/// The statistics of one counter of one instance, with what names it.
#[derive(Clone, Debug)]
pub struct StatisticsRow {
    /// The full path; without a machine after a merge over machines.
    pub path: String,
    /// The machine; `None` after a merge over machines, and for logs that name none.
    pub machine: Option<Arc<str>>,
    /// The set that the counter is from.
    pub set: Arc<CounterSet>,
    /// The counter.
    pub counter: Counter,
    /// The instance; `None` for a set without instances.
    pub instance: Option<Arc<Instance>>,
    /// The figures.
    pub summary: Summary,
}

impl StatisticsSink {
    /// A sink without statistics yet.
    pub fn new(options: StatisticsOptions) -> Self {
        Self {
            options,
            series: Vec::new(),
            by_key: HashMap::new(),
            slots: HashMap::new(),
            current_log: None,
            taken: 0,
            left_at: HashMap::new(),
            reach: u64::MAX,
        }
    }

    /// The figures of every counter, sorted by path.
    pub fn rows(&self) -> Vec<StatisticsRow> {
        let mut rows: Vec<_> = if self.options.across_machines {
            self.merged().into_iter().map(|(tracked, state)| tracked.row(state.summary(), true)).collect()
        } else {
            self.series
                .iter()
                .map(|tracked| tracked.row(tracked.series.statistics().summary(), false))
                .collect()
        };
        rows.sort_by_cached_key(|row| (row.path.to_lowercase(), row.path.clone()));
        rows
    }

    /// How many counters of instances there are so far; each is known by its number from then on.
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether no counter has come by yet.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The counter of this number, with the figures since the last [`cut`](Self::cut).
    pub fn row(&self, number: usize) -> Option<StatisticsRow> {
        self.series.get(number).map(|tracked| tracked.row(tracked.series.statistics().summary(), false))
    }

    /// Hands out the statistics since the last cut, by the number of each counter that had any, and goes on empty. The
    /// intervals that follow still begin at the samples before: so a stretch of time is cut into columns, whose states
    /// [merge](Statistics::merge) into that of the whole.
    pub fn cut(&mut self, mut each: impl FnMut(usize, Statistics)) {
        for (log, slots) in &mut self.slots {
            slots.iter_mut().for_each(|slot| slot.add_run(*log, &mut self.series, &mut self.reach));
        }
        for (number, tracked) in self.series.iter_mut().enumerate() {
            if !tracked.series.statistics().is_empty() {
                each(number, tracked.series.cut());
            }
        }
    }

    /// The number of the earliest sample, counted from 0 as they were taken, that opened an interval which ended between
    /// the last two cuts; `u64::MAX` where none did. Where nothing was out of the ordinary that is the sample before the
    /// first of them; a counter that was missing for a while, and was not known to be gone, reaches further back.
    pub fn take_reach(&mut self) -> u64 {
        std::mem::replace(&mut self.reach, u64::MAX)
    }

    /// Forgets the values before of all counters: the samples that follow are from elsewhere.
    pub fn interrupt(&mut self) {
        for (log, slots) in &mut self.slots {
            for slot in slots {
                slot.add_run(*log, &mut self.series, &mut self.reach);
                slot.series.clear();
                slot.instances = Instances::default();
            }
        }
        self.series.iter_mut().for_each(|tracked| tracked.series.interrupt());
    }

    /// One state for the series of equal path on any machine.
    fn merged(&self) -> Vec<(&Tracked, Statistics)> {
        let mut merged: Vec<(&Tracked, Statistics)> = Vec::new();
        let mut places: HashMap<SeriesKey, usize> = HashMap::new();
        for (key, &number) in &self.by_key {
            let tracked = &self.series[number as usize];
            let key = SeriesKey { machine: "".into(), ..key.clone() };
            match places.get(&key) {
                // The key holds the formula, so states of one key always merge.
                Some(&place) => {
                    let state = &mut merged[place];
                    let _ = state.1.merge(tracked.series.statistics());
                    // Which of the machines describes the counter must not hang on the order of a hash table.
                    if tracked.set.machine < state.0.set.machine {
                        state.0 = tracked;
                    }
                }
                None => {
                    places.insert(key, merged.len());
                    merged.push((tracked, tracked.series.statistics().clone()));
                }
            }
        }
        merged
    }
}

impl Tracked {
    fn new(
        set: &Arc<CounterSet>,
        column: usize,
        instance: &Arc<Instance>,
        options: &StatisticsOptions,
    ) -> Self {
        let formula = set.counters[column].counter_type.formula();
        let mut state = Statistics::new(formula, options.intervals, Some(Arc::clone(&set.machine)));
        if options.without_quantiles {
            state = state.without_quantiles();
        }
        Self {
            series: Series::new(state),
            set: Arc::clone(set),
            column,
            instance: Arc::clone(instance),
            log: None,
            boot_time: 0,
            identity: 0,
            time_base: set.counters[column].time_base,
            sample: 0,
            is_shared: false,
            claimed_log: None,
            slot: 0,
        }
    }

    fn row(&self, summary: Summary, across_machines: bool) -> StatisticsRow {
        let counter = self.set.counters[self.column].clone();
        let mut set = Arc::clone(&self.set);
        if across_machines {
            let mut nameless = CounterSet::clone(&set);
            nameless.machine = "".into();
            set = Arc::new(nameless);
        }
        StatisticsRow {
            path: set.path(&self.instance, &counter),
            machine: (!set.machine.is_empty()).then(|| Arc::clone(&set.machine)),
            instance: set.has_instances.then(|| Arc::clone(&self.instance)),
            counter,
            set,
            summary,
        }
    }
}

impl Sink for StatisticsSink {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let Self { options, series, by_key, slots, current_log, taken, left_at, reach } = self;
        let number = *taken;
        *taken += 1;
        if let Some(before) = current_log.replace(sample.log)
            && before != sample.log
        {
            // What its last sample had decides what is gone in the next.
            *reach = left_at.get(&sample.log).map_or(*reach, |&last| last.min(*reach));
            forget_old_logs(left_at, before);
            left_at.insert(before, number - 1);
            if let Some(slots) = slots.get_mut(&before) {
                // Another log may hold the same counters: values are added in the order of time.
                slots.iter_mut().for_each(|slot| slot.add_run(before, series, reach));
            }
        }
        forget_old_logs(slots, sample.log);
        let slots = slots.entry(sample.log).or_default();
        let same = slots.len() == sample.groups.len()
            && slots.iter().zip(&sample.groups).all(|(slot, group)| Arc::ptr_eq(&slot.set, &group.set));
        let mut before = Vec::new();
        if !same {
            for slot in slots.iter_mut() {
                slot.add_run(sample.log, series, reach);
                before.extend(slot.series.iter().copied().filter(|&number| number != COUNTED_ELSEWHERE));
            }
            before.iter().for_each(|&number| series[number as usize].claimed_log = None);
            *slots =
                sample.groups.iter().enumerate().map(|(number, group)| Slot::new(number, group)).collect();
        }
        for (slot, group) in slots.iter_mut().zip(&sample.groups) {
            if !group.is_present() {
                continue;
            }
            if !slot.continues(group, sample) {
                slot.add_run(sample.log, series, reach);
                slot.boot_time = sample.boot_time_of(group).0;
                slot.identities.clone_from(&group.identities);
            }
            if !Arc::ptr_eq(&slot.instances, &group.instances) {
                let slot_number = slot.number;
                let mut is_full = false;
                slot.follow(group, sample.log, series, |key, column, instance, series| {
                    // Before they are made: one sample can hold more of them than there is memory for.
                    if series.len() >= MAX_SERIES && !by_key.contains_key(&key) {
                        is_full = true;
                        return None;
                    }
                    let found = *by_key.entry(key).or_insert_with(|| {
                        series.push(Tracked::new(&group.set, column, instance, options));
                        series.len() as u32 - 1
                    });
                    series[found as usize].claim(sample.log, slot_number).then_some(found)
                });
                if is_full {
                    return Err(FlowError::TooManyCounters { most: MAX_SERIES });
                }
            }
            if sample.is_baseline {
                slot.add_baseline(group, sample, number, series);
            } else {
                slot.gather(group, sample, number, series, reach);
            }
        }
        if !before.is_empty() {
            // What the new groups do not have any more is absent.
            let mut now: Vec<_> = slots.iter().flat_map(|slot| slot.series.iter().copied()).collect();
            now.sort_unstable();
            before.retain(|number| now.binary_search(number).is_err());
            before.iter().for_each(|&number| series[number as usize].series.interrupt());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        for (log, slots) in &mut self.slots {
            slots.iter_mut().for_each(|slot| slot.add_run(*log, &mut self.series, &mut self.reach));
        }
        Ok(())
    }
}

impl Slot {
    fn new(number: usize, group: &Group) -> Self {
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
    fn continues(&self, group: &Group, sample: &Sample) -> bool {
        !sample.is_baseline
            && Arc::ptr_eq(&self.instances, &group.instances)
            // Most have none; to compare nothing is the slowest comparison of all on some processors.
            && (self.identities.len() == group.identities.len())
            && (self.identities.is_empty() || self.identities == group.identities)
            && self.boot_time == sample.boot_time_of(group).0
    }

    /// Takes over the group's instances. Series of instances that went away are interrupted; `find` gives the series of
    /// those that were never here.
    fn follow(
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
            let tracked = &mut series[gone as usize];
            tracked.is_shared |= tracked.log.is_some_and(|other| other != log);
            tracked.series.interrupt();
        }
    }

    fn key(&self, column: usize, instance: &Arc<Instance>) -> SeriesKey {
        SeriesKey {
            machine: Arc::clone(&self.names.machine),
            set: Arc::clone(&self.names.set),
            instance: self.set.has_instances.then(|| Label(Arc::clone(instance))),
            counter: Arc::clone(&self.names.counters[column]),
            formula: self.set.counters[column].counter_type.formula(),
        }
    }

    fn identity(&self, place: usize) -> u64 {
        self.identities.get(place / self.calculators.len().max(1)).copied().unwrap_or_default()
    }

    fn add_baseline(&self, group: &Group, sample: &Sample, sample_number: u64, series: &mut [Tracked]) {
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
    fn gather(
        &mut self,
        group: &Group,
        sample: &Sample,
        number: u64,
        series: &mut [Tracked],
        reach: &mut u64,
    ) {
        if self.moments.is_empty() {
            self.first = number;
        } else if self.last + 1 != number {
            // The group was not part of the samples between.
            *reach = (*reach).min(self.last);
        }
        self.last = number;
        self.values.extend_from_slice(&group.values);
        self.moments.push(sample.at);
        if self.moments.len() >= MAX_RUN_SAMPLES || size_of_val(&*self.values) >= RUN_BYTES {
            self.add_run(sample.log, series, reach);
        }
    }

    /// Adds the run to the series.
    fn add_run(&mut self, log: u32, series: &mut [Tracked], reach: &mut u64) {
        let width = self.series.len();
        // A run is empty where a baseline or other rows come before its first sample.
        if !self.moments.is_empty() {
            let calculators = self.calculators.iter().cycle();
            for (place, (&number, calculator)) in self.series.iter().zip(calculators).enumerate() {
                if number == COUNTED_ELSEWHERE {
                    continue;
                }
                let tracked = &mut series[number as usize];
                let pairing =
                    tracked.pairing(log, self.boot_time, self.identity(place), calculator.time_base());
                if tracked.is_shared {
                    *reach = 0;
                } else if tracked.series.has_previous() {
                    *reach = (*reach).min(tracked.sample);
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

impl Tracked {
    /// Whether the values of this slot count for the series; not so when another group of the same log has it already.
    fn claim(&mut self, log: u32, slot: usize) -> bool {
        if self.claimed_log == Some(log) && self.slot != slot {
            return false;
        }
        self.claimed_log = Some(log);
        self.slot = slot;
        true
    }

    /// How the value before may be used for one of this log, boot, process and clock; notes them.
    fn pairing(&mut self, log: u32, boot_time: i64, identity: u64, time_base: i64) -> Pairing {
        let differ = |before: u64, now: u64| before != 0 && now != 0 && before != now;
        let broken = differ(self.identity, identity)
            || differ(self.boot_time as u64, boot_time as u64)
            || self.time_base != time_base;
        self.time_base = time_base;
        // The numbers of logs that follow one another rise.
        self.is_shared |= self.log.is_some_and(|before| before > log);
        let pairing = match self.log == Some(log) {
            _ if broken => Pairing::Broken,
            true => Pairing::Continues,
            false => Pairing::NewLog,
        };
        self.log = Some(log);
        self.identity = identity;
        self.boot_time = boot_time;
        pairing
    }
}
