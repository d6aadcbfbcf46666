//! The first rows of a table in a line, for terminals that are too small for the table.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use tachograph_monitor::{ColumnContent, TableLine};

use crate::app::{App, Pane};
use crate::text::{truncate, width};

/// The maximum number of rows in a line.
const MAX_ROWS: usize = 5;

/// The maximum width of a name, in columns.
const MAX_NAME: usize = 20;

impl App {
    /// Draws the names and the sorted figures of the first rows, as many as fit: `Processes  CPU %  rustc 98.2  tacho 1.5`. If the
    /// rows are of several machines, each name follows that of its machine.
    pub(super) fn draw_first_rows(&self, buffer: &mut Buffer, line: Rect, pane: &Pane) {
        let Some(table) = pane.shown_table() else { return };
        let model = &table.model;
        let order = model.order().column;
        let columns = &model.layout().columns;
        let Some(sorted) = columns.get(order).filter(|column| !column.is_text()) else { return };
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut column = self.write_text(buffer, line, 1, &pane.title(), bold);
        column = self.write_text(buffer, line, column + 2, &sorted.title, self.theme.dim());
        let Some(names) = columns.iter().position(|column| column.content == ColumnContent::Name) else {
            return;
        };
        let rows = model.lines().iter().filter_map(|line| match line {
            TableLine::Row { row, .. } => Some(*row),
            TableLine::Group { .. } => None,
        });
        // Rows without activity are no news.
        let active = rows.filter(|row| model.value(*row, order).is_some_and(|value| value > 0.0));
        for row in active.take(MAX_ROWS) {
            let name = self.cell_text(model, row, names).unwrap_or_default();
            let name = truncate(&name, MAX_NAME, self.theme.is_unicode);
            let name = match model.row(row).filter(|_| model.has_machines()) {
                Some(row) => format!("{} {name}", row.machine()),
                None => name.into_owned(),
            };
            let value = model.text(row, order, self.numbers).unwrap_or_default();
            let end = column + 2 + width(&name) + 1 + width(&value);
            if end > usize::from(line.width) {
                break;
            }
            column = self.write_text(buffer, line, column + 2, &name, Style::new());
            column = self.write_text(buffer, line, column + 1, &value, bold);
        }
    }
}
