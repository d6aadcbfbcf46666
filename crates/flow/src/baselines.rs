//! Baselines: the samples before a window with which its first intervals begin.

use std::collections::{BTreeMap, HashMap};

use tachograph_counters::RawValue;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet};

/// Collects the last sample before a window for each distinct list of counters. The list of a sample consists of the counters of
/// all its groups.
///
/// Memory is limited: if the samples need more than 64 MiB, the oldest are dropped. The first intervals of their
/// counters then begin within the window.
#[derive(Default)]
pub struct Baselines {
    /// Keyed by the signature of the list of counters.
    by_list: HashMap<u64, CachedSample>,
    /// The signatures, keyed by sequence number.
    order: BTreeMap<u64, u64>,
    /// Number of samples stored so far.
    samples: u64,
    /// Approximate size of the samples in memory.
    bytes: usize,
}

/// A stored sample, with its approximate size.
struct CachedSample {
    /// The value of [`Baselines::samples`] after the sample was stored.
    sequence_number: u64,
    bytes: usize,
    sample: Sample,
}

/// Approximate limit for the memory of all samples. One sample is always kept.
const MAX_BYTES: usize = 64 << 20;

impl Baselines {
    /// Stores `sample` in place of the last one with the same list of counters, and puts the replaced sample into
    /// `sample` so that its buffers can be reused. `signature` identifies the list.
    pub fn keep(&mut self, signature: u64, sample: &mut Sample) {
        self.samples += 1;
        let bytes = bytes_of(sample);
        self.bytes += bytes;
        match self.by_list.get_mut(&signature) {
            Some(cached) => {
                std::mem::swap(&mut cached.sample, sample);
                self.bytes -= std::mem::replace(&mut cached.bytes, bytes);
                self.order.remove(&std::mem::replace(&mut cached.sequence_number, self.samples));
            }
            None => {
                let cached =
                    CachedSample { sequence_number: self.samples, bytes, sample: std::mem::take(sample) };
                self.by_list.insert(signature, cached);
            }
        }
        self.order.insert(self.samples, signature);
        while self.bytes > MAX_BYTES && self.order.len() > 1 {
            let Some((_, oldest)) = self.order.pop_first() else { break };
            self.bytes -= self.by_list.remove(&oldest).map_or(0, |cached| cached.bytes);
        }
    }

    /// The samples, marked as baselines, latest first.
    pub fn into_latest_first(mut self) -> Vec<Sample> {
        let latest_first = self.order.values().rev();
        latest_first
            .filter_map(|signature| self.by_list.remove(signature))
            .map(|cached| Sample { is_baseline: true, ..cached.sample })
            .collect()
    }
}

/// Approximate size of a sample in memory, including the descriptions of its groups.
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
