//! Selects the columns of a table that fit, and places them.

use tachograph_monitor::{ColumnContent, Property, TableColumn, TableLine};

use crate::app::{App, Table};
use crate::text::width;

/// A column that is shown.
pub(super) struct FittedColumn {
    /// Its index in the layout.
    pub(super) column: usize,
    /// Its first column of characters.
    pub(super) start: usize,
    pub(super) width: usize,
}

/// The maximum width of a name, in characters, unless its column is the last.
const MAX_NAME: usize = 40;

/// The maximum width of the name of a machine, in characters.
const MAX_MACHINE: usize = 20;

impl App {
    /// Selects the columns that fit into `room` characters. Each column needs the width of its visible texts, and at
    /// least its usual width. Columns with the highest omission rank are omitted first, until the others fit. If the
    /// last column contains text, it gets the remaining room.
    pub(super) fn fitted_columns(&self, table: &Table, room: usize) -> Vec<FittedColumn> {
        let model = &table.model;
        let rows: Vec<(usize, usize)> = table
            .visible_lines()
            .filter_map(|line| match &model.lines()[line] {
                TableLine::Row { row, .. } => Some((*row, width(&self.tree_prefix(model, line)))),
                TableLine::Group { .. } => None,
            })
            .collect();
        let longest = |index: usize, column: &TableColumn| {
            let is_name = column.content == ColumnContent::Name;
            let totals = model.reserved().iter().map(|row| (*row, 0));
            let texts = rows.iter().copied().chain(totals).map(|(row, prefix)| {
                let text = self.cell_text(model, row, index).map_or(0, |text| width(&text));
                text + if is_name { prefix } else { 0 }
            });
            texts.max().unwrap_or(0)
        };
        let is_shown = |index: usize, column: &TableColumn| match column.content {
            ColumnContent::Machine => model.has_machines(),
            ColumnContent::Presence => model.has_partly_present(),
            ColumnContent::Property(_) => self.facts.has_properties,
            ColumnContent::Counter(_) => !model.is_empty_column(index),
            ColumnContent::Name => true,
        };
        let mut columns: Vec<(usize, usize, u8)> = Vec::new();
        for (index, column) in
            model.layout().columns.iter().enumerate().filter(|(index, column)| is_shown(*index, column))
        {
            let usual = column.usual_width(self.numbers);
            let needed = match column.content {
                ColumnContent::Name => longest(index, column).clamp(usual.min(MAX_NAME), MAX_NAME),
                ColumnContent::Machine => longest(index, column).clamp(usual, MAX_MACHINE),
                ColumnContent::Property(Property::Command | Property::Cgroup) => usual,
                _ => longest(index, column).max(usual),
            };
            // The names of machines need the room of all columns but those that identify rows or explain their order.
            let is_replaceable =
                column.counter().is_some() && !column.is_id() && index != model.order().column;
            let rank = match column.omission_rank {
                0 if model.has_machines() && is_replaceable => 1,
                rank => rank,
            };
            columns.push((index, needed, rank));
        }
        // The first column of characters is for the mark of the selected row.
        let total =
            |columns: &[(usize, usize, u8)]| columns.iter().map(|(_, width, _)| width + 1).sum::<usize>();
        while total(&columns) > room {
            let omitted = columns.iter().enumerate().filter(|(_, (.., rank))| *rank > 0);
            // Of several columns with the same rank, the last one is omitted.
            let Some((position, _)) = omitted.max_by_key(|(position, (.., rank))| (*rank, *position)) else {
                break;
            };
            columns.remove(position);
        }
        let mut start = 1;
        let mut fitted = Vec::new();
        let mut spare = room.saturating_sub(total(&columns));
        let last = columns.last().map(|(index, ..)| *index);
        for (index, needed, _) in columns {
            let column = &model.layout().columns[index];
            let mut width = needed;
            if Some(index) == last && column.is_text() {
                width += std::mem::take(&mut spare);
            }
            // Only columns of names can be narrower than their texts.
            let width = width.min(room.saturating_sub(start));
            if width == 0 {
                break;
            }
            fitted.push(FittedColumn { column: index, start, width });
            start += width + 1;
        }
        fitted
    }
}
