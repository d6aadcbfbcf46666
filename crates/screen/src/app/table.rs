//! Tables: their counter sets and their keys.

mod columns;
mod figures;
mod selection;

use ratatui::crossterm::event::{KeyCode, KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;
use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::{Pattern, eq_ignore_case};
use tachograph_monitor::{Chosen, READY_MADE_TABLES, SetEntry, TableLayout, TableModel, ViewKind};

use super::dialogs::edit;
use super::{App, Overlay, Pane, PromptKind, Request};
use crate::keys::Command;
pub(crate) use selection::Table;
pub use selection::TableId;

/// Rows per step of the mouse wheel.
const WHEEL: isize = 3;

impl App {
    /// The table of the focused panel, if it shows one.
    pub(crate) fn table(&self) -> Option<&Table> {
        self.panes.focused_pane().shown_table()
    }

    fn table_mut(&mut self) -> Option<&mut Table> {
        let pane = self.panes.focused_mut();
        pane.table.as_deref_mut().filter(|_| pane.panel.kind == ViewKind::Table)
    }

    /// Whether the focused panel is a table.
    pub(crate) fn is_table(&self) -> bool {
        self.panes.focused_pane().kind() == ViewKind::Table
    }

    /// Switches the focused panel to another kind of view.
    pub(super) fn show_kind(&mut self, kind: ViewKind, requests: &mut Vec<Request>) {
        let pane = self.panes.focused_mut();
        let before = std::mem::replace(&mut pane.panel.kind, kind);
        if before == kind {
            return;
        }
        pane.chart_kind = (kind == ViewKind::Table).then_some(before);
        let has_table = self.panes.focused_pane().table.is_some();
        if kind == ViewKind::Table {
            self.open_pending_tables(requests);
            if self.sets.is_some() && self.panes.focused_pane().table.is_none() {
                self.messages.push_response(self.no_table(self.panes.focused_pane()), false);
            }
        }
        if has_table && self.facts.is_live {
            // The counters of the table are read only while it is shown.
            if let Some(table) = &mut self.panes.focused_mut().table {
                table.requested = None;
            }
            requests.push(Request::Paths(self.paths()));
        }
        if before == ViewKind::Table {
            requests.push(Request::Figures);
        }
    }

    /// Opens the tables that are shown but not open yet, as soon as the sets are known.
    pub(super) fn open_pending_tables(&mut self, requests: &mut Vec<Request>) {
        let is_pending = |pane: &Pane| pane.kind() == ViewKind::Table && pane.table.is_none();
        if !self.panes.iter().any(is_pending) {
            return;
        }
        if self.sets.is_none() {
            requests.push(Request::Sets);
        } else if self.open_tables() {
            requests.push(Request::Paths(self.paths()));
        }
    }

    /// Opens the tables that are shown but not open yet; returns whether it opened any.
    pub(super) fn open_tables(&mut self) -> bool {
        let Some(sets) = self.sets.clone() else { return false };
        let mut is_any_open = false;
        for pane in self.panes.iter_mut() {
            if pane.kind() != ViewKind::Table || pane.table.is_some() {
                continue;
            }
            if let Some(entry) = first_set(pane, &sets) {
                let model = TableModel::with_settings(entry, &pane.panel.table);
                pane.table = Some(Box::new(Table::new(self.last_table.next(), model)));
                is_any_open = true;
            }
        }
        is_any_open
    }

    /// Explains why a panel has no table.
    pub(crate) fn no_table(&self, pane: &Pane) -> String {
        match &pane.panel.table.set {
            _ if self.sets.is_none() || self.reading.is_some() => "reading ...".to_owned(),
            Some(set) => format!("no counter set '{set}' here"),
            None => "no table: no counter set has instances".to_owned(),
        }
    }

    /// Requests the counters of the panels and tables, and later new figures for the focused table.
    fn request_table_paths(&mut self, requests: &mut Vec<Request>) {
        if let Some(table) = self.table_mut() {
            table.requested = None;
        }
        requests.push(Request::Paths(self.paths()));
    }

    /// The sets that Tab switches through: sets with ready-made columns, then those of the panel's paths.
    fn table_sets(&self) -> Vec<String> {
        let Some(sets) = &self.sets else { return Vec::new() };
        let with_instances = || sets.iter().filter(|entry| entry.has_instances);
        let mut names: Vec<String> = Vec::new();
        for ready in READY_MADE_TABLES {
            names.extend(with_instances().find(|entry| &*entry.name == ready).map(|it| it.name.to_string()));
        }
        for path in self.panes.focused_pane().legend.paths() {
            let chosen = with_instances().find(|entry| path.matches_set_name(&entry.name));
            names.extend(chosen.map(|it| it.name.to_string()).filter(|name| !names.contains(name)));
        }
        let current = self.table().map(|table| table.model.layout().set.to_string());
        names.extend(current.filter(|name| !names.contains(name)));
        names
    }

    fn switch_table(&mut self, by: isize, requests: &mut Vec<Request>) {
        let names = self.table_sets();
        let current = self.table().map(|table| table.model.layout().set.to_string());
        let index =
            current.and_then(|name| names.iter().position(|known| *known == name)).unwrap_or_default();
        let next = (index as isize + by).rem_euclid(names.len().max(1) as isize) as usize;
        let Some(name) = names.get(next).filter(|_| next != index) else { return };
        let sets = self.sets.iter().flat_map(|sets| sets.iter());
        let Some(entry) = sets.into_iter().find(|entry| *entry.name == **name) else { return };
        let table = Table::new(self.last_table.next(), TableModel::new(TableLayout::of_set(entry)));
        self.panes.focused_mut().table = Some(Box::new(table));
        self.request_table_paths(requests);
    }

    /// Runs a command that tables have; returns false for all other commands.
    pub(super) fn run_in_table(&mut self, command: Command, requests: &mut Vec<Request>) -> bool {
        let Some(table) = self.table_mut() else { return false };
        let page = table.room.saturating_sub(1).max(1) as isize;
        match command {
            Command::Up => table.select_by(-1),
            Command::Down => table.select_by(1),
            Command::PageUp => table.select_by(-page),
            Command::PageDown => table.select_by(page),
            Command::First => table.select_first(),
            Command::Last => table.select_by(isize::MAX),
            Command::SortLeft => self.move_sort(-1),
            Command::SortRight => self.move_sort(1),
            Command::ReverseRows => self.sort_table(None),
            Command::FilterRows => table.is_filtering = true,
            Command::Escape if !table.model.filter().is_empty() => {
                table.model.set_filter(String::new());
                table.repair_selection();
            }
            Command::Tree => self.next_tree(),
            Command::MaxRows => {
                let max_rows = table.model.max_rows().map(|max| max.to_string()).unwrap_or_default();
                self.open_prompt(PromptKind::MaxRows, max_rows);
            }
            Command::NextTable => self.switch_table(1, requests),
            Command::PreviousTable => self.switch_table(-1, requests),
            Command::RemoveColumn => self.remove_column(requests),
            Command::AddColumn => self.open_prompt(PromptKind::AddColumn, String::new()),
            Command::KernelThreads => {
                table.model.set_kernel_threads(!table.model.shows_kernel_threads());
                table.repair_selection();
            }
            Command::Details => self.open_details(requests),
            Command::ChartRow => self.chart_row(requests),
            _ => return false,
        }
        true
    }

    /// Adds the selected row's counter by which the table is sorted to the chart.
    fn chart_row(&mut self, requests: &mut Vec<Request>) {
        let Some(table) = self.table() else { return };
        let Some(row) = table.model.row_of(table.selected_line) else { return };
        let columns = &table.model.layout().columns;
        let sorted = columns.get(table.model.order().column).and_then(|column| column.counter());
        let Some(counter) = sorted.or_else(|| columns.iter().find_map(|column| column.counter())) else {
            return;
        };
        let path = row.info.set.path(
            row.info.instance.as_deref().unwrap_or(&tachograph_counters::set::Instance::none()),
            counter,
        );
        let pattern = match PathPattern::parse(&path) {
            Ok(pattern) => pattern,
            Err(error) => return self.messages.push_response(format!("{path}: {error}"), true),
        };
        if !self.panes.focused_mut().legend.add(Chosen::new(pattern)) {
            return self.messages.push_response(format!("{path} is already on the chart (1)"), false);
        }
        self.messages.push_response(format!("{path} is on the chart (1)"), false);
        self.request_paths(requests);
    }

    fn open_details(&mut self, requests: &mut Vec<Request>) {
        let Some(table) = self.table_mut().filter(|table| table.selected.is_some()) else { return };
        table.is_pinned = true;
        table.model.set_detailed(table.selected);
        self.overlay = Overlay::Row(0);
        if self.facts.is_live {
            self.request_table_paths(requests);
        }
    }

    pub(super) fn close_details(&mut self, requests: &mut Vec<Request>) {
        self.overlay = Overlay::None;
        if let Some(table) = self.table_mut() {
            table.model.set_detailed(None);
            if self.facts.is_live {
                requests.push(Request::Paths(self.paths()));
            }
        }
    }

    /// Handles a key while the filter is edited; returns false if the filter is not being edited.
    pub(super) fn filter_key(&mut self, key: &KeyEvent, requests: &mut Vec<Request>) -> bool {
        let Some(table) = self.table_mut().filter(|table| table.is_filtering) else { return false };
        match key.code {
            KeyCode::Enter => table.is_filtering = false,
            KeyCode::Esc => {
                table.is_filtering = false;
                table.model.set_filter(String::new());
            }
            KeyCode::Down => table.select_by(1),
            KeyCode::Up => table.select_by(-1),
            _ => {
                let mut filter = table.model.filter().to_owned();
                if edit(&mut filter, key) {
                    table.model.set_filter(filter);
                }
            }
        }
        table.repair_selection();
        self.request_new_properties(requests);
        true
    }

    pub(super) fn table_mouse(&mut self, mouse: &MouseEvent) {
        let at = Position { x: mouse.column, y: mouse.row };
        let areas = self.areas.focused_table().cloned().unwrap_or_default();
        let Some(table) = self.table_mut() else { return };
        match mouse.kind {
            MouseEventKind::ScrollDown => table.select_by(WHEEL),
            MouseEventKind::ScrollUp => table.select_by(-WHEEL),
            MouseEventKind::Down(MouseButton::Left) if areas.heading.contains(at) => {
                let found = areas.headings.iter().find(|(_, range)| range.contains(&at.x));
                if let Some(&(column, _)) = found {
                    self.sort_table(Some(column));
                }
            }
            MouseEventKind::Down(MouseButton::Left) if areas.rows.contains(at) => {
                table.is_pinned = true;
                table.select_line(table.top + usize::from(at.y - areas.rows.y), 1);
            }
            _ => self.is_changed = false,
        }
    }
}

/// The counter set that a panel opens as a table: the set in its settings; else the set of its first path with all
/// instances; else the first set with ready-made columns.
fn first_set<'a>(pane: &Pane, sets: &'a [SetEntry]) -> Option<&'a SetEntry> {
    if let Some(name) = &pane.panel.table.set {
        return sets.iter().find(|entry| eq_ignore_case(&entry.name, name));
    }
    let with_instances = || sets.iter().filter(|entry| entry.has_instances);
    let paths = pane.legend.paths();
    let path_of_all = paths.iter().find(|path| path.instance().is_some_and(Pattern::is_everything));
    let suggested = path_of_all.and_then(|path| with_instances().find(|it| path.matches_set_name(&it.name)));
    let ready_made =
        || READY_MADE_TABLES.iter().find_map(|name| with_instances().find(|it| &*it.name == *name));
    suggested.or_else(ready_made)
}
