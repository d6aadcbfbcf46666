//! The screen on a terminal: inputs in, requests done, drawn when something changed.

mod growth;
mod live;
mod logs;
mod recording;
mod wait;

use std::collections::VecDeque;
use std::fmt;
use std::io;

use ratatui::crossterm::event;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::FlowError;
use tachograph_monitor::View;

pub use live::Live;
pub use logs::Logs;

use crate::app::{App, Existing, Facts, Input, Request};
use crate::terminal::{Screen, give_back};
use crate::theme::Theme;
use live::{LiveFeed, not_complete};
use logs::LogFeed;
use wait::Waiting;

/// Where samples come from.
pub enum Source {
    /// This machine.
    Live(Box<Live>),
    /// Logs.
    Logs(Logs),
}

/// How the screen ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// The signal that asked for it, where it was not a key.
    pub signal: Option<i32>,
    /// What is still to be said: of a recording that was completed at the end.
    pub said: Option<String>,
}

/// Why the screen could not be shown, or ended.
#[derive(Debug)]
pub enum ScreenError {
    /// The terminal failed.
    Terminal(io::Error),
    /// Logs could not be read, or a recording not be completed.
    Flow(FlowError),
    /// There is nothing to show.
    Work(String),
    /// It was called wrongly; a line for each way.
    Usage(Vec<String>),
    /// It failed while samples were recorded.
    Recording {
        /// What became of the recording.
        said: String,
        /// Why it failed.
        error: Box<ScreenError>,
    },
}

impl fmt::Display for ScreenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminal(error) => write!(f, "the terminal: {error}"),
            Self::Flow(error) => error.fmt(f),
            Self::Work(text) => f.write_str(text),
            Self::Usage(lines) => f.write_str(&lines.join("\n")),
            Self::Recording { said, error } => write!(f, "{error}; {said}"),
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

/// Shows the screen until somebody ends it, or one of the signals `ends` arrives. Notices are said on it.
///
/// # Errors
///
/// When the terminal fails, logs cannot be opened, or a recording cannot be completed. The terminal is as it was then.
pub fn run(
    source: Source,
    view: View,
    theme: Theme,
    notices: Vec<String>,
    ends: &[i32],
) -> Result<End, ScreenError> {
    let waiting = Waiting::new(ends)?;
    let facts = match &source {
        Source::Live(live) => Facts { is_live: true, name: live.name.clone(), zone: live.zone.clone() },
        Source::Logs(logs) => Facts { is_live: false, name: name_of(&logs.files), zone: TimeZone::utc() },
    };
    let mut app = App::new(facts, view, theme);
    for notice in notices {
        app.update(Input::Trouble(notice));
    }
    let feed = match source {
        Source::Live(live) => Feed::Live(Box::new(LiveFeed::new(*live, app.paths(), app.interval()))),
        Source::Logs(logs) => {
            app.update(Input::Reading(Some((0, 1))));
            Feed::Logs(LogFeed::new(logs, waiting.waker()?))
        }
    };
    let screen = Screen::open()?;
    let mut running =
        Running { app, feed, screen, waiting, inputs: VecDeque::new(), wants_figures: false, is_over: false };
    let ended = running.until_the_end();
    let Running { screen, feed, .. } = running;
    drop(screen);
    // Also where the terminal failed: what was recorded is to be whole.
    let finished = match feed {
        Feed::Live(live) => live.finish(),
        Feed::Logs(_) => Ok(None),
    };
    match (ended, finished) {
        (Ok(signal), finished) => Ok(End { signal, said: finished? }),
        (Err(error), Ok(None)) => Err(error),
        (Err(error), Ok(Some(said))) => Err(ScreenError::Recording { said, error: Box::new(error) }),
        (Err(error), Err(incomplete)) => {
            let said = not_complete(&incomplete);
            Err(ScreenError::Recording { said, error: Box::new(error) })
        }
    }
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
    is_over: bool,
}

impl Running {
    /// Gives the signal that ended it, if one did.
    fn until_the_end(&mut self) -> Result<Option<i32>, ScreenError> {
        loop {
            self.work()?;
            while self.screen.is_taken() && self.app.take_changed() {
                let app = &mut self.app;
                self.screen.terminal().draw(|frame| app.draw(frame))?;
                let requests = self.app.after_drawing();
                self.do_all(requests)?;
                self.work()?;
            }
            if self.is_over {
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
                self.app.note_changed();
            }
            while event::poll(std::time::Duration::ZERO)? {
                self.inputs.push_back(Input::Terminal(event::read()?));
            }
        }
    }

    /// Takes in all that there is, and does what follows from it.
    fn work(&mut self) -> Result<(), ScreenError> {
        let news = match &mut self.feed {
            Feed::Live(live) => live.take_due(),
            Feed::Logs(logs) => logs.take(&mut self.app)?,
        };
        self.next(news);
        loop {
            while let Some(input) = self.inputs.pop_front() {
                let requests = self.app.update(input);
                self.do_all(requests)?;
            }
            // Once for all that asked for them.
            if !std::mem::take(&mut self.wants_figures) {
                return Ok(());
            }
            let Some((span, columns)) = self.app.wanted() else { return Ok(()) };
            match &mut self.feed {
                Feed::Live(live) => match live.reduce(span, columns) {
                    Ok(reduced) => self.inputs.push_back(Input::Figures(reduced)),
                    Err(error) => self.inputs.push_back(Input::Trouble(error.to_string())),
                },
                Feed::Logs(logs) => logs.reduce(span, columns),
            }
        }
    }

    /// Takes this in next, before the keys that wait: they were pressed for what is there then, and samples come in the order in
    /// which they were taken.
    fn next(&mut self, inputs: Vec<Input>) {
        let waiting = std::mem::take(&mut self.inputs);
        self.inputs.extend(inputs);
        self.inputs.extend(waiting);
    }

    fn do_all(&mut self, requests: Vec<Request>) -> Result<(), ScreenError> {
        let mut answers = Vec::new();
        for request in requests {
            answers.extend(self.do_one(request)?);
        }
        self.next(answers);
        Ok(())
    }

    /// Gives what came of it.
    fn do_one(&mut self, request: Request) -> Result<Vec<Input>, ScreenError> {
        match request {
            Request::Quit => self.is_over = true,
            Request::Suspend => self.suspend()?,
            Request::Redraw => {
                self.screen.clear()?;
                self.app.note_changed();
            }
            Request::Figures => self.wants_figures = true,
            Request::Save { path, is_overwritten, view } => {
                return Ok(vec![match view.save(&path, is_overwritten) {
                    Ok(()) => Input::Saved(path),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        Input::Exists(Existing::View(path))
                    }
                    Err(error) => Input::Notice(format!("{}: not saved: {error}", path.display())),
                }]);
            }
            request => return Ok(self.ask_feed(request)),
        }
        Ok(Vec::new())
    }

    fn ask_feed(&mut self, request: Request) -> Vec<Input> {
        match (&mut self.feed, request) {
            (Feed::Live(live), Request::Paths(paths)) => return live.set_paths(paths),
            (Feed::Live(live), Request::Sets) => return vec![live.sets()],
            (Feed::Live(live), Request::Instances(set)) => return vec![live.instances(set)],
            (Feed::Live(live), Request::Count(paths)) => return vec![live.count(paths, &self.app.paths())],
            (Feed::Live(live), Request::Interval(interval)) => live.set_interval(interval),
            (Feed::Live(live), Request::Points(points)) => live.set_points(points),
            (Feed::Live(live), Request::Collect) => return live.collect(),
            (Feed::Live(live), Request::Hold(until)) => live.hold(until),
            (Feed::Live(live), Request::Record { path, is_overwritten }) => {
                return live.record(&path, is_overwritten);
            }
            (Feed::Live(live), Request::StopRecording) => return live.stop_recording(),
            (Feed::Logs(logs), Request::Paths(paths)) => {
                logs.set_paths(paths);
                return vec![Input::Reading(Some((0, 1)))];
            }
            (Feed::Logs(logs), Request::Sets) => return vec![logs.sets()],
            (Feed::Logs(logs), Request::Instances(set)) => return vec![logs.instances(set)],
            (Feed::Logs(logs), Request::Count(paths)) => return vec![logs.count(paths, &self.app.paths())],
            (Feed::Logs(logs), Request::CancelReading) => logs.cancel(),
            _ => {}
        }
        Vec::new()
    }

    /// Stops as a job of the shell, with the terminal as it was; goes on when the shell says so.
    fn suspend(&mut self) -> Result<(), ScreenError> {
        give_back();
        rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)
            .map_err(io::Error::from)?;
        self.waiting.take_continued();
        self.screen.reopen()?;
        self.app.note_changed();
        Ok(())
    }
}
