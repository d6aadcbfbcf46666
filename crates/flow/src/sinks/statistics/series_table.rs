//! All series of a sink, and the memory limit for them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use tachograph_counters::set::{CounterSet, Instance};
use tachograph_logs::{LogError, Reservation};

use super::StatisticsOptions;
use super::column_starts::ColumnStarts;
use super::instance_change::InstanceChange;
use super::tracked_series::{SeriesKey, TrackedSeries};
use crate::FlowError;

/// Maximum number of series. This many series need about 1.5 GB of memory.
pub(super) const MAX_SERIES: usize = 1 << 20;

/// The memory of a group that has no series, in bytes. If a group has series, [`series_bytes`] includes its memory.
const GROUP_BYTES: u64 = 700;

/// The memory of a series after `samples` samples, including its printed row, in bytes. A series stores a limited
/// number of values for quantiles. Each time their list grows, the allocator may keep the old list's memory.
fn series_bytes(samples: u64, has_regression: bool) -> u64 {
    let stored = samples.next_power_of_two().min(512);
    let regression = if has_regression { REGRESSION_BYTES } else { 0 };
    1100 + 8 * stored + 32 * stored.min(24) + regression
}

/// The memory of the sums for the standard deviation and the slope, in bytes.
const REGRESSION_BYTES: u64 = 1200;

/// The series in order of first appearance, with an index by key.
#[derive(Default)]
pub(super) struct SeriesTable {
    pub(super) options: StatisticsOptions,
    pub(super) series: Vec<TrackedSeries>,
    pub(super) by_key: HashMap<SeriesKey, u32>,
    pub(super) column_starts: ColumnStarts,
    pub(super) instance_change: InstanceChange,
    /// The memory that is reserved for the series, if it is counted against a budget.
    pub(super) memory: Option<Reservation>,
}

impl SeriesTable {
    pub(super) fn new(options: StatisticsOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Returns the index of a series, and adds the series if it is new.
    ///
    /// # Errors
    ///
    /// If there are too many series, or not enough memory for one more series of `samples` samples.
    pub(super) fn find_or_add(
        &mut self,
        key: SeriesKey,
        set: &Arc<CounterSet>,
        column: usize,
        instance: &Arc<Instance>,
        samples: u64,
    ) -> Result<u32, FlowError> {
        let len = self.series.len();
        match self.by_key.entry(key) {
            Entry::Occupied(found) => Ok(*found.get()),
            Entry::Vacant(_) if len >= MAX_SERIES => Err(FlowError::TooManyCounters { max: MAX_SERIES }),
            Entry::Vacant(vacant) => {
                // Memory is reserved for each new series, because a single sample can have more series than there is memory for.
                reserve(&mut self.memory, &self.options, [len + 1, 0], samples)?;
                self.series.push(TrackedSeries::new(set, column, instance, &self.options));
                Ok(*vacant.insert(len as u32))
            }
        }
    }

    /// Reserves the memory that the series need after `samples` samples with `groups` groups.
    pub(super) fn reserve(&mut self, groups: usize, samples: u64) -> Result<(), FlowError> {
        reserve(&mut self.memory, &self.options, [self.series.len(), groups], samples)
    }
}

fn reserve(
    memory: &mut Option<Reservation>,
    options: &StatisticsOptions,
    [series, groups]: [usize; 2],
    samples: u64,
) -> Result<(), FlowError> {
    if let Some(memory) = memory {
        let bytes = (series as u64 * series_bytes(samples, options.extra.need_regression()))
            .max(groups as u64 * GROUP_BYTES);
        memory.grow_to(bytes).map_err(LogError::over_budget)?;
    }
    Ok(())
}
