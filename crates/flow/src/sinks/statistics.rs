//! Statistics of every counter of every instance.

mod causes;
mod column_starts;
mod extra_figures;
mod group_series;
mod instance_change;
mod oldest_needed;
mod row;
mod run;
mod series_table;
mod tracked_series;

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::{Intervals, Statistics};
use tachograph_logs::Reservation;

use crate::union::forget_old_logs;
use crate::{FlowError, Sink};
pub use causes::{CounterErrors, ErrorCause, MAX_CAUSES};
pub use extra_figures::ExtraFigures;
use group_series::GroupSeries;
use oldest_needed::OldestNeeded;
pub use row::{StatisticsRow, StatisticsSpan};
use run::max_run_samples;
use series_table::SeriesTable;
use tracked_series::{SeriesKey, TrackedSeries};

/// How statistics are computed.
#[derive(Clone, Debug, Default)]
pub struct StatisticsOptions {
    /// The intervals that count for the minimum, the maximum, quantiles and the number of values.
    pub intervals: Intervals,
    /// Merge counters whose paths differ only in the machine.
    pub across_machines: bool,
    /// Compute no quantiles. Charts use this to save memory, since they compute many small statistics.
    pub without_quantiles: bool,
    /// Record the causes of errors for [`StatisticsSink::errors`]. This makes adding samples slower.
    pub with_causes: bool,
    /// Further statistics of each row. The standard deviation and the slope make adding samples slower, and take 1.2 kB
    /// per counter of an instance.
    pub extra: ExtraFigures,
}

/// A sink that computes the statistics of every counter.
#[derive(Default)]
pub struct StatisticsSink {
    merges_machines: bool,
    table: SeriesTable,
    /// Keyed by log: the groups of its last sample.
    groups: HashMap<u32, Vec<GroupSeries>>,
    /// The number of lists of groups so far, which is also the number of the current list. A new list begins when the groups of a
    /// log's samples change.
    layouts: u64,
    /// The log whose groups may hold values that were not added to the statistics yet.
    current_log: Option<u32>,
    /// The number of samples pushed.
    samples: u64,
    /// Keyed by log, except the current one: the index of its last sample.
    last_samples: HashMap<u32, u64>,
    oldest_needed: OldestNeeded,
}

impl StatisticsSink {
    /// A sink that has not received any samples.
    pub fn new(options: StatisticsOptions) -> Self {
        Self { merges_machines: options.across_machines, table: SeriesTable::new(options), ..Self::default() }
    }

    /// Counts the sink's memory against a budget. Pushing a sample fails if it needs more memory than is left.
    pub fn count_memory(&mut self, memory: Reservation) {
        self.table.memory = Some(memory);
    }

    /// The statistics of every counter, sorted by path. Counters that were only in baselines are omitted.
    pub fn rows(&self) -> Vec<StatisticsRow> {
        let mut rows: Vec<_> = if self.merges_machines {
            let row = |(tracked, state): &(&TrackedSeries, Statistics)| {
                tracked.row_across_machines(state, &self.table.options.extra)
            };
            self.merge_machines().iter().map(row).collect()
        } else {
            let counted = self.table.series.iter().filter(|tracked| tracked.is_counted);
            counted.map(|tracked| tracked.row(&self.table.options.extra)).collect()
        };
        rows.sort_by_cached_key(|row| (row.path.to_lowercase(), row.path.clone()));
        rows
    }

    /// Whether [`rows`](Self::rows) returns any.
    pub fn has_rows(&self) -> bool {
        self.table.series.iter().any(|tracked| tracked.is_counted)
    }

    /// The errors by counter and status, sorted by path; empty without [`StatisticsOptions::with_causes`].
    pub fn errors(&self) -> Vec<CounterErrors> {
        let mut errors: Vec<_> = self.table.series.iter().flat_map(TrackedSeries::errors).collect();
        errors.sort_by_cached_key(|error| (error.path.to_lowercase(), error.path.clone()));
        errors
    }

    /// The number of series (a counter of an instance) so far. Each has an index, in order of first appearance.
    pub fn len(&self) -> usize {
        self.table.series.len()
    }

    /// Whether there are no series yet.
    pub fn is_empty(&self) -> bool {
        self.table.series.is_empty()
    }

    /// The row of the series with this index, with its statistics since the last [`cut`](Self::cut).
    pub fn row(&self, index: usize) -> Option<StatisticsRow> {
        self.table.series.get(index).map(|tracked| tracked.row(&self.table.options.extra))
    }

    /// The row of the series with this index, without a machine in its path, like a row of all machines. Its statistics are
    /// those of the series alone.
    pub fn row_across_machines(&self, index: usize) -> Option<StatisticsRow> {
        let tracked = self.table.series.get(index)?;
        Some(tracked.row_across_machines(tracked.series.statistics(), &self.table.options.extra))
    }

    /// Calls `each` with the index and the statistics of every series that had valid values or errors since the last
    /// call, and resets the statistics. The next intervals still begin at the previous samples. This divides a time
    /// range into parts whose statistics can be [merged](Statistics::merge) into those of the whole range.
    pub fn cut(&mut self, mut each: impl FnMut(usize, Statistics)) {
        self.flush();
        for (index, tracked) in self.table.series.iter_mut().enumerate() {
            if !tracked.series.statistics().is_empty() {
                each(index, tracked.series.cut());
            }
        }
    }

    /// The index and the statistics of every series that had valid values or errors since the last [`cut`](Self::cut).
    pub fn states(&mut self) -> impl Iterator<Item = (usize, &Statistics)> {
        self.flush();
        let states = self.table.series.iter().map(|tracked| tracked.series.statistics());
        states.enumerate().filter(|(_, state)| !state.is_empty())
    }

    /// Returns the statistics of every counter that was in a sample since the last call, sorted by path, and resets them.
    /// The next rows are those of a window that begins here.
    pub(super) fn take_rows(&mut self) -> Vec<StatisticsRow> {
        self.flush();
        let rows = self.rows();
        self.table.series.iter_mut().for_each(TrackedSeries::begin_window);
        rows
    }

    /// Returns the index (from 0) of the oldest sample that is needed to get the intervals since the last call again:
    /// the earliest sample at which one of them starts. If all of them start at samples since the last call, returns any of these
    /// samples, or `u64::MAX`.
    ///
    /// Usually this is the sample just before the first interval ends. A counter that was missing for some samples, and
    /// not known to be gone, needs an older one. So does a counter that reappears while samples have different lists of
    /// counters: if a window begins in between, its first interval can start at the counter's value in the last sample
    /// with another list.
    pub fn take_oldest_needed(&mut self) -> u64 {
        self.oldest_needed.take()
    }

    /// Resets the sink, as if it had not received any samples, except that it keeps its series and their indexes. So groups and
    /// instances that are the same in the next samples are not looked up again. The samples before and after must be of one log,
    /// or of one live source.
    pub fn rewind(&mut self) {
        self.flush();
        self.table.series.iter_mut().for_each(TrackedSeries::rewind);
        self.groups.values_mut().flatten().for_each(GroupSeries::rewind);
        self.last_samples.clear();
        self.oldest_needed.take();
    }

    /// Forgets the previous values of all counters, because the next samples are unrelated to the earlier ones.
    pub fn interrupt(&mut self) {
        let Self { groups, table, oldest_needed, .. } = self;
        for (log, groups) in groups {
            groups.iter_mut().for_each(|group| group.interrupt(*log, &mut table.series, oldest_needed));
        }
        table.series.iter_mut().for_each(|tracked| tracked.series.interrupt());
    }

    /// Merges the series that differ only in the machine. Machines are merged in the order of their names, so the
    /// result does not depend on the order of the logs.
    fn merge_machines(&self) -> Vec<(&TrackedSeries, Statistics)> {
        let tracked = |index: u32| &self.table.series[index as usize];
        let mut series: Vec<_> =
            self.table.by_key.iter().filter(|(_, index)| tracked(**index).is_counted).collect();
        series.sort_unstable_by(|(one, a), (other, b)| (&one.machine, a).cmp(&(&other.machine, b)));
        let mut merged: Vec<(&TrackedSeries, Statistics)> = Vec::new();
        let mut positions: HashMap<SeriesKey, usize> = HashMap::new();
        for (key, &index) in series {
            let key = SeriesKey { machine: "".into(), ..key.clone() };
            let statistics = tracked(index).series.statistics();
            let position = *positions.entry(key).or_insert_with(|| {
                merged.push((tracked(index), statistics.emptied()));
                merged.len() - 1
            });
            // The formula is part of the key, so states of one key always merge.
            let _ = merged[position].1.merge(statistics);
        }
        merged
    }

    /// Adds the values that were not added to the statistics yet.
    fn flush(&mut self) {
        let Self { groups, table, oldest_needed, .. } = self;
        for (log, groups) in groups {
            groups.iter_mut().for_each(|group| group.flush(*log, &mut table.series, oldest_needed));
        }
    }

    /// Makes `log` the current one, starting with the sample with this index.
    fn change_log(&mut self, log: u32, sample: u64) {
        let Some(previous) = self.current_log.replace(log).filter(|&previous| previous != log) else {
            return;
        };
        let Self { groups, table, oldest_needed, last_samples, .. } = self;
        oldest_needed.has_other_lists = true;
        // The last sample of this log is needed to detect which instances are gone in the next one.
        last_samples.get(&log).into_iter().for_each(|&last| oldest_needed.extend_to(last));
        forget_old_logs(last_samples, previous);
        last_samples.insert(previous, sample - 1);
        // Both logs may contain the same counters, and values must be added in the order of time.
        for group in groups.get_mut(&previous).into_iter().flatten() {
            group.flush(previous, &mut table.series, oldest_needed);
        }
    }
}

impl Sink for StatisticsSink {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let index = self.samples;
        self.samples += 1;
        self.table.reserve(sample.groups.len(), self.samples)?;
        self.change_log(sample.log, index);
        let Self { table, groups, layouts, oldest_needed, .. } = self;
        forget_old_logs(groups, sample.log);
        let groups = groups.entry(sample.log).or_default();
        let has_same_sets = groups.len() == sample.groups.len()
            && groups.iter().zip(&sample.groups).all(|(known, group)| Arc::ptr_eq(&known.set, &group.set));
        let mut series_before = Vec::new();
        if !has_same_sets {
            oldest_needed.has_other_lists |= !groups.is_empty();
            for group in groups.iter_mut() {
                group.flush(sample.log, &mut table.series, oldest_needed);
                series_before.extend(group.series());
            }
            *layouts += 1;
            let new = sample.groups.iter().enumerate();
            *groups = new.map(|(index, group)| GroupSeries::new(*layouts, index, group)).collect();
        }
        let max_samples = max_run_samples(sample.groups.len(), sample.len());
        for (known, group) in groups.iter_mut().zip(&sample.groups) {
            if group.is_present() {
                known.push(group, sample, index, max_samples, table, oldest_needed)?;
            }
        }
        if !series_before.is_empty() {
            let mut series: Vec<_> = groups.iter().flat_map(GroupSeries::series).collect();
            series.sort_unstable();
            let gone = series_before.iter().filter(|before| series.binary_search(before).is_err());
            gone.for_each(|&gone| table.series[gone as usize].interrupt());
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.flush();
        Ok(())
    }
}
