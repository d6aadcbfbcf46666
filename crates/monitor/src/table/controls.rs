//! The settings of a table that its user changes: order, filter, grouping, the rows that are shown.

use super::{TableModel, TableOrder, TreeKind};

impl TableModel {
    /// The sort order.
    pub fn order(&self) -> TableOrder {
        self.order
    }

    /// Sorts by a column: numbers in descending order, text in ascending order; in the other direction if the table is already
    /// sorted by this column.
    pub fn sort_by(&mut self, column: usize) {
        let Some(shown_column) = self.layout.columns.get(column) else { return };
        let is_descending =
            if column == self.order.column { !self.order.is_descending } else { !shown_column.is_text() };
        self.order = TableOrder { column, is_descending };
        self.is_order_chosen = true;
        self.arrange();
    }

    /// The filter.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Shows only the rows that contain all words of the filter, case-insensitively: in machine, name, ids, user, command line
    /// or control group.
    pub fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        self.arrange();
    }

    /// How rows are grouped.
    pub fn tree(&self) -> TreeKind {
        self.tree
    }

    /// Groups the rows in another way.
    pub fn set_tree(&mut self, tree: TreeKind) {
        self.tree = tree;
        self.arrange();
    }

    /// Whether rows can be grouped in this way.
    pub fn has_tree(&self, tree: TreeKind) -> bool {
        match tree {
            TreeKind::None => true,
            TreeKind::Parent => {
                &*self.layout.set == "Cgroup" || self.rows.rows.iter().any(|row| row.parent.is_some())
            }
            TreeKind::Cgroup => self.properties.values().any(|properties| properties.cgroup.is_some()),
        }
    }

    /// The maximum number of rows that are shown.
    pub fn max_rows(&self) -> Option<usize> {
        self.max_rows
    }

    /// Shows at most this number of rows.
    pub fn set_max_rows(&mut self, max_rows: Option<usize>) {
        self.max_rows = max_rows;
        self.arrange();
    }

    /// Shows or hides kernel threads that used less than 1 % of a processor.
    pub fn set_kernel_threads(&mut self, are_shown: bool) {
        self.shows_kernel_threads = are_shown;
        self.arrange();
    }

    /// Whether kernel threads that used less than 1 % of a processor are shown.
    pub fn shows_kernel_threads(&self) -> bool {
        self.shows_kernel_threads
    }
}
