//! The values and texts of a table's cells.

use std::borrow::Cow;

use super::columns::{ColumnContent, Property};
use super::{RowId, TableModel};
use crate::figures::{NumberForm, SEVERAL};
use crate::reduced::ReducedSeries;

impl TableModel {
    /// The value of a cell; `None` for text, and if the row has no value in the column.
    pub fn value(&self, row: usize, column: usize) -> Option<f64> {
        let shown_column = self.layout.columns.get(column)?;
        if shown_column.content == ColumnContent::Presence {
            return self.presence_percent(row);
        }
        // The id of a total does not identify a process, and a total of shared memory exceeds the memory in use.
        let has_no_total = shown_column.is_id() || shown_column.counts_shared_memory();
        let is_omitted = has_no_total && self.row(row)?.is_reserved;
        self.rows.value(&self.figures.reduced, row, column, shown_column.figure()).filter(|_| !is_omitted)
    }

    /// The value by which rows are sorted: the average weighted by the time in which the instance was present
    /// ([`Summary::rank`](tachograph_counters::Summary::rank)), or the value itself if it is no average.
    pub(super) fn rank(&self, row: usize, column: usize) -> Option<f64> {
        let shown_column = self.layout.columns.get(column)?;
        match shown_column.content {
            ColumnContent::Presence => self.presence_percent(row),
            _ => self.rows.rank(&self.figures.reduced, row, column, shown_column.figure()),
        }
    }

    /// The share of the range in which a row had values, in percent.
    fn presence_percent(&self, row: usize) -> Option<f64> {
        Some(self.row(row)?.intervals as f64 / self.intervals.max(1) as f64 * 100.0)
    }

    /// The series of a cell.
    pub fn series(&self, row: usize, column: usize) -> Option<&ReducedSeries> {
        self.figures.reduced.series.get(self.rows.series(row, column)?)
    }

    /// The text of a cell in a column of text; `None` if it is missing, and in columns of numbers.
    pub fn name(&self, row: usize, column: usize) -> Option<Cow<'_, str>> {
        let table_row = self.row(row)?;
        let properties = || self.properties.get(&table_row.id);
        match &self.layout.columns.get(column)?.content {
            ColumnContent::Name => Some(table_row.name().into()),
            ColumnContent::Machine => Some(table_row.machine().into()),
            ColumnContent::Counter(_) | ColumnContent::Presence => None,
            ColumnContent::Property(Property::User) => properties()?.user.as_deref().map(Cow::from),
            ColumnContent::Property(Property::Command) => properties()?.command.as_deref().map(Cow::from),
            ColumnContent::Property(Property::Cgroup) => properties()?.cgroup.as_deref().map(Cow::from),
            ColumnContent::Property(Property::State) => Some(properties()?.state?.to_string().into()),
        }
    }

    /// The text of any cell; `None` if the value is missing.
    pub fn text(&self, row: usize, column: usize, form: NumberForm) -> Option<Cow<'_, str>> {
        let shown_column = self.layout.columns.get(column)?;
        match self.value(row, column) {
            Some(value) => Some(shown_column.text(value, form).into()),
            None if shown_column.is_id() && self.row(row)?.has_several_ids => Some(SEVERAL.into()),
            None => self.name(row, column),
        }
    }

    /// The series of all counters of a row that are in the figures, in the order of the set.
    pub fn all_figures(&self, id: RowId) -> Vec<&ReducedSeries> {
        let Some(row) = self.index_of(id).and_then(|index| self.row(index)) else { return Vec::new() };
        let is_of_row = |(index, series): &(usize, &ReducedSeries)| {
            let info = &series.info;
            self.figures.part(*index) == row.part
                && info.machine == row.info.machine
                && info.set.name == row.info.set.name
                && info.instance.as_ref().map_or("", |instance| instance.label()) == row.label()
        };
        let series = self.figures.reduced.series.iter().enumerate();
        let mut figures: Vec<_> = series.filter(is_of_row).map(|(_, series)| series).collect();
        figures.sort_by_key(|series| series.info.id);
        figures
    }
}
