//! The keys of a set's instances, which are reused from one collection to the next.

use std::collections::VecDeque;
use std::sync::Arc;

use tachograph_perflib::InstanceKey;

/// Maximum number of keys that are searched for the key of an instance. The keys before the one that is found belong to
/// instances that have ended.
const MAX_SEARCHED: usize = 64;

/// The keys of the last collection. In a collection, keys move from the front to the back in the order of the instances, so
/// the time is proportional to the number of instances, whatever instances an agent sends.
#[derive(Debug, Default)]
pub(super) struct KnownKeys {
    /// The keys of the previous collection that are not reused yet, then those of the current one.
    keys: VecDeque<Arc<InstanceKey>>,
    /// The number of keys of the previous collection that are not reused yet.
    unused: usize,
}

impl KnownKeys {
    /// Begins a collection.
    pub(super) fn begin(&mut self) {
        self.unused = self.keys.len();
    }

    /// The key of the next instance: the key of the previous collection for which `is_same` is true, or else a new one.
    pub(super) fn next(
        &mut self,
        is_same: impl Fn(&InstanceKey) -> bool,
        new: impl FnOnce() -> InstanceKey,
    ) -> &Arc<InstanceKey> {
        let searched = self.keys.iter().take(self.unused.min(MAX_SEARCHED));
        let found = searched.map(|key| &**key).position(is_same);
        let reused = found.and_then(|index| {
            self.keys.drain(..index);
            self.unused -= index + 1;
            self.keys.pop_front()
        });
        self.keys.push_back(reused.unwrap_or_else(|| Arc::new(new())));
        &self.keys[self.keys.len() - 1]
    }

    /// Ends a collection: drops the keys of the instances that have ended.
    pub(super) fn end(&mut self) {
        self.keys.drain(..self.unused);
        self.unused = 0;
    }
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    fn collect(known: &mut KnownKeys, ids: impl Iterator<Item = u32>) -> Vec<Arc<InstanceKey>> {
        known.begin();
        let keys = ids.map(|id| {
            let new = || InstanceKey::new(id.to_string(), id, 0);
            Arc::clone(known.next(|key| key.id() == id, new))
        });
        let keys = keys.collect();
        known.end();
        keys
    }

    #[test]
    fn keys_of_remaining_instances_are_reused() {
        let mut known = KnownKeys::default();
        let before = collect(&mut known, 0..100);
        for (ids, remaining) in [
            ((0..100).collect::<Vec<u32>>(), 100),
            // Some have ended at the beginning, in the middle and at the end; others are new.
            ((1..40).chain(60..90).chain(200..210).collect(), 69),
            ([7].into_iter().chain(1..40).chain([300]).chain(60..90).collect(), 69 - 6),
        ] {
            let after = collect(&mut known, ids.iter().copied());
            assert_eq!(after.iter().map(|key| key.id()).collect::<Vec<_>>(), ids);
            let reused = after.iter().filter(|key| before.iter().any(|known| Arc::ptr_eq(known, key)));
            assert_eq!(reused.count(), remaining);
            assert_eq!(known.keys.len(), ids.len());
        }
    }

    /// The processor time of this thread in seconds.
    fn processor_seconds() -> f64 {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    }

    #[test]
    fn an_agent_that_replaces_all_instances_does_not_cost_quadratic_time() {
        let count = 200_000;
        let mut known = KnownKeys::default();
        let mut cost = |ids: std::ops::Range<u32>| {
            let start = processor_seconds();
            collect(&mut known, ids);
            processor_seconds() - start
        };
        let first = cost(0..count);
        let replaced = cost(count..2 * count);
        // Inserting each key between others would take several hundred times as long.
        assert!(replaced < 100.0 * first, "{first} s, then {replaced} s");
    }
}
