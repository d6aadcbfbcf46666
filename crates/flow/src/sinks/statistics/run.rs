//! Runs: the values of a group, collected over several samples.

use tachograph_counters::RawValue;
use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;

/// Limits of the memory and the samples of a run. A series spans several cache lines, and a log can have more series than
/// fit into the cache. The values of a run are added series by series, so each series is loaded once per run and not once
/// per sample.
const MAX_RUN_BYTES: usize = 4 << 20;
const MAX_RUN_SAMPLES: usize = 32;
/// The limit for the runs of all groups together. A text log can have a million groups with one value each.
const MAX_RUNS_BYTES: usize = 64 << 20;

/// Maximum number of samples in a run, given the number of groups and values in a sample.
pub(super) fn max_run_samples(groups: usize, values: usize) -> usize {
    let bytes = groups * size_of::<Moment>() + values * size_of::<RawValue>();
    (MAX_RUNS_BYTES / bytes.max(1)).clamp(1, MAX_RUN_SAMPLES)
}

/// The values of a group in consecutive samples that have the same origin.
#[derive(Default)]
pub(super) struct Run {
    /// The values, sample after sample.
    values: Vec<RawValue>,
    pub(super) times: Vec<Moment>,
    /// The index of the last sample.
    pub(super) last: u64,
}

impl Run {
    pub(super) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    pub(super) fn is_full(&self, max_samples: usize) -> bool {
        self.times.len() >= max_samples || size_of_val(&*self.values) >= MAX_RUN_BYTES
    }

    /// Appends the values of the group in `sample`, which has this index.
    pub(super) fn push(&mut self, values: &[RawValue], sample: &Sample, index: u64) {
        self.values.extend_from_slice(values);
        self.times.push(sample.at);
        self.last = index;
    }

    /// The values at one position of the group, which has `group_len` values per sample.
    pub(super) fn values_at(
        &self,
        position: usize,
        group_len: usize,
    ) -> impl Iterator<Item = &RawValue> + Clone {
        self.values.chunks_exact(group_len).map(move |sample| &sample[position])
    }

    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.times.clear();
    }
}
