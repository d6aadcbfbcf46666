//! The samples at which logs begin to contain a counter. An instance that is missing from the first sample of a later log has
//! ended.

use std::collections::HashMap;

use tachograph_counters::set::Extent;

use super::group_series::GroupSeries;
use super::series_table::MAX_SERIES;
use super::tracked_series::SeriesKey;
use crate::FlowError;

/// For each counter, the samples at which logs began to contain its instances.
#[derive(Default)]
pub(super) struct ColumnStarts {
    by_key: HashMap<SeriesKey, u32>,
    /// For each counter, the indexes of the latest two of these samples, in ascending order.
    starts: Vec<[u64; 2]>,
}

impl ColumnStarts {
    /// Records that a log begins to contain the counters of a group at this sample. Returns the index of each counter;
    /// empty if the group has a single fixed instance, since it says nothing about other instances.
    ///
    /// # Errors
    ///
    /// If there are too many counters.
    pub(super) fn record(&mut self, group: &GroupSeries, sample: u64) -> Result<Vec<u32>, FlowError> {
        if group.set.extent == Extent::Row {
            return Ok(Vec::new());
        }
        (0..group.set.counters.len())
            .map(|column| {
                let key = group.column_key(column);
                let next = self.starts.len();
                if next >= MAX_SERIES && !self.by_key.contains_key(&key) {
                    return Err(FlowError::TooManyCounters { max: MAX_SERIES });
                }
                let index = *self.by_key.entry(key).or_insert(next as u32);
                if index as usize == next {
                    self.starts.push([sample; 2]);
                }
                let [earlier, latest] = &mut self.starts[index as usize];
                if *latest != sample {
                    *earlier = std::mem::replace(latest, sample);
                }
                Ok(index)
            })
            .collect()
    }

    /// Whether a log began to contain the counter after sample `from` and before sample `to`.
    pub(super) fn started_between(&self, index: u32, from: u64, to: u64) -> bool {
        // The latest start can be `to` itself, so the one before it is checked too.
        self.starts[index as usize].iter().any(|&start| from < start && start < to)
    }
}
