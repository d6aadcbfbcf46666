//! The columns of the focused table, its order, and its tree.

use std::sync::Arc;

use tachograph_counters::wildcard::{eq_ignore_case, fold_case};
use tachograph_monitor::{MAX_TOP, TreeKind};

use super::super::{App, Request};

impl App {
    /// The columns that are shown and by which rows can be sorted.
    pub(in super::super) fn sortable_columns(&self) -> Vec<usize> {
        if let Some(shown) = self.areas.focused_table().filter(|table| !table.headings.is_empty()) {
            return shown.headings.iter().map(|(column, _)| *column).collect();
        }
        let columns = self.table().map_or(0, |table| table.model.layout().columns.len());
        (0..columns).collect()
    }

    pub(in super::super) fn move_sort(&mut self, by: isize) {
        let columns = self.sortable_columns();
        let Some(table) = self.table() else { return };
        let now = columns.iter().position(|column| *column == table.model.order().column);
        let next =
            now.map_or(0, |now| (now as isize + by).rem_euclid(columns.len().max(1) as isize) as usize);
        if let Some(&column) = columns.get(next).filter(|_| now != Some(next)) {
            self.sort_table(Some(column));
        }
    }

    /// Sorts by a column; reverses the order if this is the sorted column, or if `column` is `None`.
    pub(in super::super) fn sort_table(&mut self, column: Option<usize>) {
        let Some(table) = self.table_mut() else { return };
        table.model.sort_by(column.unwrap_or(table.model.order().column));
        table.select_first();
    }

    pub(in super::super) fn next_tree(&mut self) {
        let has_properties = self.facts.has_properties;
        let Some(table) = self.table_mut() else { return };
        let mut tree = table.model.tree().next();
        while !(table.model.has_tree(tree)
            || tree == TreeKind::Cgroup && has_properties && table.has_processes())
        {
            tree = tree.next();
        }
        if tree == table.model.tree() {
            self.messages.push_response("no tree: these rows have no parents", false);
            return;
        }
        table.model.set_tree(tree);
        table.select_first();
    }

    /// Removes the column by which rows are sorted.
    pub(in super::super) fn remove_column(&mut self, requests: &mut Vec<Request>) {
        let Some(table) = self.table_mut() else { return };
        table.model.remove_column(table.model.order().column);
        table.repair_selection();
        self.request_table_paths(requests);
    }

    /// Adds the first counter of the set whose name contains all words as a column.
    pub(in super::super) fn add_column(
        &mut self,
        text: &str,
        requests: &mut Vec<Request>,
    ) -> Result<(), String> {
        let (Some(table), Some(sets)) = (self.table(), self.sets.clone()) else { return Ok(()) };
        let set = Arc::clone(&table.model.layout().set);
        let entry = sets.iter().find(|entry| entry.name == set);
        let words: Vec<_> = text.split_whitespace().map(fold_case).collect();
        let matches = |name: &str| words.iter().all(|word| fold_case(name).contains(word));
        let counters = || entry.iter().flat_map(|entry| &entry.counters).map(|entry| &entry.counter);
        // A counter with exactly this name takes precedence over counters whose names contain it.
        let exact = counters().find(|counter| eq_ignore_case(&counter.name, text));
        let found = exact.or_else(|| counters().find(|counter| !words.is_empty() && matches(&counter.name)));
        let Some(counter) = found else {
            return Err(format!("no counter of '{set}' contains these words"));
        };
        if let Some(table) = self.table_mut() {
            table.model.add_column(counter);
            table.repair_selection();
        }
        self.request_table_paths(requests);
        Ok(())
    }

    pub(in super::super) fn set_max_rows(&mut self, text: &str) -> Result<(), String> {
        let max_rows = match text {
            "" | "0" => None,
            _ => {
                let rows = text.parse().ok().filter(|rows| *rows <= MAX_TOP);
                Some(rows.ok_or_else(|| format!("enter a whole number up to {MAX_TOP}; 0: all rows"))?)
            }
        };
        if let Some(table) = self.table_mut() {
            table.model.set_max_rows(max_rows);
            table.repair_selection();
        }
        Ok(())
    }
}
