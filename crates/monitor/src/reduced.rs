//! The result of a reduction: the columns and statistics of a span.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::{Statistics, Summary};

use crate::logs::cells::StoredState;
use crate::series::{SeriesId, SeriesInfo, SeriesTable};
use crate::span::Span;

/// One column of a chart: the statistics of the intervals that end in it. A missing value is `None`, which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Column {
    /// The average by the counter's formula, in the counter's unit.
    pub average: Option<f64>,
    /// The smallest value.
    pub minimum: Option<f64>,
    /// The largest value.
    pub maximum: Option<f64>,
    /// The last value.
    pub last: Option<f64>,
    /// The number of values.
    pub values: u64,
    /// The number of intervals with an error.
    pub errors: u64,
    /// The time of the last valid raw value.
    pub at: Option<FileTime>,
}

impl Column {
    fn from_state(state: &Statistics) -> Self {
        let Summary { average, minimum, maximum, last, values, errors, last_time, .. } = state.summary();
        let at = last_time.map(|at| at.utc);
        Self { average, minimum, maximum, last, values, errors, at }
    }
}

/// One counter of one instance over a span.
#[derive(Clone, Debug)]
pub struct ReducedSeries {
    /// The path and the counter.
    pub info: Arc<SeriesInfo>,
    /// The statistics of the whole span, equal to `tacho stats -b BEGIN -e END`.
    pub summary: Summary,
    /// The requested number of columns, from left to right; empty if none were requested.
    pub columns: Vec<Column>,
}

/// A span, reduced to columns.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The span.
    pub span: Span,
    /// The number of columns.
    pub columns: usize,
    /// The series with data in the span, in the order of the paths that select them.
    pub series: Vec<ReducedSeries>,
}

impl Reduced {
    /// The time to show for a column: the time of its last value in any series, or its end if it has no values.
    pub fn time_of(&self, column: usize) -> FileTime {
        let last = self.series.iter().filter_map(|series| series.columns.get(column)?.at).max();
        last.unwrap_or_else(|| self.span.column_begin(column + 1, self.columns))
    }

    /// The times of the first and the last value of any series.
    pub fn covered(&self) -> Option<(Moment, Moment)> {
        let first = self.series.iter().filter_map(|series| series.summary.first_time).min()?;
        let last = self.series.iter().filter_map(|series| series.summary.last_time).max()?;
        Some((first, last))
    }
}

/// Accumulates statistics in columns. Holds two [`Statistics`] per series, and the values of the columns.
#[derive(Debug)]
pub struct Reduction {
    span: Span,
    /// The number of columns into which the span is divided; at least 1.
    columns: usize,
    /// Whether the statistics of each column are wanted, and not only those of the whole span.
    keeps_columns: bool,
    /// The slot of each series: its index in `series`.
    slots: HashMap<SeriesId, usize>,
    series: Vec<SeriesBuilder>,
}

/// A series whose columns are not complete yet.
#[derive(Debug)]
struct SeriesBuilder {
    id: SeriesId,
    /// The merged statistics of the columns before the current one.
    completed: Option<Statistics>,
    /// The index of the current column.
    column: usize,
    /// The statistics of the current column; `None` before the first column.
    current_column: Option<Statistics>,
    columns: Vec<Column>,
}

impl SeriesBuilder {
    /// Adds `added` to a column: with `merge_into` if the column has statistics, otherwise with `into_state`. `columns` is the
    /// number of kept columns.
    #[inline]
    fn add<T>(
        &mut self,
        column: usize,
        columns: usize,
        added: T,
        into_state: impl FnOnce(T) -> Statistics,
        merge_into: impl FnOnce(T, &mut Statistics),
    ) {
        match &mut self.current_column {
            Some(current) if column <= self.column => merge_into(added, current),
            _ => {
                self.end_column(columns);
                self.current_column = Some(into_state(added));
                self.column = column;
            }
        }
    }

    /// Ends the current column. `columns` is the number of kept columns.
    fn end_column(&mut self, columns: usize) {
        let Some(ended) = self.current_column.take() else { return };
        self.columns.resize(columns, Column::default());
        if let Some(column) = self.columns.get_mut(self.column) {
            *column = Column::from_state(&ended);
        }
        match &mut self.completed {
            Some(completed) => merge(completed, &ended),
            None => self.completed = Some(ended),
        }
    }
}

/// Merges statistics of the same series. This cannot fail, because they have the same formula.
pub(crate) fn merge(state: &mut Statistics, other: &Statistics) {
    let merged = state.merge(other);
    debug_assert!(merged.is_ok());
}

impl Reduction {
    /// An empty reduction. With 0 columns, its result has only the statistics of the whole span.
    pub fn new(span: Span, columns: usize) -> Self {
        let keeps_columns = columns > 0;
        Self { span, columns: columns.max(1), keeps_columns, slots: HashMap::new(), series: Vec::new() }
    }

    /// Reserves space for about this many series.
    pub(crate) fn reserve(&mut self, series: usize) {
        self.slots.reserve(series);
        self.series.reserve(series);
    }

    /// The span.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// The number of columns into which the span is divided; at least 1.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Whether the statistics of each column are wanted, and not only those of the whole span.
    pub(crate) fn has_columns(&self) -> bool {
        self.keeps_columns
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// The number of columns of the result.
    fn kept_columns(&self) -> usize {
        if self.keeps_columns { self.columns } else { 0 }
    }

    /// Adds the statistics of intervals that end in a column; ignores columns after the last one. The columns of a series
    /// must be added from left to right: if `column` is lower than before, because a clock was set back, the statistics
    /// are added to the current column.
    pub fn add(&mut self, series: SeriesId, column: usize, state: Statistics) {
        let slot = self.slot_of(series);
        self.add_at(slot, column, state);
    }

    /// The index of a series in this reduction. A series without a slot gets one.
    pub(crate) fn slot_of(&mut self, id: SeriesId) -> usize {
        *self.slots.entry(id).or_insert_with(|| {
            self.series.push(SeriesBuilder {
                id,
                completed: None,
                column: 0,
                current_column: None,
                columns: Vec::new(),
            });
            self.series.len() - 1
        })
    }

    /// Like [`add`](Self::add), for the series in this [slot](Self::slot_of).
    pub(crate) fn add_at(&mut self, slot: usize, column: usize, state: Statistics) {
        if column < self.columns {
            let merge_into = |state: Statistics, current: &mut Statistics| merge(current, &state);
            let kept = self.kept_columns();
            self.series[slot].add(column, kept, state, |state| state, merge_into);
        }
    }

    /// Like [`add_at`](Self::add_at), for a stored state.
    pub(crate) fn add_stored(&mut self, slot: usize, column: usize, state: StoredState<'_>) {
        if column < self.columns {
            let kept = self.kept_columns();
            self.series[slot].add(column, kept, state, StoredState::to_state, StoredState::merge_into);
        }
    }

    /// Finishes the reduction, with the series that any of the paths selects, or with all series if `paths` is empty.
    pub fn finish(self, table: &SeriesTable, paths: &[PathPattern]) -> Reduced {
        self.finish_ranked(table, |info| rank_of(info, paths))
    }

    /// Finishes the reduction, with the series for which `rank_of` returns a rank, in the order of their ranks.
    pub(crate) fn finish_ranked(
        mut self,
        table: &SeriesTable,
        mut rank_of: impl FnMut(&SeriesInfo) -> Option<usize>,
    ) -> Reduced {
        // Sorts keys instead of series, which are large.
        let ranked = self.series.iter().enumerate();
        let key = |(index, builder): (usize, &SeriesBuilder)| {
            Some((rank_of(table.get(builder.id)?)?, builder.id, index))
        };
        let mut keys: Vec<_> = ranked.filter_map(key).collect();
        keys.sort_unstable();
        let columns = self.kept_columns();
        let finished = keys.into_iter().filter_map(|(_, id, index)| {
            let builder = self.series.get_mut(index)?;
            builder.end_column(columns);
            Some(ReducedSeries {
                info: Arc::clone(table.get(id)?),
                summary: builder.completed.as_ref()?.summary(),
                columns: std::mem::take(&mut builder.columns),
            })
        });
        let series = finished.collect();
        Reduced { span: self.span, columns, series }
    }
}

/// The rank of a series: the position of the first path that selects it; 0 if `paths` is empty; `None` if no path selects it.
pub(crate) fn rank_of(info: &SeriesInfo, paths: &[PathPattern]) -> Option<usize> {
    if paths.is_empty() { Some(0) } else { paths.iter().position(|path| info.is_selected_by(path)) }
}
