//! Shares equal descriptions of counter sets among machines: the agents of a fleet have largely the same sets.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Guid, IgnorePoison};

/// The descriptions in use, by the set's GUID.
#[derive(Default)]
struct Descriptions {
    known: HashMap<Guid, Vec<Weak<CounterSetInfo>>>,
    /// If there are more GUIDs than this, unused ones are removed.
    max: usize,
}

static DESCRIPTIONS: Mutex<Option<Descriptions>> = Mutex::new(None);

/// An equal description that is already in use, or else this one.
pub(super) fn shared(info: Arc<CounterSetInfo>) -> Arc<CounterSetInfo> {
    DESCRIPTIONS.lock().ignore_poison().get_or_insert_default().shared(info)
}

impl Descriptions {
    fn shared(&mut self, info: Arc<CounterSetInfo>) -> Arc<CounterSetInfo> {
        let of_set = self.known.entry(info.guid).or_default();
        if let Some(known) = of_set.iter().filter_map(Weak::upgrade).find(|known| **known == *info) {
            return known;
        }
        of_set.retain(|known| known.strong_count() > 0);
        of_set.push(Arc::downgrade(&info));
        if self.known.len() > self.max {
            self.known.retain(|_, of_set| of_set.iter().any(|known| known.strong_count() > 0));
            self.max = 2 * self.known.len() + 64;
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use tachograph_perflib::registration::InstanceType;

    use super::*;

    #[test]
    fn equal_descriptions_are_shared_while_in_use() {
        let mut descriptions = Descriptions::default();
        let described = |guid: u128, name: &str| {
            Arc::new(CounterSetInfo::new(name, Guid::from_u128(guid), InstanceType::Single))
        };
        let first = descriptions.shared(described(1, "A"));
        assert!(Arc::ptr_eq(&first, &descriptions.shared(described(1, "A"))));
        let other = descriptions.shared(described(1, "B"));
        assert_eq!((&*first.name, &*other.name), ("A", "B"));
        assert!(Arc::ptr_eq(&other, &descriptions.shared(described(1, "B"))));
        drop((first, other));
        let again = descriptions.shared(described(1, "A"));
        assert_eq!(Arc::strong_count(&again), 1);
        // Unused descriptions take no memory.
        for guid in 2..10_000 {
            descriptions.shared(described(guid, "A"));
        }
        assert!(descriptions.known.len() < 100, "{}", descriptions.known.len());
        assert!(Arc::ptr_eq(&again, &descriptions.shared(described(1, "A"))));
    }
}
