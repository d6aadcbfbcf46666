//! The samples of the ring as a source for stages and sinks.

use std::sync::Arc;

use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::{FlowError, Select, Selection, Source, Window, WindowBounds};

use super::layout::SelectedColumns;

/// A selection of the ring's samples in a time range.
pub(crate) type RingWindow = Select<Window<RingSource>>;

/// The samples of the ring, oldest first. Except for tables, each counter has a separate group: the groups of the ring can
/// divide the same counters differently, and sinks identify a group by its counters.
pub(crate) struct RingSource {
    samples: std::vec::IntoIter<Arc<Sample>>,
    columns: SelectedColumns,
}

impl RingSource {
    /// The samples of a time range, preceded by the baseline of its first interval.
    pub(crate) fn window(
        samples: &[Arc<Sample>],
        paths: &[PathPattern],
        (begin, end): (Option<FileTime>, Option<FileTime>),
    ) -> RingWindow {
        // Samples before the baseline are not needed.
        let first = begin.map_or(0, |begin| samples.partition_point(|sample| sample.at.utc < begin));
        let last = end.map_or(samples.len(), |end| samples.partition_point(|sample| sample.at.utc < end));
        let last = (last + 1).min(samples.len());
        let samples = samples[first.saturating_sub(2).min(last)..last].to_vec();
        let bounds = WindowBounds { begin: begin.map(TimeArgument::Utc), end: end.map(TimeArgument::Utc) };
        let source = Self { samples: samples.into_iter(), columns: SelectedColumns::new(paths.to_vec()) };
        Select::new(Window::new(source, bounds), Selection::new(paths.to_vec()))
    }
}

impl Source for RingSource {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let Some(next) = self.samples.next() else { return Ok(false) };
        sample.copy_head(&next);
        sample.is_baseline = false;
        sample.groups.clear();
        next.groups.iter().for_each(|group| self.columns.copy_each(group, &mut sample.groups));
        Ok(true)
    }
}
