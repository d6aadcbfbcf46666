//! What the screen is: a state that inputs change and that is drawn, without a terminal, a clock or a source.

mod commands;
mod dialogs;
mod mouse;
mod time;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tachograph_counters::AverageKind;
use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::{
    ItemId, Legend, MAX_POINTS, MIN_POINTS, Reduced, ReducedSeries, Ring, SetEntry, Span, View, ViewKind,
};

use crate::canvas::Canvas;
use crate::draw::Areas;
use crate::keys::{Command, command_of, of_control};
use crate::messages::Messages;
use crate::theme::Theme;
use crate::tree::{Instances, Tree};

pub(crate) use dialogs::{Prompt, PromptKind};
use time::Drag;

/// Intervals on a live chart unless something else is asked for.
pub const DEFAULT_POINTS: usize = 100;

/// What is shown.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Whether samples come as they are taken; else they are from logs.
    pub is_live: bool,
    /// The machine, or the logs.
    pub name: String,
    /// What times are shown in.
    pub zone: TimeZone,
}

/// What happens to the screen.
#[derive(Debug)]
pub enum Input {
    /// A key, the mouse, another size.
    Terminal(Event),
    /// A sample was taken at this time.
    Collected(FileTime),
    /// The figures that were [asked for](Request::Figures).
    Figures(Reduced),
    /// There are these sets to choose from.
    Sets(Arc<[SetEntry]>),
    /// The instances of a set that were [asked for](Request::Instances).
    Instances(String, Instances),
    /// That [many](Request::Count) new lines these paths are.
    Counted(Vec<PathPattern>, usize),
    /// How far the reading of logs is: bytes read, bytes in all. Nothing: it is done.
    Reading(Option<(u64, u64)>),
    /// The logs cover this stretch, and are shown in this zone.
    Opened(Option<Span>, TimeZone),
    /// The logs cover this stretch now: they are still being written.
    Grown(Span),
    /// What is recorded: file, samples, bytes. Nothing: no more.
    Recording(Option<Recording>),
    /// The view was written to this file.
    Saved(PathBuf),
    /// There is such a file: is it to be overwritten?
    Exists(Existing),
    /// Something to say.
    Notice(String),
    /// Something went wrong; said once.
    Trouble(String),
}

/// What a file that is there was to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Existing {
    /// A recording.
    Recording(PathBuf),
    /// A view.
    View(PathBuf),
}

/// A recording that is going on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The log.
    pub file: String,
    /// Samples in it.
    pub samples: u64,
    /// Its bytes.
    pub bytes: u64,
}

/// What the screen wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// An end.
    Quit,
    /// Back to the shell until that brings it to the foreground.
    Suspend,
    /// The terminal drawn anew.
    Redraw,
    /// Samples of these paths from now on.
    Paths(Vec<PathPattern>),
    /// The [figures](App::wanted).
    Figures,
    /// The sets to choose from.
    Sets,
    /// The instances of a set.
    Instances(String),
    /// How many lines these paths are that the legend does not have yet.
    Count(Vec<PathPattern>),
    /// A sample every so often.
    Interval(Duration),
    /// Room for so many intervals.
    Points(usize),
    /// A sample now.
    Collect,
    /// The samples up to this time to stay, whatever comes after them, and figures of none that is later. Nothing: no more.
    Hold(Option<FileTime>),
    /// The samples from now on in a log.
    Record {
        /// The log.
        path: PathBuf,
        /// Whether one that is there is to go.
        is_overwritten: bool,
    },
    /// The recording completed.
    StopRecording,
    /// The view in a file.
    Save {
        /// The file.
        path: PathBuf,
        /// Whether one that is there is to go.
        is_overwritten: bool,
        /// The view.
        view: Box<View>,
    },
    /// No more reading of what is being read.
    CancelReading,
}

/// Of which lines bands are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bands {
    Selected,
    All,
    None,
}

/// What lies over the screen.
pub(crate) enum Overlay {
    None,
    Tree(Tree),
    Help(usize),
    Messages(usize),
    Prompt(Prompt),
}

/// The state of the screen.
pub struct App {
    pub(crate) facts: Facts,
    pub(crate) theme: Theme,
    pub(crate) legend: Legend,
    pub(crate) selected: Option<ItemId>,
    /// The first row of the legend on the screen.
    pub(crate) legend_top: usize,
    /// The first line of the report on the screen.
    pub(crate) report_top: usize,
    pub(crate) reduced: Reduced,
    pub(crate) kind: ViewKind,
    pub(crate) bands: Bands,
    pub(crate) interval: Duration,
    pub(crate) points: usize,
    /// The times of the samples that are kept.
    pub(crate) times: Ring<FileTime>,
    /// The sample that the picture ends with, while it is frozen.
    pub(crate) frozen: Option<FileTime>,
    /// Whether the frozen picture goes on to the next sample that is taken.
    is_stepping: bool,
    /// Of logs: the stretch that they cover.
    pub(crate) whole: Option<Span>,
    /// Of logs: the stretch that is shown.
    pub(crate) span: Option<Span>,
    /// Of logs: the stretches that were shown before.
    pub(crate) history: Vec<Span>,
    /// The stretch that the cursor stands on: a column of the figures, of characters where the mouse set it, or a moment.
    pub(crate) cursor: Option<Span>,
    /// The first and the last such stretch of a selection, in any order.
    pub(crate) brush: (Option<Span>, Option<Span>),
    drag: Option<Drag>,
    pub(crate) reading: Option<(u64, u64)>,
    pub(crate) recording: Option<Recording>,
    pub(crate) overlay: Overlay,
    pub(crate) messages: Messages,
    sets: Option<Arc<[SetEntry]>>,
    /// Begin and end as they were asked for, until the logs are open.
    asked: (Option<TimeArgument>, Option<TimeArgument>),
    pub(crate) areas: Areas,
    /// Columns that the figures were asked for with.
    columns_asked: usize,
    is_changed: bool,
    /// Whether it was said what the mark of an average means.
    is_mark_explained: bool,
}

impl App {
    /// A screen of what a view says; of logs that are still being read.
    pub fn new(facts: Facts, view: View, theme: Theme) -> Self {
        let mut legend = Legend::default();
        for chosen in view.counters {
            legend.add(chosen);
        }
        let nothing = Span::new(FileTime(0), FileTime(0));
        let points = view.points.unwrap_or(DEFAULT_POINTS).clamp(MIN_POINTS, MAX_POINTS);
        Self {
            facts,
            theme,
            legend,
            selected: None,
            legend_top: 0,
            report_top: 0,
            reduced: Reduced { span: nothing, columns: 0, series: Vec::new() },
            kind: view.kind,
            bands: Bands::Selected,
            interval: view.interval.unwrap_or(Duration::from_secs(1)),
            points,
            times: Ring::new(points + 1),
            frozen: None,
            is_stepping: false,
            whole: None,
            span: None,
            history: Vec::new(),
            cursor: None,
            brush: (None, None),
            drag: None,
            reading: None,
            recording: None,
            overlay: Overlay::None,
            messages: Messages::default(),
            sets: None,
            asked: (view.begin, view.end),
            areas: Areas::default(),
            columns_asked: 0,
            is_changed: true,
            is_mark_explained: false,
        }
    }

    /// The chosen paths.
    pub fn paths(&self) -> Vec<PathPattern> {
        self.legend.paths()
    }

    /// From one sample to the next.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// How many intervals a live chart shows.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Chooses a path.
    pub fn choose(&mut self, chosen: tachograph_monitor::Chosen) {
        self.legend.add(chosen);
    }

    /// Whether anything is to be drawn; asking sets it back.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// What is to be drawn is to be drawn anew.
    pub fn note_changed(&mut self) {
        self.is_changed = true;
    }

    /// The figures that the screen needs: of which stretch, in how many columns. `None` while there is nothing to show.
    pub fn wanted(&self) -> Option<(Span, usize)> {
        let dots = self.dots_across().max(1);
        if !self.facts.is_live {
            return Some((self.span?, dots));
        }
        let end = self.frozen.or(self.times.newest().copied())?;
        let interval = self.interval_units();
        // A sample may be early or late by a part of the interval: the borders lie in the midst between two.
        let end = end.saturating_add((interval / 2).max(1));
        let length = interval.saturating_mul(self.points as i64);
        // Whole intervals to a column.
        let columns = self.points.div_ceil(self.points.div_ceil(dots));
        Some((Span::new(end.saturating_sub(length), end), columns))
    }

    pub(crate) fn interval_units(&self) -> i64 {
        i64::try_from(self.interval.as_nanos() / 100).unwrap_or(i64::MAX).max(1)
    }

    fn dots_across(&self) -> usize {
        Canvas::dots_across(usize::from(self.areas.plot.width), self.theme.is_unicode)
    }

    /// Takes in what happened; gives what is to be done.
    pub fn update(&mut self, input: Input) -> Vec<Request> {
        let mut requests = Vec::new();
        self.is_changed = true;
        match input {
            Input::Terminal(Event::Key(mut key)) if key.kind != KeyEventKind::Release => {
                // What a line feed is in raw mode: some terminals and pastes send it for Enter.
                if key.code == KeyCode::Char('j') && key.modifiers == KeyModifiers::CONTROL {
                    key = KeyEvent::from(KeyCode::Enter);
                }
                self.key(&key, &mut requests);
            }
            Input::Terminal(Event::Mouse(mouse)) => self.mouse(&mouse, &mut requests),
            Input::Terminal(Event::Resize(..)) => {}
            Input::Terminal(_) => self.is_changed = false,
            Input::Collected(at) => self.collected(at, &mut requests),
            Input::Figures(reduced) => {
                // Of a frozen picture no row goes, also where one steps back to before its instance came.
                self.legend.take(&reduced, !self.facts.is_live || self.frozen.is_some());
                self.say_what_averages_are(&reduced);
                self.reduced = reduced;
                self.keep_selection();
            }
            Input::Sets(sets) => {
                if let Overlay::Tree(tree) = &mut self.overlay {
                    tree.take_sets(Arc::clone(&sets));
                }
                self.sets = Some(sets);
            }
            Input::Instances(set, instances) => {
                if let Overlay::Tree(tree) = &mut self.overlay {
                    tree.take_instances(set, instances);
                }
            }
            Input::Counted(paths, lines) => self.counted(paths, lines, &mut requests),
            Input::Reading(reading) => self.reading = reading,
            Input::Opened(whole, zone) => self.opened(whole, zone, &mut requests),
            Input::Grown(samples) => self.grown(samples, &mut requests),
            Input::Recording(recording) => self.recording = recording,
            Input::Saved(path) => self.messages.answer(format!("the view is in {}", path.display()), false),
            Input::Exists(what) => self.overlay = Overlay::Prompt(Prompt::overwrite(what)),
            Input::Notice(text) => self.messages.answer(text, false),
            Input::Trouble(text) => self.messages.say(text, true),
        }
        requests
    }

    /// What is to be done because of the last drawing: another size needs other columns.
    pub fn after_drawing(&mut self) -> Vec<Request> {
        let columns = self.wanted().map_or(0, |(_, columns)| columns);
        if columns == self.columns_asked {
            return Vec::new();
        }
        self.columns_asked = columns;
        vec![Request::Figures]
    }

    /// Says once what the mark of averages means, where one has it.
    fn say_what_averages_are(&mut self, reduced: &Reduced) {
        let is_marked = |series: &ReducedSeries| {
            series.summary.average.is_some() && series.summary.average_kind == AverageKind::Arithmetic
        };
        if !self.is_mark_explained && reduced.series.iter().any(is_marked) {
            self.is_mark_explained = true;
            self.messages.say("* arithmetic: the mean of displayed values, all that a text log holds", false);
        }
    }

    /// Keeps an item selected: where it has gone, the first one.
    fn keep_selection(&mut self) {
        if self.selected.is_none_or(|id| self.legend.item(id).is_none()) {
            self.selected = self.legend.sorted(&self.reduced).first().map(|item| item.id());
        }
    }

    fn collected(&mut self, at: FileTime, requests: &mut Vec<Request>) {
        self.times.push(at);
        if std::mem::take(&mut self.is_stepping) {
            requests.extend([self.freeze_at(at), Request::Figures]);
        } else if self.frozen.is_none() {
            requests.push(Request::Figures);
        } else {
            self.is_changed = self.recording.is_some();
        }
    }

    /// A moment in the zone that times are shown in.
    pub(crate) fn moment(&self, utc: FileTime) -> Moment {
        self.facts.zone.utc_to_moment(utc)
    }

    fn key(&mut self, key: &KeyEvent, requests: &mut Vec<Request>) {
        match of_control(key) {
            Some(Command::Quit) => return requests.push(Request::Quit),
            Some(Command::Suspend) => return requests.push(Request::Suspend),
            Some(Command::Redraw) => return requests.push(Request::Redraw),
            _ => {}
        }
        self.messages.note_seen();
        match &self.overlay {
            Overlay::None => match command_of(key, self.facts.is_live) {
                Some(command) => self.run(command, requests),
                None => self.messages.answer("no such key; ? lists the keys", false),
            },
            Overlay::Help(_) | Overlay::Messages(_) => self.reading_key(key),
            Overlay::Tree(_) => self.tree_key(key, requests),
            Overlay::Prompt(_) => self.prompt_key(key, requests),
        }
    }

    /// Says something is to be read for other paths.
    fn paths_changed(&mut self, requests: &mut Vec<Request>) {
        requests.push(Request::Paths(self.legend.paths()));
        requests.push(Request::Figures);
    }

    fn open_tree(&mut self, is_searching: bool, requests: &mut Vec<Request>) {
        let sets = self.sets.clone().unwrap_or_default();
        self.overlay = Overlay::Tree(Tree::new(sets, is_searching));
        requests.push(Request::Sets);
    }

    /// What is chosen, to be saved.
    pub fn view(&self) -> View {
        let argument = |time: FileTime| Some(TimeArgument::Utc(time));
        let is_part = self.span.is_some() && self.span != self.whole;
        let span = self.span.filter(|_| is_part);
        // Paths without a machine hold for every log and machine; of several machines they would be unclear.
        let mut machines: Vec<_> =
            self.legend.items().iter().filter_map(|item| item.info()?.machine.as_deref()).collect();
        machines.sort_unstable();
        machines.dedup();
        View {
            interval: self.facts.is_live.then_some(self.interval),
            points: self.facts.is_live.then_some(self.points),
            kind: self.kind,
            counters: self.legend.chosen(machines.len() > 1),
            begin: span.and_then(|span| argument(span.begin())),
            end: span.and_then(|span| argument(span.end())),
        }
    }
}
