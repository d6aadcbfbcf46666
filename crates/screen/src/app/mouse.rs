//! The mouse.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;
use tachograph_monitor::LegendColumn;

use super::time::Drag;
use super::{App, Overlay, Request};

/// Rows per step of the mouse wheel.
const WHEEL: isize = 3;

impl App {
    pub(super) fn mouse(&mut self, mouse: &MouseEvent, requests: &mut Vec<Request>) {
        let at = Position { x: mouse.column, y: mouse.row };
        match &mut self.overlay {
            Overlay::None => {}
            Overlay::Tree(_) => return self.tree_mouse(mouse, requests),
            Overlay::Help(top) | Overlay::Messages(top) | Overlay::Row(top) => {
                match mouse.kind {
                    MouseEventKind::ScrollDown => *top = top.saturating_add(3),
                    MouseEventKind::ScrollUp => *top = top.saturating_sub(3),
                    MouseEventKind::Down(_) if matches!(self.overlay, Overlay::Row(_)) => {
                        self.close_details(requests);
                    }
                    MouseEventKind::Down(_) => self.overlay = Overlay::None,
                    _ => self.is_changed = false,
                }
                return;
            }
            Overlay::Views(_) if matches!(mouse.kind, MouseEventKind::Down(_)) => {
                return self.overlay = Overlay::None;
            }
            Overlay::Views(_) | Overlay::Prompt(_) => return self.is_changed = false,
        }
        if matches!(mouse.kind, MouseEventKind::Down(_))
            && let Some(panel) = self.areas.panels.iter().find(|panel| panel.area.contains(at))
        {
            self.panes.set_focus(panel.index);
            self.areas.focus = panel.index;
        }
        if self.is_table() {
            return self.table_mouse(mouse);
        }
        let is_on_plot =
            self.areas.focused_plot().contains(at) && self.panes.focused_pane().kind().is_chart();
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) if is_on_plot => {
                if let Some(from) = self.column_span_at(at.x) {
                    self.drag = Some(Drag { from, has_moved: false });
                }
            }
            MouseEventKind::Down(MouseButton::Left) => self.click(at),
            MouseEventKind::Drag(MouseButton::Left) => self.drag_to(at.x),
            MouseEventKind::Up(MouseButton::Left) => self.release_at(at.x, requests),
            MouseEventKind::ScrollDown if is_on_plot => self.wheel(2.0, at.x, requests),
            MouseEventKind::ScrollUp if is_on_plot => self.wheel(0.5, at.x, requests),
            MouseEventKind::ScrollDown => self.select_by(WHEEL),
            MouseEventKind::ScrollUp => self.select_by(-WHEEL),
            _ => self.is_changed = false,
        }
    }

    fn wheel(&mut self, factor: f64, x: u16, requests: &mut Vec<Request>) {
        if !self.facts.is_live {
            let around = self.column_span_at(x).map(|column| column.begin());
            self.zoom(factor, around, requests);
        }
    }

    fn drag_to(&mut self, x: u16) {
        let (Some(drag), Some(to)) = (self.drag, self.column_span_at(x)) else { return };
        if to == drag.from && !drag.has_moved {
            return;
        }
        self.drag = Some(Drag { has_moved: true, ..drag });
        if !self.facts.is_live {
            self.brush = (Some(drag.from), Some(to));
        }
        self.cursor = Some(to);
    }

    /// Handles the release of the button: after a drag, zooms into the selection (logs only); after a click, sets the
    /// cursor.
    fn release_at(&mut self, x: u16, requests: &mut Vec<Request>) {
        self.drag_to(x);
        let Some(drag) = self.drag.take() else { return };
        if drag.has_moved && !self.facts.is_live {
            self.zoom_into_brush(requests);
        } else {
            self.cursor = self.column_span_at(x);
        }
    }

    fn click(&mut self, at: Position) {
        let legend = self.areas.legend;
        if !legend.contains(at) {
            return;
        }
        let column =
            self.areas.headings.iter().find(|(_, range)| range.contains(&at.x)).map(|(column, _)| *column);
        if at.y == legend.y {
            if let Some(column) = column {
                self.panes.focused_mut().sort_by_column(column);
            }
            return;
        }
        let row = usize::from(at.y - legend.y - 1);
        let Some(&id) = self.areas.rows.get(row) else { return };
        let pane = self.panes.focused_mut();
        pane.selected = Some(id);
        if column == Some(LegendColumn::Show)
            && let Some(item) = pane.legend.item(id)
        {
            let is_shown = item.is_shown();
            pane.legend.set_shown(id, !is_shown);
        }
    }
}
