//! The row that adds the instances of a set up.

use std::sync::Arc;

use tachograph_counters::RawValue;

use super::aggregate::{Aggregated, Functions};
use super::file::File;
use super::keys::identity;
use super::source::{Source, Sources};
use crate::registration::{CounterSetInfo, InstanceType};
use crate::{InstanceKey, Rows};

/// The aggregate's name.
pub(super) const TOTAL: &str = "_Total";

/// The aggregate of the instances.
#[derive(Debug)]
pub(super) struct Total {
    functions: Functions,
    /// By column: the place of its counter in the registration.
    positions: Vec<usize>,
    /// By column.
    columns: Vec<Aggregated>,
    /// As they were before a file, to go back to.
    before: Vec<Aggregated>,
    instances_before: usize,
    key: Arc<InstanceKey>,
    /// Another number when what is added up is not that of before with more.
    pub(super) epoch: u64,
    instances: usize,
}

impl Total {
    /// Nothing yet.
    pub(super) fn new(info: &CounterSetInfo) -> Self {
        Self {
            functions: Functions::new(info),
            positions: Vec::new(),
            columns: Vec::new(),
            before: Vec::new(),
            instances_before: 0,
            key: Arc::default(),
            epoch: 0,
            instances: 0,
        }
    }

    pub(super) fn begin(&mut self, positions: &[usize]) {
        positions.clone_into(&mut self.positions);
        self.columns.clear();
        self.columns.resize(positions.len(), Aggregated::default());
        self.instances = 0;
    }

    pub(super) fn remember(&mut self) {
        self.before.clone_from(&self.columns);
        self.instances_before = self.instances;
    }

    pub(super) fn go_back(&mut self) {
        self.columns.clone_from(&self.before);
        self.instances = self.instances_before;
    }

    /// Whether an instance of this file that comes changes what the values before it mean.
    pub(super) fn is_changed_by_who_comes(&self, sources: &Sources) -> bool {
        self.functions.is_changed_by_who_comes() || sources.has_cells_beside()
    }

    /// Notes whether a file went in. What one counted while it was left out is no growth of this collection.
    pub(super) fn note(&mut self, file: &mut File, is_read: bool) {
        let is_another = match file.was_read.replace(is_read) {
            Some(was_read) => was_read != is_read,
            None => is_read && file.keys.len() > 0 && self.is_changed_by_who_comes(&file.sources),
        };
        self.epoch += u64::from(is_another);
    }

    /// Takes the values of what instances that ended have left.
    pub(super) fn take(
        &mut self,
        sources: &Sources,
        value: impl Fn(&Source) -> RawValue,
        history: Option<u64>,
    ) {
        self.instances += 1;
        for (column, &position) in self.columns.iter_mut().zip(&self.positions) {
            if let Some(source) = sources.get(position) {
                self.functions.take(column, position, source, value(source), history);
            }
        }
    }

    /// Takes the values of an instance, by column.
    pub(super) fn take_row(&mut self, sources: &Sources, values: &[RawValue]) {
        self.instances += 1;
        for ((column, &position), raw) in self.columns.iter_mut().zip(&self.positions).zip(values) {
            if let Some(source) = sources.get(position) {
                self.functions.take(column, position, source, *raw, None);
            }
        }
    }

    /// Adds the row of the aggregate, where there is anything to aggregate.
    pub(super) fn push(&mut self, rows: &mut Rows, instance_type: InstanceType) {
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
