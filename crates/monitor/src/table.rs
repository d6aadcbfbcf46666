//! Tables: rows are the instances of a set, columns are its counters.
//!
//! ```text
//! Board -> TableFigures::read(span, TableModel::paths) -> TableModel::update -> lines in order
//! RowProperties::process -> TableModel::set_properties --/
//! ```
//!
//! A table is computed when figures, properties or settings change, and not when it is drawn.

mod arrangement;
mod cells;
mod columns;
mod controls;
mod figures;
mod groups;
mod properties;
mod ready_made;
mod rows;
mod settings;

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::path::{CounterPath, PathPattern};

use crate::reduced::Reduced;

pub use columns::{ColumnContent, Figure, Property, TableColumn, TableLayout};
pub use figures::TableFigures;
pub use properties::{ProcessProperties, RowProperties};
pub use ready_made::{READY_MADE_TABLES, ready_made_columns};
pub use rows::{RowId, TableRow, has_no_rank};
pub use settings::TableSettings;

use rows::Rows;

/// How rows are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum TreeKind {
    /// All rows in one list.
    #[default]
    None,
    /// Below the parent: processes below the process that started them, control groups below the group that contains them.
    Parent,
    /// Processes by control group.
    Cgroup,
}

impl TreeKind {
    /// The name in a view file.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Parent => "parent",
            Self::Cgroup => "cgroup",
        }
    }

    /// The next kind; the first one after the last.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::None => Self::Parent,
            Self::Parent => Self::Cgroup,
            Self::Cgroup => Self::None,
        }
    }
}

/// The column by which a table is sorted, and the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableOrder {
    /// Index of the column.
    pub column: usize,
    /// Whether the largest comes first.
    pub is_descending: bool,
}

/// A ready-made column that is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingColumn<'a> {
    /// The heading.
    pub title: &'a str,
    /// The counters of which the column would show the first one that the machine has.
    pub counters: Vec<&'a str>,
    /// Whether the machine has the counter, but no row has a value.
    pub is_empty: bool,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableLine {
    /// A row.
    Row {
        /// Its index in [`TableModel::rows`].
        row: usize,
        /// Its depth in the tree; 0 without a tree.
        depth: usize,
        /// Whether it is only shown because a row below it matches the filter.
        is_context: bool,
    },
    /// The heading of a group of rows.
    Group {
        /// The name of the control group.
        name: Arc<str>,
        /// The number of its rows.
        rows: usize,
    },
}

/// A table of one set: its rows, and the lines in which they are shown.
///
/// Memory is proportional to the number of instances in the last figures.
#[derive(Debug)]
pub struct TableModel {
    layout: TableLayout,
    /// The only machine whose instances are rows.
    machine: Option<String>,
    figures: TableFigures,
    rows: Rows,
    properties: HashMap<RowId, ProcessProperties>,
    order: TableOrder,
    filter: String,
    tree: TreeKind,
    max_rows: Option<usize>,
    /// The row for which all counters are requested, not only those with a column.
    detailed: Option<RowId>,
    lines: Vec<TableLine>,
    /// The indexes of rows that are [reserved](TableRow::is_reserved).
    reserved_rows: Vec<usize>,
    /// The number of rows that match the filter.
    matching: usize,
    /// Whether the rows are of several machines.
    has_machines: bool,
    /// The largest number of intervals of any row.
    intervals: u64,
    shows_kernel_threads: bool,
    /// The number of kernel threads that are not shown.
    hidden_threads: usize,
    /// Whether the user has changed the columns.
    are_columns_chosen: bool,
    /// Whether the user has chosen the order.
    is_order_chosen: bool,
    /// For each column, whether a row, other than reserved ones, has ever had a value.
    has_had_value: Vec<bool>,
    /// The number of updates since the columns were last changed, up to [`SETTLED`], without those that
    /// [await rates](TableFigures::await_rates). `None` before the first update.
    updates: Option<u8>,
}

/// The number of updates after which a column without values is considered empty.
const SETTLED: u8 = 3;

impl TableModel {
    /// An empty table.
    pub fn new(layout: TableLayout) -> Self {
        let column = layout.sort_column.min(layout.columns.len().saturating_sub(1));
        let is_descending = layout.columns.get(column).is_some_and(|column| !column.is_text());
        let nothing = crate::Span::new(Default::default(), Default::default());
        Self {
            layout,
            machine: None,
            figures: Reduced { span: nothing, columns: 1, series: Vec::new() }.into(),
            rows: Rows::default(),
            properties: HashMap::new(),
            order: TableOrder { column, is_descending },
            filter: String::new(),
            tree: TreeKind::None,
            max_rows: None,
            detailed: None,
            lines: Vec::new(),
            reserved_rows: Vec::new(),
            matching: 0,
            has_machines: false,
            intervals: 0,
            shows_kernel_threads: false,
            hidden_threads: 0,
            are_columns_chosen: false,
            is_order_chosen: false,
            has_had_value: Vec::new(),
            updates: None,
        }
    }

    /// The name of the machine whose instances are shown; `None`: all machines.
    pub fn machine(&self) -> Option<&str> {
        self.machine.as_deref()
    }

    /// The set and the columns.
    pub fn layout(&self) -> &TableLayout {
        &self.layout
    }

    /// The paths whose counters the table needs.
    pub fn paths(&self, is_live: bool) -> Vec<PathPattern> {
        let mut paths = self.layout.paths(is_live);
        let label = self.detailed.and_then(|id| Some(self.row(self.index_of(id)?)?.label()));
        if let Some(label) = label.filter(|_| is_live) {
            paths.extend(PathPattern::parse(&format!(r"\{}({label})\*", self.layout.set)).ok());
        }
        if self.machine.is_some() {
            let on_machine = |path: PathPattern| -> PathPattern {
                CounterPath { machine: self.machine.clone(), ..path.path().clone() }.into()
            };
            paths = paths.into_iter().map(on_machine).collect();
        }
        paths
    }

    /// Replaces the figures with new ones for the counters of [`paths`](Self::paths).
    pub fn update(&mut self, mut figures: TableFigures) {
        figures.reduced = figures.reduced.without_idle_values();
        self.rows.update(&self.layout.set, &self.layout.columns, &figures);
        self.figures = figures;
        let rows = &self.rows.rows;
        self.has_machines = rows.iter().any(|row| row.machine() != rows[0].machine());
        self.intervals = rows.iter().map(|row| row.intervals).max().unwrap_or_default();
        let mut before = std::mem::take(&mut self.properties);
        let kept = rows.iter().filter_map(|row| before.remove_entry(&row.id));
        self.properties = kept.collect();
        self.note_values();
        self.arrange();
    }

    /// Records which columns have values. If the rows are sorted by an empty column that the user has not chosen, sorts them
    /// by another one.
    fn note_values(&mut self) {
        let counted = self.updates.unwrap_or_default() + u8::from(!self.figures.await_rates);
        self.updates = Some(counted.min(SETTLED));
        self.has_had_value.resize(self.layout.columns.len(), false);
        let rows = self.rows.rows.iter().enumerate().filter(|(_, row)| !row.is_reserved);
        let rows: Vec<_> = rows.map(|(index, _)| index).collect();
        for column in 0..self.layout.columns.len() {
            let has_value = self.has_had_value[column] || rows.iter().any(|&row| self.has_value(row, column));
            self.has_had_value[column] = has_value;
        }
        if !self.is_order_chosen && self.is_empty_column(self.order.column) {
            let columns = self.layout.columns.iter().enumerate();
            let mut quantities = columns.filter(|(_, column)| column.counter().is_some() && !column.is_id());
            let with_values = quantities.find(|(index, _)| self.has_had_value[*index]);
            if let Some((column, _)) = with_values {
                self.order = TableOrder { column, is_descending: true };
            }
        }
    }

    /// Whether a row has a value, or had no activity in which there could have been one.
    fn has_value(&self, row: usize, column: usize) -> bool {
        let series = || self.reduced().series.get(self.rows.series(row, column)?);
        self.value(row, column).is_some() || series().is_some_and(|series| series.summary.is_idle)
    }

    /// Whether a column is left out because no row has a value of its counter: the kernel does not count it for these
    /// instances. Columns that the user has chosen are never left out.
    pub fn is_empty_column(&self, column: usize) -> bool {
        let is_settled = self.updates >= Some(SETTLED) || self.intervals > 1;
        let is_counter = self.layout.columns.get(column).is_some_and(|column| column.counter().is_some());
        let has_rows = self.rows.rows.len() > self.reserved_rows.len();
        is_settled
            && is_counter
            && has_rows
            && !self.are_columns_chosen
            && self.has_had_value.get(column) == Some(&false)
    }

    /// The ready-made columns that are not shown, because the machine lacks their counters or no row has a value.
    pub fn missing_columns(&self) -> Vec<MissingColumn<'_>> {
        if self.are_columns_chosen {
            return Vec::new();
        }
        let columns = self.layout.columns.iter().enumerate();
        let empty = columns.filter(|(index, _)| self.is_empty_column(*index)).filter_map(|(_, column)| {
            Some(MissingColumn {
                title: &column.title,
                counters: vec![&*column.counter()?.name],
                is_empty: true,
            })
        });
        let has = |title: &str| self.layout.columns.iter().any(|column| *column.title == *title);
        let absent = ready_made_columns(&self.layout.set).filter(|(title, _)| !has(title));
        let absent = absent.map(|(title, counters)| MissingColumn {
            title,
            counters: counters.to_vec(),
            is_empty: false,
        });
        empty.chain(absent).collect()
    }

    /// Whether a column shows the states of processes.
    pub fn has_states(&self) -> bool {
        self.layout.columns.iter().any(TableColumn::is_state)
    }

    /// The headings of the [empty columns](Self::is_empty_column).
    pub fn empty_columns(&self) -> Vec<&str> {
        let columns = self.layout.columns.iter().enumerate();
        columns.filter(|(index, _)| self.is_empty_column(*index)).map(|(_, column)| &*column.title).collect()
    }

    /// The figures.
    pub fn reduced(&self) -> &Reduced {
        &self.figures.reduced
    }

    /// Whether the table has received figures.
    pub fn has_figures(&self) -> bool {
        self.updates.is_some()
    }

    /// The lines in order, without those of [`reserved`](Self::reserved) rows.
    pub fn lines(&self) -> &[TableLine] {
        &self.lines
    }

    /// The indexes of totals and other rows that are not ranked; `_Total` first.
    pub fn reserved(&self) -> &[usize] {
        &self.reserved_rows
    }

    /// All rows, in no particular order.
    pub fn rows(&self) -> &[TableRow] {
        &self.rows.rows
    }

    /// The row with this index.
    pub fn row(&self, index: usize) -> Option<&TableRow> {
        self.rows.rows.get(index)
    }

    fn index_of(&self, id: RowId) -> Option<usize> {
        self.rows.rows.iter().position(|row| row.id == id)
    }

    /// The line of a row; `None` if it is not shown.
    pub fn line_of(&self, id: RowId) -> Option<usize> {
        let index = self.index_of(id)?;
        self.lines.iter().position(|line| matches!(line, TableLine::Row { row, .. } if *row == index))
    }

    /// The row of a line; `None` for headings.
    pub fn row_of(&self, line: usize) -> Option<&TableRow> {
        match self.lines.get(line)? {
            TableLine::Row { row, .. } => self.row(*row),
            TableLine::Group { .. } => None,
        }
    }

    /// The number of rows that are neither reserved nor [hidden](Self::hidden), and how many of them match the filter.
    pub fn counts(&self) -> (usize, usize) {
        (self.rows.rows.len() - self.reserved_rows.len() - self.hidden_threads, self.matching)
    }

    /// The number of kernel threads that are not shown, because they used less than 1 % of a processor.
    pub fn hidden(&self) -> usize {
        self.hidden_threads
    }

    /// Whether a row had no values in a part of the range: its process started or ended in the range.
    pub fn has_partly_present(&self) -> bool {
        self.rows.rows.iter().any(|row| !row.is_reserved && row.intervals < self.intervals)
    }

    /// Whether weights affect the order: rows are ranked by weighted averages, each multiplied by the fraction of the range in
    /// which its row was present, and these fractions differ.
    pub fn is_weighted(&self) -> bool {
        self.intervals > 1 && self.has_partly_present()
    }

    /// Whether the rows are of several machines.
    pub fn has_machines(&self) -> bool {
        self.has_machines
    }

    /// Makes [`paths`](Self::paths) include all counters of this row; `None`: of no row.
    pub fn set_detailed(&mut self, row: Option<RowId>) {
        self.detailed = row;
    }
}
