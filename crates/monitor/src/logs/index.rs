//! An index of logs: statistics of short time ranges, and the positions of their samples.

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, Sink};
use tachograph_logs::{LogError, Reservation};

use super::cells::{CELL_BYTES, CellCursor, IndexedSeries, StoredState};
use super::opening::sample_bytes;
use crate::series::{SeriesId, SeriesTable};
use crate::span::Span;

/// With more buckets, pairs of them are merged.
const MAX_BUCKETS: usize = 1 << 16;

/// With fewer buckets, statistics would save too little, so they are dropped and each chart reads the logs again.
const MIN_BUCKETS: usize = 16;

/// Number of samples after which the caller estimates the total number; see [`Index::wants_estimate`].
const ESTIMATE_AFTER_SAMPLES: u64 = 2048;

/// Maximum number of times between samples that are kept to find their median.
const MAX_INTERVALS: usize = 4096;

/// The samples of one machine's logs in buckets of 2^n samples: the times of each bucket, and the statistics of each
/// counter over it.
///
/// Memory is bounded: at the limit, pairs of buckets are merged.
pub(super) struct Index {
    /// Samples per bucket; the last bucket can have fewer.
    width: u64,
    /// Number of samples, including baselines.
    samples: u64,
    /// Number of samples without baselines.
    counted: u64,
    /// The earliest time of the `counted` samples.
    first_time: Option<FileTime>,
    /// The latest time of the `counted` samples.
    last_time: Option<FileTime>,
    /// Times between the first [`MAX_INTERVALS`] of the `counted` samples, in units of 100 ns.
    intervals: Vec<i64>,
    pub(super) buckets: Vec<Bucket>,
    /// Indexed by the sink's series index.
    series: Vec<IndexedSeries>,
    /// Bytes used by the statistics in `series`.
    bytes: usize,
    /// Computes the statistics; `None` if they would need too much memory.
    pub(super) sink: Option<StatisticsSink>,
    /// Limit on `bytes`.
    max_bytes: usize,
    memory: Reservation,
    /// Bytes for the tables of series and for samples in flight, which are needed even without statistics.
    fixed_bytes: u64,
    /// Whether the logs are text logs, whose readers reserve the memory of each counter themselves.
    is_formatted: bool,
}

/// Memory of one series, in bytes: its state, its path twice, and its entries in several tables.
const SERIES_BYTES: u64 = 1500;

/// Consecutive samples whose statistics are stored together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// The earliest time of its samples, including baselines.
    pub(super) earliest: FileTime,
    /// The latest time of its samples, including baselines.
    pub(super) latest: FileTime,
    /// Index of the earliest sample that opens an interval which ends in this bucket.
    pub(super) oldest_needed: u64,
}

impl Index {
    /// An index whose statistics use up to `max_bytes`, and no more than the reservation can provide.
    pub(super) fn new(max_bytes: usize, memory: Reservation, is_formatted: bool) -> Self {
        let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
        Self {
            width: 1,
            samples: 0,
            counted: 0,
            first_time: None,
            last_time: None,
            intervals: Vec::new(),
            buckets: Vec::new(),
            series: Vec::new(),
            bytes: 0,
            sink: Some(StatisticsSink::new(options)),
            max_bytes,
            memory,
            fixed_bytes: 0,
            is_formatted,
        }
    }

    pub(super) fn push(&mut self, sample: &Sample, table: &mut SeriesTable) -> Result<(), FlowError> {
        let at = sample.at.utc;
        if !sample.is_baseline {
            self.counted += 1;
            self.first_time = Some(self.first_time.map_or(at, |first| first.min(at)));
            if let Some(last) = self.last_time
                && self.intervals.len() < MAX_INTERVALS
            {
                self.intervals.push(at.since(last));
            }
            self.last_time = Some(self.last_time.map_or(at, |last| last.max(at)));
        }
        if self.samples.is_multiple_of(self.width) {
            self.buckets.push(Bucket { earliest: at, latest: at, oldest_needed: u64::MAX });
        } else if let Some(bucket) = self.buckets.last_mut() {
            bucket.earliest = bucket.earliest.min(at);
            bucket.latest = bucket.latest.max(at);
        }
        if let Some(sink) = &mut self.sink {
            sink.push(sample)?;
        }
        self.samples += 1;
        if self.samples.is_multiple_of(self.width) {
            self.flush_bucket(table);
            self.merge_buckets();
        }
        self.reserve(sample)
    }

    /// Reserves the memory in use. If too little is left, buckets are merged.
    fn reserve(&mut self, sample: &Sample) -> Result<(), FlowError> {
        loop {
            let series = self.sink.as_ref().map_or(0, StatisticsSink::len) as u64;
            if !self.is_formatted {
                self.fixed_bytes = self.fixed_bytes.max(series * SERIES_BYTES + sample_bytes(sample));
            }
            let over = match self.memory.grow_to(self.fixed_bytes + self.bytes as u64) {
                Ok(()) => return Ok(()),
                Err(over) => over,
            };
            if self.bytes == 0 {
                return Err(LogError::over_budget(over).into());
            }
            self.max_bytes = self.bytes / 2;
            self.merge_buckets();
        }
    }

    /// Adds the statistics of the samples since the last cut to the last bucket. [`push`](Self::push) does this at the end
    /// of each bucket; the caller does it after the last sample.
    pub(super) fn flush_bucket(&mut self, table: &mut SeriesTable) {
        let (Some(sink), Some(last)) = (&mut self.sink, self.buckets.last_mut()) else { return };
        let bucket = (self.samples.saturating_sub(1) / self.width) as u32;
        let known = self.series.len();
        for series_index in known..sink.len() {
            let Some(row) = sink.row(series_index) else { break };
            self.series.push(IndexedSeries::new(table.id_of(&row)));
        }
        let (series, bytes) = (&mut self.series, &mut self.bytes);
        sink.cut(|series_index, state| *bytes += series[series_index].add(bucket, state));
        // Read after the cut, which ends the intervals.
        last.oldest_needed = last.oldest_needed.min(sink.take_oldest_needed());
    }

    /// Whether to call [`expect_samples`](Self::expect_samples) now.
    pub(super) fn wants_estimate(&self) -> bool {
        self.width == 1 && self.samples == ESTIMATE_AFTER_SAMPLES
    }

    /// Chooses a bucket width for this total number of samples, to avoid merging buckets later. A wrong estimate makes
    /// charts slower, but not wrong.
    pub(super) fn expect_samples(&mut self, samples: u64) {
        let max_buckets = self.max_bytes / CELL_BYTES / self.series.len().max(1);
        while self.buckets.len() > MIN_BUCKETS
            && samples / self.width > max_buckets.clamp(1, MAX_BUCKETS) as u64
        {
            self.fold_once();
        }
    }

    /// Merges buckets while the index exceeds its limits.
    fn merge_buckets(&mut self) {
        while self.buckets.len() > MAX_BUCKETS || self.bytes > self.max_bytes {
            if self.buckets.len() <= MIN_BUCKETS {
                self.drop_cells();
                return;
            }
            self.fold_once();
        }
    }

    fn fold_once(&mut self) {
        self.width *= 2;
        let fold = |pair: &[Bucket]| {
            pair.iter().copied().reduce(|one, other| Bucket {
                earliest: one.earliest.min(other.earliest),
                latest: one.latest.max(other.latest),
                oldest_needed: one.oldest_needed.min(other.oldest_needed),
            })
        };
        self.buckets = self.buckets.chunks(2).filter_map(fold).collect();
        self.series.iter_mut().for_each(IndexedSeries::merge_pairs);
        self.bytes = self.series.iter().map(IndexedSeries::bytes).sum();
    }

    fn drop_cells(&mut self) {
        self.sink = None;
        self.series = Vec::new();
        self.bytes = 0;
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// Number of samples without baselines.
    pub(super) fn sample_count(&self) -> u64 {
        self.counted
    }

    /// The span from the first to the last sample that is not a baseline.
    pub(super) fn span(&self) -> Option<Span> {
        Some(Span::of_samples(self.first_time?, self.last_time?))
    }

    pub(super) fn intervals(&self) -> &[i64] {
        &self.intervals
    }

    /// The index of a bucket's first sample, and of the first sample after it.
    pub(super) fn range_of(&self, bucket: usize) -> (u64, u64) {
        let from = bucket as u64 * self.width;
        (from, (from + self.width).min(self.samples))
    }

    /// The statistics from this bucket onwards, of the series for which `chosen` returns a value. [`Cells::at`] passes
    /// that value to its callback.
    pub(super) fn cells_from<T: Copy>(
        &self,
        bucket: usize,
        mut chosen: impl FnMut(SeriesId) -> Option<T>,
    ) -> Cells<'_, T> {
        let series =
            self.series.iter().filter_map(|series| Some((chosen(series.id)?, series.cursor_from(bucket)?)));
        Cells { series: series.collect() }
    }
}

/// A position in the statistics of several series.
pub(super) struct Cells<'a, T> {
    series: Vec<(T, CellCursor<'a>)>,
}

impl<'a, T: Copy> Cells<'a, T> {
    /// Calls `each` with the statistics of each series in one bucket. Buckets must be requested in ascending order.
    pub(super) fn at(&mut self, bucket: usize, mut each: impl FnMut(T, StoredState<'a>)) {
        for (key, cells) in &mut self.series {
            if let Some(stored) = cells.bucket_statistics(bucket) {
                each(*key, stored);
            }
        }
    }
}
