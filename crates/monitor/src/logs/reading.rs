//! Reduces a span of one machine's logs: buckets that lie within one column are taken from the index, other samples are
//! read from the file.

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{Baselines, FlowError, SeekableSource, Sink, Source};

use super::index::{Bucket, Index};
use crate::reduced::Reduction;
use crate::series::{SeriesId, SeriesTable};

/// Adds the samples of a span to a reduction. They are the same ones that [`Window`](tachograph_flow::Window) selects,
/// including the samples before the span that open its first intervals.
pub(super) struct Reading<'a> {
    source: &'a mut SeekableSource,
    index: &'a Index,
    table: &'a mut SeriesTable,
    reduction: &'a mut Reduction,
    paths: &'a [PathPattern],
    /// Computes the statistics of samples that are read from the file.
    sink: StatisticsSink,
    /// Maps the sink's series index to the series' [slot](Reduction::slot_of) in the reduction; `None` if the series is
    /// not charted.
    slots: Vec<Option<usize>>,
    /// The sample that was read last.
    sample: Sample,
    /// Index of the span's first sample.
    begin: u64,
    /// The samples that open the first intervals of the span; `None` until they are read.
    baselines: Option<Vec<Sample>>,
    /// Index of the sample after the last one that the sink received.
    ready_for: Option<u64>,
    /// The sink has received all samples from this index up to `ready_for`.
    fed_from: u64,
    /// The column of the samples since the last cut.
    column: Option<usize>,
}

fn is_charted(id: SeriesId, paths: &[PathPattern], table: &SeriesTable) -> bool {
    table.get(id).is_some_and(|info| paths.iter().any(|path| info.is_selected_by(path)))
}

fn oldest_first(baselines: Baselines) -> Vec<Sample> {
    let mut samples = baselines.into_latest_first();
    samples.reverse();
    samples
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        source: &'a mut SeekableSource,
        index: &'a Index,
        paths: &'a [PathPattern],
        table: &'a mut SeriesTable,
        reduction: &'a mut Reduction,
    ) -> Self {
        let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
        Self {
            source,
            index,
            table,
            reduction,
            paths,
            sink: StatisticsSink::new(options),
            slots: Vec::new(),
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
        let buckets = &self.index.buckets;
        let Some(first) = buckets.iter().position(|bucket| bucket.latest >= span.begin()) else {
            return Ok(());
        };
        let end = buckets[first..].iter().position(|bucket| bucket.latest >= span.end());
        let last = end.map_or(buckets.len() - 1, |end| first + end);
        if !self.find_begin(first)? {
            return Ok(());
        }
        let charted_slot = |id| is_charted(id, self.paths, self.table).then(|| self.reduction.slot_of(id));
        let mut cells = self.index.cells_from(first, charted_slot);
        for (index, bucket) in buckets.iter().enumerate().take(last + 1).skip(first) {
            let (from, to) = self.index.range_of(index);
            let is_in_span = from >= self.begin && (end.is_none() || index < last);
            match self.column_of(bucket).filter(|_| is_in_span) {
                Some(column) => {
                    self.flush_column();
                    let reduction = &mut *self.reduction;
                    cells.at(index, |slot, stored| reduction.add_stored(slot, column, stored));
                }
                None => {
                    if !self.read(from.max(self.begin), to, bucket.oldest_needed)? {
                        break;
                    }
                }
            }
        }
        self.flush_column();
        Ok(())
    }

    /// Finds the index of the span's first sample, which is in this bucket. Returns false if the log has no such sample any
    /// more.
    fn find_begin(&mut self, bucket: usize) -> Result<bool, FlowError> {
        let span = self.reduction.span();
        let (from, to) = self.index.range_of(bucket);
        self.begin = from;
        if self.index.buckets[bucket].earliest >= span.begin() {
            return Ok(true);
        }
        if !self.source.seek(from)? {
            return Ok(false);
        }
        while self.begin < to && self.source.next(&mut self.sample)? {
            if self.sample.at.utc >= span.begin() {
                return Ok(true);
            }
            self.begin += 1;
        }
        Ok(false)
    }

    /// The column that contains all samples of a bucket; `None` if they are in several columns, or if the bucket's
    /// statistics are not valid for the span.
    fn column_of(&self, bucket: &Bucket) -> Option<usize> {
        let column = |at| self.reduction.span().column_of(at, self.reduction.columns());
        // The statistics are not valid if an interval of the bucket begins before the last sample that precedes the
        // span.
        let is_valid = bucket.oldest_needed >= self.begin.saturating_sub(1);
        let only = column(bucket.earliest).filter(|&only| column(bucket.latest) == Some(only));
        only.filter(|_| is_valid && self.index.sink.is_some())
    }

    /// Reads samples `from` to `to` (exclusive) from the file. Returns false at the end of the span or of the log.
    fn read(&mut self, from: u64, to: u64, oldest_needed: u64) -> Result<bool, FlowError> {
        if self.ready_for != Some(from) || oldest_needed < self.fed_from {
            self.open_at(from, oldest_needed)?;
        }
        self.ready_for = None;
        if !self.source.seek(from)? {
            return Ok(false);
        }
        for index in from..to {
            let span = *self.reduction.span();
            if !self.source.next(&mut self.sample)? || self.sample.at.utc >= span.end() {
                return Ok(false);
            }
            if !self.sample.is_baseline {
                let columns = self.reduction.columns();
                // If the clock was set back to before the span, the column stays the same.
                let column = span.column_of(self.sample.at.utc, columns).or(self.column).unwrap_or_default();
                if self.column != Some(column) {
                    self.flush_column();
                    self.column = Some(column);
                }
            }
            self.sink.push(&self.sample)?;
            self.ready_for = Some(index + 1);
        }
        Ok(true)
    }

    /// Reads the samples, starting with `oldest_needed`, that open the intervals that end at sample `from` or later.
    fn open_at(&mut self, from: u64, oldest_needed: u64) -> Result<(), FlowError> {
        self.flush_column();
        self.sink.interrupt();
        let mut start = oldest_needed.min(from.saturating_sub(1));
        self.fed_from = start;
        if start < self.begin {
            self.fed_from = 0;
            self.open_span()?;
            start = self.begin;
        }
        if start < from && self.source.seek(start)? {
            for _ in start..from {
                if !self.source.next(&mut self.sample)? {
                    break;
                }
                self.sample.is_baseline = true;
                self.sink.push(&self.sample)?;
            }
        }
        // These samples only open intervals.
        self.sink.cut(|_, _| {});
        Ok(())
    }

    /// Passes the samples that open the first intervals of the span to the sink.
    fn open_span(&mut self) -> Result<(), FlowError> {
        let baselines = match self.baselines.take() {
            Some(baselines) => baselines,
            None => match self.source.baselines_before(self.begin) {
                Some(indexes) => self.read_baselines(&indexes)?,
                None => self.find_baselines()?,
            },
        };
        for sample in self.baselines.insert(baselines) {
            self.sink.push(sample)?;
        }
        Ok(())
    }

    fn read_baselines(&mut self, indexes: &[u64]) -> Result<Vec<Sample>, FlowError> {
        let mut baselines = Baselines::default();
        for &index in indexes {
            if self.source.seek(index)? && self.source.next(&mut self.sample)? {
                baselines.keep(self.source.signature(), &mut self.sample);
            }
        }
        Ok(oldest_first(baselines))
    }

    /// Reads all samples before the span, because the lists of counters changed too often to remember where each list
    /// ends.
    fn find_baselines(&mut self) -> Result<Vec<Sample>, FlowError> {
        let mut baselines = Baselines::default();
        if self.source.seek(0)? {
            for _ in 0..self.begin {
                if !self.source.next(&mut self.sample)? {
                    break;
                }
                baselines.keep(self.source.signature(), &mut self.sample);
            }
        }
        Ok(oldest_first(baselines))
    }

    /// Adds the samples since the last cut to their column.
    fn flush_column(&mut self) {
        let Some(column) = self.column.take() else { return };
        let Self { sink, slots, table, reduction, paths, .. } = self;
        for index in slots.len()..sink.len() {
            let Some(row) = sink.row(index) else { return };
            let id = table.id_of(&row);
            slots.push(is_charted(id, paths, table).then(|| reduction.slot_of(id)));
        }
        sink.cut(|index, state| {
            if let Some(slot) = slots[index] {
                reduction.add_at(slot, column, state);
            }
        });
    }
}
