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
mod tests {
    use super::*;

    fn key(name: &str, identity: u64) -> Arc<InstanceKey> {
        Arc::new(InstanceKey::new(name, identity as u32, identity))
    }

    fn labels(numbering: &mut Numbering, keys: &[&Arc<InstanceKey>]) -> Vec<String> {
        let keys: Vec<_> = keys.iter().map(|&key| Arc::clone(key)).collect();
        numbering.assign(&keys).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_index_is_reused_only_after_a_sample_without_it() {
        let mut numbering = Numbering::default();
        let [a, b, c, d] = [1, 2, 3, 4].map(|identity| key("x", identity));
        assert_eq!(labels(&mut numbering, &[&a, &b]), ["x", "x#1"]);
        // The instance `x` has ended, but `x#1` exists; the new instance does not get `x` in this sample.
        assert_eq!(labels(&mut numbering, &[&c, &b]), ["x#2", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&d, &c, &b]), ["x#3", "x", "x#1"]);
        // `d` waited for `x#2`, which was still in use in the previous sample.
        assert_eq!(labels(&mut numbering, &[&d, &c, &b]), ["x#2", "x", "x#1"]);
    }

    #[test]
    fn a_successor_gets_the_name_one_sample_later() {
        let mut numbering = Numbering::default();
        let [first, second, third] = [1, 2, 3].map(|identity| key("_Total", identity));
        assert_eq!(labels(&mut numbering, &[&first]), ["_Total"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total#1"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total"]);
        // Even if the instance is replaced in every interval, two consecutive samples never use one name for two
        // instances.
        assert_eq!(labels(&mut numbering, &[&third]), ["_Total#1"]);
        assert_eq!(labels(&mut numbering, &[&first]), ["_Total"]);
        assert_eq!(labels(&mut numbering, &[]), [""; 0]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total"]);
    }

    #[test]
    fn a_name_is_reused_immediately_if_identities_differ() {
        let mut numbering = Numbering::new(MatchedBy::Identity);
        let [first, second, third] = [1, 2, 3].map(|identity| key("x", identity));
        assert_eq!(labels(&mut numbering, &[&first]), ["x"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["x"]);
        assert_eq!(labels(&mut numbering, &[&second, &third]), ["x", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&first, &third]), ["x", "x#1"]);
        // Without an identity, the name is not reused immediately.
        let unknown = Arc::new(InstanceKey::new("x", 9, 0));
        assert_eq!(labels(&mut numbering, &[&unknown, &third]), ["x#2", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&unknown, &third]), ["x", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&first, &third]), ["x#2", "x#1"]);
        // An instance whose own name ends in `#1` gets another suffix if its plain name was just in use.
        let mut numbering = Numbering::new(MatchedBy::Identity);
        let other = key("x#1", 7);
        assert_eq!(labels(&mut numbering, &[&first, &second]), ["x", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&first, &other]), ["x", "x#1#1"]);
    }

    #[test]
    fn consecutive_samples_never_share_a_name_between_instances() {
        check_random_instances(Numbering::default(), |_, _| false);
    }

    #[test]
    fn a_name_is_reused_immediately_if_ids_differ() {
        let mut numbering = Numbering::new(MatchedBy::Id);
        let [first, second] = [1, 2].map(|identity| key("x", identity));
        assert_eq!(labels(&mut numbering, &[&first]), ["x"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["x"]);
        // Another process with the same id is another instance.
        let reused = Arc::new(InstanceKey::new("x", 2, 3));
        assert_eq!(labels(&mut numbering, &[&reused]), ["x#1"]);
        numbering.set_matched_by(MatchedBy::Name);
        assert_eq!(labels(&mut numbering, &[&first]), ["x"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["x#1"]);
    }

    #[test]
    fn consecutive_samples_never_share_a_name_and_identity_between_instances() {
        check_random_instances(Numbering::new(MatchedBy::Identity), |known, identity| {
            known != 0 && identity != 0
        });
    }

    /// Checks with random instances that consecutive samples never use one name for two instances, unless consumers can
    /// distinguish them.
    fn check_random_instances(mut numbering: Numbering, are_distinct: impl Fn(u64, u64) -> bool) {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut living: Vec<Arc<InstanceKey>> = Vec::new();
        let mut before: HashMap<String, u64> = HashMap::new();
        for next in 0..5_000 {
            living.retain(|_| random(4) > 0);
            for _ in 0..random(4) {
                let name = ["a", "b", "a#1", "a#1#1", "b#2"][random(5) as usize];
                let identity = 10 * next + living.len() as u64 + 1;
                let is_own = name == "a" && random(8) == 0;
                living.push(match is_own && !living.iter().any(|key| key.is_reserved()) {
                    true => Arc::new(InstanceKey::new(name, 0, identity).reserved()),
                    false => key(name, identity),
                });
            }
            let names: Vec<String> = numbering.assign(&living).iter().map(ToString::to_string).collect();
            let now: HashMap<String, u64> =
                names.iter().cloned().zip(living.iter().map(|key| key.identity())).collect();
            assert_eq!(now.len(), living.len(), "{names:?}");
            for (name, identity) in &now {
                let is_same = |known: &u64| known == identity || are_distinct(*known, *identity);
                assert!(before.get(name).is_none_or(is_same), "{name} at {next}");
            }
            before = now;
        }
    }

    #[test]
    fn unchanged_instances_are_the_same_object() {
        let mut numbering = Numbering::default();
        let keys = [key("a", 1), key("b", 2)];
        let first = Arc::clone(numbering.assign(&keys));
        assert!(Arc::ptr_eq(&first, numbering.assign(&keys)));
        assert!(Arc::ptr_eq(&first, numbering.assign(&[key("a", 1), key("b", 2)])));
        assert!(!Arc::ptr_eq(&first, numbering.assign(&keys[..1])));
    }

    #[test]
    fn a_reserved_name_is_independent_of_the_order() {
        let mut numbering = Numbering::default();
        let [first, second] = [1, 2].map(|identity| key("_Total", identity));
        let other_case = key("_TOTAL", 3);
        let total = Arc::new(InstanceKey::new("_Total", 0, 0).reserved());
        let names = labels(&mut numbering, &[&first, &other_case, &second, &total]);
        assert_eq!(names, ["_Total#1", "_TOTAL#1", "_Total#2", "_Total"]);
        // The name stays reserved while the total is absent, and no instance waits for it.
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total#2"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total#2"]);
        assert_eq!(labels(&mut numbering, &[&second, &first]), ["_Total#2", "_Total#1"]);
        assert_eq!(labels(&mut numbering, &[&total, &first]), ["_Total", "_Total#1"]);
        // Another reserved instance waits for the name; an ordinary instance does not.
        let other_total = Arc::new(InstanceKey::new("_Total", 0, 1).reserved());
        let another = key("_Total", 4);
        let keys = [&another, &first, &other_total];
        assert_eq!(labels(&mut numbering, &keys), ["_Total#2", "_Total#1", "_Total#3"]);
        assert_eq!(labels(&mut numbering, &keys), ["_Total#2", "_Total#1", "_Total"]);
    }

    #[test]
    fn an_instance_loses_its_name_when_the_name_becomes_reserved() {
        let mut numbering = Numbering::default();
        let impostor = key("_Total", 7);
        let total = Arc::new(InstanceKey::new("_Total", 0, 0).reserved());
        assert_eq!(labels(&mut numbering, &[&impostor]), ["_Total"]);
        // In one sample, the name is unused, so that consumers never confuse the two instances.
        assert_eq!(labels(&mut numbering, &[&impostor, &total]), ["_Total#1", "_Total#2"]);
        assert_eq!(labels(&mut numbering, &[&impostor, &total]), ["_Total#1", "_Total"]);
        assert_eq!(labels(&mut numbering, &[&impostor, &total]), ["_Total#1", "_Total"]);
    }

    #[test]
    fn equal_instances_are_numbered_in_order() {
        let mut numbering = Numbering::default();
        let same = key("same", 0);
        assert_eq!(labels(&mut numbering, &[&same, &same, &same]), ["same", "same#1", "same#2"]);
        assert_eq!(labels(&mut numbering, &[&same, &same]), ["same", "same#1"]);
        assert_eq!(labels(&mut numbering, &[&same, &same, &same]), ["same", "same#1", "same#2"]);
    }

    /// With a time that grows with the square or the cube of the number of instances, this would take minutes or days.
    #[test]
    fn thousands_of_instances_can_have_the_same_name() {
        const COUNT: u64 = 20_000;
        for new in [Numbering::default, || Numbering::new(MatchedBy::Identity)] {
            let mut numbering = new();
            // A name with `#` makes the check for equal display names necessary.
            let hash = key("zombie#x", 1);
            let born = |from: u64| (from..from + COUNT).map(|identity| key("zombie", identity));
            for generation in 0..6 {
                // Half of the instances are replaced in each sample.
                let keys: Vec<_> = born(10 + generation * COUNT / 2).chain([Arc::clone(&hash)]).collect();
                let names = numbering.assign(&keys);
                let labels: std::collections::HashSet<_> = names.iter().map(|name| name.label()).collect();
                assert_eq!(labels.len(), keys.len());
            }
            let same = vec![key("same", 0); COUNT as usize];
            for _ in 0..3 {
                let names = numbering.assign(&same);
                assert_eq!(names[names.len() - 1].label(), format!("same#{}", COUNT - 1));
            }
        }
    }

    #[test]
    fn memory_stays_bounded_while_instances_appear_and_disappear() {
        let mut numbering = Numbering::default();
        for pid in 0..10_000 {
            let one = key(&format!("worker:{pid}"), pid);
            let churned = key("sh", 100_000 + pid);
            let names = labels(&mut numbering, &[&one, &churned]);
            // The two indexes are used in turn.
            assert!(names[1] == "sh" || names[1] == "sh#1", "{names:?}");
        }
        assert!(numbering.names.len() <= 4, "{}", numbering.names.len());
        assert!(numbering.table.len() <= 5, "{}", numbering.table.len());
    }
}
