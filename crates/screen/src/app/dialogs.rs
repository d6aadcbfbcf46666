//! Dialogs: the tree of counters, and prompts of one line.

use std::path::PathBuf;
use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_monitor::{Chosen, MAX_POINTS, MIN_POINTS, Span};

use super::{App, Existing, Overlay, Request};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PromptKind {
    Record,
    Save,
    Interval,
    Points,
    Jump,
    Limits,
    Filter,
    MaxRows,
    AddColumn,
    Overwrite(Existing),
}

#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    pub(crate) kind: PromptKind,
    pub(crate) text: String,
    /// Why the text was rejected.
    pub(crate) error: Option<String>,
    /// Whether the text is a proposal, which the first character replaces.
    pub(crate) is_proposed: bool,
}

impl Prompt {
    pub(super) fn new(kind: PromptKind, text: String) -> Self {
        Self { kind, is_proposed: !text.is_empty(), text, error: None }
    }

    pub(super) fn overwrite(what: Existing) -> Self {
        Self::new(PromptKind::Overwrite(what), String::new())
    }

    pub(crate) fn question(&self) -> String {
        match &self.kind {
            PromptKind::Record => "Record to (.blg, .csv or .tsv)".to_owned(),
            PromptKind::Save => "Save the view to".to_owned(),
            PromptKind::Interval => "Sample interval in seconds".to_owned(),
            PromptKind::Points => format!("Points on the chart, {MIN_POINTS} to {MAX_POINTS}"),
            PromptKind::Jump => "Jump to (HH:MM:SS, or with a date)".to_owned(),
            PromptKind::Limits => "Limit lines at these values, without unit prefix".to_owned(),
            PromptKind::Filter => "Only counters whose path contains".to_owned(),
            PromptKind::AddColumn => "Words in the name of the counter to add as a column".to_owned(),
            PromptKind::MaxRows => "Show only the first rows (0: all)".to_owned(),
            PromptKind::Overwrite(Existing::Recording(path) | Existing::View(path)) => {
                format!("{} exists. Overwrite it? (y/n)", path.display())
            }
        }
    }
}

/// Whether a key enters a character: not if it is pressed with only Ctrl or only Alt.
fn is_text(key: &KeyEvent, character: char) -> bool {
    // AltGr is reported as Ctrl and Alt together.
    let modifiers = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
    !character.is_control()
        && (modifiers.is_empty() || modifiers == KeyModifiers::CONTROL | KeyModifiers::ALT)
}

/// Maximum length of an entered string, in bytes.
const MAX_TEXT: usize = 4096;

/// Adding more lines than this to the chart requires confirmation.
const MAX_UNCONFIRMED: usize = 100;

/// Applies an editing key to a text: appends or removes a character, or clears the text. Returns false for other keys.
pub(super) fn edit(text: &mut String, key: &KeyEvent) -> bool {
    match key.code {
        KeyCode::Backspace => drop(text.pop()),
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => text.clear(),
        KeyCode::Char(character) if is_text(key, character) && text.len() < MAX_TEXT => text.push(character),
        _ => return false,
    }
    true
}

fn is_yes(key: &KeyEvent) -> bool {
    matches!(key.code, KeyCode::Char('y' | 'Y'))
}

impl App {
    pub(super) fn prompt_key(&mut self, key: &KeyEvent, requests: &mut Vec<Request>) {
        let Overlay::Prompt(prompt) = &mut self.overlay else { return };
        prompt.error = None;
        if let PromptKind::Overwrite(what) = prompt.kind.clone() {
            self.overlay = Overlay::None;
            if is_yes(key) {
                self.overwrite(what, requests);
            }
            return;
        }
        match key.code {
            KeyCode::Esc => self.overlay = Overlay::None,
            KeyCode::Enter => {
                let Prompt { kind, text, .. } = prompt.clone();
                match self.submit(&kind, text.trim(), requests) {
                    Ok(()) => self.overlay = Overlay::None,
                    Err(error) => {
                        if let Overlay::Prompt(prompt) = &mut self.overlay {
                            prompt.error = Some(error);
                        }
                    }
                }
            }
            KeyCode::Left | KeyCode::Right | KeyCode::End => prompt.is_proposed = false,
            KeyCode::Char(character) if prompt.is_proposed && is_text(key, character) => {
                prompt.text = character.to_string();
                prompt.is_proposed = false;
            }
            _ => prompt.is_proposed &= !edit(&mut prompt.text, key),
        }
    }

    fn overwrite(&mut self, what: Existing, requests: &mut Vec<Request>) {
        requests.push(match what {
            Existing::Recording(path) => Request::Record { path, may_overwrite: true },
            Existing::View(path) => Request::Save { path, may_overwrite: true, view: Box::new(self.view()) },
        });
    }

    fn submit(&mut self, kind: &PromptKind, text: &str, requests: &mut Vec<Request>) -> Result<(), String> {
        match kind {
            PromptKind::Record | PromptKind::Save if text.is_empty() => {
                return Err("enter a file name".to_owned());
            }
            PromptKind::Record => {
                requests.push(Request::Record { path: PathBuf::from(text), may_overwrite: false });
            }
            PromptKind::Save => {
                let view = Box::new(self.view());
                requests.push(Request::Save { path: PathBuf::from(text), may_overwrite: false, view });
            }
            PromptKind::Interval => {
                let seconds = text.parse::<f64>().ok().filter(|seconds| (0.001..=86_400.0).contains(seconds));
                let seconds = seconds.ok_or("enter seconds from 0.001 to 86400, such as 0.5")?;
                self.interval = Duration::from_secs_f64(seconds);
                requests.push(Request::Interval(self.interval));
                requests.push(Request::Figures);
            }
            PromptKind::Points => {
                let points = text.parse().ok().filter(|points| (MIN_POINTS..=MAX_POINTS).contains(points));
                let points = points
                    .ok_or_else(|| format!("enter a whole number from {MIN_POINTS} to {MAX_POINTS}"))?;
                self.set_points(points, requests);
            }
            PromptKind::Jump => self.jump(text, requests)?,
            PromptKind::Limits => {
                let limits = text
                    .split_whitespace()
                    .map(|limit| limit.parse::<f64>().ok().filter(|limit| limit.is_finite()).ok_or(limit));
                let limits = limits.collect::<Result<Vec<_>, _>>();
                self.panes.focused_mut().panel.limits =
                    limits.map_err(|limit| format!("'{limit}' is not a number, such as 1500 or 0.02"))?;
            }
            PromptKind::Filter => self.panes.focused_mut().set_filter(text, &self.reduced),
            PromptKind::MaxRows => self.set_max_rows(text)?,
            PromptKind::AddColumn => self.add_column(text, requests)?,
            PromptKind::Overwrite(_) => {}
        }
        Ok(())
    }

    /// Moves the visible range to a moment, and the cursor to it. A time without a date is on the visible day.
    fn jump(&mut self, text: &str, requests: &mut Vec<Request>) -> Result<(), String> {
        let (Some(span), Some(full_span)) = (self.span, self.full_span) else { return Ok(()) };
        let is_time_of_day =
            text.contains(':') && text.bytes().all(|byte| byte.is_ascii_digit() || b":.".contains(&byte));
        let argument = if is_time_of_day {
            let day = self.moment(span.begin()).rfc3339();
            TimeArgument::parse(&format!("{} {text}", day.get(..10).unwrap_or_default()))
        } else {
            TimeArgument::parse(text)
        };
        let argument = argument.map_err(|error| error.to_string())?;
        let moment = self.facts.zone.argument_to_moment(argument).utc;
        // Times are shown and usually entered in whole seconds, so any moment in the second of the first sample is accepted.
        let first_second = full_span.begin().0 - full_span.begin().0.rem_euclid(FileTime::PER_SECOND);
        if moment.0 < first_second || moment >= full_span.end() {
            let [first, last] = [full_span.begin(), full_span.end()].map(|end| self.moment(end).rfc3339());
            let to_seconds = |text: &str| text.get(..19).unwrap_or_default().replace('T', " ");
            return Err(format!("the log covers {} to {}", to_seconds(&first), to_seconds(&last)));
        }
        let share = moment.since(span.middle()) as f64 / span.length() as f64;
        self.show(span.moved(share), requests);
        self.cursor = Some(Span::new(moment, moment));
        Ok(())
    }

    pub(super) fn tree_key(&mut self, key: &KeyEvent, requests: &mut Vec<Request>) {
        let page = usize::from(self.areas.tree.height).max(2) as isize - 1;
        let Overlay::Tree(tree) = &mut self.overlay else { return };
        if let Some((paths, _)) = tree.question.take() {
            if is_yes(key) {
                self.add(paths, requests);
            }
            return;
        }
        let mut request = None;
        if tree.is_searching {
            match key.code {
                KeyCode::Esc if tree.search.is_empty() => self.overlay = Overlay::None,
                KeyCode::Esc => {
                    tree.set_search(String::new());
                    tree.is_searching = false;
                }
                KeyCode::Enter if tree.search.trim_start().starts_with('\\') => self.add_chosen(requests),
                KeyCode::Enter | KeyCode::Down | KeyCode::Tab => tree.is_searching = false,
                _ => {
                    let mut search = tree.search.clone();
                    if edit(&mut search, key) {
                        tree.set_search(search);
                    }
                }
            }
            return;
        }
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') => self.overlay = Overlay::None,
            KeyCode::Char('/') => tree.is_searching = true,
            // A path is entered in the search field.
            KeyCode::Char('\\') => {
                tree.is_searching = true;
                tree.set_search("\\".to_owned());
            }
            KeyCode::Up | KeyCode::Char('k') => tree.select_by(-1),
            KeyCode::Down | KeyCode::Char('j') => tree.select_by(1),
            KeyCode::PageUp => tree.select_by(-page),
            KeyCode::PageDown => tree.select_by(page),
            KeyCode::Home => tree.select(0),
            KeyCode::End => tree.select(usize::MAX),
            KeyCode::Right | KeyCode::Char('l') => request = tree.open(),
            KeyCode::Left | KeyCode::Char('h') => tree.close(),
            KeyCode::Char(' ' | 'x') => {
                tree.toggle_mark();
                tree.select_by(1);
            }
            KeyCode::Enter | KeyCode::Char('a') => return self.add_chosen(requests),
            _ => {}
        }
        requests.extend(request.map(Request::Instances));
    }

    fn add_chosen(&mut self, requests: &mut Vec<Request>) {
        let Overlay::Tree(tree) = &self.overlay else { return };
        let paths = match tree.chosen_paths() {
            Ok(paths) => paths,
            Err(error) => return self.messages.push_response(error, true),
        };
        if paths.is_empty() {
            return;
        }
        // A path without wildcards is always one line.
        if paths.iter().any(|path| !path.is_literal()) {
            return requests.push(Request::Count(paths));
        }
        self.add(paths, requests);
    }

    /// Adds paths after their lines have been counted; asks first if there are many.
    pub(super) fn counted(&mut self, paths: Vec<PathPattern>, lines: usize, requests: &mut Vec<Request>) {
        let Overlay::Tree(tree) = &mut self.overlay else { return };
        if lines > MAX_UNCONFIRMED {
            tree.question = Some((paths, lines));
            return;
        }
        if let ([first, ..], 0) = (paths.as_slice(), lines) {
            let what =
                if self.facts.is_live { "no new instances yet" } else { "no new instances in the log" };
            self.messages.push_response(format!("{first}: {what}"), false);
        }
        self.add(paths, requests);
    }

    fn add(&mut self, paths: Vec<PathPattern>, requests: &mut Vec<Request>) {
        self.overlay = Overlay::None;
        let mut known = Vec::new();
        let mut is_any_new = false;
        for path in paths {
            let text = path.to_string();
            if self.panes.focused_mut().legend.add(Chosen::new(path)) {
                is_any_new = true;
            } else {
                known.push(text);
            }
        }
        if let [first, ..] = known.as_slice() {
            self.messages.push_response(format!("{first} is already in the legend"), false);
        }
        if is_any_new {
            self.request_paths(requests);
        }
    }

    pub(super) fn tree_mouse(&mut self, mouse: &MouseEvent, requests: &mut Vec<Request>) {
        let area = self.areas.tree;
        let Overlay::Tree(tree) = &mut self.overlay else { return };
        if tree.question.is_some() {
            return;
        }
        match mouse.kind {
            MouseEventKind::ScrollDown => tree.select_by(3),
            MouseEventKind::ScrollUp => tree.select_by(-3),
            MouseEventKind::Down(MouseButton::Left) => {
                if !area.contains(Position { x: mouse.column, y: mouse.row }) {
                    return;
                }
                let row = tree.top + usize::from(mouse.row - area.y);
                tree.is_searching = false;
                if row >= tree.rows().len() {
                    return;
                }
                // A click on the selected row opens, closes or marks it.
                let is_again = row == tree.selected_index();
                tree.select(row);
                let Some(node) = tree.node().cloned().filter(|_| is_again) else { return };
                if !tree.can_open(&node) {
                    tree.toggle_mark();
                } else if tree.is_open(&node) {
                    tree.close();
                } else {
                    requests.extend(tree.open().map(Request::Instances));
                }
            }
            _ => self.is_changed = false,
        }
    }
}
