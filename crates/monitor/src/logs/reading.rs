//! A span of one machine's logs: from the index where a bucket lies within a column, from the file where it does not.

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{Baselines, FlowError, Sink, Source, Stretch};

use super::index::{Bucket, Index};
use crate::reduced::Reduction;
use crate::series::{SeriesId, SeriesTable};

/// Adds the samples of a span to a reduction, as [`Window`](tachograph_flow::Window) cuts them out: from the first sample
/// that is not before its begin to the one before the first that is not before its end, opened by the samples before.
pub(super) struct Reading<'a> {
    stretch: &'a mut Stretch,
    index: &'a Index,
    table: &'a mut SeriesTable,
    reduction: &'a mut Reduction,
    paths: &'a [PathPattern],
    sink: StatisticsSink,
    /// By the sink's number the place in the reduction; `None` for what is not charted.
    places: Vec<Option<usize>>,
    sample: Sample,
    /// The number of the span's first sample.
    begin: u64,
    /// The samples that open the span, once they were needed.
    baselines: Option<Vec<Sample>>,
    /// The number of the sample that the sink is ready for, and of the first of those that it has from there to here.
    ready_for: Option<u64>,
    fed_from: u64,
    /// The column of the samples since the last cut.
    column: Option<usize>,
}

/// Whether one of the paths selects a series.
fn is_charted(id: SeriesId, paths: &[PathPattern], table: &SeriesTable) -> bool {
    table.get(id).is_some_and(|info| paths.iter().any(|path| info.is_selected_by(path)))
}

/// The samples in the order in which they came.
fn in_order(baselines: Baselines) -> Vec<Sample> {
    let mut samples = baselines.into_latest_first();
    samples.reverse();
    samples
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        stretch: &'a mut Stretch,
        index: &'a Index,
        paths: &'a [PathPattern],
        table: &'a mut SeriesTable,
        reduction: &'a mut Reduction,
    ) -> Self {
        let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
        Self {
            stretch,
            index,
            table,
            reduction,
            paths,
            sink: StatisticsSink::new(options),
            places: Vec::new(),
            sample: Sample::default(),
            begin: 0,
            baselines: None,
            ready_for: None,
            fed_from: 0,
            column: None,
        }
    }

    pub(super) fn run(mut self) -> Result<(), FlowError> {
        let span = *self.reduction.span();
        let buckets = self.index.buckets();
        let Some(first) = buckets.iter().position(|bucket| bucket.latest >= span.begin()) else {
            return Ok(());
        };
        let end = buckets[first..].iter().position(|bucket| bucket.latest >= span.end());
        let last = end.map_or(buckets.len() - 1, |end| first + end);
        if !self.find_begin(first)? {
            return Ok(());
        }
        let chosen = |id| is_charted(id, self.paths, self.table).then(|| self.reduction.place(id));
        let mut cells = self.index.cells_from(first, chosen);
        for (number, bucket) in buckets.iter().enumerate().take(last + 1).skip(first) {
            let (from, to) = self.index.range_of(number);
            let is_whole = from >= self.begin && (end.is_none() || number < last);
            match self.column_of(bucket).filter(|_| is_whole) {
                Some(column) => {
                    self.cut();
                    let reduction = &mut *self.reduction;
                    cells.of(number, |place, kept| reduction.add_kept(place, column, kept));
                }
                None => {
                    if !self.read(from.max(self.begin), to, bucket.reach)? {
                        break;
                    }
                }
            }
        }
        self.cut();
        Ok(())
    }

    /// Finds the span's first sample, which is in this bucket; false when it cannot be read any more.
    fn find_begin(&mut self, bucket: usize) -> Result<bool, FlowError> {
        let span = self.reduction.span();
        let (from, to) = self.index.range_of(bucket);
        self.begin = from;
        if self.index.buckets()[bucket].earliest >= span.begin() {
            return Ok(true);
        }
        if !self.stretch.go_to(from)? {
            return Ok(false);
        }
        while self.begin < to && self.stretch.next(&mut self.sample)? {
            if self.sample.at.utc >= span.begin() {
                return Ok(true);
            }
            self.begin += 1;
        }
        Ok(false)
    }

    /// The column that all samples of a bucket fall into, where its statistics are those of the span.
    fn column_of(&self, bucket: &Bucket) -> Option<usize> {
        let column = |at| self.reduction.span().column_of(at, self.reduction.columns());
        // An interval that a sample further back opens has no begin in this span.
        let is_of_span = bucket.reach >= self.begin.saturating_sub(1);
        let only = column(bucket.earliest).filter(|&only| column(bucket.latest) == Some(only));
        only.filter(|_| is_of_span && self.index.has_cells())
    }

    /// Reads samples from the file; false when the span has ended or there are no more.
    fn read(&mut self, from: u64, to: u64, reach: u64) -> Result<bool, FlowError> {
        if self.ready_for != Some(from) || reach < self.fed_from {
            self.open_at(from, reach)?;
        }
        self.ready_for = None;
        if !self.stretch.go_to(from)? {
            return Ok(false);
        }
        for number in from..to {
            let span = *self.reduction.span();
            if !self.stretch.next(&mut self.sample)? || self.sample.at.utc >= span.end() {
                return Ok(false);
            }
            if !self.sample.is_baseline {
                let columns = self.reduction.columns();
                // A clock that was set back leaves the span on its left: the chart stays where it is.
                let column = span.column_of(self.sample.at.utc, columns).or(self.column).unwrap_or_default();
                if self.column != Some(column) {
                    self.cut();
                    self.column = Some(column);
                }
            }
            self.sink.take(&self.sample)?;
            self.ready_for = Some(number + 1);
        }
        Ok(true)
    }

    /// Takes what opens the intervals that end from a sample on.
    fn open_at(&mut self, from: u64, reach: u64) -> Result<(), FlowError> {
        self.cut();
        self.sink.interrupt();
        let mut start = reach.min(from.saturating_sub(1));
        self.fed_from = start;
        if start < self.begin {
            self.fed_from = 0;
            self.take_baselines()?;
            start = self.begin;
        }
        if start < from && self.stretch.go_to(start)? {
            for _ in start..from {
                if !self.stretch.next(&mut self.sample)? {
                    break;
                }
                self.sample.is_baseline = true;
                self.sink.take(&self.sample)?;
            }
        }
        // They have covered a moment but counted nothing.
        self.sink.cut(|_, _| {});
        Ok(())
    }

    /// Takes the samples that open the span.
    fn take_baselines(&mut self) -> Result<(), FlowError> {
        let baselines = match self.baselines.take() {
            Some(baselines) => baselines,
            None => match self.stretch.baselines_before(self.begin) {
                Some(numbers) => self.read_baselines(&numbers)?,
                None => self.find_baselines()?,
            },
        };
        for sample in self.baselines.insert(baselines) {
            self.sink.take(sample)?;
        }
        Ok(())
    }

    fn read_baselines(&mut self, numbers: &[u64]) -> Result<Vec<Sample>, FlowError> {
        let mut baselines = Baselines::default();
        for &number in numbers {
            if self.stretch.go_to(number)? && self.stretch.next(&mut self.sample)? {
                baselines.hold(self.stretch.signature(), &mut self.sample);
            }
        }
        Ok(in_order(baselines))
    }

    /// Reads all that is before the span: its lists of counters changed too often to know where they ended.
    fn find_baselines(&mut self) -> Result<Vec<Sample>, FlowError> {
        let mut baselines = Baselines::default();
        if self.stretch.go_to(0)? {
            for _ in 0..self.begin {
                if !self.stretch.next(&mut self.sample)? {
                    break;
                }
                baselines.hold(self.stretch.signature(), &mut self.sample);
            }
        }
        Ok(in_order(baselines))
    }

    /// Adds what was read since the last cut to its column.
    fn cut(&mut self) {
        let Some(column) = self.column.take() else { return };
        let Self { sink, places, table, reduction, paths, .. } = self;
        for number in places.len()..sink.len() {
            let Some(row) = sink.row(number) else { return };
            let id = table.number(&row);
            places.push(is_charted(id, paths, table).then(|| reduction.place(id)));
        }
        sink.cut(|number, state| {
            if let Some(place) = places[number] {
                reduction.add_at(place, column, state);
            }
        });
    }
}
