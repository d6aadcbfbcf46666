//! The screen on a terminal: processes inputs, performs requests, and redraws after changes.

mod growth;
mod live_feed;
mod log_feed;
#[cfg(test)]
#[path = "../../flow/tests/live/fixture.rs"]
#[allow(dead_code, reason = "a machine that several tests share")]
mod machine;
mod recording;
mod waiting;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;

use ratatui::crossterm::event;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::FlowError;
use tachograph_logs::io_error_text;
use tachograph_monitor::figures::NumberForm;
use tachograph_monitor::{Catalogue, View};

pub use live_feed::Live;
pub use log_feed::Logs;

use crate::app::{App, Existing, Facts, Input, Request, TableId};
use crate::terminal::{Screen, restore};
use crate::theme::Theme;
use live_feed::{LiveFeed, incomplete_message};
use log_feed::LogFeed;
use waiting::Waiting;

/// The source of samples.
pub enum Source {
    /// This machine.
    Live(Box<Live>),
    /// Logs.
    Logs(Logs),
}

/// How the screen ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The signal that ended the screen; `None` if the user quit.
    pub signal: Option<i32>,
    /// A message about the recording that was still in progress.
    pub notice: Option<String>,
}

/// Why the screen failed.
#[derive(Debug)]
pub enum ScreenError {
    /// The terminal failed.
    Terminal(io::Error),
    /// Logs could not be read, or a recording could not be finished.
    Flow(FlowError),
    /// The logs contain no samples, or the thread that reads them has panicked.
    Failure(String),
    /// The arguments are invalid; one message for each error.
    Usage(Vec<String>),
    /// The screen failed during a recording.
    Recording {
        /// The outcome of the recording.
        outcome: String,
        /// Why the screen failed.
        error: Box<ScreenError>,
    },
}

impl fmt::Display for ScreenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal(error) => write!(f, "terminal: {}", io_error_text(error)),
            Self::Flow(error) => error.fmt(f),
            Self::Failure(text) => f.write_str(text),
            Self::Usage(lines) => f.write_str(&lines.join("\n")),
            Self::Recording { outcome, error } => write!(f, "{error}; {outcome}"),
        }
    }
}

impl std::error::Error for ScreenError {}

impl From<io::Error> for ScreenError {
    fn from(error: io::Error) -> Self {
        Self::Terminal(error)
    }
}

impl From<FlowError> for ScreenError {
    fn from(error: FlowError) -> Self {
        Self::Flow(error)
    }
}

enum Feed {
    Live(Box<LiveFeed>),
    Logs(LogFeed),
}

/// Shows the screen until the user quits, the terminal closes, or one of the signals in `end_signals` arrives. `notices` are
/// shown as messages.
///
/// # Errors
///
/// If the terminal fails, if logs cannot be opened or contain nothing to show, or if a recording cannot be finished.
/// The terminal is restored in any case.
pub fn run(
    source: Source,
    view: View,
    theme: Theme,
    numbers: NumberForm,
    notices: Vec<String>,
    end_signals: &[i32],
) -> Result<End, ScreenError> {
    let waiting = Waiting::new(end_signals)?;
    let facts = match &source {
        Source::Live(live) => {
            let (name, about, zone) = (live.name.clone(), live.about.clone(), live.zone.clone());
            Facts { is_live: true, name, about, zone, has_properties: live.properties.is_some() }
        }
        Source::Logs(logs) => {
            let name = name_of(&logs.files);
            Facts { is_live: false, name, about: String::new(), zone: TimeZone::utc(), has_properties: false }
        }
    };
    let mut app = App::new(facts, view, theme);
    app.set_numbers(numbers);
    app.open_with(notices);
    let feed = match source {
        Source::Live(live) => Feed::Live(Box::new(LiveFeed::new(*live, app.paths(), app.interval()))),
        Source::Logs(logs) => {
            app.update(Input::Reading(Some((0, 1))));
            Feed::Logs(LogFeed::new(logs, waiting.waker()?))
        }
    };
    let screen = Screen::open()?;
    let mut running = Running {
        app,
        feed,
        screen,
        waiting,
        inputs: VecDeque::new(),
        wants_figures: false,
        wanted_tables: Vec::new(),
        has_quit: false,
    };
    let ended = match running.run_until_end() {
        // Drawing can fail before the signal of a closed terminal arrives.
        Err(ScreenError::Terminal(error)) => {
            running.waiting.end_or_hang_up().map(Some).ok_or(ScreenError::Terminal(error))
        }
        ended => ended,
    };
    let Running { screen, feed, .. } = running;
    drop(screen);
    // A recording is finished even if the terminal failed.
    let finished = match feed {
        Feed::Live(live) => live.finish(),
        Feed::Logs(_) => Ok(None),
    };
    match (ended, finished) {
        (Ok(signal), finished) => Ok(End { signal, notice: finished? }),
        (Err(error), Ok(None)) => Err(error),
        (Err(error), Ok(Some(outcome))) => Err(ScreenError::Recording { outcome, error: Box::new(error) }),
        (Err(error), Err(incomplete)) => {
            let outcome = incomplete_message(&incomplete);
            Err(ScreenError::Recording { outcome, error: Box::new(error) })
        }
    }
}

fn error_input(error: FlowError) -> Input {
    Input::Problem(error.to_string())
}

fn name_of(files: &[std::path::PathBuf]) -> String {
    let name = |file: &std::path::PathBuf| {
        file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
    };
    match files {
        [] => String::new(),
        [file] => name(file),
        [file, others @ ..] => format!("{} (+{})", name(file), others.len()),
    }
}

struct Running {
    app: App,
    feed: Feed,
    screen: Screen,
    waiting: Waiting,
    inputs: VecDeque<Input>,
    wants_figures: bool,
    wanted_tables: Vec<TableId>,
    has_quit: bool,
}

impl Running {
    /// Runs until the end; returns the signal that caused it, if any.
    fn run_until_end(&mut self) -> Result<Option<i32>, ScreenError> {
        loop {
            self.process_inputs()?;
            while self.screen.is_taken_over() && self.app.take_changed() {
                let app = &mut self.app;
                self.screen.terminal().draw(|frame| app.draw(frame))?;
                let requests = self.app.after_drawing();
                self.perform_all(requests)?;
                self.process_inputs()?;
            }
            if self.has_quit {
                return Ok(None);
            }
            let timeout = match &self.feed {
                Feed::Live(live) => Some(live.wait()),
                Feed::Logs(_) => None,
            };
            let has_terminal = self.waiting.wait(timeout)?;
            if let Some(signal) = self.waiting.end() {
                return Ok(Some(signal));
            }
            if !has_terminal {
                return Ok(Some(signal_hook::consts::SIGHUP));
            }
            if self.waiting.take_continued() {
                self.screen.reopen()?;
                self.app.mark_changed();
            }
            while event::poll(std::time::Duration::ZERO)? {
                self.inputs.push_back(Input::Terminal(event::read()?));
            }
        }
    }

    fn process_inputs(&mut self) -> Result<(), ScreenError> {
        let inputs = match &mut self.feed {
            Feed::Live(live) => live.collect_if_due(),
            Feed::Logs(logs) => logs.receive(&mut self.app)?,
        };
        self.push_front(inputs);
        loop {
            while let Some(input) = self.inputs.pop_front() {
                let requests = self.app.update(input);
                self.perform_all(requests)?;
            }
            // Figures are computed once, even if they were requested several times.
            let wants_figures = std::mem::take(&mut self.wants_figures);
            let wanted_tables = std::mem::take(&mut self.wanted_tables);
            if wants_figures && let Some((span, columns)) = self.app.required_figures() {
                let paths = self.app.charted_paths();
                match &mut self.feed {
                    Feed::Live(live) => {
                        let reduced = live.reduce(span, columns, &paths);
                        self.inputs.push_back(reduced.map_or_else(error_input, Input::Figures));
                    }
                    Feed::Logs(logs) => logs.reduce(span, columns, paths),
                }
            }
            for id in wanted_tables {
                let Some((span, paths)) = self.app.required_table(id) else { continue };
                match &mut self.feed {
                    Feed::Live(live) => {
                        let figures = live.reduce_table(span, &paths);
                        let input = |figures| Input::Table(id, figures);
                        self.inputs.push_back(figures.map_or_else(error_input, input));
                    }
                    Feed::Logs(logs) => logs.reduce_table(id, span, paths),
                }
            }
            if self.inputs.is_empty() {
                return Ok(());
            }
        }
    }

    /// Queues inputs before the waiting keys, because a key acts on the results of earlier keys. The inputs stay in
    /// order.
    fn push_front(&mut self, inputs: Vec<Input>) {
        let waiting = std::mem::take(&mut self.inputs);
        self.inputs.extend(inputs);
        self.inputs.extend(waiting);
    }

    fn perform_all(&mut self, requests: Vec<Request>) -> Result<(), ScreenError> {
        let mut responses = Vec::new();
        for request in requests {
            responses.extend(self.perform(request)?);
        }
        self.push_front(responses);
        Ok(())
    }

    fn perform(&mut self, request: Request) -> Result<Vec<Input>, ScreenError> {
        match request {
            Request::Quit => self.has_quit = true,
            Request::Suspend => self.suspend()?,
            Request::Redraw => {
                self.screen.clear()?;
                self.app.mark_changed();
            }
            Request::Figures => self.wants_figures = true,
            Request::Table(id) if self.wanted_tables.contains(&id) => {}
            Request::Table(id) => self.wanted_tables.push(id),
            Request::Save { path, may_overwrite, view } => {
                return Ok(vec![match view.save(&path, may_overwrite) {
                    Ok(()) => Input::Saved(path),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        Input::Exists(Existing::View(path))
                    }
                    Err(error) => Input::Notice(format!(
                        "{}: cannot save the view: {}",
                        path.display(),
                        io_error_text(&error)
                    )),
                }]);
            }
            request => return Ok(self.forward_to_feed(request)),
        }
        Ok(Vec::new())
    }

    fn catalogue(&self) -> Arc<dyn Catalogue> {
        match &self.feed {
            Feed::Live(live) => Arc::new(live.catalogue()),
            Feed::Logs(logs) => logs.catalogue(),
        }
    }

    fn forward_to_feed(&mut self, request: Request) -> Vec<Input> {
        let request = match request {
            Request::Sets => return vec![Input::Sets(self.catalogue().sets().into())],
            Request::Instances(set) => {
                let instances = self.catalogue().instances(&set);
                return vec![Input::Instances(set, instances)];
            }
            Request::Count(paths) => {
                let lines = self.catalogue().count(&paths, &self.app.paths());
                return vec![Input::Counted(paths, lines)];
            }
            request => request,
        };
        match (&mut self.feed, request) {
            (Feed::Live(live), Request::Paths(paths)) => return live.set_paths(paths),
            (Feed::Live(live), Request::Background(paths)) => live.set_background(paths),
            (Feed::Live(live), Request::Interval(interval)) => live.set_interval(interval),
            (Feed::Live(live), Request::Points(points)) => live.set_points(points),
            (Feed::Live(live), Request::Containers(groups)) => return vec![live.containers(groups)],
            (Feed::Live(live), Request::Reasons(counters)) => return vec![live.reasons(counters)],
            (Feed::Live(live), Request::Properties(id, processes)) => {
                return vec![live.properties(id, processes)];
            }
            (Feed::Live(live), Request::Collect) => return live.step(),
            (Feed::Live(live), Request::Hold(until)) => live.hold_samples(until),
            (Feed::Live(live), Request::Record { path, may_overwrite }) => {
                return live.record(&path, may_overwrite);
            }
            (Feed::Live(live), Request::StopRecording) => return live.stop_recording(),
            (Feed::Logs(logs), Request::Paths(paths)) => {
                logs.set_paths(paths);
                return vec![Input::Reading(Some((0, 1)))];
            }
            (Feed::Logs(logs), Request::CancelReading) => logs.cancel(),
            _ => {}
        }
        Vec::new()
    }

    /// Restores the terminal and suspends the process group, like Ctrl-Z in a shell.
    fn suspend(&mut self) -> Result<(), ScreenError> {
        restore();
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)
            .map_err(io::Error::from)?;
        self.waiting.take_continued();
        self.screen.reopen()?;
        self.app.mark_changed();
        Ok(())
    }
}
