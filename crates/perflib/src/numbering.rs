//! Appends `#n` to the names of instances, to distinguish instances with equal names.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::path::split_index;
use tachograph_counters::set::{Instance, InstanceTable, Instances};
use tachograph_counters::wildcard::eq_ignore_case;

use crate::InstanceKey;

/// Assigns display names to the instances of a counter set in each sample: the first instance with a name is `name`,
/// the next `name#1`, and so on.
///
/// An instance usually keeps its `#n` while it exists. An index is reused only after a sample in which it is unused, so
/// consumers that match instances by name never confuse two instances. If a new instance replaces another with the same
/// name between two samples, it gets a higher index in the first sample, and the free index in the next.
///
/// A [reserved](InstanceKey::reserved) name belongs to the reserved instance only. Other instances with this name,
/// ignoring case, are displayed as `_Total#1` and so on, even while the reserved instance is absent.
///
/// ```
/// use std::sync::Arc;
/// use tachograph_perflib::{InstanceKey, Numbering};
///
/// let [first, second, third] = [1, 2, 3].map(|pid| Arc::new(InstanceKey::new("bash", pid, pid.into())));
/// let mut numbering = Numbering::default();
/// let mut labels = |keys: &[&Arc<InstanceKey>]| -> Vec<String> {
///     let keys: Vec<_> = keys.iter().map(|&key| Arc::clone(key)).collect();
///     numbering.assign(&keys).iter().map(ToString::to_string).collect()
/// };
/// assert_eq!(labels(&[&first, &second]), ["bash", "bash#1"]);
/// assert_eq!(labels(&[&second, &third]), ["bash#1", "bash#2"]);
/// assert_eq!(labels(&[&second, &third]), ["bash#1", "bash"]);
/// ```
#[derive(Debug, Default)]
pub struct Numbering {
    names: HashMap<Box<str>, Name>,
    /// The shared objects of the display names.
    table: InstanceTable,
    /// The instances of the last sample.
    keys: Vec<Arc<InstanceKey>>,
    /// The display names of `keys`.
    instances: Instances,
    /// Increases with each sample in which an instance appears, disappears or changes its index.
    generation: u64,
    /// Whether an instance waits for an index that becomes free in the next sample.
    has_waiting: bool,
    /// A reused buffer for the instances of the sample.
    building: Vec<Arc<Instance>>,
    /// Whether any name so far contained a `#`.
    has_hash: bool,
    /// The names of all reserved instances so far.
    reserved_names: Vec<Box<str>>,
    matched_by: MatchedBy,
}

/// How consumers recognize an instance in the next sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchedBy {
    /// By its display name.
    #[default]
    Name,
    /// By its display name and its [identity](InstanceKey::identity).
    Identity,
    /// By its display name and its [id](InstanceKey::id), which is one of the values, such as `ID Process`.
    Id,
}

/// The assignment of each index of a name, and where the next search begins.
///
/// While instances appear in a sample, lower indexes do not become available. So each search continues where the last one
/// of the sample ended, and the time is proportional to the number of instances even if thousands have the same name.
#[derive(Debug, Default)]
struct Name {
    assignments: Vec<Assignment>,
    /// The generation for which the two indexes below are valid.
    generation: u64,
    /// No lower index is free for instances that are not reserved.
    next_free: usize,
    /// No lower index can be awaited by instances that are not reserved.
    next_awaited: usize,
}

/// One index of a name, and the instance that last had it.
#[derive(Debug)]
struct Assignment {
    key: Arc<InstanceKey>,
    instance: Arc<Instance>,
    /// The generation of the last sample that contained the instance.
    last_seen: u64,
    /// The index that the instance gets in the next sample. Another instance had it in the previous sample.
    waits_for: Option<usize>,
    /// The generation in which an instance began to wait for this index; 0 if none did.
    awaited_in: u64,
}

/// Above this number of indexes, known instances are looked up in a map.
const MAX_SEARCHED: usize = 16;

/// The indexes of the instances of a name, by identity and id. The lowest index is last.
type Known = HashMap<(u64, u32), Vec<usize>>;

impl Numbering {
    /// Assigns names for consumers that recognize instances in this way. If they recognize them not only by name, a new instance
    /// can reuse an index immediately.
    pub fn new(matched_by: MatchedBy) -> Self {
        Self { matched_by, ..Self::default() }
    }

    /// Changes how consumers recognize instances, from the next sample on.
    pub fn set_matched_by(&mut self, matched_by: MatchedBy) {
        self.matched_by = matched_by;
    }

    /// The display names of these instances, in the same order. Returns the same `Arc` if the instances are unchanged.
    pub fn assign(&mut self, keys: &[Arc<InstanceKey>]) -> &Instances {
        let is_same = self.generation > 0
            && !self.has_waiting
            && self.keys.len() == keys.len()
            && self.keys.iter().zip(keys).all(|(known, key)| Arc::ptr_eq(known, key) || known == key);
        if !is_same {
            self.renumber(keys);
        }
        &self.instances
    }

    /// Assigns indexes after the instances have changed, or if an instance waits for an index.
    fn renumber(&mut self, keys: &[Arc<InstanceKey>]) {
        // Starts at 2, so that an index that was never assigned (`last_seen` 0) is free in the first sample.
        self.generation = self.generation.max(1) + 1;
        self.has_waiting = false;
        let generation = self.generation;
        self.building.clear();
        for key in keys.iter().filter(|key| key.is_reserved()) {
            if !self.reserved_names.iter().any(|name| **name == *key.full_name()) {
                self.reserved_names.push(key.full_name().into());
            }
        }
        // Known instances get their indexes before new instances do: each keeps its index, or gets the index that it
        // waits for.
        let mut indexes = vec![usize::MAX; keys.len()];
        let mut maps: HashMap<&str, Known> = HashMap::new();
        for (key, index) in keys.iter().zip(&mut indexes) {
            let Some(Name { assignments, .. }) = self.names.get_mut(key.full_name()) else { continue };
            // Skip the plain name if it became reserved after this instance got it.
            let first = first_index(&self.reserved_names, key);
            let matches = |index: usize| {
                let assignment = &assignments[index];
                index >= first
                    && assignment.last_seen != generation
                    && (Arc::ptr_eq(&assignment.key, key) || assignment.key == *key)
            };
            let known = if assignments.len() <= MAX_SEARCHED {
                (first..assignments.len()).find(|&index| matches(index))
            } else {
                let map = maps.entry(key.full_name()).or_insert_with(|| by_identity(assignments));
                map.get_mut(&(key.identity(), key.id())).and_then(|indexes| {
                    let position = indexes.iter().rposition(|&index| matches(index))?;
                    Some(indexes.remove(position))
                })
            };
            let Some(known) = known else { continue };
            *index = match assignments[known].waits_for.take() {
                Some(wanted)
                    if assignments.get(wanted).is_some_and(|assignment| assignment.is_free(generation)) =>
                {
                    let instance = self.table.intern(key.parent(), key.name(), wanted as u32);
                    assignments[wanted] = Assignment::new(key, instance, generation);
                    wanted
                }
                _ => known,
            };
            assignments[*index].last_seen = generation;
        }
        drop(maps);
        for (key, index) in keys.iter().zip(indexes) {
            if !self.names.contains_key(key.full_name()) {
                self.has_hash |= key.full_name().contains('#');
                self.names.insert(key.full_name().into(), Name::default());
            }
            let index = if index < usize::MAX { index } else { self.add(key) };
            let Some(Name { assignments, .. }) = self.names.get(key.full_name()) else { continue };
            self.has_waiting |= assignments[index].waits_for.is_some();
            self.building.push(Arc::clone(&assignments[index].instance));
        }
        self.remove_free();
        self.instances = self.building.as_slice().into();
        self.building.clear();
        self.keys.clear();
        self.keys.extend(keys.iter().cloned());
    }

    /// The lowest free index of a name that is at least `first`. An index that was used in the previous sample is free
    /// only if consumers can distinguish the two instances although their names are equal.
    fn free_index(&self, key: &InstanceKey, first: usize) -> usize {
        let name = key.full_name();
        let assignments = self.assignments(name);
        let is_free = |index: &usize| {
            let is_available = |assignment: &Assignment| {
                assignment.is_free(self.generation)
                    || assignment.last_seen < self.generation && assignment.is_distinct(key, self.matched_by)
            };
            assignments.get(*index).is_none_or(is_available) && !self.is_label_of_another(name, *index)
        };
        // Beyond the last assignment, each other name can block at most one index.
        let max = first + assignments.len() + self.names.len() + 1;
        (first..=max).find(is_free).unwrap_or(max)
    }

    fn assignments(&self, name: &str) -> &[Assignment] {
        self.names.get(name).map_or(&[], |name| &name.assignments)
    }

    /// Whether an instance with another name has this display name in this sample or had it in the previous one. This
    /// can happen because a name can itself end in `#1`.
    fn is_label_of_another(&self, name: &str, index: usize) -> bool {
        let is_used = |other: &str, index: usize| {
            let assignment = self.assignments(other).get(index);
            assignment.is_some_and(|assignment| !assignment.is_free(self.generation))
        };
        if index == 0 {
            let (other, index) = split_index(name);
            return index > 0 && is_used(other, index as usize);
        }
        // Only names with a `#` can conflict.
        self.has_hash && is_used(&format!("{name}#{index}"), 0)
    }

    /// Adds a new instance at the lowest free index. If a lower index was used in the previous sample only, the instance will
    /// get it in the next sample. Returns the index.
    fn add(&mut self, key: &Arc<InstanceKey>) -> usize {
        let generation = self.generation;
        let first = first_index(&self.reserved_names, key);
        let start = |name: &Name, next: usize| match name.generation == generation && !key.is_reserved() {
            true => next.max(first),
            false => first,
        };
        let from = self.names.get(key.full_name()).map_or(first, |name| start(name, name.next_free));
        let index = self.free_index(key, from);
        let instance = self.table.intern(key.parent(), key.name(), index as u32);
        let name = self.names.entry(key.full_name().into()).or_default();
        let from = start(name, name.next_awaited);
        let assignments = &mut name.assignments;
        let end = index.min(assignments.len()).max(from);
        let waits_for = (from..end).find(|&index| {
            let assignment = &assignments[index];
            assignment.last_seen + 1 == generation && assignment.awaited_in != generation
        });
        if let Some(awaited) = waits_for {
            assignments[awaited].awaited_in = generation;
        }
        if !key.is_reserved() {
            name.generation = generation;
            name.next_free = index + 1;
            name.next_awaited = waits_for.map_or(end, |awaited| awaited + 1);
        }
        // Indexes whose display name belongs to an instance with another name stay unused.
        while assignments.len() < index {
            assignments.push(Assignment::new(&Arc::default(), Arc::clone(&instance), 0));
        }
        let assignment = Assignment { waits_for, ..Assignment::new(key, instance, generation) };
        match assignments.get_mut(index) {
            Some(known) => *known = assignment,
            None => assignments.push(assignment),
        }
        index
    }

    /// Removes free assignments at the end of each list, so that memory stays bounded while names appear and disappear.
    fn remove_free(&mut self) {
        let generation = self.generation;
        let table = &mut self.table;
        self.names.retain(|_, Name { assignments, .. }| {
            while assignments.last().is_some_and(|assignment| assignment.is_free(generation)) {
                if let Some(assignment) = assignments.pop() {
                    table.forget(&assignment.instance);
                }
            }
            !assignments.is_empty()
        });
    }
}

/// The lowest index that an instance can have: 1 if its plain name is reserved for another instance, otherwise 0.
fn first_index(reserved: &[Box<str>], key: &InstanceKey) -> usize {
    let is_taken = reserved.iter().any(|name| eq_ignore_case(name, key.full_name()));
    usize::from(is_taken && !key.is_reserved())
}

/// The indexes of a name by the identity and id of their instances.
fn by_identity(assignments: &[Assignment]) -> Known {
    let mut known = Known::new();
    for (index, Assignment { key, .. }) in assignments.iter().enumerate().rev() {
        known.entry((key.identity(), key.id())).or_default().push(index);
    }
    known
}

impl Assignment {
    fn new(key: &Arc<InstanceKey>, instance: Arc<Instance>, last_seen: u64) -> Self {
        Self { key: Arc::clone(key), instance, last_seen, waits_for: None, awaited_in: 0 }
    }

    /// Whether the index is unused in this sample and the previous one.
    fn is_free(&self, generation: u64) -> bool {
        self.last_seen + 1 < generation
    }

    /// Whether consumers can distinguish the instance from `key` if both have the same display name. Identity 0 is unknown.
    fn is_distinct(&self, key: &InstanceKey, matched_by: MatchedBy) -> bool {
        let (known, other) = match matched_by {
            MatchedBy::Name => return false,
            MatchedBy::Identity => (self.key.identity(), key.identity()),
            MatchedBy::Id => (u64::from(self.key.id()), u64::from(key.id())),
        };
        known != other && (matched_by == MatchedBy::Id || known != 0 && other != 0)
    }
}

#[cfg(test)]
mod tests;
