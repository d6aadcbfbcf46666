//! The samples that open the intervals of a window.

use std::collections::{BTreeMap, HashMap};

use tachograph_counters::RawValue;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet};

/// The last sample of each list of counters, while samples pass that come before a window.
///
/// Lists that differ from sample to sample are kept up to a size: beyond it the list that did not come for the longest time
/// is dropped, and a counter that only it had gets its first interval within the window.
#[derive(Default)]
pub struct Baselines {
    /// By the signature of the list.
    by_list: HashMap<u64, Held>,
    /// The signatures in the order in which their samples came.
    order: BTreeMap<u64, u64>,
    came: u64,
    bytes: usize,
}

struct Held {
    came: u64,
    bytes: usize,
    sample: Sample,
}

/// How much memory the samples may take together, about; one sample is always held.
const MAX_BYTES: usize = 64 << 20;

impl Baselines {
    /// Holds a sample in place of the one before with the same list of counters, whose buffers it leaves in `sample`.
    /// `signature` is that of the list.
    pub fn hold(&mut self, signature: u64, sample: &mut Sample) {
        self.came += 1;
        let bytes = bytes_of(sample);
        self.bytes += bytes;
        match self.by_list.get_mut(&signature) {
            Some(held) => {
                std::mem::swap(&mut held.sample, sample);
                self.bytes -= std::mem::replace(&mut held.bytes, bytes);
                self.order.remove(&std::mem::replace(&mut held.came, self.came));
            }
            None => {
                let held = Held { came: self.came, bytes, sample: std::mem::take(sample) };
                self.by_list.insert(signature, held);
            }
        }
        self.order.insert(self.came, signature);
        while self.bytes > MAX_BYTES && self.order.len() > 1 {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.bytes -= self.by_list.remove(&oldest).map_or(0, |held| held.bytes);
        }
    }

    /// The samples, marked as baselines, the one that came last first.
    pub fn into_latest_first(mut self) -> Vec<Sample> {
        let latest_first = self.order.values().rev();
        latest_first
            .filter_map(|signature| self.by_list.remove(signature))
            .map(|held| Sample { is_baseline: true, ..held.sample })
            .collect()
    }
}

/// About what a sample takes in memory with the descriptions of its groups.
fn bytes_of(sample: &Sample) -> usize {
    let group = |group: &Group| {
        let names = group.set.counters.iter().map(|counter| counter.name.len()).sum::<usize>();
        size_of::<Group>()
            + size_of::<CounterSet>()
            + group.set.counters.len() * size_of::<Counter>()
            + names
            + group.values.capacity() * size_of::<RawValue>()
            + (group.instances.len() + group.identities.capacity()) * size_of::<u64>()
    };
    sample.groups.iter().map(group).sum()
}
