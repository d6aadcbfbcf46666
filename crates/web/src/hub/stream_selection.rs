//! The selection of a stream: its paths, their series and, if requested, the sums over the instances of each name.

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::LiveValues;
use tachograph_flow::{NameSums, Select, Source as _};

use super::RingSource;
use super::layout::Layout;

/// The number of samples from which the first sums are computed, because a value needs two samples.
const FIRST_SAMPLES: usize = 3;

/// The series that the paths of a stream select.
pub(super) struct StreamSelection {
    pub(super) paths: Vec<PathPattern>,
    pub(super) layout: Layout,
    sums: Option<StreamSums>,
}

/// The sums over the instances of each name, in the last sample.
struct StreamSums {
    source: Select<RingSource>,
    /// The selected instances of the last sample.
    sample: Sample,
    sums: NameSums,
    values: LiveValues,
    /// The time of the last sample.
    last: FileTime,
}

impl StreamSelection {
    /// A selection without series. `sums_names`: whether each name has the sum of its instances.
    pub(super) fn new(paths: Vec<PathPattern>, sums_names: bool) -> Self {
        let sums = sums_names.then(|| StreamSums {
            source: RingSource::following(&paths),
            sample: Sample::default(),
            sums: NameSums::default(),
            values: LiveValues::default(),
            last: FileTime(0),
        });
        Self { paths, layout: Layout::default(), sums }
    }

    /// Sums the samples that are later than those of the last call. Returns whether the names changed.
    pub(super) fn follow(&mut self, samples: &[Arc<Sample>]) -> bool {
        let Some(sums) = &mut self.sums else { return false };
        let first = match sums.last {
            FileTime(0) => samples.len().saturating_sub(FIRST_SAMPLES),
            last => samples.partition_point(|sample| sample.at.utc <= last),
        };
        let mut has_changed = false;
        for sample in &samples[first..] {
            sums.last = sample.at.utc;
            sums.source.source_mut().push(Arc::clone(sample));
            if sums.source.next(&mut sums.sample).is_ok_and(|more| more) {
                sums.values.push(sums.sums.push(&sums.sample));
                has_changed |= sums.values.has_changed();
            }
        }
        has_changed
    }

    /// Finds the series of the paths. `values` has the values of the instances.
    pub(super) fn update_layout(&mut self, values: &LiveValues) {
        self.layout = Layout::new(self.shown(values), &self.paths);
    }

    /// The values in the order of the series. `values` has the values of the instances.
    pub(super) fn values(&self, values: &LiveValues) -> Vec<Option<f64>> {
        self.layout.values(self.shown(values)).collect()
    }

    fn shown<'a>(&'a self, values: &'a LiveValues) -> &'a LiveValues {
        self.sums.as_ref().map_or(values, |sums| &sums.values)
    }

    /// The number of values of a sample that are read to compute the values of the series.
    pub(super) fn read_value_count(&self) -> usize {
        let series = self.layout.series.len();
        self.sums.as_ref().map_or(series, |sums| sums.sample.len().max(series))
    }

    pub(super) fn sums_names(&self) -> bool {
        self.sums.is_some()
    }
}
