//! Instances that appear after the columns of a text log were fixed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tachograph_counters::IgnorePoison;
use tachograph_counters::set::{CounterSet, Instance};

use crate::union::ScannedGroup;

/// Counts the instances that appeared after the columns were fixed and therefore have no column. Clones share the
/// count, so it can be read while the sink is in use elsewhere.
#[derive(Clone, Debug, Default)]
pub struct LateInstances(Arc<Mutex<State>>);

/// The instances counted so far.
#[derive(Debug, Default)]
struct State {
    count: u64,
    first: Option<String>,
    /// Keyed by counter set: the highest instance id so far. Ids ascend in the order of appearance and are the same in
    /// all groups of a set, so each instance is counted once.
    highest: HashMap<Arc<str>, u32>,
}

impl LateInstances {
    /// The number of instances without a column.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// The first instance without a column, as the start of a path: `\\machine\set(instance)`.
    pub fn first(&self) -> Option<String> {
        self.lock().first.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().ignore_poison()
    }

    /// Records the instances that have columns.
    pub(super) fn add_known<'a>(&self, groups: impl Iterator<Item = &'a ScannedGroup>) {
        let mut state = self.lock();
        // A fixed instance always has a column, and it has no id.
        for group in groups.filter(|group| group.set.instance.is_none()) {
            for instance in &group.instances {
                state.is_new(&group.set, instance);
            }
        }
    }

    /// Counts an instance without a column, unless it was counted before.
    pub(super) fn add(&self, set: &CounterSet, instance: &Instance) {
        let mut state = self.lock();
        if state.is_new(set, instance) {
            state.count += 1;
            state.first.get_or_insert_with(|| format!(r"\\{}\{}({instance})", set.machine, set.name));
        }
    }
}

impl State {
    fn is_new(&mut self, set: &CounterSet, instance: &Instance) -> bool {
        let Some(highest) = self.highest.get_mut(&set.name) else {
            self.highest.insert(Arc::clone(&set.name), instance.id());
            return true;
        };
        let is_new = instance.id() > *highest;
        *highest = (*highest).max(instance.id());
        is_new
    }
}
