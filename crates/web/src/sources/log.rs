//! An open log: one file, or several files of one machine as one time range.

use std::fmt::Display;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{Formula, IgnorePoison};
use tachograph_flow::FlowError;
use tachograph_logs::{Budget, ReadOptions};
use tachograph_monitor::{
    Board as _, Catalogue as _, CounterEntry, LogBoard, LogCatalogue, LogProgress, Reduced, Span,
    damage_notice,
};
use tokio::sync::Notify;

use super::Origin;
use super::chart_board::ChartBoard;
use crate::options::LineLog;
use crate::response::ApiError;
use crate::workers::Workers;

/// Maximum number of problems that are reported per file.
const MAX_PROBLEMS: usize = 20;

pub(crate) struct Log {
    pub(crate) id: u64,
    pub(crate) origin: Origin,
    /// The files, with the names that clients see.
    files: Vec<(String, PathBuf)>,
    /// The unnamed file of an upload, deleted when this is dropped; its path is `/proc/self/fd/N`.
    _uploaded: Option<File>,
    is_closed: AtomicBool,
    /// The bytes that were read so far, and the total number of bytes.
    progress: [AtomicU64; 2],
    state: Mutex<LogState>,
    board: Arc<tokio::sync::Mutex<ChartBoard>>,
    /// Identity and length of the files when they were read.
    stamps: Mutex<Vec<Stamp>>,
    /// The problems that [`problems`](Self::problems) returned last.
    problems: Mutex<Vec<String>>,
    last_used: Mutex<Instant>,
    /// The options for reading logs, with the memory budget that all logs share.
    reading: ReadOptions,
    /// The part of the budget that this log uses while it is open.
    memory: Mutex<Budget>,
    freed: Arc<Notify>,
}

impl Drop for Log {
    fn drop(&mut self) {
        self.freed.notify_one();
    }
}

#[derive(Clone)]
pub(crate) enum LogState {
    Reading,
    Ready(Arc<LogSummary>),
    Failed(ApiError),
}

/// Identity and length of a file; all 0 if it does not exist.
#[derive(Clone, Copy, Default)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
}

impl Stamp {
    fn read(path: &Path) -> Self {
        let metadata = std::fs::metadata(path);
        metadata.map_or(Self::default(), |it| Self { device: it.dev(), inode: it.ino(), bytes: it.len() })
    }
}

/// The facts about a log that was read.
pub(crate) struct LogSummary {
    pub(crate) machines: Vec<String>,
    pub(crate) span: Option<Span>,
    /// The number of samples, if known.
    pub(crate) samples: Option<u64>,
    /// The typical time between samples, in seconds.
    pub(crate) interval: Option<f64>,
    pub(crate) zone: TimeZone,
    /// Whether the log holds formatted values, from which only arithmetic averages can be computed.
    pub(crate) is_formatted: bool,
    pub(crate) default_paths: Vec<String>,
    /// The operating system that wrote the log, if the log says so.
    pub(crate) operating_system: Option<String>,
    /// The number of processors whose counters the log has.
    pub(crate) processors: Option<usize>,
    pub(crate) catalogue: Arc<LogCatalogue>,
}

impl Log {
    pub(super) fn new(
        id: u64,
        origin: Origin,
        files: Vec<(String, PathBuf)>,
        uploaded: Option<File>,
        reading: ReadOptions,
        workers: &Workers,
    ) -> Self {
        Self {
            id,
            origin,
            files,
            _uploaded: uploaded,
            is_closed: AtomicBool::new(false),
            progress: Default::default(),
            state: Mutex::new(LogState::Reading),
            board: Arc::default(),
            stamps: Mutex::default(),
            problems: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            memory: Mutex::new(reading.budget.part()),
            reading,
            freed: Arc::clone(&workers.freed),
        }
    }

    /// The name that clients see.
    pub(crate) fn name(&self) -> String {
        match self.files.as_slice() {
            [(name, _)] => name.clone(),
            [(name, _), others @ ..] => format!("{name} and {} more", others.len()),
            [] => String::new(),
        }
    }

    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|(_, path)| path.clone()).collect()
    }

    pub(crate) fn state(&self) -> LogState {
        self.state.lock().ignore_poison().clone()
    }

    pub(crate) fn facts(&self) -> Result<Arc<LogSummary>, ApiError> {
        match self.state() {
            LogState::Ready(facts) => Ok(facts),
            LogState::Reading => Err(ApiError::conflict("the log is still being read; try again soon")),
            LogState::Failed(error) => Err(error),
        }
    }

    /// Fails if a file was replaced or truncated since it was read. Growth is allowed.
    pub(crate) fn check_files(&self) -> Result<(), ApiError> {
        let stamps = self.stamps.lock().ignore_poison().clone();
        for ((name, path), stamp) in self.files.iter().zip(&stamps) {
            let now = Stamp::read(path);
            if (now.device, now.inode) != (stamp.device, stamp.inode) || now.bytes < stamp.bytes {
                return Err(ApiError::conflict(format!(
                    "{name} was replaced or truncated while it was open: open it again"
                )));
            }
        }
        Ok(())
    }

    /// The fraction that has been read, from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        let [read, all] = [0, 1].map(|index| self.progress[index].load(Ordering::Relaxed));
        match self.state() {
            LogState::Reading => (read as f64 / all.max(1) as f64).min(1.0),
            _ => 1.0,
        }
    }

    /// Whether clients can close the log.
    pub(crate) fn is_closable(&self) -> bool {
        self.origin != Origin::Named
    }

    /// Marks the log as used now.
    pub(super) fn touch(&self) {
        *self.last_used.lock().ignore_poison() = Instant::now();
    }

    pub(super) fn idle_time(&self) -> Duration {
        self.last_used.lock().ignore_poison().elapsed()
    }

    /// Stops all reading of the log.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// The options for reading this log, with its part of the memory budget.
    pub(crate) fn reading(&self) -> ReadOptions {
        ReadOptions { budget: self.memory.lock().ignore_poison().clone(), ..self.reading.clone() }
    }

    pub(crate) fn api_error(&self, error: &FlowError) -> ApiError {
        match error {
            FlowError::Log(over) if over.is_over_budget() => {
                ApiError::memory_full(self.with_client_names(error))
            }
            _ => ApiError::conflict(self.with_client_names(error)),
        }
    }

    /// Replaces the paths in a message by the names that clients see.
    pub(crate) fn with_client_names(&self, message: impl Display) -> String {
        let mut text = message.to_string();
        for (name, path) in &self.files {
            text = text.replace(&path.display().to_string(), name);
        }
        text
    }

    pub(crate) fn problems(&self) -> Vec<String> {
        // While a chart is being computed, returns the problems of the last query.
        let Ok(chart_board) = self.board.try_lock() else {
            return self.problems.lock().ignore_poison().clone();
        };
        let mut lines: Vec<_> =
            self.check_files().err().map(|error| error.message.to_string()).into_iter().collect();
        for report in chart_board.board.iter().flat_map(LogBoard::reports) {
            let problems = report.problems();
            for problem in problems.list().iter().take(MAX_PROBLEMS) {
                lines.push(self.with_client_names(format_args!("{}: {problem}", report.path().display())));
            }
            let more = problems.count().saturating_sub(MAX_PROBLEMS as u64);
            if more > 0 {
                lines.push(
                    self.with_client_names(format_args!("{}: {more} more problems", report.path().display())),
                );
            }
        }
        self.problems.lock().ignore_poison().clone_from(&lines);
        lines
    }

    /// Starts to read the log. If it cannot be read and is not closed, `notices` is called.
    pub(super) fn read(self: &Arc<Self>, workers: &Workers, notices: Option<LineLog>) {
        let (log, workers) = (Arc::clone(self), workers.clone());
        tokio::spawn(async move {
            let mut chart_board = Arc::clone(&log.board).lock_owned().await;
            let reading = Arc::clone(&log);
            let opened = workers.run_long(move |_| {
                *reading.stamps.lock().ignore_poison() =
                    reading.files.iter().map(|(_, path)| Stamp::read(path)).collect();
                let mut on_progress = |progress: LogProgress| reading.set_progress(progress);
                LogBoard::open_with(reading.paths(), reading.reading(), &mut on_progress)
                    .inspect(|board| reading.report_damage(board, notices.as_ref()))
                    .map_err(|error| reading.report_unreadable(&error, notices.as_ref()))
            });
            match opened.await {
                Ok(board) => log.set_ready(chart_board.board.insert(board)),
                Err(error) => {
                    // Releases the memory.
                    *log.memory.lock().ignore_poison() = log.reading.budget.part();
                    *log.state.lock().ignore_poison() = LogState::Failed(error);
                }
            }
        });
    }

    /// Records the facts about the log that was read.
    pub(super) fn set_ready(&self, board: &LogBoard) {
        *self.state.lock().ignore_poison() = LogState::Ready(Arc::new(LogSummary::from_board(board)));
    }

    /// Reports the damage of a log that the command line names to `notices`. Clients see it on the page of the log.
    fn report_damage(&self, board: &LogBoard, notices: Option<&LineLog>) {
        if let (Origin::Named, Some(notices)) = (&self.origin, notices) {
            board.reports().iter().filter_map(damage_notice).for_each(|notice| notices(&notice));
        }
    }

    /// Reports to `notices` that the log cannot be read, unless it is closed; returns the error for clients.
    fn report_unreadable(&self, error: &FlowError, notices: Option<&LineLog>) -> ApiError {
        if let Some(notices) = notices
            && !self.is_closed()
        {
            notices(&error.to_string());
        }
        self.api_error(error)
    }

    /// Records the progress of reading; returns `Break` if the log is closed.
    fn set_progress(&self, progress: LogProgress) -> ControlFlow<()> {
        self.progress[0].store(progress.bytes_read, Ordering::Relaxed);
        self.progress[1].store(progress.bytes, Ordering::Relaxed);
        match self.is_closed() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Reduces a time range to columns. `choose` is as for [`ChartBoard::reduce`]; `respond` gets the result, and the
    /// paths that select nothing, each with a reason.
    pub(crate) async fn chart<T: Send + 'static>(
        self: &Arc<Self>,
        workers: &Workers,
        paths: Vec<PathPattern>,
        choose: impl FnOnce(Span) -> Result<(Span, usize), ApiError> + Send + 'static,
        respond: impl FnOnce(Option<&Reduced>, &[(String, String)]) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.facts()?;
        let locked = Arc::clone(&self.board).lock_owned();
        let Ok(mut board) = tokio::time::timeout(Duration::from_secs(60), locked).await else {
            return Err(ApiError::too_many_requests("the log is in use by other requests; try again"));
        };
        let log = Arc::clone(self);
        workers
            .run(move |cancel| {
                log.check_files()?;
                let missing = board.set_paths(&log, &paths, cancel)?;
                respond(board.reduce(&log, &paths, choose)?.as_ref(), &missing)
            })
            .await
    }
}

impl LogSummary {
    fn from_board(board: &LogBoard) -> Self {
        let catalogue = board.catalogue();
        let build = board.reports().iter().find_map(|report| report.facts().windows_build);
        let is_text = board.reports().iter().any(|report| report.facts().format.is_formatted());
        Self {
            machines: catalogue.machines().iter().map(ToString::to_string).collect(),
            span: board.span(),
            samples: board.samples(),
            interval: board.typical_interval().map(|units| units as f64 / FileTime::PER_SECOND as f64),
            zone: board.zone().clone(),
            is_formatted: is_text || has_formatted_values(&catalogue),
            default_paths: catalogue.first_choice().to_vec(),
            operating_system: build.map(|build| format!("Windows build {build}")),
            processors: processors_in(&catalogue),
            catalogue,
        }
    }
}

/// The number of processors with counters of their own; `None` if there are none, or if the log is of several machines.
fn processors_in(catalogue: &LogCatalogue) -> Option<usize> {
    if catalogue.machines().len() > 1 {
        return None;
    }
    let count = |set: &str| {
        let instances = catalogue.instances(set).unwrap_or_default();
        // `_Total` is of all processors, and `0,_Total` of those of a group.
        instances.iter().filter(|instance| !instance.to_ascii_lowercase().contains("_total")).count()
    };
    ["Processor Information", "Processor"].into_iter().map(count).find(|&processors| processors > 0)
}

/// Whether any counter has only arithmetic averages. Like `tacho stats`, this looks at the counter type, because a BLG
/// can contain the formatted values of a text log.
fn has_formatted_values(catalogue: &LogCatalogue) -> bool {
    let is_formatted = |entry: &CounterEntry| entry.counter.counter_type.formula() == Some(Formula::Double);
    catalogue.sets().iter().flat_map(|set| &set.counters).any(is_formatted)
}
