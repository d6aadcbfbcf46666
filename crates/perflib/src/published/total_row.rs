//! The aggregate row of a set, such as `_Total`.

use std::sync::Arc;

use tachograph_counters::RawValue;

use super::aggregate::{Accumulator, Functions};
use super::instance_keys::identity;
use super::source::{Source, Sources};
use crate::registration::{CounterSetInfo, InstanceType};
use crate::{InstanceKey, Rows};

/// The name of the aggregate row in a set with instances. In other sets, the name is empty.
pub(super) const TOTAL: &str = "_Total";

/// Accumulates the aggregate of the instances as they are read.
#[derive(Debug)]
pub(super) struct TotalRow {
    functions: Functions,
    /// For each column, the index of its counter in the registration.
    positions: Vec<usize>,
    /// For each column, the combination of the values so far.
    columns: Vec<Accumulator>,
    /// The number of instances and histories that were added to `columns`.
    instances: usize,
    /// `columns` and `instances` as they were before the current process, for `restore`.
    saved: (Vec<Accumulator>, usize),
    /// The instance key of the row.
    key: Arc<InstanceKey>,
    /// Increases when the total becomes incomparable with earlier totals. The identity of the row is computed from this
    /// number, so totals of different epochs are never paired.
    pub(super) epoch: u64,
}

impl TotalRow {
    pub(super) fn new(info: &CounterSetInfo) -> Self {
        Self {
            functions: Functions::new(info),
            positions: Vec::new(),
            columns: Vec::new(),
            instances: 0,
            saved: (Vec::new(), 0),
            key: Arc::default(),
            epoch: 0,
        }
    }

    /// Starts a collection of these counters.
    pub(super) fn begin(&mut self, positions: &[usize]) {
        positions.clone_into(&mut self.positions);
        self.columns.clear();
        self.columns.resize(positions.len(), Accumulator::default());
        self.instances = 0;
    }

    /// Saves the total before a process is read, for [`restore`](Self::restore).
    pub(super) fn save(&mut self) {
        self.saved.0.clone_from(&self.columns);
        self.saved.1 = self.instances;
    }

    /// Restores the total that [`save`](Self::save) saved.
    pub(super) fn restore(&mut self) {
        self.columns.clone_from(&self.saved.0);
        self.instances = self.saved.1;
    }

    /// Whether a new instance in this file makes the total incomparable with earlier totals.
    pub(super) fn is_reset_by_new_instances(&self, sources: &Sources) -> bool {
        self.functions.are_reset_by_new_instances() || sources.has_separate_bases()
    }

    /// Adds the history, which combines the last values of `count` ended instances.
    pub(super) fn push_history(
        &mut self,
        sources: &Sources,
        value: impl Fn(&Source) -> RawValue,
        count: u64,
    ) {
        self.instances += 1;
        for (column, &position) in self.columns.iter_mut().zip(&self.positions) {
            if let Some(source) = sources.get(position) {
                self.functions.push(column, position, source, value(source), Some(count));
            }
        }
    }

    /// Adds the values of an instance; `values` has one per column.
    pub(super) fn push(&mut self, sources: &Sources, values: &[RawValue]) {
        self.instances += 1;
        for ((column, &position), raw) in self.columns.iter_mut().zip(&self.positions).zip(values) {
            if let Some(source) = sources.get(position) {
                self.functions.push(column, position, source, *raw, None);
            }
        }
    }

    /// Adds the aggregate to the rows, unless there are no instances.
    pub(super) fn push_to(&mut self, rows: &mut Rows, instance_type: InstanceType) {
        if self.instances == 0 {
            return;
        }
        let identity = identity(0, self.epoch + 1);
        if self.key.identity() != identity {
            let name = if instance_type == InstanceType::MultipleAggregate { TOTAL } else { "" };
            self.key = Arc::new(InstanceKey::new(name, 0, identity).reserved());
        }
        rows.push_with(&self.key, |values| {
            for ((column, &position), value) in self.columns.iter().zip(&self.positions).zip(values) {
                *value = self.functions.value(column, position);
            }
        });
    }
}
