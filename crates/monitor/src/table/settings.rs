//! The settings of a table in a saved view.

use tachograph_counters::wildcard::eq_ignore_case;

use super::columns::{TableColumn, is_named};
use super::{ColumnContent, Property, TableLayout, TableModel, TableOrder, TreeKind};
use crate::catalogue::SetEntry;

/// The choices of a user for a table.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TableSettings {
    /// The name of the set; `None`: the set of the panel's first counter.
    pub set: Option<String>,
    /// The name of the machine whose instances are shown; `None`: all machines.
    pub machine: Option<String>,
    /// The columns from left to right: names of counters, or `Name`, `Machine`, `User`, `State`, `Command`, `Control Group`,
    /// `Present`. Empty: the default columns of the set. The name is always shown; it comes first if it is not listed.
    pub columns: Vec<String>,
    /// The column by which rows are sorted: numbers in descending order, text in ascending order. `None`: the default
    /// column of the set.
    pub sort: Option<String>,
    /// Whether rows are sorted in the opposite direction.
    pub reversed: bool,
    /// The maximum number of rows; `None`: all.
    pub top: Option<usize>,
    /// How rows are grouped.
    pub tree: TreeKind,
    /// The words that rows must contain.
    pub filter: String,
    /// Whether kernel threads that used less than 1 % of a processor are shown too.
    pub kernel_threads: bool,
}

impl TableColumn {
    /// The name of the column in a saved view.
    pub fn setting(&self) -> &str {
        match &self.content {
            ColumnContent::Name => "Name",
            ColumnContent::Machine => "Machine",
            ColumnContent::Property(Property::User) => "User",
            ColumnContent::Property(Property::State) => "State",
            ColumnContent::Property(Property::Command) => "Command",
            ColumnContent::Property(Property::Cgroup) => "Control Group",
            ColumnContent::Presence => "Present",
            ColumnContent::Counter(counter) => &counter.name,
        }
    }

    fn is_called(&self, name: &str) -> bool {
        // The name of the column in view files of earlier versions.
        let is_old_name = self.content == ColumnContent::Machine && eq_ignore_case("Computer", name);
        is_old_name
            || eq_ignore_case(self.setting(), name)
            || self.counter().is_some_and(|counter| is_named(counter, name))
    }
}

impl TableLayout {
    /// The table of a set with chosen columns; columns that the set does not have are omitted.
    fn with_columns(set: &SetEntry, names: &[String]) -> Self {
        let mut layout = Self::of_set(set);
        if names.is_empty() {
            return layout;
        }
        let sort_column = layout.columns.get(layout.sort_column).cloned();
        let column = |name: &String| {
            let existing = layout.columns.iter().find(|column| column.is_called(name)).cloned();
            let counters = || set.counters.iter().map(|entry| &entry.counter);
            let has_properties =
                || layout.columns.iter().any(|it| matches!(it.content, ColumnContent::Property(_)));
            let cgroup =
                || Some(TableColumn::of_cgroup()).filter(|it| it.is_called(name) && has_properties());
            existing.or_else(cgroup).or_else(|| {
                let found = counters().find(|it| eq_ignore_case(&it.name, name) || is_named(it, name));
                found.map(TableColumn::of_counter)
            })
        };
        let mut columns: Vec<_> = names.iter().filter_map(column).collect();
        if columns.is_empty() {
            return layout;
        }
        for required in [ColumnContent::Name, ColumnContent::Machine] {
            if !columns.iter().any(|column| column.content == required) {
                let found = layout.columns.iter().find(|column| column.content == required);
                columns.splice(0..0, found.cloned());
            }
        }
        let sort_index = columns.iter().position(|column| Some(column) == sort_column.as_ref());
        let numeric = columns.iter().position(|column| column.counter().is_some());
        layout.sort_column = sort_index.or(numeric).unwrap_or_default();
        if !columns.iter().any(|column| column.content == ColumnContent::Presence) {
            columns.insert((layout.sort_column + 1).min(columns.len()), TableColumn::of_presence());
        }
        layout.columns = columns;
        layout
    }
}

impl TableModel {
    /// An empty table of a set with a user's settings.
    pub fn with_settings(set: &SetEntry, settings: &TableSettings) -> Self {
        let mut model = Self::new(TableLayout::with_columns(set, &settings.columns));
        let columns = &model.layout.columns;
        let sort = settings.sort.as_ref().and_then(|name| columns.iter().position(|it| it.is_called(name)));
        let column = sort.unwrap_or(model.order.column);
        let is_descending = columns.get(column).is_some_and(|column| !column.is_text());
        model.order = TableOrder { column, is_descending: is_descending != settings.reversed };
        model.are_columns_chosen = !settings.columns.is_empty();
        model.is_order_chosen = sort.is_some();
        model.tree = settings.tree;
        model.max_rows = settings.top;
        model.filter.clone_from(&settings.filter);
        model.shows_kernel_threads = settings.kernel_threads;
        model.machine.clone_from(&settings.machine);
        model
    }

    /// The settings of the table, for a saved view.
    pub fn settings(&self) -> TableSettings {
        let names = |layout: &TableLayout| -> Vec<String> {
            layout.columns.iter().map(|column| column.setting().to_owned()).collect()
        };
        let sort_column = self.layout.columns.get(self.order.column);
        TableSettings {
            set: Some(self.layout.set.to_string()),
            machine: self.machine.clone(),
            columns: if self.are_columns_chosen { names(&self.layout) } else { Vec::new() },
            sort: sort_column.map(|column| column.setting().to_owned()),
            reversed: sort_column.is_some_and(|column| column.is_text() == self.order.is_descending),
            tree: self.tree,
            top: self.max_rows,
            filter: self.filter.clone(),
            kernel_threads: self.shows_kernel_threads,
        }
    }

    /// Removes a column. The columns of names, machines and presence cannot be removed: the presence column shows why rows are
    /// in this order, because they are ranked by averages multiplied by presence.
    pub fn remove_column(&mut self, column: usize) {
        use ColumnContent::{Machine, Name, Presence};
        let is_needed = |column: &TableColumn| matches!(column.content, Name | Machine | Presence);
        if self.layout.columns.get(column).is_none_or(is_needed) {
            return;
        }
        self.layout.columns.remove(column);
        let last = self.layout.columns.len() - 1;
        self.change_columns(column.min(last));
    }

    /// Adds a column for a counter after the last counter column (at the end if there is no counter column), unless the counter
    /// already has a column, and sorts by the counter's column.
    pub fn add_column(&mut self, counter: &tachograph_counters::set::Counter) {
        let columns = &mut self.layout.columns;
        let known = columns.iter().position(|column| column.is_called(&counter.name));
        let position = known.unwrap_or_else(|| {
            let numeric = columns.iter().rposition(|column| column.counter().is_some());
            let position = numeric.map_or(columns.len(), |last| last + 1);
            columns.insert(position, TableColumn::of_counter(counter));
            position
        });
        self.change_columns(position);
    }

    fn change_columns(&mut self, sort_column: usize) {
        (self.are_columns_chosen, self.is_order_chosen) = (true, true);
        (self.has_had_value, self.updates) = (Vec::new(), None);
        let is_descending = self.layout.columns.get(sort_column).is_some_and(|column| !column.is_text());
        self.order = TableOrder { column: sort_column, is_descending };
        self.rows.update(&self.layout.set, &self.layout.columns, &self.figures);
        self.arrange();
    }
}
