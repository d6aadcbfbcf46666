//! One row of a collection, and the errors of its values.

use std::sync::Arc;

use tachograph_counters::{RawValue, Status};

use super::Rows;
use super::selection::SecondNumberKind;
use crate::{CounterError, InstanceKey};

/// The row of one instance, whose values can be set.
#[derive(Debug)]
pub struct Row<'a> {
    rows: &'a mut Rows,
    /// The index of the row's first value.
    start: usize,
}

impl Rows {
    /// Adds a row, whose values are invalid until they are set.
    pub fn push(&mut self, instance: &Arc<InstanceKey>) -> Row<'_> {
        let start = self.values.len();
        self.push_with(instance, |_| ());
        Row { rows: self, start }
    }

    /// An existing row, to set values that are known only later, such as totals.
    ///
    /// # Panics
    ///
    /// Panics if there is no row with this index.
    pub fn row_mut(&mut self, index: usize) -> Row<'_> {
        assert!(index < self.count, "row {index} of {}", self.count);
        let start = index * self.width();
        Row { rows: self, start }
    }
}

impl Row<'_> {
    /// Sets the value of a counter, if it is selected. The value gets the timestamp of the collection.
    #[inline]
    pub fn set(&mut self, id: u32, value: u64) {
        if let Some(column) = self.rows.column(id) {
            let at = &self.rows.timestamps;
            let second = match self.rows.selection.second_number_kinds[column] {
                SecondNumberKind::None | SecondNumberKind::Base => 0,
                SecondNumberKind::Ticks => at.ticks,
                SecondNumberKind::SystemTime => at.system_time.0,
            };
            self.rows.values[self.start + column] = RawValue::new(value as i64, second);
        }
    }

    /// Sets the value of a counter and the value of its base, if the counter is selected.
    #[inline]
    pub fn set_with_base(&mut self, id: u32, value: u64, base: u64) {
        self.set_raw(id, RawValue::new(value as i64, base as i64));
    }

    /// Sets both numbers and the multiplier of a counter, if it is selected.
    #[inline]
    pub fn set_raw(&mut self, id: u32, raw: RawValue) {
        if let Some(column) = self.rows.column(id) {
            self.rows.values[self.start + column] = raw;
        }
    }

    /// Marks a counter, if it is selected, as unreadable, and reports why.
    ///
    /// Reasons are compared by pointer, so a provider should create each `reason` only once.
    pub fn fail(&mut self, id: u32, reason: &Arc<str>) {
        let Some(column) = self.rows.column(id) else { return };
        self.rows.values[self.start + column] = RawValue::error(Status::CSTATUS_INVALID_DATA);
        self.report(id, reason);
    }

    /// Reports why a value is incomplete: for example, the kernel's records of some ended processes were lost. The
    /// value remains valid.
    ///
    /// For `reason`, see [`fail`](Self::fail).
    pub fn report_incomplete(&mut self, id: u32, reason: &Arc<str>) {
        if self.wants(id) {
            self.report(id, reason);
        }
    }

    fn report(&mut self, id: u32, reason: &Arc<str>) {
        let known = |error: &&mut CounterError| error.counter_id == id && Arc::ptr_eq(&error.reason, reason);
        if let Some(error) = self.rows.errors.iter_mut().find(known) {
            error.count += 1;
            return;
        }
        let instance = &self.rows.instances[self.start / self.rows.width().max(1)];
        let error = CounterError::new(id, instance, reason);
        self.rows.errors.push(error);
    }

    /// Marks a counter as absent for this instance, such as a limit that is not set. It then has no value, and no error
    /// is reported.
    pub fn omit(&mut self, id: u32) {
        self.set_raw(id, RawValue::error(Status::NO_INSTANCE));
    }

    /// Calls [`fail`](Self::fail) for several counters.
    pub fn fail_all(&mut self, ids: impl IntoIterator<Item = u32>, reason: &Arc<str>) {
        ids.into_iter().for_each(|id| self.fail(id, reason));
    }

    /// Whether the counter with this id is selected.
    #[inline]
    pub fn wants(&self, id: u32) -> bool {
        self.rows.wants(id)
    }
}
