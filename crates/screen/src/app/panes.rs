//! The panels of the screen.

use tachograph_counters::path::PathPattern;
use tachograph_monitor::{Panel, Reduced, ViewKind};

use super::{Pane, Table, TableId};

/// The panels, of which one has the focus. Several panels share the screen, or the focused one fills it.
pub(crate) struct Panes {
    /// Never empty.
    list: Vec<Pane>,
    focus: usize,
    is_zoomed: bool,
    /// The columns and lines of the terminal.
    screen: (u16, u16),
    /// Whether a table that has no room can be shown in a line. Not for logs, whose tables take long to read.
    has_table_line: bool,
}

/// The columns and lines that a terminal must have to show the first rows of a table in a line, if it is too small for the
/// table.
const MIN_LINE_SIZE: (u16, u16) = (80, 24);

impl Panes {
    pub(super) fn new(panels: Vec<Panel>) -> Self {
        let mut list: Vec<_> = panels.into_iter().map(Pane::new).collect();
        if list.is_empty() {
            list.push(Pane::new(Panel::default()));
        }
        Self { list, focus: 0, is_zoomed: false, screen: (0, 0), has_table_line: false }
    }

    /// Shows a table that has no room in a line.
    pub(super) fn with_table_line(self, has_table_line: bool) -> Self {
        Self { has_table_line, ..self }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Pane> {
        self.list.iter()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Pane> {
        self.list.iter_mut()
    }

    /// The indexes of the panels that are shown.
    pub(crate) fn shown_indexes(&self) -> Vec<usize> {
        (0..self.list.len()).filter(|index| self.is_shown(*index)).collect()
    }

    /// Whether a panel is shown: the focused one is enlarged, or the terminal is large enough for it.
    fn is_shown(&self, index: usize) -> bool {
        if !self.is_grid() {
            return index == self.focus;
        }
        let has_room = |pane: &Pane| pane.panel.min_size.is_none_or(|size| self.is_at_least(size));
        self.list.get(index).is_some_and(has_room)
    }

    fn is_at_least(&self, (columns, lines): (u16, u16)) -> bool {
        self.screen.0 >= columns && self.screen.1 >= lines
    }

    /// The index of the table whose first rows are shown in a line below the panels: the first one that is not among them
    /// because the terminal is too small.
    pub(crate) fn table_in_line(&self) -> Option<usize> {
        if !self.has_table_line || !self.is_grid() || !self.is_at_least(MIN_LINE_SIZE) {
            return None;
        }
        let is_open = |index: &usize| self.list[*index].shown_table().is_some();
        (0..self.list.len()).filter(is_open).find(|index| !self.is_shown(*index))
    }

    /// Whether a panel is shown, or its table in a line.
    fn has_figures(&self, index: usize) -> bool {
        self.is_shown(index) || self.table_in_line() == Some(index)
    }

    /// Sets the columns and lines of the terminal; returns whether this changes which panels are shown.
    pub(crate) fn set_screen(&mut self, screen: (u16, u16)) -> bool {
        let before = (self.shown_indexes(), self.table_in_line());
        self.screen = screen;
        if self.is_grid() && !self.is_shown(self.focus) {
            self.move_focus(1);
        }
        (self.shown_indexes(), self.table_in_line()) != before
    }

    /// Whether all panels that are shown are tables.
    pub(super) fn are_tables(&self) -> bool {
        self.shown_indexes().iter().all(|index| self.list[*index].kind() == ViewKind::Table)
    }

    pub(super) fn tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        self.list.iter_mut().filter_map(|pane| pane.table.as_deref_mut())
    }

    /// The tables that are shown, also in a line.
    pub(super) fn shown_tables_mut(&mut self) -> impl Iterator<Item = &mut Table> {
        let shown: Vec<_> = (0..self.list.len()).filter(|index| self.has_figures(*index)).collect();
        let shown = self.list.iter_mut().enumerate().filter(move |(index, _)| shown.contains(index));
        let tables = shown.filter(|(_, pane)| pane.kind() == ViewKind::Table);
        tables.filter_map(|(_, pane)| pane.table.as_deref_mut())
    }

    /// Removes the table from a panel that shows one, until [`put_table`](Self::put_table).
    pub(crate) fn take_table(&mut self, index: usize) -> Option<Box<Table>> {
        self.list.get_mut(index).filter(|pane| pane.kind() == ViewKind::Table)?.table.take()
    }

    /// Puts a table that [`take_table`](Self::take_table) removed back into its panel.
    pub(crate) fn put_table(&mut self, index: usize, table: Box<Table>) {
        if let Some(pane) = self.list.get_mut(index) {
            pane.table = Some(table);
        }
    }

    pub(super) fn table_mut(&mut self, id: TableId) -> Option<&mut Table> {
        self.tables_mut().find(|table| table.id == id)
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn focused_pane(&self) -> &Pane {
        &self.list[self.focus]
    }

    pub(crate) fn focused_mut(&mut self) -> &mut Pane {
        &mut self.list[self.focus]
    }

    /// The index of the focused panel.
    pub(crate) fn focus_index(&self) -> usize {
        self.focus
    }

    /// Whether several panels share the screen.
    pub(crate) fn is_grid(&self) -> bool {
        self.list.len() > 1 && !self.is_zoomed
    }

    /// Whether the focused one of several panels fills the screen.
    pub(crate) fn is_zoomed(&self) -> bool {
        self.list.len() > 1 && self.is_zoomed
    }

    pub(super) fn set_zoomed(&mut self, is_zoomed: bool) {
        self.is_zoomed = is_zoomed;
    }

    pub(super) fn set_focus(&mut self, index: usize) {
        self.focus = index.min(self.list.len() - 1);
    }

    pub(super) fn move_focus(&mut self, by: isize) {
        let count = self.list.len() as isize;
        for _ in 0..count {
            self.focus = (self.focus as isize + by).rem_euclid(count) as usize;
            // While one panel is enlarged, the focus can move to any panel.
            if !self.is_grid() || self.is_shown(self.focus) {
                break;
            }
        }
    }

    /// Adds a panel after the focused one, and moves the focus to it.
    pub(super) fn split(&mut self, panel: Panel) {
        self.focus += 1;
        self.list.insert(self.focus, Pane::new(panel));
        self.is_zoomed = false;
    }

    /// Removes the focused panel; the last one is replaced by an empty panel.
    pub(super) fn remove(&mut self) {
        if self.list.len() == 1 {
            let axis = self.list[0].panel.axis;
            self.list[0] = Pane::new(Panel { axis, ..Panel::default() });
            return;
        }
        self.list.remove(self.focus);
        self.set_focus(self.focus);
    }

    /// Replaces all panels.
    pub(super) fn replace(&mut self, panels: Vec<Panel>) {
        *self = Self { screen: self.screen, has_table_line: self.has_table_line, ..Self::new(panels) };
    }

    /// Updates all legends. The figures lack the counters of panels that show tables
    /// ([`charted_paths`](Self::charted_paths)), so the legends of these panels keep their items and the settings of
    /// the items.
    pub(super) fn update(&mut self, reduced: &Reduced, keep_absent: bool) {
        for pane in &mut self.list {
            let keeps = keep_absent || pane.kind() == ViewKind::Table;
            pane.update(reduced, keeps);
        }
    }

    /// The paths of all panels and tables, each once. Hidden tables are included only for logs, because re-reading their
    /// paths would take long.
    pub(super) fn paths(&self, is_live: bool) -> Vec<PathPattern> {
        let of_tables = self.list.iter().enumerate().filter_map(|(index, pane)| {
            let is_left_out = is_live && self.is_grid() && !self.has_figures(index);
            let table = if is_live { pane.shown_table() } else { pane.table.as_deref() };
            Some(table.filter(|_| !is_left_out)?.model.paths(is_live))
        });
        each_once(self.list.iter().flat_map(|pane| pane.legend.paths()).chain(of_tables.flatten()))
    }

    /// The paths of the panels that are not tables; of all panels if all are tables.
    pub(super) fn charted_paths(&self) -> Vec<PathPattern> {
        let is_table = |pane: &&Pane| pane.kind() == ViewKind::Table;
        let are_all = self.list.iter().all(|pane| is_table(&pane));
        let panes = self.list.iter().filter(|pane| are_all || !is_table(pane));
        each_once(panes.flat_map(|pane| pane.legend.paths()))
    }
}

fn each_once(all: impl Iterator<Item = PathPattern>) -> Vec<PathPattern> {
    let mut paths = Vec::new();
    for path in all {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}
