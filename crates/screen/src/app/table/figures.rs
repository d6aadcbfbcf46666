//! The figures of tables: their time ranges, and requests for them and for the properties of their rows.

use tachograph_counters::path::PathPattern;
use tachograph_monitor::{Span, TableFigures};

use super::super::{App, Pane, Request};
use super::TableId;

impl App {
    /// The time range and the paths of the figures that a table needs; `None` if it is not shown, or if there are no
    /// samples.
    pub fn required_table(&self, id: TableId) -> Option<(Span, Vec<PathPattern>)> {
        let mut tables = self.panes.iter().filter_map(Pane::shown_table);
        let table = tables.find(|table| table.id == id)?;
        Some((self.table_span()?, table.model.paths(self.facts.is_live)))
    }

    /// The time range of the table: the selected range; else the range of the column under the cursor; else the visible
    /// range of logs or the last interval of a live screen.
    pub(crate) fn table_span(&self) -> Option<Span> {
        if !self.facts.is_live || self.frozen.is_some() {
            if let Some(span) = self.selected_span() {
                return Some(span);
            }
            if let Some(column) = self.column_under_cursor() {
                return Some(self.reduced.span.column(column, self.reduced.columns.max(1)));
            }
        }
        if !self.facts.is_live {
            return self.span;
        }
        let end = self.frozen.or(self.times.newest().copied())?;
        let before = self.times.iter().rfind(|time| **time < end).copied();
        let begin = before.map_or(end, |before| before.saturating_add(1));
        Some(Span::of_samples(begin, end))
    }

    /// Requests the figures of the tables on the screen whose time range has changed.
    pub(in super::super) fn request_tables(&mut self, requests: &mut Vec<Request>) {
        let Some(span) = self.table_span() else { return };
        for table in self.panes.shown_tables_mut().filter(|table| table.requested != Some(span)) {
            table.requested = Some(span);
            requests.push(Request::Table(table.id));
        }
    }

    pub(in super::super) fn update_table(
        &mut self,
        id: TableId,
        figures: TableFigures,
        requests: &mut Vec<Request>,
    ) {
        self.explain_averages(&figures.reduced);
        let Some(table) = self.panes.table_mut(id) else { return };
        table.model.update(figures);
        table.repair_selection();
        let wanted = table.model.wanted_properties(table.visible_lines());
        if self.facts.has_properties && !wanted.is_empty() {
            requests.push(Request::Properties(id, wanted));
        }
        self.request_containers(Some(id), requests);
    }

    /// Requests the names of the containers of control groups that are shown: in the legends, or in a table.
    pub(in super::super) fn request_containers(
        &mut self,
        table: Option<TableId>,
        requests: &mut Vec<Request>,
    ) {
        if !self.facts.is_live {
            return;
        }
        let wanted = match table {
            None => {
                let items = self.panes.iter().flat_map(|pane| pane.legend.items());
                self.groups.wanted(items.filter_map(|item| item.info()?.instance_name()))
            }
            Some(id) => {
                let mut tables = self.panes.iter().filter_map(Pane::shown_table);
                let Some(table) = tables.find(|table| table.id == id) else { return };
                self.groups.wanted(table.model.group_paths(table.visible_lines()))
            }
        };
        if !wanted.is_empty() {
            requests.push(Request::Containers(wanted));
        }
    }

    /// Requests the properties of rows that have become visible.
    pub(in super::super) fn request_new_properties(&mut self, requests: &mut Vec<Request>) {
        if !self.facts.has_properties {
            return;
        }
        for table in self.panes.shown_tables_mut() {
            let mut wanted = table.model.wanted_properties(table.visible_lines());
            wanted.retain(|(id, _)| table.model.properties(*id).is_none());
            if !wanted.is_empty() {
                requests.push(Request::Properties(table.id, wanted));
            }
        }
    }

    /// The moment or the time range of the table's figures, for its status line.
    pub(crate) fn table_time(&self) -> String {
        let Some(table) = self.table().filter(|_| !self.facts.is_live || self.frozen.is_some()) else {
            return String::new();
        };
        match table.model.reduced().covered() {
            None => String::new(),
            Some((first, last)) => {
                let [first, last] = [first, last].map(|at| self.time_of_day(at.utc, false));
                if first == last { format!("at {last}") } else { format!("{first} to {last}") }
            }
        }
    }
}
