//! Descriptions and instances that row groups share.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use tachograph_counters::set::{CounterSet, Instance, InstanceTable};

use super::super::super::table::InstanceRuns;

/// Shares equal descriptions and instances across row groups, so that consumers can compare them by pointer.
#[derive(Default)]
pub(in super::super) struct Interner {
    /// The shared descriptions, by hash.
    sets: HashMap<u64, Vec<Arc<CounterSet>>>,
    /// The descriptions of the current file, each with the equal shared one.
    file_sets: Vec<(Arc<CounterSet>, Arc<CounterSet>)>,
    /// The instances of the last row group, by machine and set.
    instances: HashMap<(Arc<str>, Arc<str>), SetInstances>,
}

/// Hashes text that is written to it.
#[derive(Default)]
struct HashText(DefaultHasher);

impl std::fmt::Write for HashText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

#[derive(Default)]
struct SetInstances {
    table: InstanceTable,
    last: Vec<Arc<Instance>>,
    current: Vec<Arc<Instance>>,
}

impl Interner {
    fn intern_set(&mut self, set: &Arc<CounterSet>) -> Arc<CounterSet> {
        let mut hash = HashText::default();
        // Hashing cannot fail.
        let _ = write!(hash, "{set:?}");
        let sets = self.sets.entry(hash.0.finish()).or_default();
        if let Some(known) = sets.iter().find(|known| ***known == **set) {
            return Arc::clone(known);
        }
        sets.push(Arc::clone(set));
        Arc::clone(set)
    }

    /// Shares the descriptions of a file, once for all of its row groups.
    pub(super) fn begin_block(&mut self, sets: &[Arc<CounterSet>]) {
        let is_same = self.file_sets.len() == sets.len()
            && self.file_sets.iter().zip(sets).all(|((known, _), set)| Arc::ptr_eq(known, set));
        if !is_same {
            self.file_sets = sets.iter().map(|set| (Arc::clone(set), self.intern_set(set))).collect();
        }
    }

    /// The shared description of the current file's set with this index.
    pub(super) fn shared_set(&self, set: usize) -> &Arc<CounterSet> {
        &self.file_sets[set].1
    }

    pub(super) fn intern_instance(&mut self, set: &CounterSet, instance: &InstanceRuns) -> Arc<Instance> {
        // A fixed instance is already shared through its description.
        if let Some(fixed) = set.instance.as_ref().filter(|fixed| {
            fixed.parent() == instance.parent.as_deref()
                && fixed.name() == instance.name
                && fixed.index() == instance.index
        }) {
            return Arc::clone(fixed);
        }
        let set_instances =
            self.instances.entry((Arc::clone(&set.machine), Arc::clone(&set.name))).or_default();
        let instance = set_instances.table.intern(instance.parent.as_deref(), &instance.name, instance.index);
        set_instances.current.push(Arc::clone(&instance));
        instance
    }

    /// Removes the instances that are not in the row group.
    pub(super) fn end_block(&mut self) {
        for set_instances in self.instances.values_mut() {
            let current: HashSet<_> = set_instances.current.iter().map(Arc::as_ptr).collect();
            let gone = set_instances.last.iter().filter(|instance| !current.contains(&Arc::as_ptr(instance)));
            gone.for_each(|instance| set_instances.table.forget(instance));
            set_instances.last = std::mem::take(&mut set_instances.current);
        }
    }
}
