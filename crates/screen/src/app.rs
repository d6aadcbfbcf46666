//! The state of the screen. Inputs change it, and it can be drawn. It has no access to the terminal, the clock or the
//! samples.

mod commands;
mod dialogs;
mod figures;
mod input;
mod mouse;
mod pane;
mod panes;
mod reasons;
mod request;
mod table;
mod time;
mod views;

use std::sync::Arc;
use std::time::Duration;

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tachograph_counters::AverageKind;
use tachograph_counters::civil::{FileTime, Moment, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::figures::NumberForm;
use tachograph_monitor::{
    Annotation, Chosen, GroupNames, Legend, MAX_POINTS, MIN_POINTS, Reduced, ReducedSeries, Ring, SetEntry,
    Span, View,
};

use crate::draw::Areas;
use crate::keys::{Command, command_of, control_command};
use crate::messages::Messages;
use crate::theme::Theme;
use crate::tree::Tree;

pub(crate) use dialogs::{Prompt, PromptKind};
pub use input::{Existing, Input, Recording};
pub(crate) use pane::{Bands, Pane};
pub(crate) use panes::Panes;
pub use reasons::CounterName;
pub(crate) use reasons::Reasons;
pub use request::Request;
pub(crate) use table::Table;
pub use table::TableId;
use time::Drag;
pub(crate) use views::menu;

/// The default number of intervals on a live chart.
pub const DEFAULT_POINTS: usize = 100;

/// The maximum number of panels on the first screen of a log.
const MAX_DEFAULT_PANELS: usize = 6;

/// The maximum number of paths whose counters are collected for charts that were shown earlier. All ready-made views
/// together have fewer.
const MAX_BACKGROUND: usize = 400;

/// Facts about the machine or the logs that are shown.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Whether samples are taken live; otherwise they come from logs.
    pub is_live: bool,
    /// The name of the machine or logs.
    pub name: String,
    /// More about the machine, such as its number of processors, for the headline of a view; can be empty.
    pub about: String,
    /// The time zone of displayed times.
    pub zone: TimeZone,
    /// Whether processes have properties, such as their users and command lines. They are not counters, so logs and other machines
    /// do not have them.
    pub has_properties: bool,
}

/// The dialog on top of the screen.
pub(crate) enum Overlay {
    None,
    Tree(Box<Tree>),
    Help(usize),
    Messages(usize),
    Prompt(Prompt),
    /// The menu of ready-made views, with the index of the selected one.
    Views(usize),
    /// All counters and properties of the selected row of the focused table.
    Row(usize),
}

/// The state of the screen.
pub struct App {
    pub(crate) facts: Facts,
    pub(crate) theme: Theme,
    pub(crate) panes: Panes,
    /// The counters whose values the first line shows.
    pub(crate) headline: Legend,
    pub(crate) numbers: NumberForm,
    /// The names of containers, for control groups.
    pub(crate) groups: GroupNames,
    /// Why counters are missing or have no values.
    pub(crate) reasons: Reasons,
    /// The title of the view.
    pub(crate) title: Option<String>,
    /// Whether counters that the logs lack are omitted from the view.
    is_optional: bool,
    /// The annotations of the view. They are not shown, only saved with the view again.
    annotations: Vec<Annotation>,
    /// Whether the web page sums the instances of each name. Has no effect here; only saved with the view again.
    sums_names: bool,
    /// The values of the charted counters, reduced to the columns of the chart.
    pub(crate) reduced: Reduced,
    /// The id of the newest table.
    last_table: TableId,
    /// Paths of charts that were shown earlier, whose counters are still collected.
    background: Vec<PathPattern>,
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
    /// For logs: the time ranges that were visible earlier, to which `Backspace` returns.
    pub(crate) history: Vec<Span>,
    /// The time range under the cursor: the time range of a column of figures, or of a column of characters if set by
    /// the mouse, or a single moment.
    pub(crate) cursor: Option<Span>,
    /// The two ends of the selected time range, in any order. Each end is the time range of the column that the user
    /// chose.
    pub(crate) brush: (Option<Span>, Option<Span>),
    drag: Option<Drag>,
    /// The keys that were pressed while the logs were being opened. They are processed when the first figures arrive, because
    /// most keys act on figures.
    waiting_keys: Vec<KeyEvent>,
    /// Whether logs are being opened and no figures have arrived.
    is_loading: bool,
    /// The progress of reading logs: bytes read, bytes in total. `None` while nothing is being read.
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
    /// Whether a resize of the terminal has changed which panels are shown; their counters are not requested yet.
    pub(crate) are_panels_changed: bool,
    is_changed: bool,
    /// Whether the `*` after arithmetic averages has been explained.
    is_mark_explained: bool,
}

/// The maximum number of keys that wait until logs are open.
const MAX_WAITING_KEYS: usize = 100;

/// Whether a key acts while logs are being opened: Esc cancels, and `q` quits unless it is part of something typed.
fn acts_while_loading(key: &KeyEvent, is_first: bool) -> bool {
    key.code == KeyCode::Esc || is_first && matches!(key.code, KeyCode::Char('q' | '?' | '!') | KeyCode::F(1))
}

fn headline_of(counters: Vec<Chosen>) -> Legend {
    let mut legend = Legend::default();
    for chosen in counters {
        legend.add(chosen);
    }
    legend
}

impl App {
    /// Creates a screen that shows a view. For logs, [`Input::Opened`] follows.
    pub fn new(facts: Facts, view: View, theme: Theme) -> Self {
        let nothing = Span::new(FileTime(0), FileTime(0));
        let points = view.points.unwrap_or(DEFAULT_POINTS).clamp(MIN_POINTS, MAX_POINTS);
        Self {
            panes: Panes::new(view.panels),
            facts,
            theme,
            headline: headline_of(view.headline),
            numbers: NumberForm::Units,
            groups: GroupNames::default(),
            reasons: Reasons::default(),
            title: view.title,
            is_optional: view.is_optional,
            annotations: view.annotations,
            sums_names: view.sums_names,
            reduced: Reduced { span: nothing, columns: 0, series: Vec::new() },
            last_table: TableId::default(),
            background: Vec::new(),
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
            waiting_keys: Vec::new(),
            is_loading: false,
            reading: None,
            recording: None,
            overlay: Overlay::None,
            messages: Messages::default(),
            sets: None,
            requested_range: (view.begin, view.end),
            areas: Areas::default(),
            columns_requested: 0,
            are_panels_changed: false,
            is_changed: true,
            is_mark_explained: false,
        }
    }

    /// The paths whose counters the screen needs: the selected paths, and the paths of the tables.
    pub fn paths(&self) -> Vec<PathPattern> {
        self.with_headline(self.panes.paths(self.facts.is_live))
    }

    /// Adds the paths of the first line.
    fn with_headline(&self, mut paths: Vec<PathPattern>) -> Vec<PathPattern> {
        let headline_paths = self.headline.paths();
        paths.extend(headline_paths.into_iter().filter(|path| !paths.contains(path)).collect::<Vec<_>>());
        paths
    }

    /// The selected paths whose figures the screen needs: the paths of the panels that show no table; if all panels
    /// show tables, all selected paths, because the cursor steps through their values.
    pub fn charted_paths(&self) -> Vec<PathPattern> {
        self.with_headline(self.panes.charted_paths())
    }

    /// The sample interval.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The number of intervals on a live chart.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Sets the form in which numbers are shown.
    pub fn set_numbers(&mut self, numbers: NumberForm) {
        self.numbers = numbers;
        self.is_changed = true;
    }

    /// Adapts the view to the counters of logs: chooses among alternative paths, and omits the panels and counters of
    /// an [optional](View::is_optional) view that the logs lack. `is_default`: the user has chosen no view; then
    /// missing counters are not reported, and other counter sets of the logs get panels too.
    pub fn resolve(&mut self, sets: &[SetEntry], has: impl Fn(&PathPattern) -> bool, is_default: bool) {
        let mut view = self.view();
        let missing = view.resolve(has);
        if is_default {
            view.add_other_sets(sets, MAX_DEFAULT_PANELS);
        } else if !missing.is_empty() {
            self.messages.add(format!("not in the log: {}", missing.join(", ")), false);
        }
        self.panes.replace(view.panels);
        self.headline = headline_of(view.headline);
        self.sets = Some(sets.into());
        self.open_tables();
    }

    /// Replaces the panels by those of a ready-made view whose counters the machine or log has.
    fn show_ready_made(&mut self, name: &str, requests: &mut Vec<Request>) {
        let (Some(mut view), Some(sets)) = (View::ready_made(name), self.sets.clone()) else { return };
        let missing = view.resolve(|path| views::has_counter(&sets, path));
        if view.panels.is_empty() {
            return self.messages.push_response(format!("nothing to show in the view '{name}' here"), false);
        }
        if !missing.is_empty() {
            let text = |path: &String| format!("view '{name}': not available here: {path}");
            let what = match missing.len() {
                1 => "1 counter".to_owned(),
                count => format!("{count} counters"),
            };
            self.messages.add_unavailable(&what, missing.iter().map(text).collect());
        }
        self.keep_collecting(requests);
        self.title = view.title;
        self.is_optional = view.is_optional;
        self.annotations = view.annotations;
        self.sums_names = view.sums_names;
        self.panes.replace(view.panels);
        self.headline = headline_of(view.headline);
        self.panes.set_screen((self.areas.screen.width, self.areas.screen.height));
        self.open_tables();
        self.request_paths(requests);
    }

    /// Keeps collecting the counters of the charts that are shown, so that the charts have no gap when they are shown again.
    /// The counters of tables are not kept, because a sample of all processes is expensive.
    fn keep_collecting(&mut self, requests: &mut Vec<Request>) {
        if !self.facts.is_live {
            return;
        }
        let shown = self.with_headline(self.panes.paths_of_charts());
        let new: Vec<_> = shown.into_iter().filter(|path| !self.background.contains(path)).collect();
        if new.is_empty() || self.background.len() + new.len() > MAX_BACKGROUND {
            return;
        }
        self.background.extend(new);
        requests.push(Request::Background(self.background.clone()));
    }

    /// Shows messages about the view, which stay until a key is pressed.
    pub fn open_with(&mut self, notices: Vec<String>) {
        self.messages.open_with(notices);
    }

    /// Adds a path to the legend.
    pub fn choose(&mut self, chosen: Chosen) {
        self.panes.focused_mut().legend.add(chosen);
    }

    /// Whether a redraw is needed; resets the flag.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.is_changed)
    }

    /// Requests a redraw.
    pub fn mark_changed(&mut self) {
        self.is_changed = true;
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
                let reduced = reduced.without_idle_values();
                // A frozen chart keeps its rows, even those of instances that appeared after its end.
                self.panes.update(&reduced, !self.facts.is_live || self.frozen.is_some());
                self.headline.update(&reduced, true);
                self.explain_averages(&reduced);
                self.reduced = reduced;
                self.find_vacant();
                self.request_containers(None, &mut requests);
                self.end_loading(&mut requests);
            }
            Input::Table(id, figures) => self.update_table(id, figures, &mut requests),
            Input::Properties(id, read) => {
                if let Some(table) = self.panes.table_mut(id) {
                    table.model.set_properties(read);
                    table.repair_selection();
                }
                self.request_containers(Some(id), &mut requests);
            }
            Input::Containers(found) => self.groups.add(found),
            Input::Reasons(found) => self.add_reasons(found),
            Input::Sets(sets) => {
                if let Overlay::Tree(tree) = &mut self.overlay {
                    tree.set_sets(Arc::clone(&sets));
                }
                // A counter that was missing can be available now.
                if self.sets.as_ref().is_none_or(|known| **known != *sets) {
                    self.reasons.clear();
                }
                self.sets = Some(sets);
                self.open_pending_tables(&mut requests);
            }
            Input::Instances(set, instances) => {
                if let Overlay::Tree(tree) = &mut self.overlay {
                    tree.set_instances(set, instances);
                }
            }
            Input::Counted(paths, lines) => self.counted(paths, lines, &mut requests),
            Input::Reading(reading) => {
                self.is_loading |= reading.is_some() && self.reduced.columns == 0;
                self.reading = reading;
                if reading.is_none() {
                    self.panes.tables_mut().for_each(|table| table.requested = None);
                    if self.reduced.columns > 0 {
                        self.end_loading(&mut requests);
                    }
                }
            }
            Input::Opened(whole, zone) => self.set_samples(whole, zone, &mut requests),
            Input::Grown(samples) => self.extend_samples(samples, &mut requests),
            Input::Recording(recording) => self.recording = recording,
            Input::Saved(path) => {
                self.messages.push_response(format!("view saved to {}", path.display()), false)
            }
            Input::Exists(what) => self.overlay = Overlay::Prompt(Prompt::overwrite(what)),
            Input::Notice(text) => self.messages.push_response(text, false),
            Input::Unavailable(what, texts) => self.messages.add_unavailable(&what, texts),
            Input::Available => self.messages.forget_short(),
            Input::Problem(text) => {
                self.messages.add(text, true);
                self.end_loading(&mut requests);
            }
        }
        self.request_tables(&mut requests);
        requests
    }

    /// Requests new figures if drawing has changed the number of columns.
    pub fn after_drawing(&mut self) -> Vec<Request> {
        let mut requests = Vec::new();
        if std::mem::take(&mut self.are_panels_changed) {
            // The counters of a table are read only while it is shown.
            self.panes.tables_mut().for_each(|table| table.requested = None);
            requests.push(Request::Paths(self.paths()));
        }
        self.request_new_properties(&mut requests);
        self.request_reasons(&mut requests);
        let columns = self.required_figures().map_or(0, |(_, columns)| columns);
        if columns != self.columns_requested {
            self.columns_requested = columns;
            requests.push(Request::Figures);
        }
        requests
    }

    /// Explains the `*` after arithmetic averages when it first appears.
    fn explain_averages(&mut self, reduced: &Reduced) {
        let is_marked = |series: &ReducedSeries| {
            series.summary.average.is_some() && series.summary.average_kind == AverageKind::Arithmetic
        };
        if !self.is_mark_explained && reduced.series.iter().any(is_marked) {
            self.is_mark_explained = true;
            self.messages.add("* arithmetic mean of formatted values: no raw values in the log", false);
        }
    }

    fn collected(&mut self, at: FileTime, requests: &mut Vec<Request>) {
        self.times.push(at);
        let is_over = self.messages.sample_taken();
        if std::mem::take(&mut self.is_stepping) {
            requests.extend([self.freeze_at(at), Request::Figures]);
        } else if self.frozen.is_none() {
            self.open_pending_tables(requests);
            requests.push(Request::Figures);
        } else {
            self.is_changed = self.recording.is_some() || is_over;
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
        let has_dialog = !matches!(self.overlay, Overlay::None);
        if self.is_loading && !has_dialog && !acts_while_loading(key, self.waiting_keys.is_empty()) {
            return self.keep_key(key);
        }
        if matches!(self.overlay, Overlay::None) && self.filter_key(key, requests) {
            return;
        }
        match &self.overlay {
            Overlay::None => match command_of(key, self.facts.is_live, self.panes.len() > 1, self.is_table())
            {
                Some(command) => self.run(command, requests),
                None => self.messages.push_response("unknown key; ? lists the keys", false),
            },
            Overlay::Help(_) | Overlay::Messages(_) | Overlay::Row(_) => self.scroll_key(key, requests),
            Overlay::Tree(_) => self.tree_key(key, requests),
            Overlay::Views(_) => self.views_key(key, requests),
            Overlay::Prompt(_) => self.prompt_key(key, requests),
        }
    }

    /// Keeps a key until the logs are open.
    fn keep_key(&mut self, key: &KeyEvent) {
        if self.waiting_keys.len() < MAX_WAITING_KEYS {
            self.waiting_keys.push(*key);
        }
        self.messages.push_response("keys wait until the log is read (Esc cancels)", false);
    }

    /// Processes the keys that were pressed while the logs were being opened, if they are open now.
    fn end_loading(&mut self, requests: &mut Vec<Request>) {
        if !self.is_loading || self.reading.is_some() {
            return;
        }
        self.is_loading = false;
        for key in std::mem::take(&mut self.waiting_keys) {
            self.key(&key, requests);
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
        let items = self.panes.iter().flat_map(|pane| pane.legend.items());
        let mut machines: Vec<_> = items.filter_map(|item| item.info()?.machine.as_deref()).collect();
        machines.sort_unstable();
        machines.dedup();
        View {
            interval: self.facts.is_live.then_some(self.interval),
            points: self.facts.is_live.then_some(self.points),
            title: self.title.clone(),
            headline: self.headline.chosen(machines.len() > 1),
            panels: self.panes.iter().map(|pane| pane.to_panel(machines.len() > 1)).collect(),
            is_optional: self.is_optional,
            begin: span.and_then(|span| argument(span.begin())),
            end: span.and_then(|span| argument(span.end())),
            annotations: self.annotations.clone(),
            sums_names: self.sums_names,
        }
    }
}
