//! What is kept of logs: statistics of short stretches of samples, and where these begin.

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, Sink};
use tachograph_logs::{LogError, Reservation};

use super::cells::{CELL_BYTES, CellsOf, IndexedSeries, Kept};
use super::opening::sample_bytes;
use crate::series::{SeriesId, SeriesTable};
use crate::span::Span;

/// Most buckets.
const MAX_BUCKETS: usize = 1 << 16;

/// With fewer buckets than this their statistics are not worth their room: all is read again each time.
const FEWEST_BUCKETS: usize = 16;

/// After how many samples something is known of how many there will be.
const EXPECTING_SAMPLES: u64 = 2048;

/// How many intervals the typical one is the median of.
const MAX_INTERVALS: usize = 4096;

/// The samples of one machine's logs in buckets of so many, a power of two: the times of each bucket, and the statistics
/// of each counter over it.
///
/// Memory is bounded: where there is too much, two buckets become one.
pub(super) struct Index {
    /// How many samples a bucket holds; the last one may hold fewer.
    width: u64,
    /// How many samples there are, baselines too.
    samples: u64,
    /// How many of them are no baselines, the first and the last moment of these.
    counted: u64,
    first: Option<FileTime>,
    last: Option<FileTime>,
    intervals: Vec<i64>,
    buckets: Vec<Bucket>,
    /// By the sink's numbers.
    series: Vec<IndexedSeries>,
    /// What their statistics take.
    bytes: usize,
    /// `None` when statistics would take too much room.
    sink: Option<StatisticsSink>,
    most_bytes: usize,
    memory: Reservation,
    /// What its series and the samples on their way take, which is needed for reading again too.
    fixed_bytes: u64,
    /// Whether the reader has reserved what each of its counters takes.
    is_formatted: bool,
}

/// What a counter of an instance takes: its state, its path twice, its place in several tables.
const SERIES_BYTES: u64 = 1500;

/// The times of some samples that follow one another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// The earliest and the latest moment of its samples, baselines too.
    pub(super) earliest: FileTime,
    pub(super) latest: FileTime,
    /// The number of the earliest sample that opens an interval which ends in it.
    pub(super) reach: u64,
}

impl Index {
    /// An index whose statistics take at most `most_bytes`, and no more than the reservation can get.
    pub(super) fn new(most_bytes: usize, memory: Reservation, is_formatted: bool) -> Self {
        let options = StatisticsOptions { without_quantiles: true, ..StatisticsOptions::default() };
        Self {
            width: 1,
            samples: 0,
            counted: 0,
            first: None,
            last: None,
            intervals: Vec::new(),
            buckets: Vec::new(),
            series: Vec::new(),
            bytes: 0,
            sink: Some(StatisticsSink::new(options)),
            most_bytes,
            memory,
            fixed_bytes: 0,
            is_formatted,
        }
    }

    /// Takes the next sample.
    pub(super) fn take(&mut self, sample: &Sample, table: &mut SeriesTable) -> Result<(), FlowError> {
        let at = sample.at.utc;
        if !sample.is_baseline {
            self.counted += 1;
            self.first = Some(self.first.map_or(at, |first| first.min(at)));
            if let Some(last) = self.last
                && self.intervals.len() < MAX_INTERVALS
            {
                self.intervals.push(at.since(last));
            }
            self.last = Some(self.last.map_or(at, |last| last.max(at)));
        }
        if self.samples.is_multiple_of(self.width) {
            self.buckets.push(Bucket { earliest: at, latest: at, reach: u64::MAX });
        } else if let Some(bucket) = self.buckets.last_mut() {
            bucket.earliest = bucket.earliest.min(at);
            bucket.latest = bucket.latest.max(at);
        }
        if let Some(sink) = &mut self.sink {
            sink.take(sample)?;
        }
        self.samples += 1;
        if self.samples.is_multiple_of(self.width) {
            self.cut(table);
            self.fold();
        }
        self.reserve(sample)
    }

    /// Reserves what it takes now. Where too little is left, its buckets become longer.
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
            self.most_bytes = self.bytes / 2;
            self.fold();
        }
    }

    /// Puts what was taken since the last cut into the last bucket: to be called when there are no more samples for now.
    pub(super) fn cut(&mut self, table: &mut SeriesTable) {
        let (Some(sink), Some(last)) = (&mut self.sink, self.buckets.last_mut()) else { return };
        let bucket = (self.samples.saturating_sub(1) / self.width) as u32;
        let known = self.series.len();
        for number in known..sink.len() {
            let Some(row) = sink.row(number) else { break };
            self.series.push(IndexedSeries::new(table.number(&row)));
        }
        let (series, bytes) = (&mut self.series, &mut self.bytes);
        sink.cut(|number, state| *bytes += series[number].add(bucket, state));
        // After the cut, which ends the intervals.
        last.reach = last.reach.min(sink.take_reach());
    }

    /// Whether it is time to [`expect`](Self::expect) something.
    pub(super) fn wants_expectation(&self) -> bool {
        self.width == 1 && self.samples == EXPECTING_SAMPLES
    }

    /// Makes buckets as long as they will have to be when so many samples come, which saves work on the way. An
    /// expectation that comes true only in part costs precision, not truth.
    pub(super) fn expect(&mut self, samples: u64) {
        let most = self.most_bytes / CELL_BYTES / self.series.len().max(1);
        while self.buckets.len() > FEWEST_BUCKETS && samples / self.width > most.clamp(1, MAX_BUCKETS) as u64
        {
            self.fold_once();
        }
    }

    /// Makes buckets twice as long while there is too much.
    fn fold(&mut self) {
        while self.buckets.len() > MAX_BUCKETS || self.bytes > self.most_bytes {
            if self.buckets.len() <= FEWEST_BUCKETS {
                self.give_up_cells();
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
                reach: one.reach.min(other.reach),
            })
        };
        self.buckets = self.buckets.chunks(2).filter_map(fold).collect();
        self.series.iter_mut().for_each(IndexedSeries::fold);
        self.bytes = self.series.iter().map(IndexedSeries::bytes).sum();
    }

    fn give_up_cells(&mut self) {
        self.sink = None;
        self.series = Vec::new();
        self.bytes = 0;
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// How many samples there are, baselines not counted.
    pub(super) fn counted(&self) -> u64 {
        self.counted
    }

    /// From the first to the last sample that is no baseline.
    pub(super) fn span(&self) -> Option<Span> {
        Some(Span::of_samples(self.first?, self.last?))
    }

    pub(super) fn intervals(&self) -> &[i64] {
        &self.intervals
    }

    pub(super) fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The numbers of a bucket's first sample and of the one behind its last.
    pub(super) fn range_of(&self, bucket: usize) -> (u64, u64) {
        let from = bucket as u64 * self.width;
        (from, (from + self.width).min(self.samples))
    }

    /// Whether statistics are kept.
    pub(super) fn has_cells(&self) -> bool {
        self.sink.is_some()
    }

    /// Goes through the statistics of series, from a bucket on: of those for which `chosen` gives something, which comes
    /// along.
    pub(super) fn cells_from<T: Copy>(
        &self,
        bucket: usize,
        mut chosen: impl FnMut(SeriesId) -> Option<T>,
    ) -> Cells<'_, T> {
        let series = self.series.iter().filter_map(|series| Some((chosen(series.id)?, series.from(bucket)?)));
        Cells { series: series.collect() }
    }
}

/// Statistics by bucket, the buckets in rising order.
pub(super) struct Cells<'a, T> {
    series: Vec<(T, CellsOf<'a>)>,
}

impl<'a, T: Copy> Cells<'a, T> {
    /// The statistics of one bucket, which comes after those asked for before.
    pub(super) fn of(&mut self, bucket: usize, mut each: impl FnMut(T, Kept<'a>)) {
        for (which, cells) in &mut self.series {
            if let Some(kept) = cells.of(bucket) {
                each(*which, kept);
            }
        }
    }
}
