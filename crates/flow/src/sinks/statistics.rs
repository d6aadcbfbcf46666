//! Statistics of every counter that comes along.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use tachograph_counters::{Calculator, Formula, Intervals, Pairing, Series, Statistics, Summary};

use crate::{FlowError, Sink};

/// How statistics are taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatisticsOptions {
    /// Which intervals minimum, maximum, quantiles and the number of values are taken over.
    pub intervals: Intervals,
    /// Merge counters of equal path over machines.
    pub across_machines: bool,
}

/// A sink that keeps the statistics of every counter.
pub struct StatisticsSink {
    options: StatisticsOptions,
    series: Vec<Tracked>,
    by_key: HashMap<SeriesKey, u32>,
    /// Per log: what its groups were like in its last sample, and which series their values belong to.
    slots: HashMap<u32, Vec<Slot>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct SeriesKey {
    /// Path without case, except the instance: two names on Linux may differ in case alone.
    machine: String,
    set: String,
    instance: Option<String>,
    counter: String,
    formula: Option<Formula>,
    /// Columns of a text log may repeat a path.
    occurrence: usize,
}

struct Tracked {
    series: Series,
    set: Arc<CounterSet>,
    column: usize,
    instance: Arc<Instance>,
    log: u32,
    boot_time: i64,
    identity: u64,
}

struct Slot {
    set: Arc<CounterSet>,
    instances: Instances,
    calculators: Vec<Calculator>,
    /// For each value of the group, its series.
    series: Vec<u32>,
    /// By the instance's number: the series of its row, for every instance that was ever here.
    by_instance: Vec<Vec<u32>>,
    /// Which repetition of its path the group is, see [`SeriesKey::occurrence`].
    occurrence: usize,
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
        Self { options, series: Vec::new(), by_key: HashMap::new(), slots: HashMap::new() }
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

    /// One state for the series of equal path on any machine.
    fn merged(&self) -> Vec<(&Tracked, Statistics)> {
        let mut merged: Vec<(&Tracked, Statistics)> = Vec::new();
        let mut places: HashMap<SeriesKey, usize> = HashMap::new();
        for (key, &number) in &self.by_key {
            let tracked = &self.series[number as usize];
            let key = SeriesKey { machine: String::new(), ..key.clone() };
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
        sample: &Sample,
        intervals: Intervals,
    ) -> Self {
        let formula = set.counters[column].counter_type.formula();
        let state = Statistics::new(formula, intervals, Some(Arc::clone(&set.machine)));
        Self {
            series: Series::new(state),
            set: Arc::clone(set),
            column,
            instance: Arc::clone(instance),
            log: sample.log,
            boot_time: sample.boot_time.0,
            identity: 0,
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
        let Self { options, series, by_key, slots } = self;
        let slots = slots.entry(sample.log).or_default();
        let same = slots.len() == sample.groups.len()
            && slots.iter().zip(&sample.groups).all(|(slot, group)| Arc::ptr_eq(&slot.set, &group.set));
        if !same {
            slots.iter().for_each(|slot| slot.interrupt(series));
            *slots = slots_of(sample);
        }
        for (slot, group) in slots.iter_mut().zip(&sample.groups) {
            if !group.is_present() {
                continue;
            }
            if !Arc::ptr_eq(&slot.instances, &group.instances) {
                slot.follow(group, series, |key, column, instance, series| {
                    *by_key.entry(key).or_insert_with(|| {
                        series.push(Tracked::new(&group.set, column, instance, sample, options.intervals));
                        series.len() as u32 - 1
                    })
                });
            }
            slot.add(group, sample, series);
        }
        Ok(())
    }
}

/// A slot for each group of the sample. Only columns of text logs can repeat a path; each repetition is a series of its
/// own.
fn slots_of(sample: &Sample) -> Vec<Slot> {
    let mut occurrences: HashMap<String, usize> = HashMap::new();
    sample
        .groups
        .iter()
        .map(|group| {
            let mut slot = Slot {
                set: Arc::clone(&group.set),
                calculators: group.set.counters.iter().map(Counter::calculator).collect(),
                instances: Instances::default(),
                series: Vec::new(),
                by_instance: Vec::new(),
                occurrence: 0,
            };
            if let (Some(instance), Some(counter)) = (&group.set.instance, group.set.counters.first()) {
                let path = group.set.path(instance, counter).to_lowercase();
                let occurrence = occurrences.entry(path).or_default();
                slot.occurrence = *occurrence;
                *occurrence += 1;
            }
            slot
        })
        .collect()
}

impl Slot {
    fn interrupt(&self, series: &mut [Tracked]) {
        for &number in &self.series {
            series[number as usize].series.interrupt();
        }
    }

    /// Takes over the group's instances. Series of instances that went away are interrupted; `find` gives the series of
    /// those that were never here.
    fn follow(
        &mut self,
        group: &Group,
        series: &mut Vec<Tracked>,
        mut find: impl FnMut(SeriesKey, usize, &Arc<Instance>, &mut Vec<Tracked>) -> u32,
    ) {
        let before = std::mem::take(&mut self.series);
        for instance in group.instances.iter() {
            let id = instance.id() as usize;
            if id >= self.by_instance.len() {
                self.by_instance.resize(id + 1, Vec::new());
            }
            if self.by_instance[id].is_empty() {
                self.by_instance[id] = (0..group.set.counters.len())
                    .map(|column| find(self.key(column, instance), column, instance, series))
                    .collect();
            }
            self.series.extend_from_slice(&self.by_instance[id]);
        }
        self.instances = Arc::clone(&group.instances);
        let mut now = self.series.clone();
        now.sort_unstable();
        for gone in before.into_iter().filter(|number| now.binary_search(number).is_err()) {
            series[gone as usize].series.interrupt();
        }
    }

    fn key(&self, column: usize, instance: &Instance) -> SeriesKey {
        let counter = &self.set.counters[column];
        SeriesKey {
            machine: self.set.machine.to_lowercase(),
            set: self.set.name.to_lowercase(),
            instance: self.set.has_instances.then(|| instance.label().to_owned()),
            counter: counter.name.to_lowercase(),
            formula: counter.counter_type.formula(),
            occurrence: self.occurrence,
        }
    }

    fn add(&self, group: &Group, sample: &Sample, series: &mut [Tracked]) {
        let width = self.calculators.len().max(1);
        let rows = group.rows().zip(self.series.chunks_exact(width));
        for (row, (values, numbers)) in rows.enumerate() {
            let identity = group.identities.get(row).copied().unwrap_or_default();
            for ((raw, calculator), &number) in values.iter().zip(&self.calculators).zip(numbers) {
                let tracked = &mut series[number as usize];
                let pairing = tracked.pairing(sample, identity);
                if sample.is_baseline {
                    tracked.series.add_baseline(calculator, raw, sample.at);
                } else {
                    tracked.series.add(calculator, raw, sample.at, pairing);
                }
            }
        }
    }
}

impl Tracked {
    /// How the value before may be used for one of this sample; notes where the sample is from.
    #[inline]
    fn pairing(&mut self, sample: &Sample, identity: u64) -> Pairing {
        if self.log == sample.log && self.identity == identity && self.boot_time == sample.boot_time.0 {
            return Pairing::Continues;
        }
        let differ = |before: u64, now: u64| before != 0 && now != 0 && before != now;
        let broken =
            differ(self.identity, identity) || differ(self.boot_time as u64, sample.boot_time.0 as u64);
        let pairing = match self.log == sample.log {
            _ if broken => Pairing::Broken,
            true => Pairing::Continues,
            false => Pairing::NewLog,
        };
        self.log = sample.log;
        self.identity = identity;
        self.boot_time = sample.boot_time.0;
        pairing
    }
}
