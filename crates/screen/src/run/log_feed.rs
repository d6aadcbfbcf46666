//! Reading logs on a separate thread.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use tachograph_counters::IgnorePoison;
use tachograph_counters::path::PathPattern;
use tachograph_flow::{FlowError, Selection};
use tachograph_logs::ReadOptions;
use tachograph_monitor::{
    Board as _, Catalogue as _, Chosen, LogBoard, LogCatalogue, LogProgress, Reduced, Span, TableFigures,
};

use super::ScreenError;
use super::growth::Growth;
use super::waiting::Waker;
use crate::app::{App, Input, TableId};

/// Logs as the source of the screen.
pub struct Logs {
    /// The files, which are shown as one time range.
    pub files: Vec<PathBuf>,
    /// Options for reading the files.
    pub reading: ReadOptions,
    /// Whether the paths come from the command line. Then it is an error if none of them selects a counter.
    pub are_paths_required: bool,
    /// Whether the user has chosen neither a view nor paths.
    pub is_default_view: bool,
    /// Returns messages about paths that select no counter.
    pub unmatched: fn(&Selection) -> Vec<String>,
    /// Returns messages about damage to the logs.
    pub problems: fn(&LogBoard) -> Vec<String>,
}

/// A job for the thread that reads the logs.
enum Job {
    Paths(Vec<PathPattern>),
    Figures(Span, usize, Vec<PathPattern>),
    Table(TableId, Span, Vec<PathPattern>),
}

/// A result from the thread that reads the logs.
enum Outcome {
    Opened { span: Option<Span>, zone: tachograph_counters::time_zone::TimeZone, paths: Vec<PathPattern> },
    Read { selection: Selection, span: Option<Span>, problems: Vec<String> },
    Grown { span: Option<Span>, problems: Vec<String> },
    Figures(Reduced),
    Table(TableId, TableFigures),
    Progress(LogProgress),
    Failed(FlowError),
}

pub(super) struct LogFeed {
    jobs: Sender<Job>,
    outcomes: Receiver<Outcome>,
    catalogue: Arc<RwLock<Arc<LogCatalogue>>>,
    is_cancelled: Arc<AtomicBool>,
    unmatched: fn(&Selection) -> Vec<String>,
    are_paths_required: bool,
    is_default_view: bool,
    is_open: bool,
    name: String,
}

/// How often progress is reported.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

impl LogFeed {
    pub(super) fn new(logs: Logs, waker: Waker) -> Self {
        let (jobs, job_queue) = channel();
        let (sender, outcomes) = channel();
        let catalogue = Arc::new(RwLock::new(Arc::new(LogCatalogue::default())));
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let name = logs.files.first().map(|file| file.display().to_string()).unwrap_or_default();
        let worker = Worker {
            files: logs.files,
            reading: logs.reading,
            problems: logs.problems,
            catalogue: Arc::clone(&catalogue),
            is_cancelled: Arc::clone(&is_cancelled),
            reporter: Reporter { sender, waker, last_progress: Instant::now() },
            known_problems: Vec::new(),
        };
        thread::spawn(move || worker.run(&job_queue));
        Self {
            jobs,
            outcomes,
            catalogue,
            is_cancelled,
            unmatched: logs.unmatched,
            are_paths_required: logs.are_paths_required,
            is_default_view: logs.is_default_view,
            is_open: false,
            name,
        }
    }

    /// Receives the results of the thread.
    ///
    /// # Errors
    ///
    /// If the logs cannot be opened, or contain none of the required paths.
    pub(super) fn receive(&mut self, app: &mut App) -> Result<Vec<Input>, ScreenError> {
        let mut inputs = Vec::new();
        loop {
            let outcome = match self.outcomes.try_recv() {
                Ok(outcome) => outcome,
                Err(TryRecvError::Empty) => break,
                // The thread has panicked; the panic message has been printed.
                Err(TryRecvError::Disconnected) => {
                    return Err(ScreenError::Failure(format!("{}: reading failed", self.name)));
                }
            };
            match outcome {
                Outcome::Progress(LogProgress { bytes_read, bytes }) => {
                    inputs.push(Input::Reading(Some((bytes_read, bytes))));
                }
                Outcome::Opened { span, zone, paths } => {
                    if span.is_none() && !self.is_cancelled.load(Ordering::SeqCst) {
                        return Err(ScreenError::Failure(format!("{}: contains no samples", self.name)));
                    }
                    self.is_open = true;
                    let catalogue = self.catalogue();
                    app.resolve(&catalogue.sets(), |path| catalogue.has(path), self.is_default_view);
                    if app.paths().is_empty() {
                        paths.into_iter().for_each(|path| app.choose(Chosen::new(path)));
                    }
                    inputs.push(self.sets());
                    inputs.push(Input::Opened(span, zone));
                    self.set_paths(app.paths());
                }
                Outcome::Grown { span, problems } => {
                    inputs.push(self.sets());
                    inputs.extend(span.map(Input::Grown));
                    inputs.extend(problems.into_iter().map(Input::Problem));
                }
                Outcome::Read { selection, span, problems } => {
                    inputs.push(Input::Reading(None));
                    inputs.push(self.sets());
                    inputs.extend(span.map(Input::Grown));
                    let unmatched = (self.unmatched)(&selection);
                    let selects_nothing = !unmatched.is_empty() && unmatched.len() == selection.len();
                    if std::mem::take(&mut self.are_paths_required) && selects_nothing {
                        return Err(ScreenError::Usage(unmatched));
                    }
                    if self.is_cancelled.swap(false, Ordering::SeqCst) {
                        inputs.push(Input::Notice("reading cancelled".to_owned()));
                    } else {
                        inputs.extend(unmatched.into_iter().map(Input::Notice));
                    }
                    inputs.extend(problems.into_iter().map(Input::Problem));
                }
                Outcome::Figures(reduced) => inputs.push(Input::Figures(reduced)),
                Outcome::Table(id, figures) => inputs.push(Input::Table(id, figures)),
                Outcome::Failed(error) if !self.is_open => return Err(ScreenError::Flow(error)),
                Outcome::Failed(error) => {
                    inputs.push(Input::Reading(None));
                    inputs.push(Input::Problem(error.to_string()));
                }
            }
        }
        Ok(inputs)
    }

    pub(super) fn catalogue(&self) -> Arc<LogCatalogue> {
        Arc::clone(&self.catalogue.read().ignore_poison())
    }

    fn sets(&self) -> Input {
        Input::Sets(self.catalogue().sets().into())
    }

    pub(super) fn set_paths(&self, paths: Vec<PathPattern>) {
        self.is_cancelled.store(false, Ordering::SeqCst);
        // If the thread has ended, it has already reported why.
        let _ = self.jobs.send(Job::Paths(paths));
    }

    /// Requests the figures of a chart.
    pub(super) fn reduce(&self, span: Span, columns: usize, paths: Vec<PathPattern>) {
        let _ = self.jobs.send(Job::Figures(span, columns, paths));
    }

    /// Requests the figures of a table.
    pub(super) fn reduce_table(&self, id: TableId, span: Span, paths: Vec<PathPattern>) {
        let _ = self.jobs.send(Job::Table(id, span, paths));
    }

    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
    }
}

/// Reports results, and wakes the receiver. Fields are dropped in order of declaration, so the channel is closed before
/// the waker wakes the receiver for the last time.
struct Reporter {
    sender: Sender<Outcome>,
    waker: Waker,
    last_progress: Instant,
}

impl Reporter {
    /// Returns false if the receiver is gone.
    fn report(&self, outcome: Outcome) -> bool {
        let is_received = self.sender.send(outcome).is_ok();
        self.waker.wake();
        is_received
    }

    fn progress(&mut self, progress: LogProgress, is_cancelled: &AtomicBool) -> ControlFlow<()> {
        if is_cancelled.load(Ordering::SeqCst) {
            return ControlFlow::Break(());
        }
        if self.last_progress.elapsed() >= PROGRESS_INTERVAL {
            self.last_progress = Instant::now();
            if !self.report(Outcome::Progress(progress)) {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

struct Worker {
    files: Vec<PathBuf>,
    reading: ReadOptions,
    problems: fn(&LogBoard) -> Vec<String>,
    catalogue: Arc<RwLock<Arc<LogCatalogue>>>,
    is_cancelled: Arc<AtomicBool>,
    reporter: Reporter,
    /// The problems reported so far.
    known_problems: Vec<String>,
}

impl Worker {
    fn run(mut self, jobs: &Receiver<Job>) {
        let files = std::mem::take(&mut self.files);
        // Created before the logs are read, so that no change is missed.
        let mut growth = Some(Growth::new(&files));
        let is_cancelled = Arc::clone(&self.is_cancelled);
        let reporter = &mut self.reporter;
        let opened = LogBoard::open_with(files, self.reading.clone(), &mut |progress| {
            reporter.progress(progress, &is_cancelled)
        });
        let mut board = match opened {
            Ok(board) => board,
            Err(error) => {
                self.reporter.report(Outcome::Failed(error));
                return;
            }
        };
        self.publish_catalogue(&board);
        let catalogue = board.catalogue();
        let first = catalogue.first_choice().iter();
        let paths = first.filter_map(|path| PathPattern::parse(path).ok()).collect();
        self.reporter.report(Outcome::Opened { span: board.span(), zone: board.zone().clone(), paths });
        loop {
            let job = match &mut growth {
                None => jobs.recv().ok(),
                Some(known) => match jobs.recv_timeout(known.wait()) {
                    Ok(job) => Some(job),
                    Err(RecvTimeoutError::Timeout) => {
                        if known.has_grown() && !self.refresh(&mut board, &mut growth) {
                            return;
                        }
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => None,
                },
            };
            let Some(job) = job else { return };
            // Only the last job of each kind is performed, and for tables the last job of each table.
            let (mut paths, mut figures) = (None, None);
            let mut tables: Vec<(TableId, Span, Vec<PathPattern>)> = Vec::new();
            for job in std::iter::once(job).chain(jobs.try_iter()) {
                match job {
                    Job::Paths(job) => paths = Some(job),
                    Job::Figures(span, columns, paths) => figures = Some((span, columns, paths)),
                    Job::Table(id, span, paths) => {
                        tables.retain(|(known, ..)| *known != id);
                        tables.push((id, span, paths));
                    }
                }
            }
            if let Some(paths) = paths
                && !self.read(&mut board, &paths)
            {
                return;
            }
            let figures = figures.map(|(span, columns, paths)| {
                let paths = read_paths(&board, &paths);
                let reduced = match paths.is_empty() {
                    true => Ok(Reduced { span, columns, series: Vec::new() }),
                    false => board.reduce(span, columns, &paths),
                };
                reduced.map_or_else(Outcome::Failed, Outcome::Figures)
            });
            if figures.is_some_and(|outcome| !self.reporter.report(outcome)) {
                return;
            }
            for (id, span, paths) in tables {
                let paths = read_paths(&board, &paths);
                let figures = match paths.is_empty() {
                    true => Ok(Reduced { span, columns: 1, series: Vec::new() }.into()),
                    false => TableFigures::read(&mut board, span, &paths),
                };
                let outcome = figures.map_or_else(Outcome::Failed, |figures| Outcome::Table(id, figures));
                if !self.reporter.report(outcome) {
                    return;
                }
            }
        }
    }

    fn read(&mut self, board: &mut LogBoard, paths: &[PathPattern]) -> bool {
        let is_cancelled = Arc::clone(&self.is_cancelled);
        let reporter = &mut self.reporter;
        let read = board.set_paths(paths, &mut |progress| reporter.progress(progress, &is_cancelled));
        self.publish_catalogue(board);
        let problems = (self.problems)(board);
        self.known_problems.clone_from(&problems);
        self.reporter.report(match read {
            Ok(selection) => Outcome::Read { selection, span: board.span(), problems },
            Err(error) => Outcome::Failed(error),
        })
    }

    /// Reads appended samples; if this fails, stops checking for growth. Returns false if the receiver is gone.
    fn refresh(&mut self, board: &mut LogBoard, growth: &mut Option<Growth>) -> bool {
        let begun = Instant::now();
        let refreshed = board.refresh();
        if let Some(growth) = growth {
            growth.delay_after(begun.elapsed());
        }
        match refreshed {
            Ok(false) => true,
            Ok(true) => {
                self.publish_catalogue(board);
                let problems = (self.problems)(board);
                let new = problems
                    .iter()
                    .filter(|problem| !self.known_problems.contains(problem))
                    .cloned()
                    .collect();
                self.known_problems = problems;
                self.reporter.report(Outcome::Grown { span: board.span(), problems: new })
            }
            Err(error) => {
                *growth = None;
                self.reporter.report(Outcome::Failed(error))
            }
        }
    }

    fn publish_catalogue(&self, board: &LogBoard) {
        *self.catalogue.write().ignore_poison() = board.catalogue();
    }
}

/// Keeps only the paths that the board has read.
fn read_paths(board: &LogBoard, paths: &[PathPattern]) -> Vec<PathPattern> {
    paths.iter().filter(|path| board.paths().contains(path)).cloned().collect()
}
