//! A table on the screen: its model, its selected row, and the lines that are visible.

use std::ops::Range;

use tachograph_monitor::{RowId, Span, TableModel};

/// The id of a table; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct TableId(u64);

impl TableId {
    /// The next id.
    pub(super) fn next(&mut self) -> Self {
        self.0 += 1;
        *self
    }
}

/// A table on the screen.
pub(crate) struct Table {
    pub(crate) id: TableId,
    pub(crate) model: TableModel,
    /// The time range for which figures were last requested.
    pub(in super::super) requested: Option<Span>,
    pub(crate) selected: Option<RowId>,
    /// Whether the user has selected a row, which then stays selected when rows move. Before that, the first line is
    /// selected.
    pub(super) is_pinned: bool,
    /// The line of the selected row. If the row disappears, the row that is then on this line is selected.
    pub(crate) selected_line: usize,
    /// The first line on the screen.
    pub(crate) top: usize,
    /// Whether keys edit the filter.
    pub(crate) is_filtering: bool,
    /// The number of lines that fit on the screen.
    pub(crate) room: usize,
}

impl Table {
    pub(super) fn new(id: TableId, model: TableModel) -> Self {
        Self {
            id,
            model,
            requested: None,
            selected: None,
            is_pinned: false,
            selected_line: 0,
            top: 0,
            is_filtering: false,
            room: 0,
        }
    }

    /// The lines on the screen.
    pub(crate) fn visible_lines(&self) -> Range<usize> {
        self.top..(self.top + self.room).min(self.model.lines().len())
    }

    /// Finds the selected row again after the lines have changed.
    pub(crate) fn repair_selection(&mut self) {
        match self.selected.filter(|_| self.is_pinned).and_then(|id| self.model.line_of(id)) {
            Some(line) => self.selected_line = line,
            None if self.is_pinned => self.select_line(self.selected_line, 1),
            None => self.select_line(0, 1),
        }
        self.scroll_to_selected();
    }

    /// Selects the row of a line; if the line has no row, the nearest row in this direction, or else in the other.
    pub(super) fn select_line(&mut self, line: usize, direction: isize) {
        let last = self.model.lines().len().saturating_sub(1);
        let line = line.min(last);
        let has_row = |line: &usize| self.model.row_of(*line).is_some();
        let next_row = || (line..=last).find(has_row);
        let previous_row = || (0..=line).rev().find(has_row);
        let found =
            if direction < 0 { previous_row().or_else(next_row) } else { next_row().or_else(previous_row) };
        self.selected_line = found.unwrap_or_default();
        self.selected = self.model.row_of(self.selected_line).map(|row| row.id);
        self.scroll_to_selected();
    }

    pub(super) fn select_by(&mut self, by: isize) {
        self.is_pinned = true;
        self.select_line(self.selected_line.saturating_add_signed(by), by);
    }

    /// Scrolls so that the selected line is visible.
    pub(crate) fn scroll_to_selected(&mut self) {
        let room = self.room.max(1);
        self.top = self.top.min(self.model.lines().len().saturating_sub(room));
        self.top = self.top.clamp((self.selected_line + 1).saturating_sub(room), self.selected_line);
        if self.selected_line == 1 && self.top == 1 {
            // Also shows the group's heading above the first row.
            self.top = 0;
        }
    }

    /// Selects the first line after a key has changed the order.
    pub(super) fn select_first(&mut self) {
        self.top = 0;
        self.is_pinned = false;
        self.select_line(0, 1);
    }

    pub(super) fn has_processes(&self) -> bool {
        self.model.rows().iter().any(|row| row.process.is_some() && row.thread.is_none())
    }
}
