//! The memory of kept samples.

use std::sync::Arc;

use tachograph_counters::RawValue;
use tachograph_counters::sample::{Group, Sample};

/// Estimated memory of an instance that no earlier sample has, with its entry in a list, in bytes.
const INSTANCE_BYTES: usize = 160;

/// The memory of a sample in the ring, in bytes. `previous` is the sample before it: lists of instances are shared between
/// samples until an instance appears or disappears.
pub fn memory_of(sample: &Sample, previous: Option<&Sample>) -> usize {
    let groups = sample.groups.iter().enumerate().map(|(index, group)| {
        let before = previous.and_then(|previous| previous.groups.get(index));
        let is_shared = before.is_some_and(|before| Arc::ptr_eq(&before.instances, &group.instances));
        let instances = if is_shared { 0 } else { group.instances.len() * INSTANCE_BYTES };
        group.values.capacity() * size_of::<RawValue>()
            + group.identities.capacity() * size_of::<u64>()
            + instances
    });
    size_of::<Sample>() + sample.groups.capacity() * size_of::<Group>() + groups.sum::<usize>()
}

/// The buffers of a dropped sample are reused if their capacity is at most this many times the number of the last sample's
/// values.
const MAX_CAPACITY_RATIO: usize = 8;

/// Whether the buffers of a dropped sample are worth keeping for the next one. If all buffers were kept, each sample after a
/// burst of instances would have the memory of the largest sample.
pub fn is_reusable(dropped: &Sample, last: &Sample) -> bool {
    let capacity: usize = dropped.groups.iter().map(|group| group.values.capacity()).sum();
    capacity / MAX_CAPACITY_RATIO <= last.len()
}

#[cfg(test)]
mod tests {
    use tachograph_counters::set::{CounterSet, Extent, Instance, Instances};

    use super::*;

    #[test]
    fn the_memory_of_a_sample_counts_values_groups_and_new_lists() {
        let set = Arc::new(CounterSet::new("FAKE", "Set", Extent::Columns));
        let list = || -> Instances {
            (0..10).map(|id| Arc::new(Instance::new(None, &format!("i{id}"), 0))).collect()
        };
        // A thousand machines with six groups of ten series each.
        let groups = || -> Vec<Group> {
            let group = |_| {
                let mut group = Group::new(Arc::clone(&set));
                group.instances = list();
                group.values = vec![RawValue::default(); 10];
                group.identities = vec![0; 10];
                group
            };
            (0..6000).map(group).collect()
        };
        let first = Sample { groups: groups(), ..Sample::default() };
        let own = 60_000 * (size_of::<RawValue>() + size_of::<u64>()) + 6000 * size_of::<Group>();
        let same = Sample { groups: first.groups.clone(), ..Sample::default() };
        let other = Sample { groups: groups(), ..Sample::default() };
        let base = own + size_of::<Sample>();
        assert_eq!(memory_of(&same, Some(&first)), base, "its lists are those of the sample before it");
        for (sample, previous) in [(&first, None), (&other, Some(&first))] {
            assert_eq!(memory_of(sample, previous), base + 60_000 * INSTANCE_BYTES);
        }
        // A list has a pointer per row, and each instance its names.
        assert!(INSTANCE_BYTES >= size_of::<Arc<Instance>>() + size_of::<Instance>());
    }

    #[test]
    fn large_buffers_are_not_reused_for_small_samples() {
        let set = Arc::new(CounterSet::new("FAKE", "Set", Extent::Columns));
        let sample = |values: usize, capacity: usize| {
            let mut group = Group::new(Arc::clone(&set));
            group.values = Vec::with_capacity(capacity);
            group.values.resize(values, RawValue::default());
            Sample { groups: vec![group], ..Sample::default() }
        };
        assert!(is_reusable(&sample(1000, 1000), &sample(500, 500)));
        assert!(!is_reusable(&sample(10_000, 10_000), &sample(500, 500)));
        // The capacity counts: a small sample can have the buffers of a large one.
        assert!(!is_reusable(&sample(10, 10_000), &sample(500, 500)));
    }
}
