//! One open log, or several as one stretch of time.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::FlowError;
use tachograph_logs::{Budget, ReadOptions};
use tachograph_monitor::{Board, LogBoard, LogCatalogue, LogProgress, Reduced, Span};
use tokio::sync::Notify;

use super::Origin;
use crate::answer::Refusal;
use crate::options::LineLog;
use crate::series::{check_cells, check_series};
use crate::work::{Cancel, Work};

/// Most counter paths that one log is held ready for.
const MAX_RECENT: usize = 256;
/// Most problems of a log that are told.
const MAX_PROBLEMS: usize = 20;

/// An open log.
pub(crate) struct Log {
    pub(crate) id: u64,
    pub(crate) origin: Origin,
    /// The names that clients know, with the files.
    files: Vec<(String, PathBuf)>,
    /// The file of an upload. It has no name but `/proc/self/fd/N`, and is gone when all are done with the log.
    _uploaded: Option<File>,
    is_closed: Arc<AtomicBool>,
    progress: [AtomicU64; 2],
    state: Mutex<LogState>,
    board: Arc<tokio::sync::Mutex<Charted>>,
    /// What the files were when they were read.
    stamps: Mutex<Vec<Stamp>>,
    /// What was found damaged, when it was last asked for.
    problems: Mutex<Vec<String>>,
    last_used: Mutex<Instant>,
    /// How logs are read, with the memory of all of them.
    reading: ReadOptions,
    /// What this one has of the memory for as long as it is open.
    memory: Mutex<Budget>,
    freed: Arc<Notify>,
}

impl Drop for Log {
    fn drop(&mut self) {
        self.freed.notify_one();
    }
}

/// How far a log is.
#[derive(Clone)]
pub(crate) enum LogState {
    Reading,
    Ready(Arc<Facts>),
    Failed(Refusal),
}

/// Which file it is, and how long.
#[derive(Clone, Copy, Default)]
struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
}

impl Stamp {
    /// Of a file that is not there, nothing.
    fn of(path: &Path) -> Self {
        let metadata = std::fs::metadata(path);
        metadata.map_or(Self::default(), |it| Self { device: it.dev(), inode: it.ino(), bytes: it.len() })
    }
}

/// What is known of a log that was read.
pub(crate) struct Facts {
    pub(crate) machines: Vec<String>,
    pub(crate) span: Option<Span>,
    /// How many samples there are, where that is known.
    pub(crate) samples: Option<u64>,
    /// From one sample to the next, mostly, in seconds.
    pub(crate) interval: Option<f64>,
    pub(crate) zone: TimeZone,
    pub(crate) is_formatted: bool,
    pub(crate) default_paths: Vec<String>,
    pub(crate) catalogue: Arc<LogCatalogue>,
}

/// A board, and the paths that it is ready for, the latest last.
#[derive(Default)]
struct Charted {
    board: Option<LogBoard>,
    paths: Vec<PathPattern>,
    /// The paths of the last chart, and how many series they select.
    counted: Option<(Vec<PathPattern>, usize)>,
    /// By its text, why a path selects nothing.
    missing: HashMap<String, String>,
}

impl Log {
    pub(super) fn new(
        id: u64,
        origin: Origin,
        files: Vec<(String, PathBuf)>,
        uploaded: Option<File>,
        reading: ReadOptions,
        work: &Work,
    ) -> Self {
        Self {
            id,
            origin,
            files,
            _uploaded: uploaded,
            is_closed: Arc::default(),
            progress: Default::default(),
            state: Mutex::new(LogState::Reading),
            board: Arc::default(),
            stamps: Mutex::default(),
            problems: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            memory: Mutex::new(reading.budget.part()),
            reading,
            freed: Arc::clone(&work.freed),
        }
    }

    /// What clients call it.
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
        lock(&self.state).clone()
    }

    /// What is known of it.
    pub(crate) fn facts(&self) -> Result<Arc<Facts>, Refusal> {
        match self.state() {
            LogState::Ready(facts) => Ok(facts),
            LogState::Reading => Err(Refusal::conflict("this log is still being read; ask again soon")),
            LogState::Failed(why) => Err(why),
        }
    }

    /// Refuses where another file has come in the place of one that was read, or one was cut: nothing of it fits together with
    /// what is known. One that grows is the same.
    pub(crate) fn check_files(&self) -> Result<(), Refusal> {
        let stamps = lock(&self.stamps).clone();
        for ((name, path), stamp) in self.files.iter().zip(&stamps) {
            let now = Stamp::of(path);
            if (now.device, now.inode) != (stamp.device, stamp.inode) || now.bytes < stamp.bytes {
                return Err(Refusal::conflict(format!(
                    "{name} is another file than the one that was opened, or was cut: open it again"
                )));
            }
        }
        Ok(())
    }

    /// How much of it is read, from 0 to 1.
    pub(crate) fn progress(&self) -> f64 {
        let [read, all] = [0, 1].map(|number| self.progress[number].load(Ordering::Relaxed));
        match self.state() {
            LogState::Reading => (read as f64 / all.max(1) as f64).min(1.0),
            _ => 1.0,
        }
    }

    /// Whether clients may close it: one of them has opened it.
    pub(crate) fn is_closable(&self) -> bool {
        self.origin != Origin::Named
    }

    pub(super) fn touch(&self) {
        *lock(&self.last_used) = Instant::now();
    }

    pub(super) fn idle(&self) -> Duration {
        lock(&self.last_used).elapsed()
    }

    /// Ends all reading of it.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    /// How its files are read.
    pub(crate) fn reading(&self) -> ReadOptions {
        ReadOptions { budget: lock(&self.memory).clone(), ..self.reading.clone() }
    }

    /// What is answered where its samples could not be read.
    pub(crate) fn refusal(&self, error: &FlowError) -> Refusal {
        match error {
            FlowError::Log(over) if over.is_over_budget() => Refusal::no_memory(self.spoken(error)),
            _ => Refusal::conflict(self.spoken(error)),
        }
    }

    /// A message about it, in which its files have the names that clients know.
    pub(crate) fn spoken(&self, message: impl Display) -> String {
        let mut text = message.to_string();
        for (name, path) in &self.files {
            text = text.replace(&path.display().to_string(), name);
        }
        text
    }

    /// What was found damaged.
    pub(crate) fn problems(&self) -> Vec<String> {
        // Where it is charted just now, what was known before is told.
        let Ok(charted) = self.board.try_lock() else { return lock(&self.problems).clone() };
        let mut lines: Vec<_> =
            self.check_files().err().map(|refusal| refusal.message().to_owned()).into_iter().collect();
        for report in charted.board.iter().flat_map(LogBoard::reports) {
            let problems = report.problems();
            for problem in problems.list().iter().take(MAX_PROBLEMS) {
                lines.push(self.spoken(format_args!("{}: {problem}", report.path().display())));
            }
            let more = problems.count().saturating_sub(MAX_PROBLEMS as u64);
            if more > 0 {
                lines.push(self.spoken(format_args!("{}: and {more} more", report.path().display())));
            }
        }
        lock(&self.problems).clone_from(&lines);
        lines
    }

    /// Begins to read it. `notices` are told where it cannot be read, unless it was closed.
    pub(super) fn read(self: &Arc<Self>, work: &Work, notices: Option<LineLog>) {
        let (log, work) = (Arc::clone(self), work.clone());
        tokio::spawn(async move {
            let mut charted = Arc::clone(&log.board).lock_owned().await;
            let reading = Arc::clone(&log);
            let opened = work.run_long(move |_| {
                *lock(&reading.stamps) = reading.files.iter().map(|(_, path)| Stamp::of(path)).collect();
                let mut follow = |progress: LogProgress| reading.follow(progress);
                let board = LogBoard::open_with(reading.paths(), reading.reading(), &mut follow)
                    .map_err(|error| reading.unreadable(&error, notices.as_ref()))?;
                let facts = Facts::of(&board);
                Ok((board, facts))
            });
            let state = match opened.await {
                Ok((board, facts)) => {
                    charted.board = Some(board);
                    LogState::Ready(Arc::new(facts))
                }
                Err(why) => {
                    // What it had of the memory at most is given back: nothing of it is kept.
                    *lock(&log.memory) = log.reading.budget.part();
                    LogState::Failed(why)
                }
            };
            *lock(&log.state) = state;
        });
    }

    /// What clients are told where it cannot be read.
    fn unreadable(&self, error: &FlowError, notices: Option<&LineLog>) -> Refusal {
        if let Some(notices) = notices
            && !self.is_closed.load(Ordering::Relaxed)
        {
            notices(&error.to_string());
        }
        self.refusal(error)
    }

    fn follow(&self, progress: LogProgress) -> ControlFlow<()> {
        self.progress[0].store(progress.bytes_read, Ordering::Relaxed);
        self.progress[1].store(progress.bytes, Ordering::Relaxed);
        match self.is_closed.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Has a stretch of it reduced to columns, and `answer` made of that, with the paths that select nothing.
    pub(crate) async fn chart<T: Send + 'static>(
        self: &Arc<Self>,
        work: &Work,
        paths: Vec<PathPattern>,
        choose: impl FnOnce(Span) -> Result<(Span, usize), Refusal> + Send + 'static,
        answer: impl FnOnce(Option<&Reduced>, &[(String, String)]) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.facts()?;
        let locked = Arc::clone(&self.board).lock_owned();
        let Ok(mut charted) = tokio::time::timeout(Duration::from_secs(60), locked).await else {
            return Err(Refusal::too_many("others look at this log just now; try again"));
        };
        let log = Arc::clone(self);
        work.run(move |cancel| {
            log.check_files()?;
            let missing = charted.take_paths(&log, &paths, cancel)?;
            let Charted { board, counted, .. } = &mut *charted;
            let Some(board) = board else {
                return Err(Refusal::conflict("this log was not read"));
            };
            let Some(whole) = board.span() else { return answer(None, &missing) };
            let (span, columns) = choose(whole)?;
            if counted.as_ref().is_none_or(|(counted, _)| *counted != paths) {
                let all = board.reduce(whole, 1, &paths);
                let all = all.map_err(|error| log.refusal(&error))?;
                *counted = Some((paths.clone(), all.series.len()));
            }
            check_cells(counted.as_ref().map_or(0, |(_, series)| *series), columns)?;
            let reduced = board.reduce(span, columns, &paths);
            let reduced = reduced.map_err(|error| log.refusal(&error))?;
            answer(Some(&reduced), &missing)
        })
        .await
    }
}

impl Charted {
    /// Makes the board ready for these paths; gives those that select nothing.
    fn take_paths(
        &mut self,
        log: &Log,
        paths: &[PathPattern],
        cancel: &Cancel,
    ) -> Result<Vec<(String, String)>, Refusal> {
        let Some(board) = &mut self.board else { return Ok(Vec::new()) };
        if paths.iter().any(|path| !self.paths.contains(path)) {
            let mut all: Vec<_> = self.paths.drain(..).filter(|path| !paths.contains(path)).collect();
            all.extend(paths.iter().cloned());
            let too_many = all.len().saturating_sub(MAX_RECENT);
            all.drain(..too_many);
            // What was asked for before is forgotten where all together would be too many; what is refused is not kept.
            let catalogue = board.catalogue();
            let mut series: usize = 0;
            let mut refusal = None;
            let kept = all.iter().rev().take_while(|path| {
                series = series.saturating_add(catalogue.most_series(path));
                refusal = check_series(series).err();
                refusal.is_none()
            });
            let kept = kept.count();
            if let Some(refusal) = refusal.filter(|_| kept < paths.len()) {
                self.paths = all;
                self.paths.truncate(self.paths.len() - paths.len());
                return Err(refusal);
            }
            all.drain(..all.len() - kept);
            let mut follow = |_: LogProgress| match cancel.is_over() || log.is_closed.load(Ordering::Relaxed)
            {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            let selection = board.set_paths(&all, &mut follow);
            let selection = selection.map_err(|error| log.refusal(&error))?;
            if follow(LogProgress::default()).is_break() {
                return Err(Cancel::refusal());
            }
            let why = |advice: Option<String>| match advice {
                Some(advice) => format!("not in the log: {advice}"),
                None => "not in the log".to_owned(),
            };
            self.missing =
                selection.unmatched().into_iter().map(|(path, advice)| (path, why(advice))).collect();
            self.paths = all;
            // More is known of a log once it was read.
            *lock(&log.state) = LogState::Ready(Arc::new(Facts::of(board)));
        }
        let missing = |path: &PathPattern| {
            let text = path.to_string();
            let why = self.missing.get(&text)?.clone();
            Some((text, why))
        };
        Ok(paths.iter().filter_map(missing).collect())
    }
}

impl Facts {
    fn of(board: &LogBoard) -> Self {
        let catalogue = board.catalogue();
        Self {
            machines: catalogue.machines().iter().map(ToString::to_string).collect(),
            span: board.span(),
            samples: board.samples(),
            interval: board.typical_interval().map(|units| units as f64 / FileTime::PER_SECOND as f64),
            zone: board.zone().clone(),
            is_formatted: board.reports().iter().any(|report| report.facts().format.is_formatted()),
            default_paths: catalogue.first_choice().to_vec(),
            catalogue,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
