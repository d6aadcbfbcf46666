//! When logs began to hold a counter: an instance that the first sample of a later log lacks is gone.

use std::collections::HashMap;

use tachograph_counters::set::Extent;

use super::slot::Slot;
use super::tracked::SeriesKey;

/// In which samples logs began to hold the instances of a counter, for each counter that was met.
#[derive(Default)]
pub(super) struct Columns {
    by_key: HashMap<SeriesKey, u32>,
    /// The latest two such samples of each counter, by their numbers; the later one last.
    begins: Vec<[u64; 2]>,
}

impl Columns {
    /// Notes that a log begins to hold the counters of a slot with this sample; returns their indexes, or `None` where there
    /// are more counters than `limit`. A single fixed instance says nothing about others, so it has no index.
    pub(super) fn begin(&mut self, slot: &Slot, sample: u64, limit: usize) -> Option<Vec<u32>> {
        if slot.set.extent == Extent::Value {
            return Some(Vec::new());
        }
        (0..slot.set.counters.len())
            .map(|column| {
                let key = slot.column_key(column);
                let next = self.begins.len();
                if next >= limit && !self.by_key.contains_key(&key) {
                    return None;
                }
                let index = *self.by_key.entry(key).or_insert(next as u32);
                if index as usize == next {
                    self.begins.push([sample; 2]);
                }
                let [_, last] = &mut self.begins[index as usize];
                if *last != sample {
                    let before = std::mem::replace(last, sample);
                    self.begins[index as usize][0] = before;
                }
                Some(index)
            })
            .collect()
    }

    /// Whether a log began to hold the counter after sample `from` and before sample `to`.
    pub(super) fn began_between(&self, index: u32, from: u64, to: u64) -> bool {
        // Of two that began before `to`, the earlier one decides nothing that the later one does not.
        self.begins[index as usize].iter().any(|&begin| from < begin && begin < to)
    }
}
