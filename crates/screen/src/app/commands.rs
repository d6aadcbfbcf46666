//! The commands of the main screen.

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use tachograph_monitor::palette::{STYLES, Style};
use tachograph_monitor::scale::Scale;
use tachograph_monitor::{ItemId, LegendColumn, MAX_POINTS, MIN_POINTS, SortOrder, ViewKind};

use super::{App, Bands, Overlay, Prompt, PromptKind, Request};
use crate::keys::Command;

/// The numbers of points that `+` and `-` step through.
const POINT_STEPS: [usize; 9] = [MIN_POINTS, 5, 10, 20, 50, 100, 200, 500, MAX_POINTS];

impl App {
    pub(super) fn run(&mut self, command: Command, requests: &mut Vec<Request>) {
        if self.run_in_table(command, requests) {
            return;
        }
        match command {
            Command::Quit => requests.push(Request::Quit),
            Command::Suspend => requests.push(Request::Suspend),
            Command::Redraw => requests.push(Request::Redraw),
            Command::Help => self.overlay = Overlay::Help(0),
            Command::Messages => self.overlay = Overlay::Messages(0),
            Command::Up => self.select_by(-1),
            Command::Down => self.select_by(1),
            Command::PageUp => self.select_by(-(self.page() as isize)),
            Command::PageDown => self.select_by(self.page() as isize),
            Command::First => self.select_by(-(self.legend.items().len() as isize)),
            Command::Last => self.select_by(self.legend.items().len() as isize),
            Command::Add => self.open_tree(false, requests),
            Command::Search => self.open_tree(true, requests),
            Command::Remove => self.remove(requests),
            Command::Clear => {
                self.legend.clear();
                self.selected = None;
                self.request_paths(requests);
            }
            Command::Hide
            | Command::Highlight
            | Command::ScaleUp
            | Command::ScaleDown
            | Command::ScaleDefault
            | Command::Fit
            | Command::Colour => self.change_selected(command),
            Command::FitAll => self.legend.fit(&[], &self.reduced),
            Command::Sort => self.sort_by(1),
            Command::SortBack => self.sort_by(-1),
            Command::Reverse => {
                self.legend.set_order(self.legend.order().map(SortOrder::reversed));
            }
            Command::NextView => self.show_kind(self.kind.next(), requests),
            Command::Line => self.show_kind(ViewKind::Line, requests),
            Command::Histogram => self.show_kind(ViewKind::Histogram, requests),
            Command::Report => self.show_kind(ViewKind::Report, requests),
            Command::Table => self.show_kind(ViewKind::Table, requests),
            Command::Band => {
                let (bands, what) = match self.bands {
                    Bands::Selected => (Bands::All, "min-max bands: all lines"),
                    Bands::All => (Bands::None, "min-max bands: none"),
                    Bands::None => (Bands::Selected, "min-max bands: selected line"),
                };
                self.bands = bands;
                self.messages.answer(what, false);
            }
            Command::Freeze => self.freeze(requests),
            Command::StepForward => self.step_forward(requests),
            Command::StepBack => self.step_back(requests),
            Command::Interval => {
                self.open_prompt(PromptKind::Interval, self.interval.as_secs_f64().to_string())
            }
            Command::Points => self.open_prompt(PromptKind::Points, self.points.to_string()),
            Command::ZoomIn if self.facts.is_live => {
                let fewer = POINT_STEPS.iter().rev().find(|&&points| points < self.points);
                self.set_points(fewer.copied().unwrap_or(MIN_POINTS), requests);
            }
            Command::ZoomOut if self.facts.is_live => {
                let more = POINT_STEPS.iter().find(|&&points| points > self.points);
                self.set_points(more.copied().unwrap_or(MAX_POINTS), requests);
            }
            Command::ZoomIn => self.zoom(0.5, None, requests),
            Command::ZoomOut => self.zoom(2.0, None, requests),
            Command::Left => self.move_cursor(-1),
            Command::Right => self.move_cursor(1),
            Command::FarLeft => self.move_cursor(-10),
            Command::FarRight => self.move_cursor(10),
            Command::BrushBegin | Command::BrushEnd => self.brush_at_cursor(command == Command::BrushEnd),
            Command::Enter => self.zoom_into_brush(requests),
            Command::Escape => self.escape(requests),
            Command::Jump => self.open_prompt(PromptKind::Jump, String::new()),
            Command::NextPage => self.page_by(1.0, requests),
            Command::PreviousPage => self.page_by(-1.0, requests),
            Command::Whole => {
                if let Some(full_span) = self.full_span {
                    self.show(full_span, requests);
                }
            }
            Command::Back => self.zoom_back(requests),
            Command::Record if self.recording.is_some() => requests.push(Request::StopRecording),
            Command::Record => self.open_prompt(PromptKind::Record, "tacho.blg".to_owned()),
            Command::Save => self.open_prompt(PromptKind::Save, "view.toml".to_owned()),
            // Only in a table, which `run_in_table` handles.
            Command::Filter
            | Command::SortLeft
            | Command::SortRight
            | Command::ReverseRows
            | Command::Tree
            | Command::NextTable
            | Command::PreviousTable
            | Command::Details
            | Command::ChartRow
            | Command::MaxRows
            | Command::RemoveColumn
            | Command::AddColumn => {}
        }
    }

    pub(super) fn open_prompt(&mut self, kind: PromptKind, text: String) {
        self.overlay = Overlay::Prompt(Prompt::new(kind, text));
    }

    fn page(&self) -> usize {
        usize::from(self.areas.legend.height).saturating_sub(2).max(1)
    }

    pub(super) fn select_by(&mut self, by: isize) {
        if self.kind == ViewKind::Report {
            self.report_top = self.report_top.saturating_add_signed(by);
            return;
        }
        let items: Vec<ItemId> = self.legend.sorted(&self.reduced).iter().map(|item| item.id()).collect();
        let index = items.iter().position(|id| Some(*id) == self.selected);
        let last = items.len().saturating_sub(1);
        let index = index.map_or(0, |index| index.saturating_add_signed(by).min(last));
        self.selected = items.get(index).copied();
    }

    fn remove(&mut self, requests: &mut Vec<Request>) {
        let Some(id) = self.selected else { return };
        let items: Vec<ItemId> = self.legend.sorted(&self.reduced).iter().map(|item| item.id()).collect();
        let index = items.iter().position(|known| *known == id).unwrap_or_default();
        let others: Vec<_> = items.into_iter().filter(|known| *known != id).collect();
        self.selected = others.get(index).or(others.last()).copied();
        if self.legend.remove(id) {
            self.request_paths(requests);
        } else {
            requests.push(Request::Figures);
        }
    }

    fn change_selected(&mut self, command: Command) {
        let Some(item) = self.selected.and_then(|id| self.legend.item(id)) else { return };
        let (id, is_shown, is_highlighted) = (item.id(), item.is_shown(), item.is_highlighted());
        let style = item.style();
        match command {
            Command::Hide => self.legend.set_shown(id, !is_shown),
            Command::Highlight => self.legend.set_highlighted(id, !is_highlighted),
            Command::ScaleUp => self.legend.move_scale(id, 1),
            Command::ScaleDown => self.legend.move_scale(id, -1),
            Command::ScaleDefault => self.legend.set_scale(id, Scale::Default),
            Command::Fit => self.legend.fit(&[id], &self.reduced),
            Command::Colour => self.legend.set_style(id, Style((style.0 + 1) % STYLES)),
            _ => {}
        }
    }

    /// Sorts by the next or previous column; "unsorted" is between the last and the first.
    fn sort_by(&mut self, by: isize) {
        let all = LegendColumn::ALL;
        let now = self.legend.order().and_then(|order| all.iter().position(|column| *column == order.column));
        let count = all.len() as isize + 1;
        let next = (now.map_or(0, |index| index as isize + 1) + by).rem_euclid(count);
        let column = usize::try_from(next - 1).ok().and_then(|index| all.get(index));
        self.legend.set_order(column.copied().map(SortOrder::of_column));
        let what = match self.legend.order() {
            Some(order) => format!("sorted by {}", order.column.title()),
            None => "not sorted".to_owned(),
        };
        self.messages.answer(what, false);
    }

    /// Sorts by a column, or reverses the order if the legend is already sorted by that column.
    pub(super) fn sort_by_column(&mut self, column: LegendColumn) {
        let order = match self.legend.order() {
            Some(order) if order.column == column => order.reversed(),
            _ => SortOrder::of_column(column),
        };
        self.legend.set_order(Some(order));
    }

    pub(super) fn set_points(&mut self, points: usize, requests: &mut Vec<Request>) {
        self.points = points.clamp(MIN_POINTS, MAX_POINTS);
        self.times.set_room(self.points + 1);
        requests.push(Request::Points(self.points));
        requests.push(Request::Figures);
    }

    /// Handles a key in a dialog that only shows text.
    pub(super) fn scroll_key(&mut self, key: &KeyEvent, requests: &mut Vec<Request>) {
        let (Overlay::Help(top) | Overlay::Messages(top) | Overlay::Row(top)) = &mut self.overlay else {
            return;
        };
        let page = usize::from(self.areas.screen.height).saturating_sub(4).max(1);
        match key.code {
            KeyCode::Down | KeyCode::Char('j') => *top = top.saturating_add(1),
            KeyCode::Up | KeyCode::Char('k') => *top = top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => *top = top.saturating_add(page),
            KeyCode::PageUp => *top = top.saturating_sub(page),
            KeyCode::Home => *top = 0,
            // Limited when the dialog is drawn.
            KeyCode::End => *top = usize::MAX,
            _ if matches!(self.overlay, Overlay::Row(_)) => self.close_details(requests),
            _ => self.overlay = Overlay::None,
        }
    }
}
