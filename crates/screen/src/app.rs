//! The state of the screen. Inputs change it, and it can be drawn. It has no access to the terminal, the clock or the
//! samples.

mod commands;
mod dialogs;
mod input;
mod mouse;
mod request;
mod table;
mod time;

use std::sync::Arc;
use std::time::Duration;

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tachograph_counters::AverageKind;
use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::{
    ItemId, Legend, MAX_POINTS, MIN_POINTS, Reduced, ReducedSeries, Ring, SetEntry, Span, TableSettings,
    View, ViewKind,
};

use crate::canvas::Canvas;
use crate::draw::Areas;
use crate::keys::{Command, command_of, control_command};
use crate::messages::Messages;
use crate::theme::Theme;
use crate::tree::Tree;

pub(crate) use dialogs::{Prompt, PromptKind};
pub use input::{Existing, Input, Recording};
pub use request::Request;
pub(crate) use table::Table;
use time::Drag;

/// The default number of intervals on a live chart.
pub const DEFAULT_POINTS: usize = 100;

/// Facts about the machine or the logs that are shown.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Whether samples are taken live; otherwise they come from logs.
    pub is_live: bool,
    /// The name of the machine or logs.
    pub name: String,
    /// The time zone of displayed times.
    pub zone: TimeZone,
}

/// Which lines have min-max bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bands {
    Selected,
    All,
    None,
}

/// The dialog on top of the screen.
pub(crate) enum Overlay {
    None,
    Tree(Box<Tree>),
    Help(usize),
    Messages(usize),
    Prompt(Prompt),
    /// All counters and properties of the selected row of the table.
    Row(usize),
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
    pub(crate) table: Option<Box<Table>>,
    /// The time range for which figures of the table were last requested.
    table_requested: Option<Span>,
    /// The settings of the table in the view that was opened.
    table_settings: Option<TableSettings>,
    pub(crate) bands: Bands,
    pub(crate) interval: Duration,
    pub(crate) points: usize,
    /// The times of the samples that are kept.
    pub(crate) times: Ring<FileTime>,
    /// The last sample on the chart while it is frozen.
    pub(crate) frozen: Option<FileTime>,
    /// Whether the frozen chart advances when the next sample is taken.
    is_stepping: bool,
    /// For logs: the time range of all samples.
    pub(crate) full_span: Option<Span>,
    /// For logs: the visible time range.
    pub(crate) span: Option<Span>,
    /// For logs: the time ranges that were visible before.
    pub(crate) history: Vec<Span>,
    /// The time range under the cursor: that of a column of the figures or of a column of characters (set by the
    /// mouse), or a single moment.
    pub(crate) cursor: Option<Span>,
    /// The two ends of the selected time range, in any order; each is the column that the user chose.
    pub(crate) brush: (Option<Span>, Option<Span>),
    drag: Option<Drag>,
    /// The progress of reading logs: bytes read, bytes in total. `None` while nothing is read.
    pub(crate) reading: Option<(u64, u64)>,
    pub(crate) recording: Option<Recording>,
    pub(crate) overlay: Overlay,
    pub(crate) messages: Messages,
    sets: Option<Arc<[SetEntry]>>,
    /// The begin and end that the view requests.
    requested_range: (Option<TimeArgument>, Option<TimeArgument>),
    pub(crate) areas: Areas,
    /// The number of columns for which figures were last requested.
    columns_requested: usize,
    is_changed: bool,
    /// Whether the mark of arithmetic averages has been explained.
    is_mark_explained: bool,
}

impl App {
    /// Creates a screen that shows a view. Logs are opened later ([`Input::Opened`]).
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
            table: None,
            table_requested: None,
            table_settings: view.table,
            bands: Bands::Selected,
            interval: view.interval.unwrap_or(Duration::from_secs(1)),
            points,
            times: Ring::new(points + 1),
            frozen: None,
            is_stepping: false,
            full_span: None,
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
            requested_range: (view.begin, view.end),
            areas: Areas::default(),
            columns_requested: 0,
            is_changed: true,
            is_mark_explained: false,
        }
    }

    /// The selected paths, and those of the table.
    pub fn paths(&self) -> Vec<PathPattern> {
        let mut paths = self.legend.paths();
        paths.extend(self.table_paths());
        paths
    }

    /// The paths that are charted.
    pub fn charted_paths(&self) -> Vec<PathPattern> {
        self.legend.paths()
    }

    /// The sample interval.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The number of intervals on a live chart.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Adds a path to the legend.
    pub fn choose(&mut self, chosen: tachograph_monitor::Chosen) {
        self.legend.add(chosen);
    }

    /// Whether a redraw is needed; resets the flag.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Requests a redraw.
    pub fn mark_changed(&mut self) {
        self.is_changed = true;
    }

    /// The time range and the number of columns of the figures that the screen needs; `None` while there are no samples.
    pub fn required_figures(&self) -> Option<(Span, usize)> {
        let dots = self.dots_across().max(1);
        if self.facts.is_live && self.kind == ViewKind::Table && self.frozen.is_none() {
            // No chart is shown, and the cursor of a table needs a frozen screen.
            return None;
        }
        if !self.facts.is_live {
            return Some((self.span?, dots));
        }
        let end = self.frozen.or(self.times.newest().copied())?;
        let interval = self.interval_units();
        // Samples can be slightly early or late, so columns end halfway between two samples.
        let end = end.saturating_add((interval / 2).max(1));
        let length = interval.saturating_mul(self.points as i64);
        // A column consists of whole intervals.
        let columns = self.points.div_ceil(self.points.div_ceil(dots));
        Some((Span::new(end.saturating_sub(length), end), columns))
    }

    pub(crate) fn interval_units(&self) -> i64 {
        i64::try_from(self.interval.as_nanos() / 100).unwrap_or(i64::MAX).max(1)
    }

    fn dots_across(&self) -> usize {
        if self.kind == ViewKind::Table {
            // The steps of the cursor.
            return usize::from(self.areas.screen.width);
        }
        Canvas::dots_across(usize::from(self.areas.plot.width), self.theme.is_unicode)
    }

    /// Processes an input; returns the actions that it requires.
    pub fn update(&mut self, input: Input) -> Vec<Request> {
        let mut requests = Vec::new();
        self.is_changed = true;
        match input {
            Input::Terminal(Event::Key(mut key)) if key.kind != KeyEventKind::Release => {
                // In raw mode, a line feed arrives as Ctrl-J. Some terminals, and pasted text, send it for Enter.
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
                // A frozen chart keeps its rows, even those of instances that did not exist yet at its end.
                self.legend.update(&reduced, !self.facts.is_live || self.frozen.is_some());
                self.explain_averages(&reduced);
                self.reduced = reduced;
                self.repair_selection();
            }
            Input::Table(reduced) => self.update_table(reduced, &mut requests),
            Input::Properties(read) => {
                if let Some(table) = &mut self.table {
                    table.model.set_properties(read);
                    table.repair_selection();
                }
            }
            Input::Sets(sets) => {
                if let Overlay::Tree(tree) = &mut self.overlay {
                    tree.set_sets(Arc::clone(&sets));
                }
                self.sets = Some(sets);
                self.open_pending_table(&mut requests);
            }
            Input::Instances(set, instances) => {
                if let Overlay::Tree(tree) = &mut self.overlay {
                    tree.set_instances(set, instances);
                }
            }
            Input::Counted(paths, lines) => self.counted(paths, lines, &mut requests),
            Input::Reading(reading) => {
                self.reading = reading;
                self.table_requested = self.table_requested.filter(|_| reading.is_some());
            }
            Input::Opened(whole, zone) => self.opened(whole, zone, &mut requests),
            Input::Grown(samples) => self.grown(samples, &mut requests),
            Input::Recording(recording) => self.recording = recording,
            Input::Saved(path) => self.messages.answer(format!("view saved to {}", path.display()), false),
            Input::Exists(what) => self.overlay = Overlay::Prompt(Prompt::overwrite(what)),
            Input::Notice(text) => self.messages.answer(text, false),
            Input::Problem(text) => self.messages.add(text, true),
        }
        self.request_table(&mut requests);
        requests
    }

    /// Requests new figures if drawing has changed the number of columns.
    pub fn after_drawing(&mut self) -> Vec<Request> {
        let mut requests = Vec::new();
        self.request_new_properties(&mut requests);
        let columns = self.required_figures().map_or(0, |(_, columns)| columns);
        if columns != self.columns_requested {
            self.columns_requested = columns;
            requests.push(Request::Figures);
        }
        requests
    }

    /// Explains the mark of arithmetic averages when it first appears.
    fn explain_averages(&mut self, reduced: &Reduced) {
        let is_marked = |series: &ReducedSeries| {
            series.summary.average.is_some() && series.summary.average_kind == AverageKind::Arithmetic
        };
        if !self.is_mark_explained && reduced.series.iter().any(is_marked) {
            self.is_mark_explained = true;
            self.messages
                .add("* arithmetic mean of formatted values: the log has no raw values of it", false);
        }
    }

    /// Selects the first item if the selected one no longer exists.
    fn repair_selection(&mut self) {
        if self.selected.is_none_or(|id| self.legend.item(id).is_none()) {
            self.selected = self.legend.sorted(&self.reduced).first().map(|item| item.id());
        }
    }

    fn collected(&mut self, at: FileTime, requests: &mut Vec<Request>) {
        self.times.push(at);
        if std::mem::take(&mut self.is_stepping) {
            requests.extend([self.freeze_at(at), Request::Figures]);
        } else if self.frozen.is_none() {
            self.open_pending_table(requests);
            requests.push(Request::Figures);
        } else {
            self.is_changed = self.recording.is_some();
        }
    }

    /// A moment in the displayed time zone.
    pub(crate) fn moment(&self, utc: FileTime) -> Moment {
        self.facts.zone.utc_to_moment(utc)
    }

    fn key(&mut self, key: &KeyEvent, requests: &mut Vec<Request>) {
        match control_command(key) {
            Some(Command::Quit) => return requests.push(Request::Quit),
            Some(Command::Suspend) => return requests.push(Request::Suspend),
            Some(Command::Redraw) => return requests.push(Request::Redraw),
            _ => {}
        }
        self.messages.mark_seen();
        if matches!(self.overlay, Overlay::None) && self.filter_key(key, requests) {
            return;
        }
        match &self.overlay {
            Overlay::None => match command_of(key, self.facts.is_live, self.kind == ViewKind::Table) {
                Some(command) => self.run(command, requests),
                None => self.messages.answer("unknown key; ? lists the keys", false),
            },
            Overlay::Help(_) | Overlay::Messages(_) | Overlay::Row(_) => self.scroll_key(key, requests),
            Overlay::Tree(_) => self.tree_key(key, requests),
            Overlay::Prompt(_) => self.prompt_key(key, requests),
        }
    }

    fn request_paths(&mut self, requests: &mut Vec<Request>) {
        requests.push(Request::Paths(self.paths()));
        requests.push(Request::Figures);
    }

    fn open_tree(&mut self, is_searching: bool, requests: &mut Vec<Request>) {
        let sets = self.sets.clone().unwrap_or_default();
        self.overlay = Overlay::Tree(Box::new(Tree::new(sets, is_searching)));
        requests.push(Request::Sets);
    }

    /// The view, for saving.
    pub fn view(&self) -> View {
        let argument = |time: FileTime| Some(TimeArgument::Utc(time));
        let is_zoomed = self.span.is_some() && self.span != self.full_span;
        let span = self.span.filter(|_| is_zoomed);
        // Paths without a machine apply to all logs and machines; with several machines they would be ambiguous.
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
            table: self.table.as_ref().map(|table| table.model.settings()),
        }
    }
}
