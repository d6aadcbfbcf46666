//! Statistics of a moving window of live values, computed once for all streams with the same selection.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_monitor::Span;

use super::ring::reduce;
use super::stream_selection::StreamSelection;
use crate::series::{Statistics, rfc3339};

/// The maximum number of values in a window. A stream with more gets no statistics: computing them would delay the collection.
const MAX_VALUES: usize = 200_000;
/// A millisecond in units of 100 ns.
const MILLISECOND: i64 = FileTime::PER_SECOND / 1000;

/// The statistics of a stream's series, in the order of its layout.
#[derive(Serialize)]
pub(super) struct WindowStatistics {
    begin: String,
    end: String,
    statistics: Vec<Option<Statistics>>,
    #[serde(skip)]
    values: usize,
}

impl WindowStatistics {
    /// Computes the statistics of the last `intervals` intervals; the range is rounded outwards to whole milliseconds.
    /// `None` if there are more than [`MAX_VALUES`] or `max_values` values, or no samples.
    pub(super) fn new(
        samples: &[Arc<Sample>],
        selection: &StreamSelection,
        intervals: usize,
        interval: Duration,
        max_values: usize,
    ) -> Option<Self> {
        let last = samples.last()?.at.utc;
        let values = selection.read_value_count().saturating_mul(intervals.min(samples.len()));
        if values > MAX_VALUES.min(max_values) {
            return None;
        }
        let units = i64::try_from(interval.as_nanos() / 100 * intervals as u128).ok()?;
        let begin = whole_milliseconds(last.saturating_add(-units));
        let end = whole_milliseconds(last.saturating_add(2 * MILLISECOND - 1));
        let span = Span::new(begin, end);
        let bounds = (Some(begin), Some(end));
        let reduced = reduce(samples, &selection.paths, bounds, span, selection.sums_names()).ok()?;
        let by_path: HashMap<&str, _> =
            reduced.series.iter().map(|series| (&*series.info.path, series)).collect();
        let statistics_of = |path: &str| {
            by_path.get(path).map(|series| Statistics::new(&series.summary, &series.info.counter))
        };
        let statistics = selection.layout.series.iter().map(|one| statistics_of(&one.path)).collect();
        Some(Self { begin: rfc3339(begin), end: rfc3339(end), statistics, values })
    }

    /// The number of values in the window.
    pub(super) fn values(&self) -> usize {
        self.values
    }
}

fn whole_milliseconds(time: FileTime) -> FileTime {
    FileTime(time.0 - time.0.rem_euclid(MILLISECOND))
}
