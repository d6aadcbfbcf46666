//! `#n`: telling instances of one name apart.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tachograph_counters::path::split_index;
use tachograph_counters::set::{Instance, InstanceTable, Instances};
use tachograph_counters::wildcard::eq_ignore_case;

use crate::InstanceKey;

/// Gives the instances of a counter set their display names, sample after sample: the first of a name is `name`, the
/// next `name#1`, and so on.
///
/// An instance keeps its name for as long as it is there. The number of one that is gone is given to another only
/// after a sample in which it was absent: whoever pairs samples by these names never pairs two different instances. One
/// that comes in the very interval in which another of its name ends has a higher number for that one sample, and the
/// number that became free from the next on.
///
/// The name of a [reserved](InstanceKey::reserved) instance is its own: others of that name, without regard to case, are
/// `_Total#1` and so on wherever they are in the list, also while the reserved instance is absent.
///
/// ```
/// use std::sync::Arc;
/// use tachograph_perflib::{InstanceKey, Numbering};
///
/// let [first, second, third] = [1, 2, 3].map(|pid| Arc::new(InstanceKey::new("bash", pid, pid.into())));
/// let mut numbering = Numbering::default();
/// let mut labels = |keys: &[&Arc<InstanceKey>]| -> Vec<String> {
///     let keys: Vec<_> = keys.iter().map(|&key| Arc::clone(key)).collect();
///     numbering.number(&keys).iter().map(ToString::to_string).collect()
/// };
/// assert_eq!(labels(&[&first, &second]), ["bash", "bash#1"]);
/// assert_eq!(labels(&[&second, &third]), ["bash#1", "bash#2"]);
/// assert_eq!(labels(&[&second, &third]), ["bash#1", "bash"]);
/// ```
#[derive(Debug, Default)]
pub struct Numbering {
    names: HashMap<Box<str>, Vec<Slot>>,
    table: InstanceTable,
    keys: Vec<Arc<InstanceKey>>,
    instances: Instances,
    /// Counts the samples in which something came, went or changed its number.
    generation: u64,
    /// Whether an instance waits for a number that becomes free with the next sample.
    has_waiting: bool,
    building: Vec<Arc<Instance>>,
    /// Whether a name with a `#` was ever met.
    has_hash: bool,
    /// The names that reserved instances have had: a few for each counter set.
    reserved: Vec<Box<str>>,
    /// Whether samples are paired by identities.
    is_for_identities: bool,
}

/// A number of a name, and who has it.
#[derive(Debug)]
struct Slot {
    key: Arc<InstanceKey>,
    instance: Arc<Instance>,
    /// The generation in which it was there last.
    seen: u64,
    /// The number that it gets with the next sample, since its last holder was just there.
    waits_for: Option<usize>,
}

impl Numbering {
    /// Names for readers that pair samples by names and identities. A number passes at once to another instance where
    /// [identities](InstanceKey::identity) tell the two apart, so that one that is replaced has the name again one sample
    /// earlier.
    pub fn for_identities() -> Self {
        Self { is_for_identities: true, ..Self::default() }
    }

    /// The display names of these instances, in their order. The same object as before when nothing came or went.
    pub fn number(&mut self, keys: &[Arc<InstanceKey>]) -> &Instances {
        let is_same = self.generation > 0
            && !self.has_waiting
            && self.keys.len() == keys.len()
            && self.keys.iter().zip(keys).all(|(known, key)| Arc::ptr_eq(known, key) || known == key);
        if !is_same {
            self.renumber(keys);
        }
        &self.instances
    }

    fn renumber(&mut self, keys: &[Arc<InstanceKey>]) {
        // From 2 on: a number that nobody has had yet (0) is free in the first sample too.
        self.generation = self.generation.max(1) + 1;
        self.has_waiting = false;
        let generation = self.generation;
        self.building.clear();
        for key in keys.iter().filter(|key| key.is_reserved()) {
            if !self.reserved.iter().any(|name| **name == *key.full_name()) {
                self.reserved.push(key.full_name().into());
            }
        }
        // Who stays keeps its number, or gets the one that it waits for, so that nobody new takes it.
        let mut places = vec![usize::MAX; keys.len()];
        for (key, place) in keys.iter().zip(&mut places) {
            let Some(slots) = self.names.get_mut(key.full_name()) else { continue };
            let is_it =
                |slot: &Slot| slot.seen != generation && (Arc::ptr_eq(&slot.key, key) || slot.key == *key);
            // The plain name may have become reserved after this instance got it.
            let first = first_number(&self.reserved, key);
            let Some(known) = slots.iter().skip(first).position(is_it).map(|place| first + place) else {
                continue;
            };
            *place = match slots[known].waits_for.take() {
                Some(wanted) if slots.get(wanted).is_some_and(|slot| slot.is_free(generation)) => {
                    let instance = self.table.intern(key.parent(), key.name(), wanted as u32);
                    slots[wanted] =
                        Slot { key: Arc::clone(key), instance, seen: generation, waits_for: None };
                    wanted
                }
                _ => known,
            };
            slots[*place].seen = generation;
        }
        for (key, place) in keys.iter().zip(places) {
            if !self.names.contains_key(key.full_name()) {
                self.has_hash |= key.full_name().contains('#');
                self.names.insert(key.full_name().into(), Vec::new());
            }
            let place = if place < usize::MAX {
                place
            } else {
                let first = first_number(&self.reserved, key);
                let free = self.free_number(key, first);
                let Some(slots) = self.names.get_mut(key.full_name()) else { continue };
                Self::add(slots, &mut self.table, key, generation, first..free)
            };
            let Some(slots) = self.names.get(key.full_name()) else { continue };
            self.has_waiting |= slots[place].waits_for.is_some();
            self.building.push(Arc::clone(&slots[place].instance));
        }
        self.forget_absent();
        self.instances = self.building.as_slice().into();
        self.building.clear();
        self.keys.clear();
        self.keys.extend(keys.iter().cloned());
    }

    /// The lowest number of a name, from `first` on, that nobody has, nor had in the sample before, unless the reader sees
    /// that it was another instance.
    fn free_number(&self, key: &InstanceKey, first: usize) -> usize {
        let name = key.full_name();
        let slots = self.names.get(name).map_or(&[][..], Vec::as_slice);
        let is_free = |number: &usize| {
            let passes_to = |slot: &Slot| {
                slot.is_free(self.generation)
                    || self.is_for_identities && slot.seen < self.generation && slot.is_another(key)
            };
            slots.get(*number).is_none_or(passes_to) && !self.is_label_of_another(name, *number)
        };
        // Of the labels from the last number on, each other name can take one.
        let most = first + slots.len() + self.names.len() + 1;
        (first..=most).find(is_free).unwrap_or(most)
    }

    /// Whether an instance of another name has this display name, or had it in the sample before: a name may end in `#1`
    /// by itself.
    fn is_label_of_another(&self, name: &str, number: usize) -> bool {
        let is_used = |other: &str, number: usize| {
            let slots = self.names.get(other).map_or(&[][..], Vec::as_slice);
            slots.get(number).is_some_and(|slot| !slot.is_free(self.generation))
        };
        if number == 0 {
            let (other, index) = split_index(name);
            return index > 0 && is_used(other, index as usize);
        }
        // Only names that hold a `#` can be in the way; without one there is nothing to look up.
        self.has_hash && is_used(&format!("{name}#{number}"), 0)
    }

    /// Gives a new instance of a name the number after these, which is free; it may wait for one of them.
    fn add(
        slots: &mut Vec<Slot>,
        table: &mut InstanceTable,
        key: &Arc<InstanceKey>,
        generation: u64,
        before: Range<usize>,
    ) -> usize {
        let place = before.end;
        let is_wanted = |number| slots.iter().any(|slot| slot.waits_for == Some(number));
        let was_just_there = |slot: &Slot| slot.seen + 1 == generation;
        let waits_for = (before.start..place.min(slots.len()))
            .find(|&number| was_just_there(&slots[number]) && !is_wanted(number));
        let instance = table.intern(key.parent(), key.name(), place as u32);
        // Numbers in between that another name stands in the way of stay empty.
        while slots.len() < place {
            let instance = Arc::clone(&instance);
            slots.push(Slot { key: Arc::default(), instance, seen: 0, waits_for: None });
        }
        let slot = Slot { key: Arc::clone(key), instance, seen: generation, waits_for };
        if place < slots.len() {
            slots[place] = slot
        } else {
            slots.push(slot)
        }
        place
    }

    /// Forgets numbers that may be given out anew, so that names that come and go do not fill the memory.
    fn forget_absent(&mut self) {
        let generation = self.generation;
        let table = &mut self.table;
        self.names.retain(|_, slots| {
            while slots.last().is_some_and(|slot| slot.is_free(generation)) {
                if let Some(slot) = slots.pop() {
                    table.forget(&slot.instance);
                }
            }
            !slots.is_empty()
        });
    }
}

/// The lowest number that an instance may have: 1 where its plain name is reserved for another.
fn first_number(reserved: &[Box<str>], key: &InstanceKey) -> usize {
    let is_taken = reserved.iter().any(|name| eq_ignore_case(name, key.full_name()));
    usize::from(is_taken && !key.is_reserved())
}

impl Slot {
    /// Whether its number may be given out: nobody had it in the sample before, nor has it now.
    fn is_free(&self, generation: u64) -> bool {
        self.seen + 1 < generation
    }

    /// Whether identities tell an instance from the one that has the number; 0 is unknown.
    fn is_another(&self, key: &InstanceKey) -> bool {
        let (known, other) = (self.key.identity(), key.identity());
        known != 0 && other != 0 && known != other
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
        numbering.number(&keys).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_number_is_reused_only_after_a_sample_without_it() {
        let mut numbering = Numbering::default();
        let [a, b, c, d] = [1, 2, 3, 4].map(|identity| key("x", identity));
        assert_eq!(labels(&mut numbering, &[&a, &b]), ["x", "x#1"]);
        // `x` is gone, `x#1` stays; the new one may not take `x` in the same sample.
        assert_eq!(labels(&mut numbering, &[&c, &b]), ["x#2", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&d, &c, &b]), ["x#3", "x", "x#1"]);
        // `x#2` was free when it came, but had just been there.
        assert_eq!(labels(&mut numbering, &[&d, &c, &b]), ["x#2", "x", "x#1"]);
    }

    #[test]
    fn a_successor_has_the_name_from_the_next_sample_on() {
        let mut numbering = Numbering::default();
        let [first, second, third] = [1, 2, 3].map(|identity| key("_Total", identity));
        assert_eq!(labels(&mut numbering, &[&first]), ["_Total"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total#1"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total"]);
        // Again and again in each interval: the names never stay with two.
        assert_eq!(labels(&mut numbering, &[&third]), ["_Total#1"]);
        assert_eq!(labels(&mut numbering, &[&first]), ["_Total"]);
        assert_eq!(labels(&mut numbering, &[]), [""; 0]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total"]);
    }

    #[test]
    fn a_name_passes_at_once_where_identities_tell() {
        let mut numbering = Numbering::for_identities();
        let [first, second, third] = [1, 2, 3].map(|identity| key("x", identity));
        assert_eq!(labels(&mut numbering, &[&first]), ["x"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["x"]);
        assert_eq!(labels(&mut numbering, &[&second, &third]), ["x", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&first, &third]), ["x", "x#1"]);
        // Not where there is no identity to tell them apart by.
        let unknown = Arc::new(InstanceKey::new("x", 9, 0));
        assert_eq!(labels(&mut numbering, &[&unknown, &third]), ["x#2", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&unknown, &third]), ["x", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&first, &third]), ["x#2", "x#1"]);
        // A name that ends in a number by itself keeps off others.
        let mut numbering = Numbering::for_identities();
        let other = key("x#1", 7);
        assert_eq!(labels(&mut numbering, &[&first, &second]), ["x", "x#1"]);
        assert_eq!(labels(&mut numbering, &[&first, &other]), ["x", "x#1#1"]);
    }

    #[test]
    fn names_in_a_row_never_pair_two() {
        never_pair_two(Numbering::default(), |_, _| false);
    }

    #[test]
    fn names_and_identities_in_a_row_never_pair_two() {
        never_pair_two(Numbering::for_identities(), |known, identity| known != 0 && identity != 0);
    }

    /// Whatever comes and goes, two samples in a row never have one name for two instances, nor two for one of them, unless
    /// identities tell them apart.
    fn never_pair_two(mut numbering: Numbering, are_told_apart: impl Fn(u64, u64) -> bool) {
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
            let names: Vec<String> = numbering.number(&living).iter().map(ToString::to_string).collect();
            let now: HashMap<String, u64> =
                names.iter().cloned().zip(living.iter().map(|key| key.identity())).collect();
            assert_eq!(now.len(), living.len(), "{names:?}");
            for (name, identity) in &now {
                let is_same = |known: &u64| known == identity || are_told_apart(*known, *identity);
                assert!(before.get(name).is_none_or(is_same), "{name} at {next}");
            }
            before = now;
        }
    }

    #[test]
    fn unchanged_instances_are_the_same_object() {
        let mut numbering = Numbering::default();
        let keys = [key("a", 1), key("b", 2)];
        let first = Arc::clone(numbering.number(&keys));
        assert!(Arc::ptr_eq(&first, numbering.number(&keys)));
        assert!(Arc::ptr_eq(&first, numbering.number(&[key("a", 1), key("b", 2)])));
        assert!(!Arc::ptr_eq(&first, numbering.number(&keys[..1])));
    }

    #[test]
    fn a_reserved_name_belongs_to_its_instance_wherever_it_is_in_the_list() {
        let mut numbering = Numbering::default();
        let [first, second] = [1, 2].map(|identity| key("_Total", identity));
        let other_case = key("_TOTAL", 3);
        let total = Arc::new(InstanceKey::new("_Total", 0, 0).reserved());
        let names = labels(&mut numbering, &[&first, &other_case, &second, &total]);
        assert_eq!(names, ["_Total#1", "_TOTAL#1", "_Total#2", "_Total"]);
        // The name stays reserved while the total is absent, and nobody waits for it.
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total#2"]);
        assert_eq!(labels(&mut numbering, &[&second]), ["_Total#2"]);
        assert_eq!(labels(&mut numbering, &[&second, &first]), ["_Total#2", "_Total#1"]);
        assert_eq!(labels(&mut numbering, &[&total, &first]), ["_Total", "_Total#1"]);
        // A total of other members waits for the name, and another instance does not.
        let of_others = Arc::new(InstanceKey::new("_Total", 0, 1).reserved());
        let another = key("_Total", 4);
        let keys = [&another, &first, &of_others];
        assert_eq!(labels(&mut numbering, &keys), ["_Total#2", "_Total#1", "_Total#3"]);
        assert_eq!(labels(&mut numbering, &keys), ["_Total#2", "_Total#1", "_Total"]);
    }

    #[test]
    fn a_name_that_becomes_reserved_is_given_up() {
        let mut numbering = Numbering::default();
        let impostor = key("_Total", 7);
        let total = Arc::new(InstanceKey::new("_Total", 0, 0).reserved());
        assert_eq!(labels(&mut numbering, &[&impostor]), ["_Total"]);
        // Nobody has the name for one sample: it is never paired with another instance.
        assert_eq!(labels(&mut numbering, &[&impostor, &total]), ["_Total#1", "_Total#2"]);
        assert_eq!(labels(&mut numbering, &[&impostor, &total]), ["_Total#1", "_Total"]);
        assert_eq!(labels(&mut numbering, &[&impostor, &total]), ["_Total#1", "_Total"]);
    }

    #[test]
    fn equal_instances_are_told_apart_by_their_order() {
        let mut numbering = Numbering::default();
        let same = key("same", 0);
        assert_eq!(labels(&mut numbering, &[&same, &same, &same]), ["same", "same#1", "same#2"]);
        assert_eq!(labels(&mut numbering, &[&same, &same]), ["same", "same#1"]);
        assert_eq!(labels(&mut numbering, &[&same, &same, &same]), ["same", "same#1", "same#2"]);
    }

    #[test]
    fn what_is_gone_is_forgotten() {
        let mut numbering = Numbering::default();
        for pid in 0..10_000 {
            let one = key(&format!("worker:{pid}"), pid);
            let churned = key("sh", 100_000 + pid);
            let names = labels(&mut numbering, &[&one, &churned]);
            // Two numbers take turns: one is in use, the other was until just now.
            assert!(names[1] == "sh" || names[1] == "sh#1", "{names:?}");
        }
        assert!(numbering.names.len() <= 4, "{}", numbering.names.len());
        assert!(numbering.table.len() <= 5, "{}", numbering.table.len());
    }
}
