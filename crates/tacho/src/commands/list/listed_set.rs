//! The counter sets of a log, collected from all its groups.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

use indexmap::{IndexMap, IndexSet};
use tachograph_counters::set::{Counter, CounterSet};
use tachograph_counters::wildcard::fold_case;
use tachograph_flow::{ScannedGroup, UnionScan};

pub(crate) struct ListedSet<'a> {
    pub(crate) set: &'a CounterSet,
    pub(crate) counters: Vec<&'a Counter>,
    pub(crate) instances: Vec<&'a str>,
}

/// A set that is being collected. As in paths, case is ignored in the names of counters.
struct PartialSet<'a, S> {
    set: &'a CounterSet,
    counters: IndexMap<String, &'a Counter, S>,
    instances: IndexSet<&'a str, S>,
}

/// The sets, their counters and their instances, each in the order of first appearance.
pub(crate) fn sets(scan: &UnionScan) -> Vec<ListedSet<'_>> {
    collect_sets::<RandomState>(scan.groups())
}

/// Hashes each counter and each instance of a group only once, because a log can have one group per column.
fn collect_sets<S: BuildHasher + Default>(groups: &[ScannedGroup]) -> Vec<ListedSet<'_>> {
    let mut sets: IndexMap<_, PartialSet<'_, S>, S> = IndexMap::default();
    for ScannedGroup { set, instances, .. } in groups {
        let key = (fold_case(&set.machine), fold_case(&set.name));
        let partial = sets.entry(key).or_insert_with(|| PartialSet {
            set,
            counters: IndexMap::default(),
            instances: IndexSet::default(),
        });
        for counter in &set.counters {
            partial.counters.entry(fold_case(&counter.name)).or_insert(counter);
        }
        if set.has_instances {
            partial.instances.extend(instances.iter().map(|instance| instance.label()));
        }
    }
    sets.into_values()
        .map(|partial| ListedSet {
            set: partial.set,
            counters: partial.counters.into_values().collect(),
            instances: partial.instances.into_iter().collect(),
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

    /// Counts the hashes computed on this thread.
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

    /// A scan of a text log, which has a group for each counter of each instance.
    fn scan_of(instances: u32) -> UnionScan {
        let mut table = InstanceTable::default();
        let mut sample = Sample::default();
        for index in 0..instances {
            let instance = table.intern(None, "a", index);
            for counter in ["First", "first", "Second"] {
                let mut set =
                    CounterSet::new("M", if index == 0 { "PROCESS" } else { "Process" }, Extent::Row);
                set.instance = Some(Arc::clone(&instance));
                set.counters.push(Counter::new(counter, CounterType::RAWCOUNT, 0));
                sample.groups.push(Group::new(Arc::new(set)));
            }
        }
        let mut scan = UnionScan::default();
        scan.push(&sample).expect("a scan accepts every sample");
        scan
    }

    #[test]
    fn work_is_linear_in_the_number_of_instances() {
        let work = |instances| {
            let scan = scan_of(instances);
            HASHED.set(0);
            let listed = collect_sets::<Counting>(scan.groups());
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
