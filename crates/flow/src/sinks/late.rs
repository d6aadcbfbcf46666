//! Instances that come when the columns of a text are fixed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tachograph_counters::set::{CounterSet, Instance};

use crate::union::ScannedGroup;

/// The instances that came after the columns were fixed, so that they have none: how many, and the first of them.
/// Readable while the sink is in use elsewhere.
#[derive(Clone, Debug, Default)]
pub struct LateInstances(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    first: Option<String>,
    /// By counter set: the highest number of an instance that was met. Numbers rise in the order of appearance and are
    /// the same in all groups of a set, so that an instance is counted once, whatever is asked of it.
    highest: HashMap<Arc<str>, u32>,
}

impl LateInstances {
    /// How many there were so far.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// The first of them, as the beginning of a path: `\\machine\set(instance)`.
    pub fn first(&self) -> Option<String> {
        self.lock().first.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note_known<'a>(&self, groups: impl Iterator<Item = &'a ScannedGroup>) {
        let mut state = self.lock();
        // A fixed instance has its column in any case, and no number among the others.
        for group in groups.filter(|group| group.set.instance.is_none()) {
            for instance in &group.instances {
                state.is_new(&group.set, instance);
            }
        }
    }

    pub(super) fn note(&self, set: &CounterSet, instance: &Instance) {
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
