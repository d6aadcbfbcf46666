//! Logs, read on a thread of their own.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use tachograph_counters::path::PathPattern;
use tachograph_flow::{FlowError, Selection};
use tachograph_logs::ReadOptions;
use tachograph_monitor::{
    Board as _, Catalogue as _, Chosen, LogBoard, LogCatalogue, LogProgress, Reduced, Span,
};

use super::ScreenError;
use super::growth::Growth;
use super::wait::Waker;
use crate::app::{App, Input};

/// Logs, as the command hands them in.
pub struct Logs {
    /// The files; all are shown as one stretch of time.
    pub files: Vec<PathBuf>,
    /// How they are read.
    pub reading: ReadOptions,
    /// Whether the paths of the view were asked for on the command line, so that it is an error when none selects anything.
    pub is_asked: bool,
    /// What to say of paths that select nothing.
    pub complaints: fn(&Selection) -> Vec<String>,
    /// What to say of what is damaged.
    pub problems: fn(&LogBoard) -> Vec<String>,
}

/// What the thread is to do.
enum Job {
    Paths(Vec<PathPattern>),
    Figures(Span, usize),
}

/// What it did.
enum Done {
    Opened { span: Option<Span>, zone: tachograph_counters::time_zone::TimeZone, paths: Vec<PathPattern> },
    Read { selection: Selection, span: Option<Span>, problems: Vec<String> },
    Grown { span: Option<Span>, problems: Vec<String> },
    Figures(Reduced),
    Progress(LogProgress),
    Failed(FlowError),
}

/// A thread that reads logs.
pub(super) struct LogFeed {
    jobs: Sender<Job>,
    done: Receiver<Done>,
    catalogue: Arc<RwLock<Arc<LogCatalogue>>>,
    is_cancelled: Arc<AtomicBool>,
    complaints: fn(&Selection) -> Vec<String>,
    is_asked: bool,
    is_open: bool,
    name: String,
}

/// Progress is told so often.
const TOLD: Duration = Duration::from_millis(100);

impl LogFeed {
    pub(super) fn new(logs: Logs, waker: Waker) -> Self {
        let (jobs, to_do) = channel();
        let (tell, done) = channel();
        let catalogue = Arc::new(RwLock::new(Arc::new(LogCatalogue::default())));
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let name = logs.files.first().map(|file| file.display().to_string()).unwrap_or_default();
        let worker = Worker {
            files: logs.files,
            reading: logs.reading,
            problems: logs.problems,
            catalogue: Arc::clone(&catalogue),
            is_cancelled: Arc::clone(&is_cancelled),
            tell: Tell { tell, waker, told: Instant::now() },
            said: Vec::new(),
        };
        thread::spawn(move || worker.run(&to_do));
        Self {
            jobs,
            done,
            catalogue,
            is_cancelled,
            complaints: logs.complaints,
            is_asked: logs.is_asked,
            is_open: false,
            name,
        }
    }

    /// Takes in what the thread did.
    ///
    /// # Errors
    ///
    /// When the logs cannot be opened, or none of the paths that were asked for is in them.
    pub(super) fn take(&mut self, app: &mut App) -> Result<Vec<Input>, ScreenError> {
        let mut inputs = Vec::new();
        loop {
            let done = match self.done.try_recv() {
                Ok(done) => done,
                Err(TryRecvError::Empty) => break,
                // It has panicked, and that has been said.
                Err(TryRecvError::Disconnected) => {
                    return Err(ScreenError::Work(format!("{}: the reading has failed", self.name)));
                }
            };
            match done {
                Done::Progress(LogProgress { bytes_read, bytes }) => {
                    inputs.push(Input::Reading(Some((bytes_read, bytes))));
                }
                Done::Opened { span, zone, paths } => {
                    if span.is_none() && !self.is_cancelled.load(Ordering::SeqCst) {
                        return Err(ScreenError::Work(format!("{}: no sample in it", self.name)));
                    }
                    self.is_open = true;
                    if app.paths().is_empty() {
                        paths.into_iter().for_each(|path| app.choose(Chosen::new(path)));
                    }
                    inputs.push(self.sets());
                    inputs.push(Input::Opened(span, zone));
                    self.set_paths(app.paths());
                }
                Done::Grown { span, problems } => {
                    inputs.push(self.sets());
                    inputs.extend(span.map(Input::Grown));
                    inputs.extend(problems.into_iter().map(Input::Trouble));
                }
                Done::Read { selection, span, problems } => {
                    inputs.push(Input::Reading(None));
                    inputs.push(self.sets());
                    inputs.extend(span.map(Input::Grown));
                    let complaints = (self.complaints)(&selection);
                    let is_nothing = !complaints.is_empty() && complaints.len() == selection.len();
                    if std::mem::take(&mut self.is_asked) && is_nothing {
                        return Err(ScreenError::Usage(complaints));
                    }
                    if self.is_cancelled.swap(false, Ordering::SeqCst) {
                        inputs.push(Input::Notice("the reading was cancelled".to_owned()));
                    } else {
                        inputs.extend(complaints.into_iter().map(Input::Notice));
                    }
                    inputs.extend(problems.into_iter().map(Input::Trouble));
                }
                Done::Figures(reduced) => inputs.push(Input::Figures(reduced)),
                Done::Failed(error) if !self.is_open => return Err(ScreenError::Flow(error)),
                Done::Failed(error) => {
                    inputs.push(Input::Reading(None));
                    inputs.push(Input::Trouble(error.to_string()));
                }
            }
        }
        Ok(inputs)
    }

    fn catalogue(&self) -> Arc<LogCatalogue> {
        Arc::clone(&self.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn sets(&self) -> Input {
        Input::Sets(self.catalogue().sets().into())
    }

    pub(super) fn instances(&self, set: String) -> Input {
        let instances = self.catalogue().instances(&set);
        Input::Instances(set, instances)
    }

    pub(super) fn count(&self, wanted: Vec<PathPattern>, present: &[PathPattern]) -> Input {
        let lines = self.catalogue().count(&wanted, present);
        Input::Counted(wanted, lines)
    }

    pub(super) fn set_paths(&self, paths: Vec<PathPattern>) {
        self.is_cancelled.store(false, Ordering::SeqCst);
        // A thread that has ended told why.
        let _ = self.jobs.send(Job::Paths(paths));
    }

    pub(super) fn reduce(&self, span: Span, columns: usize) {
        let _ = self.jobs.send(Job::Figures(span, columns));
    }

    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::SeqCst);
    }
}

/// Tells what was done, and wakes who waits for it. When it is dropped the channel ends before that wakes.
struct Tell {
    tell: Sender<Done>,
    waker: Waker,
    told: Instant,
}

impl Tell {
    /// False when nobody listens any more.
    fn done(&self, done: Done) -> bool {
        let is_heard = self.tell.send(done).is_ok();
        self.waker.wake();
        is_heard
    }

    fn progress(&mut self, progress: LogProgress, is_cancelled: &AtomicBool) -> ControlFlow<()> {
        if is_cancelled.load(Ordering::SeqCst) {
            return ControlFlow::Break(());
        }
        if self.told.elapsed() >= TOLD {
            self.told = Instant::now();
            if !self.done(Done::Progress(progress)) {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

/// What the thread has.
struct Worker {
    files: Vec<PathBuf>,
    reading: ReadOptions,
    problems: fn(&LogBoard) -> Vec<String>,
    catalogue: Arc<RwLock<Arc<LogCatalogue>>>,
    is_cancelled: Arc<AtomicBool>,
    tell: Tell,
    /// The problems of the logs as they were when they were read last.
    said: Vec<String>,
}

impl Worker {
    fn run(mut self, to_do: &Receiver<Job>) {
        let files = std::mem::take(&mut self.files);
        // Before they are read: what comes while they are is not missed.
        let mut growth = Some(Growth::new(&files));
        let is_cancelled = Arc::clone(&self.is_cancelled);
        let tell = &mut self.tell;
        let opened = LogBoard::open_with(files, self.reading.clone(), &mut |progress| {
            tell.progress(progress, &is_cancelled)
        });
        let mut board = match opened {
            Ok(board) => board,
            Err(error) => {
                self.tell.done(Done::Failed(error));
                return;
            }
        };
        self.note_catalogue(&board);
        let catalogue = board.catalogue();
        let first = catalogue.first_choice().iter();
        let paths = first.filter_map(|path| PathPattern::parse(path).ok()).collect();
        self.tell.done(Done::Opened { span: board.span(), zone: board.zone().clone(), paths });
        loop {
            let job = match &mut growth {
                None => to_do.recv().ok(),
                Some(known) => match to_do.recv_timeout(known.wait()) {
                    Ok(job) => Some(job),
                    Err(RecvTimeoutError::Timeout) => {
                        if known.look() && !self.go_on(&mut board, &mut growth) {
                            return;
                        }
                        continue;
                    }
                    Err(RecvTimeoutError::Disconnected) => None,
                },
            };
            let Some(job) = job else { return };
            // Of several stretches that were asked for meanwhile only the last one is wanted.
            let (mut paths, mut figures) = (None, None);
            for job in std::iter::once(job).chain(to_do.try_iter()) {
                match job {
                    Job::Paths(job) => paths = Some(job),
                    Job::Figures(span, columns) => figures = Some((span, columns)),
                }
            }
            if let Some(paths) = paths
                && !self.read(&mut board, &paths)
            {
                return;
            }
            if let Some((span, columns)) = figures {
                let done = if board.paths().is_empty() {
                    Done::Figures(Reduced { span, columns, series: Vec::new() })
                } else {
                    let paths = board.paths().to_vec();
                    board.reduce(span, columns, &paths).map_or_else(Done::Failed, Done::Figures)
                };
                if !self.tell.done(done) {
                    return;
                }
            }
        }
    }

    fn read(&mut self, board: &mut LogBoard, paths: &[PathPattern]) -> bool {
        let is_cancelled = Arc::clone(&self.is_cancelled);
        let tell = &mut self.tell;
        let read = board.set_paths(paths, &mut |progress| tell.progress(progress, &is_cancelled));
        self.note_catalogue(board);
        let problems = (self.problems)(board);
        self.said.clone_from(&problems);
        self.tell.done(match read {
            Ok(selection) => Done::Read { selection, span: board.span(), problems },
            Err(error) => Done::Failed(error),
        })
    }

    /// Takes in what was appended to logs; nothing more where that fails. False when nobody listens any more.
    fn go_on(&mut self, board: &mut LogBoard, growth: &mut Option<Growth>) -> bool {
        let begun = Instant::now();
        let refreshed = board.refresh();
        if let Some(growth) = growth {
            growth.note_reading(begun.elapsed());
        }
        match refreshed {
            Ok(false) => true,
            Ok(true) => {
                self.note_catalogue(board);
                let problems = (self.problems)(board);
                let new = problems.iter().filter(|problem| !self.said.contains(problem)).cloned().collect();
                self.said = problems;
                self.tell.done(Done::Grown { span: board.span(), problems: new })
            }
            Err(error) => {
                *growth = None;
                self.tell.done(Done::Failed(error))
            }
        }
    }

    fn note_catalogue(&self, board: &LogBoard) {
        *self.catalogue.write().unwrap_or_else(PoisonError::into_inner) = board.catalogue();
    }
}
