//! The counter sets of a log, gathered from all groups that hold a part of one.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use indexmap::{IndexMap, IndexSet};
use tachograph_counters::set::{Counter, CounterSet};
use tachograph_counters::wildcard::fold_case;
use tachograph_flow::{ScannedGroup, UnionScan};

/// A counter set of a machine.
pub(crate) struct ListedSet<'a> {
    pub(crate) set: &'a CounterSet,
    pub(crate) counters: Vec<&'a Counter>,
    pub(crate) instances: Vec<&'a str>,
}

/// A set while it is gathered; names compare as in paths.
struct Gathered<'a, S> {
    set: &'a CounterSet,
    counters: IndexMap<String, &'a Counter, S>,
    instances: IndexSet<&'a str, S>,
}

/// The sets, their counters and their instances, each in the order of first appearance.
pub(crate) fn sets(scan: &UnionScan) -> Vec<ListedSet<'_>> {
    gather::<RandomState>(scan.groups())
}

/// Hashes each counter and each instance of a group once: a log can have a group for each of its columns.
fn gather<S: BuildHasher + Default>(groups: &[ScannedGroup]) -> Vec<ListedSet<'_>> {
    let mut sets: IndexMap<_, Gathered<'_, S>, S> = IndexMap::default();
    for ScannedGroup { set, instances, .. } in groups {
        let key = (fold_case(&set.machine), fold_case(&set.name));
        let gathered = sets.entry(key).or_insert_with(|| Gathered {
            set,
            counters: IndexMap::default(),
            instances: IndexSet::default(),
        });
        for counter in &set.counters {
            gathered.counters.entry(fold_case(&counter.name)).or_insert(counter);
        }
        if set.has_instances {
            gathered.instances.extend(instances.iter().map(|instance| instance.label()));
        }
    }
    sets.into_values()
        .map(|gathered| ListedSet {
            set: gathered.set,
            counters: gathered.counters.into_values().collect(),
            instances: gathered.instances.into_iter().collect(),
        })
        .collect()
}

/// The machines, in the order of first appearance.
pub(crate) fn machines(scan: &UnionScan) -> Vec<&str> {
    let mut machines: IndexMap<String, &str> = IndexMap::new();
    for group in scan.groups() {
        let machine = &*group.set.machine;
        if !machine.is_empty() {
            machines.entry(fold_case(machine)).or_insert(machine);
        }
    }
    machines.into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::hash::{DefaultHasher, Hasher};
    use std::sync::Arc;

    use tachograph_counters::CounterType;
    use tachograph_counters::sample::{Group, Sample};
    use tachograph_counters::set::{Extent, InstanceTable};
    use tachograph_flow::Sink as _;

    use super::*;

    thread_local! {
        static HASHED: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts what is hashed on this thread.
    #[derive(Default)]
    struct Counting;

    struct CountingHasher(DefaultHasher);

    impl BuildHasher for Counting {
        type Hasher = CountingHasher;

        fn build_hasher(&self) -> CountingHasher {
            HASHED.set(HASHED.get() + 1);
            CountingHasher(DefaultHasher::new())
        }
    }

    impl Hasher for CountingHasher {
        fn write(&mut self, bytes: &[u8]) {
            self.0.write(bytes);
        }

        fn finish(&self) -> u64 {
            self.0.finish()
        }
    }

    /// A log as text has it: a group for each counter of each instance.
    fn scan_of(instances: u32) -> UnionScan {
        let mut table = InstanceTable::default();
        let mut sample = Sample::default();
        for index in 0..instances {
            let instance = table.intern(None, "a", index);
            for counter in ["First", "first", "Second"] {
                let mut set =
                    CounterSet::new("M", if index == 0 { "PROCESS" } else { "Process" }, Extent::Value);
                set.instance = Some(Arc::clone(&instance));
                set.counters.push(Counter::new(counter, CounterType::RAWCOUNT, 0));
                sample.groups.push(Group::new(Arc::new(set)));
            }
        }
        let mut scan = UnionScan::default();
        scan.take(&sample).expect("a scan takes everything");
        scan
    }

    #[test]
    fn twice_the_instances_are_twice_the_work() {
        let work = |instances| {
            let scan = scan_of(instances);
            HASHED.set(0);
            let listed = gather::<Counting>(scan.groups());
            let names = |listed: &ListedSet<'_>| {
                let counters = listed.counters.iter().map(|counter| counter.name.to_string());
                (listed.set.name.to_string(), counters.collect::<Vec<_>>(), listed.instances.len())
            };
            let expected = ("PROCESS".to_owned(), vec!["First".into(), "Second".into()], instances as usize);
            assert_eq!(listed.iter().map(names).collect::<Vec<_>>(), [expected]);
            HASHED.get()
        };
        let (once, twice) = (work(2_000), work(4_000));
        assert!(once > 0 && twice <= 2 * once + 100, "{once} names hashed, then {twice}");
    }
}
