//! The board of logs.

mod catalogue;
pub(crate) mod cells;
mod index;
mod opening;
mod reading;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::logs::LogReport;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{FlowError, Readahead, SeekableSource, Selection, Source};
use tachograph_logs::{Grouping, LogError, Problems, ReadOptions, Reservation};

use crate::board::Board;
use crate::figures::grouped;
use crate::reduced::{Reduced, Reduction};
use crate::series::SeriesTable;
use crate::span::Span;
pub use catalogue::LogCatalogue;
use index::Index;
use reading::Reading;

/// Progress of reading logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LogProgress {
    /// Bytes read so far, in all logs.
    pub bytes_read: u64,
    /// Total bytes.
    pub bytes: u64,
}

/// Logs of at least this total size are read on a second thread; for smaller ones the thread costs more than it saves.
const READAHEAD_BYTES: u64 = 4 << 20;

/// Default limit on the statistics of one machine's logs, in bytes.
const MAX_BYTES: usize = 96 << 20;

/// A message about the damage that was found in a log: the number of problems, the first, and what to do. `None` if there is
/// none. Warnings do not count.
pub fn damage_notice(report: &LogReport) -> Option<String> {
    let path = report.path();
    let damage = damage_text(path, &report.problems())?;
    Some(format!("{damage}; 'tacho check {}' lists them", path.display()))
}

/// The number of problems of a log and the first of them, without advice. `None` without problems. Warnings do not count.
pub fn damage_text(path: &Path, problems: &Problems) -> Option<String> {
    let first = problems.list().iter().find(|problem| !problem.is_warning)?;
    let count = problems.count() - problems.warnings();
    let noun = if count == 1 { "problem" } else { "problems" };
    let count = grouped(&count.to_string());
    Some(format!("{}: damaged: {count} {noun}, the first at {first}", path.display()))
}

/// Number of samples between two reports of the progress.
const PROGRESS_SAMPLES: u64 = 64;

/// A board of one or more logs.
///
/// The logs are read once for the chosen counters. Statistics of short time ranges stay in memory (up to about 100 MB
/// per machine), with the positions of their samples in the files. A chart merges these statistics, and reads samples
/// again where a column begins or ends within such a time range, so every column is exact.
pub struct LogBoard {
    files: Vec<PathBuf>,
    /// How the logs are read.
    reading: ReadOptions,
    /// The time zone of the first log.
    zone: TimeZone,
    reports: Vec<LogReport>,
    span: Option<Span>,
    /// The number of samples of all machines; `None` until large logs were read.
    samples: Option<u64>,
    /// In units of 100 ns; see [`typical_interval`](Self::typical_interval).
    typical_interval: Option<i64>,
    /// The charted paths.
    paths: Vec<PathPattern>,
    /// The paths that the indexes were built for; can be more than `paths`.
    indexed: Vec<PathPattern>,
    selection: Selection,
    table: SeriesTable,
    /// The logs of each machine, and their index.
    machines: Vec<(SeekableSource, Index)>,
    catalogue: Arc<LogCatalogue>,
    /// Limit on the statistics of each machine's index.
    max_bytes: usize,
    /// Memory that was reserved when the logs were opened.
    _memory: Option<Reservation>,
}

impl LogBoard {
    /// Opens logs and examines them. Of large logs, only the first samples and the last one are read. No counter is
    /// chosen yet.
    ///
    /// `progress` is called from time to time; if it breaks, the board stays empty.
    ///
    /// # Errors
    ///
    /// If a log cannot be opened or read.
    pub fn open(
        files: Vec<PathBuf>,
        progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
    ) -> Result<Self, FlowError> {
        Self::open_with(files, ReadOptions::default(), progress)
    }

    /// Like [`open`](Self::open), with options. The logs keep their part of the options' budget until the board is
    /// dropped.
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open), and if text logs need more memory than the budget has left.
    pub fn open_with(
        files: Vec<PathBuf>,
        reading: ReadOptions,
        progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
    ) -> Result<Self, FlowError> {
        // Statistics identify counters by path, so any grouping works; this one needs less memory.
        let reading = ReadOptions { grouping: Grouping::Neighbours, ..reading };
        let mut sources = LogQuery { reading: reading.clone(), ..LogQuery::new(files.clone()) }.seekable()?;
        let reports: Vec<_> = sources.iter().flat_map(SeekableSource::reports).cloned().collect();
        let zone = reports.first().map_or_else(TimeZone::utc, |report| report.facts().zone.clone());
        let opened = opening::examine_logs(&mut sources, &reading, progress)?.unwrap_or_default();
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
            max_bytes: MAX_BYTES,
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

    /// One report per log: its format, and the problems found so far.
    pub fn reports(&self) -> &[LogReport] {
        &self.reports
    }

    /// The catalogue. For large logs it contains the sets of their first samples, until the first
    /// [`set_paths`](Self::set_paths) has read them whole.
    pub fn catalogue(&self) -> Arc<LogCatalogue> {
        Arc::clone(&self.catalogue)
    }

    /// The number of samples of all machines; `None` for large logs that were not read yet.
    pub fn samples(&self) -> Option<u64> {
        self.samples
    }

    /// The median time between the first few thousand samples, in units of 100 ns; `None` with fewer than two.
    pub fn typical_interval(&self) -> Option<i64> {
        self.typical_interval
    }

    /// The charted paths.
    pub fn paths(&self) -> &[PathPattern] {
        &self.paths
    }

    /// Limits the statistics of each machine to this number of bytes, from the next reading on; the default is 96 MiB.
    /// A lower limit makes charts slower, because more samples are re-read, but does not change them.
    pub fn set_max_bytes(&mut self, bytes: usize) {
        self.max_bytes = bytes;
    }

    /// Replaces the charted paths. The returned selection reports the paths that select nothing. The logs are read once for the
    /// paths, unless the index already contains all of them.
    ///
    /// `progress` is called from time to time; if it breaks, no path is charted.
    ///
    /// # Errors
    ///
    /// If a log cannot be read, or the paths select more counters than statistics can hold. No path is charted then.
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

    /// Reads the logs; false if `progress` breaks.
    fn read(&mut self, progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>) -> Result<bool, FlowError> {
        let query = LogQuery {
            selection: self.selection.clone(),
            reading: self.reading.clone(),
            ..LogQuery::new(self.files.clone())
        };
        let sources = query.seekable()?;
        self.reports = sources.iter().flat_map(SeekableSource::reports).cloned().collect();
        let mut machines = Vec::new();
        for source in sources {
            let memory = self.reading.budget.reserve(0).map_err(LogError::over_budget)?;
            let is_formatted = source.reports().iter().all(|report| report.facts().format.is_formatted());
            let mut index = Index::new(self.max_bytes, memory, is_formatted);
            let reports = &self.reports;
            let report = &mut || progress(progress_of(reports));
            let Some(source) = read_ahead(source, &mut index, &mut self.table, report)? else {
                return Ok(false);
            };
            machines.push((source, index));
        }
        self.machines = machines;
        self.update_facts();
        Ok(true)
    }

    /// Reads what was appended to the logs since the last reading, for example by a running recording. Returns true if
    /// the samples have changed. A circular log is read again completely.
    ///
    /// # Errors
    ///
    /// If a log cannot be read. The board is unchanged then, or charts no path.
    pub fn refresh(&mut self) -> Result<bool, FlowError> {
        let before = (self.samples, self.span);
        let mut only_appended = true;
        for (source, index) in &mut self.machines {
            only_appended = source.seek_to_appended(index.samples())?;
            if !only_appended {
                break;
            }
            let mut sample = Sample::default();
            while source.next(&mut sample)? {
                index.push(&sample, &mut self.table)?;
            }
            index.flush_bucket(&mut self.table);
        }
        if only_appended {
            self.update_facts();
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

    /// Updates the facts that are known only after all logs were read.
    fn update_facts(&mut self) {
        if self.machines.is_empty() {
            return;
        }
        let mut catalogue = LogCatalogue::default();
        self.machines.iter_mut().for_each(|(source, _)| catalogue.add(source.scan()));
        self.catalogue = Arc::new(catalogue);
        let indexes = || self.machines.iter().map(|(_, index)| index);
        self.span = indexes().filter_map(Index::span).reduce(|one, other| one.joined(&other));
        self.samples = Some(indexes().map(Index::sample_count).sum());
        self.typical_interval = median(indexes().flat_map(Index::intervals).copied().collect());
    }
}

/// Reads a machine's logs to their end into an index; `None` if `progress` breaks.
fn read_ahead(
    mut source: SeekableSource,
    index: &mut Index,
    table: &mut SeriesTable,
    report: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Option<SeekableSource>, FlowError> {
    let machine_reports = source.reports().to_vec();
    if progress_of(&machine_reports).bytes < READAHEAD_BYTES {
        return Ok(fill(&mut source, &machine_reports, index, table, report)?.then_some(source));
    }
    let mut ahead = Readahead::new(source)?;
    let is_filled = fill(&mut ahead, &machine_reports, index, table, report)?;
    Ok(ahead.into_source().filter(|_| is_filled))
}

fn fill(
    source: &mut dyn Source,
    machine_reports: &[LogReport],
    index: &mut Index,
    table: &mut SeriesTable,
    report: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<bool, FlowError> {
    let mut sample = Sample::default();
    while source.next(&mut sample)? {
        index.push(&sample, table)?;
        if index.wants_estimate() {
            // While the reader is ahead, the estimate is too low, which is better than too high.
            let LogProgress { bytes_read, bytes } = progress_of(machine_reports);
            index.expect_samples(index.samples().saturating_mul(bytes / bytes_read.max(1)));
        }
        if index.samples().is_multiple_of(PROGRESS_SAMPLES) && report().is_break() {
            return Ok(false);
        }
    }
    index.flush_bucket(table);
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
        // The index can contain more paths than are charted.
        let charted = if paths.is_empty() { &self.paths } else { paths };
        if charted.is_empty() {
            return Ok(reduction.finish(&self.table, charted));
        }
        for (source, index) in &mut self.machines {
            Reading::new(source, index, charted, &mut self.table, &mut reduction).run()?;
        }
        Ok(reduction.finish(&self.table, charted))
    }
}
