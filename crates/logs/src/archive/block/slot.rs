//! A slot: the groups of one description in the samples of a block.

use std::sync::Arc;

use tachograph_counters::sample::Group;
use tachograph_counters::set::{Counter, CounterSet};
use tachograph_counters::{Calculator, Origin, Pairer, RawValue};

use super::super::interval::{self, IntervalNumbers, interval_numbers};
use super::super::table::{GroupHead, GroupHeads, Slot};
use super::history::InstanceHistory;
use super::rows::{Row, Rows, SeriesIndexes};
use super::series::Series;

/// Collects the groups of one description.
pub(super) struct SlotBuilder {
    pub(super) set: Arc<CounterSet>,
    /// The index of the set's description in the file; `None` if the file has no group of the slot yet.
    pub(super) set_index: Option<u32>,
    /// The index of the slot's [`InstanceHistory`]; `None` before the first sample.
    pub(super) history: Option<usize>,
    calculators: Vec<Calculator>,
    /// The dictionary indexes of each counter, once a series has needed them.
    dictionary_indexes: Vec<Option<SeriesIndexes>>,
    heads: GroupHeads,
    /// The values of all groups, one group after another.
    values: Vec<RawValue>,
    /// For each counter of each instance of the history, the raw value before the block, with which the first one of the
    /// block is paired.
    pairers: Vec<Pairer>,
}

impl SlotBuilder {
    pub(super) fn new(set: &Arc<CounterSet>, set_index: u32) -> Self {
        Self {
            set: Arc::clone(set),
            set_index: Some(set_index),
            history: None,
            calculators: set.counters.iter().map(Counter::calculator).collect(),
            dictionary_indexes: vec![None; set.counters.len()],
            heads: GroupHeads::default(),
            values: Vec::new(),
            pairers: Vec::new(),
        }
    }

    /// The number of counters.
    pub(super) fn width(&self) -> usize {
        self.calculators.len()
    }

    /// Adds the group of a sample. Its first `values` values belong to the rows of the slot's history.
    pub(super) fn push(&mut self, group: &Group, values: usize) {
        let Group { status, read_at, clocks, boot_time, .. } = *group;
        self.heads.push(GroupHead { status, read_at, clocks, boot_time });
        self.values.extend_from_slice(&group.values[..values]);
    }

    /// Prepares for [`push_rows`](Self::push_rows). The slot's history has this number of instances.
    pub(super) fn set_instances(&mut self, instances: usize) {
        self.pairers.resize_with(instances * self.width(), Pairer::default);
    }

    /// Appends the rows of a counter of an instance, which are `series`.
    pub(super) fn push_rows(
        &mut self,
        column: usize,
        history: &mut InstanceHistory,
        series: &Series,
        rows: &mut Rows,
    ) {
        let width = self.width();
        let Self { set, calculators, dictionary_indexes, values, pairers, .. } = self;
        let calculator = &calculators[column];
        let formula = calculator.formula();
        let counter = *dictionary_indexes[column]
            .get_or_insert_with(|| rows.counter_indexes(set, &set.counters[column]));
        let instance = history.dictionary_indexes(series.instance, set, rows);
        let pairer = &mut pairers[series.instance * width + column];
        let zero = RawValue::new(0, 0);
        let mut previous = &zero;
        let mut positions = series.positions.as_slice();
        for run in &series.row_runs {
            if run.is_interrupted {
                pairer.interrupt();
            }
            pairer.follow(Origin::new(calculator, run.identity, run.boot_time));
            let (of_run, after) = positions.split_at(run.rows);
            positions = after;
            let raws = of_run.iter().map(|position| &values[position * width + column]);
            pairer.pair_all(raws, |older, raw| {
                // A baseline only starts intervals; it is not counted.
                let interval = match run.is_baseline {
                    true => IntervalNumbers::default(),
                    false => interval_numbers(calculator, older, raw),
                };
                let multi_count = (raw.multi_count != previous.multi_count).then_some(raw.multi_count);
                let restored = interval::restore(formula, previous, &interval, raw.multi_count, raw.status);
                let raw_numbers = (restored != *raw).then_some((raw.first, raw.second));
                rows.push(&Row { interval, raw_numbers, multi_count, status: raw.status });
                previous = raw;
            });
        }
        let indexes = std::array::from_fn(|index| counter[index].or(instance[index]));
        rows.end_series(indexes, &series.times);
    }

    /// Whether the block has a group of the slot.
    pub(super) fn has_groups(&self) -> bool {
        self.heads.len() > 0
    }

    /// Removes the groups, but keeps the state of these instances. `None` if the block has no group of the slot.
    pub(super) fn take(&mut self, kept_instances: &[u32]) -> Option<Slot> {
        let width = self.width();
        for (to, &from) in kept_instances.iter().enumerate() {
            for column in 0..width {
                // The indexes ascend, so this pairer was already moved.
                self.pairers.swap(to * width + column, from as usize * width + column);
            }
        }
        self.pairers.truncate(kept_instances.len() * width);
        let set = self.set_index.filter(|_| self.has_groups())?;
        self.values.clear();
        self.dictionary_indexes.fill(None);
        Some(Slot { set, heads: std::mem::take(&mut self.heads) })
    }
}
