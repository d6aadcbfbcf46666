//! The counters of a published set that queries request.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use tachograph_schema::IgnorePoison;

/// The ids of the counters that queries request, with the number of queries for each. `u32::MAX` means all counters of
/// the set.
#[derive(Debug, Default)]
pub(crate) struct RequestedCounters(Mutex<BTreeMap<u32, usize>>);

impl RequestedCounters {
    /// The counters, ordered by id.
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, usize>> {
        self.0.lock().ignore_poison()
    }

    /// Records that a query has added or removed these counters.
    pub(super) fn update(&self, added: &[u32], removed: &[u32]) {
        let mut counts = self.lock();
        added.iter().for_each(|id| *counts.entry(*id).or_default() += 1);
        for id in removed {
            if let Some(count) = counts.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(id);
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }
}
