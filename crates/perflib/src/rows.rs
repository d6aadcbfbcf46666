//! The instances of a counter set and their raw values in one collection, filled in by a provider.

mod block_value;
mod row;
mod selection;

use std::sync::Arc;

use tachograph_counters::{RawValue, Status};

use crate::clock::Timestamps;
use crate::filter::InstanceFilter;
use crate::registration::{CounterInfo, CounterSetInfo};
use crate::{CounterError, InstanceKey};
use selection::Selection;

pub use row::Row;
pub(crate) use selection::SecondNumberKind;

/// The instances of a counter set and the raw values of the selected counters, in one collection.
///
/// A row is an instance. A column is a selected counter; columns are in the order of registration. A companion that is
/// never displayed has no column: for example, the value of a base is the `second` number of the counter that uses it.
#[derive(Clone, Debug)]
pub struct Rows {
    info: Arc<CounterSetInfo>,
    /// The selected counters and instances.
    selection: Selection,
    timestamps: Timestamps,
    /// The first `count` items are current. Items of the previous collection follow, so that unchanged instances need
    /// not be cloned again.
    instances: Vec<Arc<InstanceKey>>,
    /// The number of rows.
    count: usize,
    /// The raw values, row by row.
    values: Vec<RawValue>,
    errors: Vec<CounterError>,
}

impl Rows {
    /// Empty rows, without any selected counters.
    pub fn new(info: Arc<CounterSetInfo>) -> Self {
        let selection = Selection::new(&info);
        Self::with_selection(info, selection, Timestamps::default())
    }

    fn with_selection(info: Arc<CounterSetInfo>, selection: Selection, timestamps: Timestamps) -> Self {
        Self {
            info,
            selection,
            timestamps,
            instances: Vec::new(),
            count: 0,
            values: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// Empty rows, with all counters and all instances selected.
    pub fn unfiltered(info: Arc<CounterSetInfo>) -> Self {
        let mut rows = Self::new(Arc::clone(&info));
        rows.select(info.counters.iter().map(|counter| counter.id), vec![InstanceFilter::all()]);
        rows
    }

    /// Selects the counters with these ids, for the instances that match one of the filters. The id of a companion
    /// selects the counters that it belongs to.
    ///
    /// Returns whether the selection changed. If so, all rows are removed.
    pub fn select(&mut self, ids: impl IntoIterator<Item = u32>, filters: Vec<InstanceFilter>) -> bool {
        let has_changed = self.selection.change(&self.info, ids.into_iter().collect(), filters);
        if has_changed {
            self.clear(Timestamps::default());
        }
        has_changed
    }

    /// Empty rows with the same selection.
    pub(crate) fn without_values(&self) -> Self {
        Self::with_selection(Arc::clone(&self.info), self.selection.clone(), self.timestamps)
    }

    /// Removes all rows and copies the selection and time of `other`. Allocates nothing if the selections are equal.
    pub(crate) fn copy_selection_from(&mut self, other: &Self) {
        if !self.selection.is_same(&other.selection) {
            *self = other.without_values();
        }
        self.clear(other.timestamps);
    }

    /// Removes all rows but keeps the buffers, and sets the time of the next collection.
    pub fn clear(&mut self, timestamps: Timestamps) {
        self.timestamps = timestamps;
        self.instances.truncate(self.count);
        self.count = 0;
        self.values.clear();
        self.errors.clear();
    }

    /// The counter set.
    pub fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    /// The time of this collection.
    pub fn timestamps(&self) -> Timestamps {
        self.timestamps
    }

    /// Whether the counter with this id is selected and exists on this machine.
    #[inline]
    pub fn wants(&self, id: u32) -> bool {
        self.column(id).is_some()
    }

    /// Whether any of these counters is selected, for example to decide whether a file with their values has to be
    /// read.
    pub fn wants_any(&self, ids: impl IntoIterator<Item = u32>) -> bool {
        ids.into_iter().any(|id| self.wants(id))
    }

    /// Whether an instance with this name (`parent/name` if it has a parent) and id is selected.
    #[inline]
    pub fn wants_instance(&self, name: &str, id: u32) -> bool {
        self.selection.filters.iter().any(|filter| filter.can_match(name, id))
    }

    /// Whether all instances are selected, so that names need not be checked.
    pub fn wants_all_instances(&self) -> bool {
        self.selection.filters.iter().any(InstanceFilter::is_all)
    }

    /// The ids of the selected counters, by column.
    pub fn selected_ids(&self) -> impl ExactSizeIterator<Item = u32> {
        self.positions().iter().map(|&position| self.info.counters[position].id)
    }

    /// The filters: an instance is selected if it matches any of them.
    pub fn filters(&self) -> &[InstanceFilter] {
        &self.selection.filters
    }

    /// Adds a row. `fill` gets the raw values of the row, by column; all are initially invalid.
    #[inline]
    pub(crate) fn push_with(&mut self, instance: &Arc<InstanceKey>, fill: impl FnOnce(&mut [RawValue])) {
        match self.instances.get_mut(self.count) {
            Some(known) if Arc::ptr_eq(known, instance) => {}
            Some(known) => *known = Arc::clone(instance),
            None => self.instances.push(Arc::clone(instance)),
        }
        self.count += 1;
        let start = self.values.len();
        self.values.resize(start + self.width(), RawValue::error(Status::CSTATUS_INVALID_DATA));
        fill(&mut self.values[start..]);
    }

    /// For each column, the index of its counter in the registration.
    pub(crate) fn positions(&self) -> &[usize] {
        &self.selection.positions
    }

    /// Reports why an instance (or all instances of a process, such as its threads) has no row. The error is attributed
    /// to the first selected counter.
    pub(crate) fn fail_instance(&mut self, instance: &Arc<InstanceKey>, reason: &Arc<str>) {
        let Some(&position) = self.positions().first() else { return };
        let counter_id = self.info.counters[position].id;
        match self.errors.iter_mut().find(|error| Arc::ptr_eq(&error.reason, reason)) {
            Some(error) => error.count += 1,
            None => self.errors.push(CounterError::new(counter_id, instance, reason)),
        }
    }

    /// Reports `count` missing or incomplete values of a counter, with the reason that another machine gave. The first
    /// of these values belongs to the instance with this name.
    pub fn report(&mut self, counter_id: u32, instance: &str, reason: &str, count: u64) {
        let known = |error: &&mut CounterError| error.counter_id == counter_id && *error.reason == *reason;
        match self.errors.iter_mut().find(known) {
            Some(error) => error.count = error.count.saturating_add(count),
            None => {
                let instance = Arc::new(InstanceKey::new(instance, 0, 0));
                let error = CounterError::new(counter_id, &instance, &Arc::from(reason));
                self.errors.push(CounterError { count, ..error });
            }
        }
    }

    /// Removes all rows except the first `rows`.
    pub fn truncate(&mut self, rows: usize) {
        self.count = self.count.min(rows);
        self.values.truncate(rows * self.width());
    }

    /// The instances, in the provider's order.
    pub fn instances(&self) -> &[Arc<InstanceKey>] {
        &self.instances[..self.count]
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.positions().len()
    }

    /// The column of the counter with this id, if it is selected.
    #[inline]
    pub fn column(&self, id: u32) -> Option<usize> {
        self.selection.column(id)
    }

    /// The counter of a column.
    pub fn counter(&self, column: usize) -> &CounterInfo {
        &self.info.counters[self.positions()[column]]
    }

    /// The raw values of a row, by column.
    pub fn values(&self, row: usize) -> &[RawValue] {
        &self.values[row * self.width()..][..self.width()]
    }

    /// All raw values, row after row.
    pub fn all_values(&self) -> &[RawValue] {
        &self.values
    }

    /// The reasons that values could not be read or are incomplete.
    pub fn errors(&self) -> &[CounterError] {
        &self.errors
    }
}
