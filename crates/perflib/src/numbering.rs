//! `#n`: telling instances of one name apart.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::set::{Instance, InstanceTable, Instances};

use crate::InstanceKey;

/// Gives the instances of a counter set their display names, sample after sample: the first of a name is `name`, the
/// next `name#1`, and so on.
///
/// An instance keeps its name for as long as it is there. The number of one that is gone is given to another only
/// after a sample in which it was absent: whoever pairs samples by these names never pairs two different instances.
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
/// assert_eq!(labels(&[&second, &third, &first]), ["bash#1", "bash#2", "bash"]);
/// ```
#[derive(Debug, Default)]
pub struct Numbering {
    names: HashMap<Box<str>, Vec<Slot>>,
    table: InstanceTable,
    keys: Vec<Arc<InstanceKey>>,
    instances: Instances,
    /// Counts the samples in which something came or went.
    generation: u64,
    building: Vec<Arc<Instance>>,
}

/// A number of a name, and who has it.
#[derive(Debug)]
struct Slot {
    key: Arc<InstanceKey>,
    instance: Arc<Instance>,
    /// The generation in which it was there last.
    seen: u64,
}

impl Numbering {
    /// The display names of these instances, in their order. The same object as before when nothing came or went.
    pub fn number(&mut self, keys: &[Arc<InstanceKey>]) -> &Instances {
        let is_same = self.generation > 0
            && self.keys.len() == keys.len()
            && self.keys.iter().zip(keys).all(|(known, key)| Arc::ptr_eq(known, key) || known == key);
        if !is_same {
            self.renumber(keys);
        }
        &self.instances
    }

    fn renumber(&mut self, keys: &[Arc<InstanceKey>]) {
        self.generation += 1;
        let generation = self.generation;
        self.building.clear();
        // Who stays keeps its number, so that nobody new takes it.
        let mut places = vec![usize::MAX; keys.len()];
        for (key, place) in keys.iter().zip(&mut places) {
            let Some(slots) = self.names.get_mut(key.full_name()) else { continue };
            let is_it =
                |slot: &Slot| slot.seen != generation && (Arc::ptr_eq(&slot.key, key) || slot.key == *key);
            if let Some(known) = slots.iter().position(is_it) {
                slots[known].seen = generation;
                *place = known;
            }
        }
        for (key, place) in keys.iter().zip(places) {
            if !self.names.contains_key(key.full_name()) {
                self.names.insert(key.full_name().into(), Vec::new());
            }
            let Some(slots) = self.names.get_mut(key.full_name()) else { continue };
            let place = if place < usize::MAX {
                place
            } else {
                let free = slots.iter().position(|slot| slot.seen + 1 < generation);
                let place = free.unwrap_or(slots.len());
                let instance = self.table.intern(key.parent(), key.name(), place as u32);
                let slot = Slot { key: Arc::clone(key), instance, seen: generation };
                if place < slots.len() {
                    slots[place] = slot
                } else {
                    slots.push(slot)
                }
                place
            };
            self.building.push(Arc::clone(&slots[place].instance));
        }
        self.forget_absent();
        self.instances = self.building.as_slice().into();
        self.building.clear();
        self.keys.clear();
        self.keys.extend(keys.iter().cloned());
    }

    /// Forgets numbers that may be given out anew, so that names that come and go do not fill the memory.
    fn forget_absent(&mut self) {
        let generation = self.generation;
        let table = &mut self.table;
        self.names.retain(|_, slots| {
            while slots.last().is_some_and(|slot| slot.seen + 1 < generation) {
                if let Some(slot) = slots.pop() {
                    table.forget(&slot.instance);
                }
            }
            !slots.is_empty()
        });
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
        assert_eq!(labels(&mut numbering, &[&d, &c, &b]), ["x", "x#2", "x#1"]);
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
