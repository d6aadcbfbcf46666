//! Which counters of a published set queries want.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The counters of a set that queries want, with how many want each. `u32::MAX` stands for all that the set has.
#[derive(Debug, Default)]
pub(crate) struct Wanted(Mutex<BTreeMap<u32, usize>>);

impl Wanted {
    /// The counters, in the order of their ids.
    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A query wants these counters, too, and those no more.
    pub(super) fn change(&self, added: &[u32], removed: &[u32]) {
        let mut wanted = self.lock();
        added.iter().for_each(|id| *wanted.entry(*id).or_default() += 1);
        for id in removed {
            if let Some(count) = wanted.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    wanted.remove(id);
                }
            }
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.lock().is_empty()
    }
}
