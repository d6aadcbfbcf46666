//! What a chart shows of a span: columns and statistics.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::path::PathPattern;
use tachograph_counters::{Statistics, Summary};

use crate::logs::cells::Kept;
use crate::series::{SeriesId, SeriesInfo, SeriesTable};
use crate::span::Span;

/// One column of a chart: the figures of the intervals that end in it. `None` where there was no value, which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Column {
    /// The average by the counter's formula, in the counter's unit.
    pub average: Option<f64>,
    /// The smallest value of an interval.
    pub minimum: Option<f64>,
    /// The largest value of an interval.
    pub maximum: Option<f64>,
    /// The last value.
    pub last: Option<f64>,
    /// How many values there were.
    pub values: u64,
    /// How many intervals had an error.
    pub errors: u64,
    /// The moment of the last good raw value in it.
    pub at: Option<FileTime>,
}

impl Column {
    fn of(state: &Statistics) -> Self {
        let Summary { average, minimum, maximum, last, values, errors, last_time, .. } = state.summary();
        let at = last_time.map(|at| at.utc);
        Self { average, minimum, maximum, last, values, errors, at }
    }
}

/// A counter of an instance over a span.
#[derive(Clone, Debug)]
pub struct ReducedSeries {
    /// What it is.
    pub info: Arc<SeriesInfo>,
    /// The statistics of the whole span: those of `tacho stats -b BEGIN -e END`.
    pub summary: Summary,
    /// The columns from left to right, as many as were asked for.
    pub columns: Vec<Column>,
}

/// A span, reduced to columns.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The span.
    pub span: Span,
    /// How many columns there are.
    pub columns: usize,
    /// The counters of instances that have anything in the span, in the order of the paths that select them.
    pub series: Vec<ReducedSeries>,
}

impl Reduced {
    /// The moment that column `column` stands for: that of its last value in any series, or else its end.
    pub fn time_of(&self, column: usize) -> FileTime {
        let last = self.series.iter().filter_map(|series| series.columns.get(column)?.at).max();
        last.unwrap_or_else(|| self.span.column_begin(column + 1, self.columns))
    }

    /// The moments of the first and the last value of any series.
    pub fn covered(&self) -> Option<(Moment, Moment)> {
        let first = self.series.iter().filter_map(|series| series.summary.first_time).min()?;
        let last = self.series.iter().filter_map(|series| series.summary.last_time).max()?;
        Some((first, last))
    }
}

/// States of statistics on their way into columns. Of each series it holds two states, and the figures of its columns.
#[derive(Debug)]
pub struct Reduction {
    span: Span,
    columns: usize,
    places: HashMap<SeriesId, usize>,
    series: Vec<Growing>,
}

/// A series on its way.
#[derive(Debug)]
struct Growing {
    id: SeriesId,
    /// All columns before the current one.
    whole: Option<Statistics>,
    column: usize,
    /// The current column; nothing before the first.
    current: Option<Statistics>,
    columns: Vec<Column>,
}

impl Growing {
    /// Adds to a column, either a state or what merges into one.
    #[inline]
    fn add<T>(
        &mut self,
        column: usize,
        columns: usize,
        added: T,
        into_state: impl FnOnce(T) -> Statistics,
        merge_into: impl FnOnce(T, &mut Statistics),
    ) {
        match &mut self.current {
            Some(current) if column <= self.column => merge_into(added, current),
            _ => {
                self.end_column(columns);
                self.current = Some(into_state(added));
                self.column = column;
            }
        }
    }

    fn end_column(&mut self, columns: usize) {
        let Some(ended) = self.current.take() else { return };
        self.columns.resize(columns, Column::default());
        self.columns[self.column] = Column::of(&ended);
        match &mut self.whole {
            Some(whole) => merge(whole, &ended),
            None => self.whole = Some(ended),
        }
    }
}

/// A series has one formula, so its states always merge.
pub(crate) fn merge(state: &mut Statistics, other: &Statistics) {
    let merged = state.merge(other);
    debug_assert!(merged.is_ok());
}

impl Reduction {
    /// Without a value yet.
    pub fn new(span: Span, columns: usize) -> Self {
        Self { span, columns: columns.max(1), places: HashMap::new(), series: Vec::new() }
    }

    /// The span.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Adds the state of intervals that end in a column. Nothing happens beyond the last column. The columns of a series
    /// come from left to right: one further left (a clock was set back) counts where the series is already.
    pub fn add(&mut self, series: SeriesId, column: usize, state: Statistics) {
        let place = self.place(series);
        self.add_at(place, column, state);
    }

    /// Where a series is kept.
    pub(crate) fn place(&mut self, id: SeriesId) -> usize {
        *self.places.entry(id).or_insert_with(|| {
            self.series.push(Growing { id, whole: None, column: 0, current: None, columns: Vec::new() });
            self.series.len() - 1
        })
    }

    /// As [`add`](Self::add), of the series at a [place](Self::place).
    pub(crate) fn add_at(&mut self, place: usize, column: usize, state: Statistics) {
        if column < self.columns {
            let merge_into = |state: Statistics, current: &mut Statistics| merge(current, &state);
            self.series[place].add(column, self.columns, state, |state| state, merge_into);
        }
    }

    /// As [`add_at`](Self::add_at), of a state that is kept.
    pub(crate) fn add_kept(&mut self, place: usize, column: usize, kept: Kept<'_>) {
        if column < self.columns {
            self.series[place].add(column, self.columns, kept, Kept::to_state, Kept::merge_into);
        }
    }

    /// The chart of the series that one of the paths selects; without paths, of all.
    pub fn finish(self, table: &SeriesTable, paths: &[PathPattern]) -> Reduced {
        let mut series: Vec<(usize, ReducedSeries)> = Vec::new();
        for mut growing in self.series {
            growing.end_column(self.columns);
            let (Some(info), Some(whole)) = (table.get(growing.id), growing.whole) else { continue };
            let place = paths.iter().position(|path| info.is_selected_by(path));
            if place.is_none() && !paths.is_empty() {
                continue;
            }
            let reduced =
                ReducedSeries { info: Arc::clone(info), summary: whole.summary(), columns: growing.columns };
            series.push((place.unwrap_or_default(), reduced));
        }
        series.sort_by_key(|(place, series)| (*place, series.info.id));
        let series = series.into_iter().map(|(_, series)| series).collect();
        Reduced { span: self.span, columns: self.columns, series }
    }
}
