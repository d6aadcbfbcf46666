//! The samples of the ring as a source for stages and sinks.

use std::collections::VecDeque;
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::{FlowError, NameSumsSource, Select, Selection, Source, Window, WindowBounds};
use tachograph_monitor::{Reduced, Reducer, Reduction, SeriesTable, Span};

use super::layout::SelectedColumns;

/// A selection of the ring's samples in a time range.
pub(crate) type RingWindow = Select<Window<RingSource>>;

/// The samples of the ring, oldest first. Except for tables, each counter has a separate group, because the groups of the ring
/// can divide the same counters differently, and sinks identify a group by its counters.
pub(crate) struct RingSource {
    samples: VecDeque<Arc<Sample>>,
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
        let samples = samples[first.saturating_sub(2).min(last)..last].to_vec().into();
        let bounds = WindowBounds { begin: begin.map(TimeArgument::Utc), end: end.map(TimeArgument::Utc) };
        let source = Self { samples, columns: SelectedColumns::new(paths.to_vec()) };
        Select::new(Window::new(source, bounds), Selection::new(paths.to_vec()))
    }

    /// A source of the samples that [`push`](Self::push) adds.
    pub(super) fn following(paths: &[PathPattern]) -> Select<Self> {
        let source = Self { samples: VecDeque::new(), columns: SelectedColumns::new(paths.to_vec()) };
        Select::new(source, Selection::new(paths.to_vec()))
    }

    /// Adds a sample.
    pub(super) fn push(&mut self, sample: Arc<Sample>) {
        self.samples.push_back(sample);
    }
}

impl Source for RingSource {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        let Some(next) = self.samples.pop_front() else { return Ok(false) };
        sample.copy_head(&next);
        sample.is_baseline = false;
        sample.groups.clear();
        next.groups.iter().for_each(|group| self.columns.copy_each(group, &mut sample.groups));
        Ok(true)
    }
}

/// Reduces the ring's samples in a time range to a single column, which covers `span`.
pub(super) fn reduce(
    samples: &[Arc<Sample>],
    paths: &[PathPattern],
    bounds: (Option<FileTime>, Option<FileTime>),
    span: Span,
    sums_names: bool,
) -> Result<Reduced, FlowError> {
    let window = RingSource::window(samples, paths, bounds);
    let mut source: Box<dyn Source> = match sums_names {
        true => Box::new(NameSumsSource::new(window)),
        false => Box::new(window),
    };
    let (mut reduction, mut table, mut reducer) =
        (Reduction::new(span, 1), SeriesTable::default(), Reducer::default());
    let mut sample = Sample::default();
    while source.next(&mut sample)? {
        reducer.push(&sample, &mut reduction, &mut table)?;
    }
    reducer.cut(&mut reduction, &mut table);
    Ok(reduction.finish(&table, paths))
}
