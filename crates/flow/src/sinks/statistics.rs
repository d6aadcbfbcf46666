//! Statistics of every counter that comes along.

mod causes;
mod columns;
mod slot;
mod tracked;

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::{Counter, CounterSet, Instance};
use tachograph_counters::{Intervals, Statistics, Summary};

use tachograph_logs::{LogError, Reservation};

use crate::union::forget_old_logs;
use crate::{FlowError, Sink};
pub use causes::{CounterErrors, ErrorCause, MAX_CAUSES};
use columns::Columns;
use slot::{COUNTED_ELSEWHERE, Slot, run_samples};
use tracked::{SeriesKey, Tracked};

/// How statistics are taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatisticsOptions {
    /// Which intervals minimum, maximum, quantiles and the number of values are taken over.
    pub intervals: Intervals,
    /// Merge counters of equal path over machines.
    pub across_machines: bool,
    /// Keep no quantiles: for many small states, as charts need them.
    pub without_quantiles: bool,
    /// Keep the causes of errors, for [`StatisticsSink::errors`]. Samples take longer.
    pub with_causes: bool,
}

/// A sink that keeps the statistics of every counter.
pub struct StatisticsSink {
    options: StatisticsOptions,
    series: Vec<Tracked>,
    by_key: HashMap<SeriesKey, u32>,
    /// Per log: what its groups were like in its last sample, and which series their values belong to.
    slots: HashMap<u32, Vec<Slot>>,
    columns: Columns,
    /// The log whose slots may hold values that are not added yet.
    current_log: Option<u32>,
    /// How many samples were taken; by the number of each log but the current one, that of its last one.
    taken: u64,
    left_at: HashMap<u32, u64>,
    reach: Reach,
    memory: Option<Reservation>,
}

/// The memory of a series after `samples` samples, its printed row included, in bytes. It keeps a limited number of values for
/// quantiles; each time their list grows, the shorter list is freed but stays with the allocator.
fn series_bytes(samples: u64) -> u64 {
    let kept = samples.next_power_of_two().min(512);
    1100 + 8 * kept + 32 * kept.min(24)
}

/// The memory of a group that has no series yet, in bytes. The memory of a series includes its share.
const GROUP_BYTES: u64 = 600;

/// Reserves the memory of the series after a number of samples with a number of groups.
fn reserve(
    memory: &mut Option<Reservation>,
    series: usize,
    groups: usize,
    samples: u64,
) -> Result<(), FlowError> {
    if let Some(memory) = memory {
        let bytes = (series as u64 * series_bytes(samples)).max(groups as u64 * GROUP_BYTES);
        memory.grow_to(bytes).map_err(LogError::over_budget)?;
    }
    Ok(())
}

/// Most series that statistics are kept of: about 1.5 GB of them.
const MAX_SERIES: usize = 1 << 20;

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
            columns: Columns::default(),
            current_log: None,
            taken: 0,
            left_at: HashMap::new(),
            reach: Reach::default(),
            memory: None,
        }
    }

    /// Counts its memory before it is taken: a sample which needs more than the budget has left is an error.
    pub fn count_memory(&mut self, memory: Reservation) {
        self.memory = Some(memory);
    }

    /// The figures of every counter, sorted by path. Counters that were in baselines only have none.
    pub fn rows(&self) -> Vec<StatisticsRow> {
        let mut rows: Vec<_> = if self.options.across_machines {
            self.merged().into_iter().map(|(tracked, state)| tracked.row(state.summary(), true)).collect()
        } else {
            self.series
                .iter()
                .filter(|tracked| tracked.is_counted)
                .map(|tracked| tracked.row(tracked.series.statistics().summary(), false))
                .collect()
        };
        rows.sort_by_cached_key(|row| (row.path.to_lowercase(), row.path.clone()));
        rows
    }

    /// The errors by counter and status, sorted by path, where [their causes](StatisticsOptions::with_causes) are kept.
    pub fn errors(&self) -> Vec<CounterErrors> {
        let errors = self.series.iter().flat_map(Tracked::errors);
        let mut errors: Vec<_> = errors.collect();
        errors.sort_by_cached_key(|error| (error.path.to_lowercase(), error.path.clone()));
        errors
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
    /// first of them; a counter that was missing for a while, and was not known to be gone, reaches further back. So does one
    /// that comes again where the lists of counters differ: a window that begins meanwhile may be opened by a value of it in
    /// the last sample with another list.
    pub fn take_reach(&mut self) -> u64 {
        self.reach.take()
    }

    /// Forgets the values before of all counters: the samples that follow are from elsewhere.
    pub fn interrupt(&mut self) {
        for (log, slots) in &mut self.slots {
            slots.iter_mut().for_each(|slot| slot.interrupt(*log, &mut self.series, &mut self.reach));
        }
        self.series.iter_mut().for_each(|tracked| tracked.series.interrupt());
    }

    /// One state for the series of equal path on any machine. The machines come in the order of their names, whatever the
    /// order of the logs.
    fn merged(&self) -> Vec<(&Tracked, Statistics)> {
        let is_counted = |number: u32| self.series[number as usize].is_counted;
        let mut series: Vec<_> = self.by_key.iter().filter(|(_, number)| is_counted(**number)).collect();
        series.sort_unstable_by(|(one, a), (other, b)| (&one.machine, a).cmp(&(&other.machine, b)));
        let mut merged: Vec<(&Tracked, Statistics)> = Vec::new();
        let mut places: HashMap<SeriesKey, usize> = HashMap::new();
        for (key, &number) in series {
            let tracked = &self.series[number as usize];
            let key = SeriesKey { machine: "".into(), ..key.clone() };
            let place = *places.entry(key).or_insert_with(|| {
                merged.push((tracked, tracked.series.statistics().emptied()));
                merged.len() - 1
            });
            // The key holds the formula, so states of one key always merge.
            let _ = merged[place].1.merge(tracked.series.statistics());
        }
        merged
    }
}

/// How far back samples matter to what was added last.
struct Reach {
    /// The earliest sample that does, since it was [taken](Self::take) last.
    earliest: u64,
    /// Whether there was more than one log, or list of counters.
    has_other_lists: bool,
}

impl Default for Reach {
    fn default() -> Self {
        Self { earliest: u64::MAX, has_other_lists: false }
    }
}

impl Reach {
    fn note(&mut self, sample: u64) {
        self.earliest = self.earliest.min(sample);
    }

    fn take(&mut self) -> u64 {
        std::mem::replace(&mut self.earliest, u64::MAX)
    }
}

impl Sink for StatisticsSink {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let Self { options, series, by_key, slots, columns, current_log, taken, left_at, reach, memory } =
            self;
        let number = *taken;
        *taken += 1;
        reserve(memory, series.len(), sample.groups.len(), *taken)?;
        if let Some(before) = current_log.replace(sample.log)
            && before != sample.log
        {
            // What its last sample had decides what is gone in the next.
            reach.has_other_lists = true;
            left_at.get(&sample.log).into_iter().for_each(|&last| reach.note(last));
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
            reach.has_other_lists |= !slots.is_empty();
            for slot in slots.iter_mut() {
                slot.add_run(sample.log, series, reach);
                before.extend(slot.series.iter().copied().filter(|&number| number != COUNTED_ELSEWHERE));
            }
            before.iter().for_each(|&number| series[number as usize].claimed_log = None);
            *slots =
                sample.groups.iter().enumerate().map(|(number, group)| Slot::new(number, group)).collect();
        }
        let run_samples = run_samples(sample.groups.len(), sample.len());
        for (slot, group) in slots.iter_mut().zip(&sample.groups) {
            if !group.is_present() {
                continue;
            }
            if !slot.continues(group, sample) {
                slot.add_run(sample.log, series, reach);
                slot.boot_time = sample.boot_time_of(group);
                slot.identities.clone_from(&group.identities);
            }
            const FULL: FlowError = FlowError::TooManyCounters { most: MAX_SERIES };
            if slot.seen.is_none() {
                slot.columns = columns.begin(slot, number, MAX_SERIES).ok_or(FULL)?;
            }
            let mut refused = None;
            if !Arc::ptr_eq(&slot.instances, &group.instances) {
                let slot_number = slot.number;
                slot.follow(group, sample.log, number, columns, series, |key, column, instance, series| {
                    // Before they are made: one sample can hold more of them than there is memory for.
                    if refused.is_some() {
                        return None;
                    }
                    if !by_key.contains_key(&key) {
                        refused = match series.len() {
                            MAX_SERIES.. => Some(FULL),
                            known => reserve(memory, known + 1, 0, number + 1).err(),
                        };
                        if refused.is_some() {
                            return None;
                        }
                    }
                    let found = *by_key.entry(key).or_insert_with(|| {
                        series.push(Tracked::new(&group.set, column, instance, options));
                        series.len() as u32 - 1
                    });
                    series[found as usize].claim(sample.log, slot_number).then_some(found)
                });
            }
            if let Some(error) = refused {
                return Err(error);
            }
            if sample.is_baseline {
                slot.add_baseline(group, sample, number, series);
            } else {
                slot.gather(group, sample, number, run_samples, series, reach);
            }
            slot.seen = Some(number);
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
