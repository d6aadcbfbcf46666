//! The kept samples as a source, for the stages and sinks that logs have.

use std::sync::Arc;

use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::{FlowError, Select, Selection, Source, Window, WindowBounds};

use super::layout::is_column_of;

/// What paths select of the kept samples in a stretch of time.
pub(crate) type RingWindow = Select<Window<RingSource>>;

/// The kept samples, oldest first.
pub(crate) struct RingSource {
    samples: std::vec::IntoIter<Arc<Sample>>,
    paths: Vec<PathPattern>,
}

impl RingSource {
    /// What the paths select of a stretch of time, and before it the sample that opens its first interval.
    pub(crate) fn window(
        samples: Vec<Arc<Sample>>,
        paths: &[PathPattern],
        (begin, end): (Option<FileTime>, Option<FileTime>),
    ) -> RingWindow {
        let bounds = WindowBounds { begin: begin.map(TimeArgument::Utc), end: end.map(TimeArgument::Utc) };
        let source = Self { samples: samples.into_iter(), paths: paths.to_vec() };
        Select::new(Window::new(source, bounds), Selection::new(paths.to_vec()))
    }
}

impl Source for RingSource {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let Some(next) = self.samples.next() else { return Ok(false) };
        sample.take_head(&next);
        sample.is_baseline = false;
        sample.groups.clear();
        // What no path can select is not even copied.
        for group in &next.groups {
            if self.paths.is_empty() || self.paths.iter().any(|path| is_column_of(path, &group.set)) {
                sample.groups.push(group.clone());
            }
        }
        Ok(true)
    }
}
