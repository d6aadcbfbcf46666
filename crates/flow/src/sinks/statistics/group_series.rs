//! The series of one group of a log, from sample to sample.

use std::ops::Range;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use tachograph_counters::{Calculator, Origin, RunBuffers};

use super::column_starts::ColumnStarts;
use super::oldest_needed::OldestNeeded;
use super::run::{Run, StoredRow};
use super::series_table::SeriesTable;
use super::tracked_series::{InstanceLabel, SeriesKey, TrackedSeries};
use crate::FlowError;

/// Replaces the index of a series if another group of the log supplies the values of this counter and instance.
const COUNTED_ELSEWHERE: u32 = u32::MAX;

/// The names of a set in lower case, for keys.
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

/// The series to which the values of a group belong, and the group's run: consecutive samples whose values were not added to
/// the series yet.
pub(super) struct GroupSeries {
    /// The number of the list of groups to which the group belongs.
    layout: u64,
    /// The index of the group in its samples.
    index: usize,
    pub(super) set: Arc<CounterSet>,
    names: LowerNames,
    instances: Instances,
    identities: Vec<u64>,
    boot_time: FileTime,
    calculators: Vec<Calculator>,
    /// The series of each value of the group: for each of `instances`, one per counter.
    series: Vec<u32>,
    run: Run,
    /// The index of the last sample that the group was part of, including baselines.
    last_sample: Option<u64>,
    /// The index of each counter in [`ColumnStarts`]; empty for a group of one fixed instance.
    columns: Vec<u32>,
}

impl GroupSeries {
    pub(super) fn new(layout: u64, index: usize, group: &Group) -> Self {
        Self {
            layout,
            index,
            names: LowerNames::new(&group.set),
            set: Arc::clone(&group.set),
            instances: Instances::default(),
            identities: Vec::new(),
            boot_time: FileTime(0),
            calculators: group.set.counters.iter().map(Counter::calculator).collect(),
            series: Vec::new(),
            run: Run::default(),
            last_sample: None,
            columns: Vec::new(),
        }
    }

    /// The indexes of the group's series.
    pub(super) fn series(&self) -> impl Iterator<Item = u32> {
        self.series.iter().copied().filter(|&index| index != COUNTED_ELSEWHERE)
    }

    /// Adds the group of the sample with this index: to the run or, if the sample is a baseline, to the series at once.
    ///
    /// # Errors
    ///
    /// If there would be too many series, or not enough memory for them.
    pub(super) fn push(
        &mut self,
        group: &Group,
        sample: &Sample,
        index: u64,
        max_run_samples: usize,
        table: &mut SeriesTable,
        oldest_needed: &mut OldestNeeded,
    ) -> Result<(), FlowError> {
        let boot_time = sample.boot_time_of(group);
        if sample.is_baseline || self.boot_time != boot_time {
            self.flush(sample.log, &mut table.series, oldest_needed);
            self.boot_time = boot_time;
        }
        if self.last_sample.is_none() {
            self.columns = table.column_starts.record(self, index)?;
        }
        let has_same_instances = Arc::ptr_eq(&self.instances, &group.instances);
        if !has_same_instances || !self.has_same_identities(group) {
            let rows = table.instance_change.rows_before(&self.instances, &group.instances);
            self.change_rows_of_run(group, &rows, sample.log, &mut table.series, oldest_needed);
            self.identities.clone_from(&group.identities);
            if !has_same_instances {
                self.update_instances(group, &rows, sample.log, index, table)?;
            }
        }
        if sample.is_baseline {
            self.push_baseline(group, sample, index, &mut table.series);
        } else {
            if !self.run.is_empty() && self.run.last_sample_index + 1 != index {
                // The group was not part of the samples between.
                oldest_needed.extend_to(self.run.last_sample_index);
            }
            let width = self.calculators.len();
            if !self.run.push(&group.values, width, sample.at, index) {
                self.flush(sample.log, &mut table.series, oldest_needed);
                let _ = self.run.push(&group.values, width, sample.at, index);
            }
            // Runs of different groups end at different samples. If all ended at the same sample, the readahead thread
            // would wait for this thread there, and afterwards this thread would wait for the next samples.
            let is_due = (index + 29 * self.index as u64).is_multiple_of(max_run_samples as u64);
            if is_due || self.run.is_full(max_run_samples) {
                self.flush(sample.log, &mut table.series, oldest_needed);
            }
        }
        self.last_sample = Some(index);
        Ok(())
    }

    fn has_same_identities(&self, group: &Group) -> bool {
        // Usually empty; comparing empty slices is slow on some processors.
        self.identities.len() == group.identities.len()
            && (self.identities.is_empty() || self.identities == group.identities)
    }

    /// Changes the rows of the run to those of the group; `rows` has their former rows. Adds the values of instances that ended,
    /// and of names that passed to another instance, to their series. If the run has no room for the new rows, flushes it.
    fn change_rows_of_run(
        &mut self,
        group: &Group,
        rows: &[Option<usize>],
        log: u32,
        series: &mut [TrackedSeries],
        oldest_needed: &mut OldestNeeded,
    ) {
        if self.run.is_empty() {
            return;
        }
        let identity = |identities: &[u64], row: usize| identities.get(row).copied();
        let continued = rows.iter().enumerate().map(|(row, before)| {
            before.filter(|&before| identity(&self.identities, before) == identity(&group.identities, row))
        });
        let continued: Vec<_> = continued.collect();
        if !self.run.has_room_for(continued.iter().filter(|before| before.is_none()).count()) {
            return self.flush(log, series, oldest_needed);
        }
        let mut has_ended = vec![true; self.instances.len()];
        continued.iter().flatten().for_each(|&row| has_ended[row] = false);
        let ended = (0..has_ended.len()).filter(|&row| has_ended[row]).map(|row| self.run.place_of(row));
        self.add_to_series(ended, log, series, oldest_needed);
        if !self.run.change_rows(&continued) {
            self.run.clear();
        }
    }

    /// Adopts the group's new instances; `rows` has their former rows. Interrupts the series of instances that disappeared, including instances that
    /// were last in another log and disappeared between the logs.
    fn update_instances(
        &mut self,
        group: &Group,
        rows: &[Option<usize>],
        log: u32,
        sample: u64,
        table: &mut SeriesTable,
    ) -> Result<(), FlowError> {
        let width = self.calculators.len();
        let mut is_gone = vec![true; self.instances.len()];
        let mut series = Vec::with_capacity(group.instances.len() * width);
        for (instance, row) in group.instances.iter().zip(rows) {
            if let Some(row) = *row {
                is_gone[row] = false;
                series.extend_from_slice(&self.series[row * width..(row + 1) * width]);
                continue;
            }
            for column in 0..width {
                let key = self.key(column, instance);
                let index = table.find_or_add(key, &group.set, column, instance, sample + 1)?;
                let is_claimed = table.series[index as usize].claim(self.layout, self.index);
                series.push(if is_claimed { index } else { COUNTED_ELSEWHERE });
            }
        }
        let before = std::mem::replace(&mut self.series, series);
        self.instances = Arc::clone(&group.instances);
        for (row, _) in is_gone.iter().enumerate().filter(|(_, is_gone)| **is_gone) {
            let gone = before[row * width..(row + 1) * width].iter();
            gone.filter(|&&index| index != COUNTED_ELSEWHERE)
                .for_each(|&index| table.series[index as usize].leave(log));
        }
        for (row, _) in rows.iter().enumerate().filter(|(_, row_before)| row_before.is_none()) {
            for (column, &index) in self.series[row * width..(row + 1) * width].iter().enumerate() {
                if index == COUNTED_ELSEWHERE {
                    continue;
                }
                let tracked = &mut table.series[index as usize];
                if let Some(last) = tracked.last_in_other_log(log)
                    && self.was_missing(last, self.columns.get(column), sample, &table.column_starts)
                {
                    tracked.interrupt();
                }
            }
        }
        Ok(())
    }

    /// Whether an instance that appears in a sample, and was in another log until its sample `last`, was missing from some
    /// sample in between: one of this log, or the first one of another log.
    fn was_missing(&self, last: u64, column: Option<&u32>, sample: u64, starts: &ColumnStarts) -> bool {
        self.last_sample.is_some_and(|own_last| own_last > last)
            || column.is_some_and(|&column| starts.started_between(column, last, sample))
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

    fn key(&self, column: usize, instance: &Arc<Instance>) -> SeriesKey {
        let instance = self.set.has_instances.then(|| InstanceLabel(Arc::clone(instance)));
        SeriesKey { instance, ..self.column_key(column) }
    }

    /// For each value whose series is not [`COUNTED_ELSEWHERE`]: its position, series, calculator and origin.
    fn counted(&self) -> impl Iterator<Item = (usize, u32, &Calculator, Origin)> {
        let rows = self.series.chunks_exact(self.calculators.len().max(1)).enumerate();
        rows.flat_map(move |(row, series)| {
            let identity = self.identities.get(row).copied().unwrap_or_default();
            let first = row * series.len();
            let columns = series.iter().zip(&self.calculators).enumerate();
            columns.filter(|(_, (index, _))| **index != COUNTED_ELSEWHERE).map(
                move |(column, (&index, calculator))| {
                    let origin = Origin::new(calculator, identity, self.boot_time);
                    (first + column, index, calculator, origin)
                },
            )
        })
    }

    fn push_baseline(&self, group: &Group, sample: &Sample, index: u64, series: &mut [TrackedSeries]) {
        for (position, tracked, calculator, origin) in self.counted() {
            if let Some(raw) = group.values.get(position) {
                let tracked = &mut series[tracked as usize];
                tracked.set_origin(sample.log, origin);
                tracked.series.add_baseline(calculator, raw, sample.at);
                tracked.sample = index;
            }
        }
    }

    /// Forgets the samples, but not the series. The run must be flushed.
    pub(super) fn rewind(&mut self) {
        self.last_sample = None;
        self.identities.clear();
    }

    /// Flushes the run and forgets the series: the next sample is handled as the first one of a log.
    pub(super) fn interrupt(
        &mut self,
        log: u32,
        series: &mut [TrackedSeries],
        oldest_needed: &mut OldestNeeded,
    ) {
        self.flush(log, series, oldest_needed);
        self.series.clear();
        self.last_sample = None;
        self.instances = Instances::default();
    }

    /// Adds the run to the series.
    pub(super) fn flush(&mut self, log: u32, series: &mut [TrackedSeries], oldest_needed: &mut OldestNeeded) {
        // The run is empty if a baseline or a change of instances comes before its first sample.
        if self.run.is_empty() {
            return;
        }
        self.add_to_series(self.run.all_places(), log, series, oldest_needed);
        self.run.clear();
    }

    /// Adds the values at these places of the run to their series.
    fn add_to_series(
        &self,
        places: impl Iterator<Item = Range<usize>>,
        log: u32,
        series: &mut [TrackedSeries],
        oldest_needed: &mut OldestNeeded,
    ) {
        let (width, last_sample) = (self.calculators.len(), self.run.last_sample_index);
        let mut buffers = RunBuffers::default();
        let series_at = |row: usize, column: usize| {
            self.series.get(row * width + column).filter(|&&it| it != COUNTED_ELSEWHERE)
        };
        let load = |series: &[TrackedSeries], rows: &[Option<StoredRow>], column: usize| {
            let of_rows = rows.iter().flatten().filter_map(|stored| series_at(stored.row, column));
            let loaded = of_rows.fold(0, |bits, &index| bits | series[index as usize].prefetch());
            std::hint::black_box(loaded);
        };
        self.run.for_each_series(places, series, load, |series, stored, column, raws| {
            let Some(&index) = series_at(stored.row, column) else { return };
            let calculator = &self.calculators[column];
            let identity = self.identities.get(stored.row).copied().unwrap_or_default();
            let tracked = &mut series[index as usize];
            let had_values = tracked.has_values();
            tracked.set_origin(log, Origin::new(calculator, identity, self.boot_time));
            if tracked.is_shared {
                oldest_needed.extend_to(0);
            } else if tracked.series.has_previous() || had_values && oldest_needed.has_other_lists {
                oldest_needed.extend_to(tracked.sample);
            }
            tracked.sample = last_sample;
            tracked.is_counted = true;
            tracked.add_run(calculator, raws, self.run.times.since(stored.first_sample), &mut buffers);
        });
    }
}
