//! The commands of the main screen.

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use tachograph_monitor::{Axis, AxisScale, MAX_POINTS, MIN_POINTS, Panel, ViewKind};

use super::{App, Overlay, Prompt, PromptKind, Request};
use crate::keys::Command;

/// The numbers of points that `+` and `-` step through.
const POINT_STEPS: [usize; 9] = [MIN_POINTS, 5, 10, 20, 50, 100, 200, 500, MAX_POINTS];

/// The axis of new panels.
const LINEAR: Axis = Axis { scale: AxisScale::Linear, min: None, max: None };

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
            Command::First => self.select_by(-(self.panes.focused_pane().legend.items().len() as isize)),
            Command::Last => self.select_by(self.panes.focused_pane().legend.items().len() as isize),
            Command::Add => self.open_tree(false, requests),
            Command::Search => self.open_tree(true, requests),
            Command::Remove => self.remove(requests),
            Command::Clear => {
                self.panes.focused_mut().clear();
                self.request_paths(requests);
            }
            Command::Hide
            | Command::Highlight
            | Command::ScaleUp
            | Command::ScaleDown
            | Command::ScaleDefault
            | Command::Fit
            | Command::Colour => self.panes.focused_mut().change_selected(command, &self.reduced),
            Command::FitAll => self.panes.focused_mut().legend.fit(&[], &self.reduced),
            Command::Sort => self.sort_by(1),
            Command::SortBack => self.sort_by(-1),
            Command::Reverse => self.panes.focused_mut().reverse_order(),
            Command::NextView => self.show_kind(self.panes.focused_pane().kind().next(), requests),
            Command::Line => self.show_kind(ViewKind::Line, requests),
            Command::Bars => self.show_kind(ViewKind::Bars, requests),
            Command::Report => self.show_kind(ViewKind::Report, requests),
            Command::Area => self.show_kind(ViewKind::Area, requests),
            Command::Stacked => self.show_kind(ViewKind::Stacked, requests),
            Command::Table => {
                // In a table that replaced a chart, the same key shows the chart again.
                let kind = self.panes.focused_pane().chart_kind.unwrap_or(ViewKind::Table);
                self.show_kind(kind, requests);
            }
            Command::Axis => {
                let what = self.panes.focused_mut().next_axis_scale();
                self.messages.push_response(what, false);
            }
            Command::Limit => {
                let limits = &self.panes.focused_pane().panel.limits;
                let limits: Vec<_> = limits.iter().map(ToString::to_string).collect();
                self.open_prompt(PromptKind::Limits, limits.join(" "));
            }
            Command::Filter => {
                let filter = self.panes.focused_pane().filter.clone();
                self.open_prompt(PromptKind::Filter, filter);
            }
            Command::OnlySelected => self.panes.focused_mut().toggle_only_selected(),
            Command::NextPane => self.panes.move_focus(1),
            Command::PreviousPane => self.panes.move_focus(-1),
            Command::ZoomPane => self.zoom_pane(),
            Command::Split => {
                self.panes.split(Panel { axis: LINEAR, ..Panel::default() });
                self.open_tree(false, requests);
            }
            Command::Views => self.open_views(requests),
            Command::RemovePane => {
                self.panes.remove();
                self.request_paths(requests);
            }
            Command::Band => {
                let what = self.panes.focused_mut().next_bands();
                self.messages.push_response(what, false);
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
            Command::Enter if self.panes.is_grid() && self.selected_span().is_none() => self.zoom_pane(),
            Command::Enter if self.facts.is_live => self.zoom_pane(),
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
            // Commands of tables: `run_in_table` runs them.
            Command::FilterRows
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
            | Command::AddColumn
            | Command::KernelThreads => {}
        }
    }

    /// Enlarges the focused panel to the whole screen, or shows all panels again.
    fn zoom_pane(&mut self) {
        if self.panes.len() == 1 {
            self.messages.push_response("there is only one panel; v adds one", false);
            return;
        }
        self.panes.set_zoomed(self.panes.is_grid());
    }

    pub(super) fn open_prompt(&mut self, kind: PromptKind, text: String) {
        self.overlay = Overlay::Prompt(Prompt::new(kind, text));
    }

    fn page(&self) -> usize {
        usize::from(self.areas.legend.height).saturating_sub(2).max(1)
    }

    pub(super) fn select_by(&mut self, by: isize) {
        self.panes.focused_mut().select_by(by, &self.reduced);
    }

    fn remove(&mut self, requests: &mut Vec<Request>) {
        match self.panes.focused_mut().remove_selected(&self.reduced) {
            Some(true) => self.request_paths(requests),
            Some(false) => requests.push(Request::Figures),
            None => {}
        }
    }

    fn sort_by(&mut self, by: isize) {
        let what = self.panes.focused_mut().sort_by(by);
        self.messages.push_response(what, false);
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
