//! Logs, of which any stretch can be charted.

mod catalogue;
pub(crate) mod cells;
mod index;
mod opening;
mod reading;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::logs::LogReport;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{FlowError, Readahead, Selection, Source, Stretch};
use tachograph_logs::{Grouping, LogError, ReadOptions, Reservation};

use crate::board::Board;
use crate::reduced::{Reduced, Reduction};
use crate::series::SeriesTable;
use crate::span::Span;
pub use catalogue::LogCatalogue;
use index::Index;
use reading::Reading;

/// How far the reading of logs is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LogProgress {
    /// Bytes read so far, of all logs.
    pub bytes_read: u64,
    /// Bytes there are.
    pub bytes: u64,
}

/// Logs of which a second thread is worth its start.
const READAHEAD_BYTES: u64 = 4 << 20;

/// Most bytes of statistics of one machine's logs, if nothing else is said.
const MOST_BYTES: usize = 96 << 20;

/// After how many samples the progress is told.
const PROGRESS_SAMPLES: u64 = 64;

/// One log or several, charted.
///
/// The logs are read once for the counters chosen; what stays in memory are statistics of short stretches of samples, at
/// most about 100 MB for each machine, and where in the files they begin. A chart is made of these, and of samples that
/// are read again where a column begins or ends within such a stretch. So every column is exact.
pub struct LogBoard {
    files: Vec<PathBuf>,
    reading: ReadOptions,
    zone: TimeZone,
    reports: Vec<LogReport>,
    span: Option<Span>,
    samples: Option<u64>,
    typical_interval: Option<i64>,
    paths: Vec<PathPattern>,
    /// What the index is of, where there is one.
    indexed: Vec<PathPattern>,
    selection: Selection,
    table: SeriesTable,
    machines: Vec<(Stretch, Index)>,
    catalogue: Arc<LogCatalogue>,
    most_bytes: usize,
    /// What was reserved for it when it was opened.
    _memory: Option<Reservation>,
}

impl LogBoard {
    /// Opens logs: finds out what is in them, of large ones from their first samples and their last. Nothing is chosen yet.
    ///
    /// `progress` is called now and then; when it breaks, the reading ends with an empty board.
    ///
    /// # Errors
    ///
    /// When a log cannot be opened or read.
    pub fn open(
        files: Vec<PathBuf>,
        progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
    ) -> Result<Self, FlowError> {
        Self::open_with(files, ReadOptions::default(), progress)
    }

    /// As [`open`](Self::open), with options; the logs hold their part of the options' budget until the board is dropped.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and when text logs need more memory than the budget has left.
    pub fn open_with(
        files: Vec<PathBuf>,
        reading: ReadOptions,
        progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
    ) -> Result<Self, FlowError> {
        // Statistics know counters by their paths.
        let reading = ReadOptions { grouping: Grouping::Neighbours, ..reading };
        let mut stretches =
            LogQuery { reading: reading.clone(), ..LogQuery::new(files.clone()) }.seekable()?;
        let reports: Vec<_> = stretches.iter().flat_map(Stretch::reports).cloned().collect();
        let zone = reports.first().map_or_else(TimeZone::utc, |report| report.facts().zone.clone());
        let opened = opening::look(&mut stretches, &reading, progress)?.unwrap_or_default();
        Ok(Self {
            files,
            reading,
            zone,
            reports,
            span: opened.span,
            samples: opened.samples,
            typical_interval: median(opened.intervals),
            paths: Vec::new(),
            indexed: Vec::new(),
            selection: Selection::new(Vec::new()),
            table: SeriesTable::default(),
            machines: Vec::new(),
            catalogue: Arc::new(opened.catalogue),
            most_bytes: MOST_BYTES,
            _memory: opened.memory,
        })
    }

    /// The files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The time zone of the first log.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// What became known of the logs: their formats, what is damaged as far as they were read.
    pub fn reports(&self) -> &[LogReport] {
        &self.reports
    }

    /// What there is to choose from. Of large logs that is what their first samples hold, until they were read once
    /// ([`set_paths`](Self::set_paths)).
    pub fn catalogue(&self) -> Arc<LogCatalogue> {
        Arc::clone(&self.catalogue)
    }

    /// How many samples there are, of all machines; `None` for large logs that were not read yet.
    pub fn samples(&self) -> Option<u64> {
        self.samples
    }

    /// The median time between the first few thousand samples, in units of 100 ns; `None` with fewer than two.
    pub fn typical_interval(&self) -> Option<i64> {
        self.typical_interval
    }

    /// The paths that are charted.
    pub fn paths(&self) -> &[PathPattern] {
        &self.paths
    }

    /// How many bytes of statistics may be kept of each machine from the next reading on; 96 MB if nothing else is said.
    /// With fewer, charts take longer, since more of them is read again; they stay the same.
    pub fn set_most_bytes(&mut self, bytes: usize) {
        self.most_bytes = bytes;
    }

    /// Charts these paths from now on; the selection knows those that select nothing. The logs are read once for them,
    /// unless all of them were charted before.
    ///
    /// `progress` is called now and then; when it breaks, the reading ends, and no path is charted.
    ///
    /// # Errors
    ///
    /// When a log cannot be read, or the paths select more counters than statistics are kept of. No path is charted then.
    pub fn set_paths(
        &mut self,
        paths: &[PathPattern],
        progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
    ) -> Result<Selection, FlowError> {
        if paths.is_empty() {
            self.paths.clear();
            return Ok(Selection::new(Vec::new()));
        }
        if !paths.iter().all(|path| self.indexed.contains(path)) {
            self.selection = Selection::new(paths.to_vec());
            self.paths.clear();
            self.indexed.clear();
            self.machines.clear();
            if !self.read(progress)? {
                return Ok(self.selection.clone());
            }
            self.indexed = paths.to_vec();
        }
        self.paths = paths.to_vec();
        Ok(self.selection.narrowed(paths))
    }

    /// Reads the logs; false when `progress` breaks.
    fn read(&mut self, progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>) -> Result<bool, FlowError> {
        let query = LogQuery {
            selection: self.selection.clone(),
            reading: self.reading.clone(),
            ..LogQuery::new(self.files.clone())
        };
        let stretches = query.seekable()?;
        self.reports = stretches.iter().flat_map(Stretch::reports).cloned().collect();
        let mut machines = Vec::new();
        for stretch in stretches {
            let memory = self.reading.budget.reserve(0).map_err(LogError::over_budget)?;
            let is_formatted = stretch.reports().iter().all(|report| report.facts().format.is_formatted());
            let mut index = Index::new(self.most_bytes, memory, is_formatted);
            let reports = &self.reports;
            let told = &mut || progress(progress_of(reports));
            let Some(stretch) = read_ahead(stretch, &mut index, &mut self.table, told)? else {
                return Ok(false);
            };
            machines.push((stretch, index));
        }
        self.machines = machines;
        self.take_facts();
        Ok(true)
    }

    /// Takes in what was appended to the logs since they were read, as of a recording that goes on; true when there was
    /// something. A circular log is read again as a whole.
    ///
    /// # Errors
    ///
    /// When a log cannot be read. The board is as it was then, or without a path that is charted.
    pub fn refresh(&mut self) -> Result<bool, FlowError> {
        let before = (self.samples, self.span);
        let mut is_whole = true;
        for (stretch, index) in &mut self.machines {
            is_whole = stretch.go_on_from(index.samples())?;
            if !is_whole {
                break;
            }
            let mut sample = Sample::default();
            while stretch.next(&mut sample)? {
                index.take(&sample, &mut self.table)?;
            }
            index.cut(&mut self.table);
        }
        if is_whole {
            self.take_facts();
            return Ok((self.samples, self.span) != before);
        }
        self.machines.clear();
        let paths = std::mem::take(&mut self.paths);
        let indexed = std::mem::take(&mut self.indexed);
        self.selection = Selection::new(indexed.clone());
        self.read(&mut |_| ControlFlow::Continue(()))?;
        (self.paths, self.indexed) = (paths, indexed);
        Ok((self.samples, self.span) != before)
    }

    /// Takes over what is known now that all was read.
    fn take_facts(&mut self) {
        if self.machines.is_empty() {
            return;
        }
        let mut catalogue = LogCatalogue::default();
        self.machines.iter_mut().for_each(|(stretch, _)| catalogue.add(stretch.scan()));
        self.catalogue = Arc::new(catalogue);
        let indexes = || self.machines.iter().map(|(_, index)| index);
        self.span = indexes().filter_map(Index::span).reduce(|one, other| one.joined(&other));
        self.samples = Some(indexes().map(Index::counted).sum());
        self.typical_interval = median(indexes().flat_map(Index::intervals).copied().collect());
    }
}

/// Reads a stretch to its end into an index; `None` when `told` breaks.
fn read_ahead(
    mut stretch: Stretch,
    index: &mut Index,
    table: &mut SeriesTable,
    told: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<Stretch>, FlowError> {
    let own = stretch.reports().to_vec();
    if progress_of(&own).bytes < READAHEAD_BYTES {
        return Ok(fill(&mut stretch, &own, index, table, told)?.then_some(stretch));
    }
    let mut ahead = Readahead::new(stretch)?;
    let is_filled = fill(&mut ahead, &own, index, table, told)?;
    Ok(ahead.into_source().filter(|_| is_filled))
}

fn fill(
    source: &mut dyn Source,
    own: &[LogReport],
    index: &mut Index,
    table: &mut SeriesTable,
    told: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<bool, FlowError> {
    let mut sample = Sample::default();
    while source.next(&mut sample)? {
        index.take(&sample, table)?;
        if index.wants_expectation() {
            // A reader that is ahead makes this too few: better than too many.
            let LogProgress { bytes_read, bytes } = progress_of(own);
            index.expect(index.samples().saturating_mul(bytes / bytes_read.max(1)));
        }
        if index.samples().is_multiple_of(PROGRESS_SAMPLES) && told().is_break() {
            return Ok(false);
        }
    }
    index.cut(table);
    Ok(true)
}

fn progress_of(reports: &[LogReport]) -> LogProgress {
    LogProgress {
        bytes_read: reports.iter().map(LogReport::bytes_read).sum(),
        bytes: reports.iter().map(|report| report.facts().file_bytes).sum(),
    }
}

fn median(mut intervals: Vec<i64>) -> Option<i64> {
    intervals.sort_unstable();
    intervals.get(intervals.len() / 2).copied()
}

impl Board for LogBoard {
    fn span(&self) -> Option<Span> {
        self.span
    }

    fn reduce(&mut self, span: Span, columns: usize, paths: &[PathPattern]) -> Result<Reduced, FlowError> {
        let mut reduction = Reduction::new(span, columns);
        // The index may hold more.
        let charted = if paths.is_empty() { &self.paths } else { paths };
        if charted.is_empty() {
            return Ok(reduction.finish(&self.table, charted));
        }
        for (stretch, index) in &mut self.machines {
            Reading::new(stretch, index, charted, &mut self.table, &mut reduction).run()?;
        }
        Ok(reduction.finish(&self.table, charted))
    }
}
