//! Filters that are applied while rows are read.
//!
//! A filter over columns that are constant within a series is evaluated once per run of equal rows; a filter over
//! `machine` and `date` is evaluated once per file. Both can have any form, and both are exact. Bounds of `time` only
//! skip row groups and parts of logs; DataFusion then checks each row.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef, AsArray as _, BooleanArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator, TableProviderFilterPushDown};
use datafusion::physical_plan::PhysicalExpr;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::PathPattern;
use tachograph_flow::{Selection, WindowBounds};
use tachograph_logs::archive::{ColumnValues, RowColumn};

use crate::batches::{BlockColumn, DATE, MACHINE, column_at};

/// How often a filter must be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// Once per file: it uses only `machine` and `date`.
    File,
    /// Once per series: it uses only text columns that are constant within a series.
    Series,
    /// For each row.
    Row,
}

fn scope_of(schema: &Schema, filter: &Expr) -> Scope {
    if filter.is_volatile() {
        return Scope::Row;
    }
    let mut scopes = Vec::new();
    for column in filter.column_refs() {
        let scope = match schema.index_of(column.name()) {
            Ok(MACHINE | DATE) => Scope::File,
            Ok(position) if column_at(position).is_some_and(RowColumn::is_text_of_series) => Scope::Series,
            _ => Scope::Row,
        };
        scopes.push(scope);
    }
    match scopes.first() {
        Some(first) if scopes.iter().all(|scope| scope == first) => *first,
        _ => Scope::Row,
    }
}

/// Returns which filters are applied while reading.
pub(crate) fn support(schema: &Schema, filters: &[&Expr]) -> Vec<TableProviderFilterPushDown> {
    let support = |filter: &&Expr| match scope_of(schema, filter) {
        Scope::File | Scope::Series => TableProviderFilterPushDown::Exact,
        Scope::Row => match TimeRange::from_filter(filter) {
            Some(_) => TableProviderFilterPushDown::Inexact,
            None => TableProviderFilterPushDown::Unsupported,
        },
    };
    filters.iter().map(support).collect()
}

/// A filter over some columns of the table.
#[derive(Debug)]
pub(crate) struct ColumnFilter {
    /// The positions of its columns in the table.
    pub(crate) columns: Vec<usize>,
    schema: SchemaRef,
    expr: Arc<dyn PhysicalExpr>,
}

impl ColumnFilter {
    fn new(state: &dyn Session, table: &SchemaRef, filters: Vec<Expr>) -> Result<Option<Self>> {
        let Some(filter) = conjunction(filters) else { return Ok(None) };
        let mut columns = Vec::new();
        for column in filter.column_refs() {
            columns.push(table.index_of(column.name())?);
        }
        columns.sort_unstable();
        columns.dedup();
        let schema = Arc::new(table.project(&columns)?);
        // The qualifier of a column can be an alias of the table.
        let filter = unqualified(filter)?;
        let expr = state.create_physical_expr(filter, &DFSchema::try_from(Arc::clone(&schema))?)?;
        Ok(Some(Self { columns, schema, expr }))
    }

    /// Which rows satisfy the filter. The columns are those of [`columns`](Self::columns).
    pub(crate) fn evaluate(&self, columns: Vec<ArrayRef>) -> Result<BooleanArray> {
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        let rows = batch.num_rows();
        let mask = self.expr.evaluate(&batch)?.into_array(rows)?;
        let wrong = || internal_datafusion_err!("a filter is not boolean");
        let mask = mask.as_boolean_opt().ok_or_else(wrong)?;
        // SQL's NULL does not satisfy a filter.
        Ok(match mask.nulls() {
            Some(nulls) => BooleanArray::new(mask.values() & nulls.inner(), None),
            None => mask.clone(),
        })
    }

    /// The columns of the filter, without `machine` and `date`.
    pub(crate) fn row_columns(&self) -> impl Iterator<Item = RowColumn> {
        self.columns.iter().filter_map(|&position| column_at(position))
    }

    /// The ranges of rows that satisfy a filter of [`Scope::Series`]. `values` has the columns of all `rows` rows.
    pub(crate) fn ranges(
        &self,
        values: Vec<(RowColumn, ColumnValues)>,
        rows: usize,
    ) -> Result<Vec<Range<usize>>> {
        // The filter is evaluated on one row per segment, a run in which no column changes.
        let mut ends: Vec<usize> = Vec::new();
        for (_, values) in &values {
            if let ColumnValues::Texts(texts) = values {
                let mut end = 0;
                ends.extend(texts.runs.iter().map(|(_, len)| (end += len, end).1));
            }
        }
        ends.sort_unstable();
        ends.dedup();
        let columns: Result<Vec<_>> = values
            .into_iter()
            .map(|(column, mut values)| {
                if let ColumnValues::Texts(texts) = &mut values {
                    count_in_segments(&mut texts.runs, &ends);
                }
                BlockColumn::new(column, values).next(0..ends.len())
            })
            .collect();
        let mask = self.evaluate(columns?)?;
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut start = 0;
        for (index, &end) in ends.iter().enumerate() {
            if mask.value(index) {
                match ranges.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ => ranges.push(start..end.min(rows)),
                }
            }
            start = end;
        }
        Ok(ranges)
    }
}

/// Replaces the lengths of runs in rows by lengths in segments. `ends` has the end of each segment, and includes the
/// ends of all runs.
fn count_in_segments(runs: &mut [(Option<u32>, usize)], ends: &[usize]) {
    let (mut row, mut segment) = (0, 0);
    for (_, len) in runs {
        row += *len;
        let next = ends.partition_point(|&end| end <= row);
        *len = next - segment;
        segment = next;
    }
}

fn unqualified(filter: Expr) -> Result<Expr> {
    use datafusion::common::Column;
    use datafusion::common::tree_node::{Transformed, TreeNode as _};
    let replaced = filter.transform(|expr| {
        Ok(match expr {
            Expr::Column(column) => Transformed::yes(Expr::Column(Column::new_unqualified(column.name))),
            other => Transformed::no(other),
        })
    })?;
    Ok(replaced.data)
}

/// The filters of a query that are applied while reading.
#[derive(Debug, Default)]
pub(crate) struct Filters {
    /// The filter over `machine` and `date`.
    pub(crate) file: Option<ColumnFilter>,
    /// The filter over columns that are constant within a series.
    pub(crate) series: Option<ColumnFilter>,
    pub(crate) time: TimeRange,
    /// The names of the selected counter sets and counters; `None` for all.
    sets: Option<Vec<String>>,
    counters: Option<Vec<String>>,
}

impl Filters {
    pub(crate) fn new(state: &dyn Session, schema: &SchemaRef, filters: &[Expr]) -> Result<Self> {
        let (mut file, mut series) = (Vec::new(), Vec::new());
        let mut all = Self::default();
        for filter in filters {
            match scope_of(schema, filter) {
                Scope::File => file.push(filter.clone()),
                Scope::Series => series.push(filter.clone()),
                Scope::Row => {}
            }
            if let Some(range) = TimeRange::from_filter(filter) {
                all.time = all.time.intersect(range);
            }
            all.sets = all.sets.or_else(|| names(filter, RowColumn::Set));
            all.counters = all.counters.or_else(|| names(filter, RowColumn::Counter));
        }
        all.file = ColumnFilter::new(state, schema, file)?;
        all.series = ColumnFilter::new(state, schema, series)?;
        Ok(all)
    }

    /// The counters that are read from logs: all that the filters select, possibly more.
    pub(crate) fn selection(&self) -> Selection {
        let any = vec!["*".to_owned()];
        if self.sets.is_none() && self.counters.is_none() {
            return Selection::new(Vec::new());
        }
        let mut patterns = Vec::new();
        for set in self.sets.as_ref().unwrap_or(&any) {
            for counter in self.counters.as_ref().unwrap_or(&any) {
                // In a path, names with these characters are ambiguous.
                if set.contains(['(', ')', '\\', '/', '#'])
                    || counter.contains('\\')
                    || set.is_empty()
                    || counter.is_empty()
                {
                    return Selection::new(Vec::new());
                }
                for path in [format!(r"\{set}\{counter}"), format!(r"\{set}(*)\{counter}")] {
                    match PathPattern::parse(&path) {
                        Ok(pattern) => patterns.push(pattern),
                        Err(_) => return Selection::new(Vec::new()),
                    }
                }
            }
        }
        Selection::new(patterns)
    }
}

/// The texts to which a filter of the form `column = 'text'` or `column IN ('text', ...)` limits a column.
fn names(filter: &Expr, column: RowColumn) -> Option<Vec<String>> {
    let is_column = |expr: &Expr| matches!(expr, Expr::Column(found) if found.name() == column.name());
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => match (&**left, &**right) {
            (column, Expr::Literal(text, _)) | (Expr::Literal(text, _), column) if is_column(column) => {
                Some(vec![text.try_as_str()??.to_owned()])
            }
            _ => None,
        },
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            let (mut one, other) = (names(left, column)?, names(right, column)?);
            one.extend(other);
            Some(one)
        }
        Expr::InList(InList { expr, list, negated: false }) if is_column(expr) => {
            let text = |expr: &Expr| match expr {
                Expr::Literal(text, _) => Some(text.try_as_str()??.to_owned()),
                _ => None,
            };
            list.iter().map(text).collect()
        }
        _ => None,
    }
}

/// A time range in microseconds since 1970; both ends are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeRange {
    first: i64,
    last: i64,
}

impl Default for TimeRange {
    fn default() -> Self {
        Self { first: i64::MIN, last: i64::MAX }
    }
}

/// Microseconds from 1601 to 1970.
const UNIX_EPOCH: i64 = 11_644_473_600_000_000;

impl TimeRange {
    /// The range to which a filter limits the time; `None` if it does not, or has an unsupported form.
    fn from_filter(filter: &Expr) -> Option<Self> {
        let is_time =
            |expr: &Expr| matches!(expr, Expr::Column(found) if found.name() == RowColumn::Time.name());
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                match (Self::from_filter(left), Self::from_filter(right)) {
                    (Some(one), Some(other)) => Some(one.intersect(other)),
                    (one, other) => one.or(other),
                }
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let (op, limit) = match (&**left, &**right) {
                    (column, Expr::Literal(limit, _)) if is_time(column) => (*op, limit),
                    (Expr::Literal(limit, _), column) if is_time(column) => (op.swap()?, limit),
                    _ => return None,
                };
                let at = microseconds(limit)?;
                let all = Self::default();
                Some(match op {
                    Operator::Eq => Self { first: at, last: at },
                    Operator::Gt | Operator::GtEq => Self { first: at, ..all },
                    Operator::Lt | Operator::LtEq => Self { last: at, ..all },
                    _ => return None,
                })
            }
            Expr::Between(Between { expr, negated: false, low, high }) if is_time(expr) => {
                let (Expr::Literal(low, _), Expr::Literal(high, _)) = (&**low, &**high) else { return None };
                Some(Self { first: microseconds(low)?, last: microseconds(high)? })
            }
            _ => None,
        }
    }

    fn intersect(self, other: Self) -> Self {
        Self { first: self.first.max(other.first), last: self.last.min(other.last) }
    }

    /// Whether the range from `first` to `last` has a time in common with this one.
    pub(crate) fn overlaps(self, first: FileTime, last: FileTime) -> bool {
        let microseconds = |time: FileTime| time.0.div_euclid(10) - UNIX_EPOCH;
        microseconds(last) >= self.first && microseconds(first) <= self.last
    }

    /// The range as bounds for reading logs.
    pub(crate) fn bounds(self) -> WindowBounds {
        let utc = |at: i64| FileTime(at.saturating_add(UNIX_EPOCH).saturating_mul(10));
        WindowBounds {
            begin: (self.first != i64::MIN).then(|| TimeArgument::Utc(utc(self.first))),
            // The column `time` is rounded down to microseconds, and `end` is exclusive.
            end: (self.last != i64::MAX).then(|| TimeArgument::Utc(utc(self.last.saturating_add(1)))),
        }
    }
}

/// Converts a literal to microseconds since 1970.
fn microseconds(literal: &ScalarValue) -> Option<i64> {
    let microseconds = DataType::Timestamp(TimeUnit::Microsecond, None);
    let is_time =
        matches!(literal.data_type(), DataType::Timestamp(..) | DataType::Date32 | DataType::Date64);
    if !is_time {
        return None;
    }
    // Rounding nanoseconds down keeps all rows: the column is rounded down too.
    let without_zone =
        match literal.cast_to(&DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))).ok()? {
            ScalarValue::TimestampMicrosecond(at, _) => ScalarValue::TimestampMicrosecond(at, None),
            _ => return None,
        };
    match without_zone.cast_to(&microseconds).ok()? {
        ScalarValue::TimestampMicrosecond(at, _) => at,
        _ => None,
    }
}

/// The positions of the columns that a scan must read, for the projection and the filters, in ascending order.
pub(crate) fn needed(projection: &[usize], filters: &[Option<&ColumnFilter>]) -> Vec<usize> {
    let mut needed = projection.to_vec();
    needed.extend(filters.iter().flatten().flat_map(|filter| &filter.columns));
    needed.sort_unstable();
    needed.dedup();
    needed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batches::samples_schema;
    use datafusion::logical_expr::{col, lit};

    fn at(micros: i64) -> Expr {
        lit(ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into())))
    }

    #[test]
    fn the_scope_of_a_filter_follows_from_its_columns() {
        let schema = samples_schema();
        let scope = |filter: Expr| scope_of(&schema, &filter);
        assert_eq!(scope(col("machine").eq(lit("a")).or(col("date").is_null())), Scope::File);
        assert_eq!(scope(col("set").eq(lit("a")).and(col("instance").like(lit("_%")))), Scope::Series);
        assert_eq!(scope(col("set").eq(col("machine"))), Scope::Row);
        assert_eq!(scope(col("num").gt(lit(1))), Scope::Row);
        assert_eq!(scope(lit(true)), Scope::Row);
        let time = col("time").gt(at(5));
        let other = col("num").gt(lit(1));
        let set = col("set").eq(lit("a"));
        use TableProviderFilterPushDown::*;
        assert_eq!(support(&schema, &[&time, &other, &set]), [Inexact, Unsupported, Exact]);
    }

    #[test]
    fn time_ranges_contain_all_times_that_a_filter_allows() {
        let range = |filter: Expr| TimeRange::from_filter(&filter).map(|range| (range.first, range.last));
        let time = || col("time");
        assert_eq!(range(time().gt_eq(at(5)).and(time().lt(at(9)))), Some((5, 9)));
        assert_eq!(range(at(5).gt_eq(time())), Some((i64::MIN, 5)));
        assert_eq!(range(time().between(at(5), at(6))), Some((5, 6)));
        assert_eq!(range(time().eq(at(5)).and(col("num").gt(lit(1)))), Some((5, 5)));
        assert_eq!(range(time().not_eq(at(5))), None);
        assert_eq!(range(time().gt(at(5)).or(time().lt(at(1)))), None);
        let nanoseconds = lit(ScalarValue::TimestampNanosecond(Some(5_999), None));
        assert_eq!(range(time().lt_eq(nanoseconds)), Some((i64::MIN, 5)));
        let range = TimeRange { first: 5, last: 9 };
        let utc = |micros: i64, ticks: i64| FileTime((micros + UNIX_EPOCH) * 10 + ticks);
        let bounds = range.bounds();
        assert_eq!(bounds.begin, Some(TimeArgument::Utc(utc(5, 0))));
        assert_eq!(bounds.end, Some(TimeArgument::Utc(utc(10, 0))));
        assert!(range.overlaps(utc(0, 0), utc(5, 0)) && range.overlaps(utc(9, 9), utc(20, 0)));
        assert!(!range.overlaps(utc(0, 0), utc(4, 9)) && !range.overlaps(utc(10, 0), utc(11, 0)));
    }

    #[test]
    fn names_limit_the_counters_of_logs() {
        let names = |filter: Expr| names(&filter, RowColumn::Set);
        let two = || Some(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(names(col("set").eq(lit("a"))), Some(vec!["a".to_owned()]));
        assert_eq!(names(col("set").in_list(vec![lit("a"), lit("b")], false)), two());
        assert_eq!(names(lit("a").eq(col("set")).or(col("set").eq(lit("b")))), two());
        assert_eq!(names(col("set").in_list(vec![lit("a")], true)), None);
        assert_eq!(names(col("set").eq(lit("a")).or(col("counter").eq(lit("b")))), None);
        let selection = |sets: Option<&str>, counters: Option<&str>| {
            let list = |name: Option<&str>| name.map(|name| vec![name.to_owned()]);
            let filters = Filters { sets: list(sets), counters: list(counters), ..Filters::default() };
            filters.selection().len()
        };
        assert_eq!(selection(Some("Memory"), None), 2);
        assert_eq!(selection(None, Some("% Processor Time")), 2);
        // An empty selection reads everything.
        assert_eq!(selection(Some("a(b)"), None), 0);
        assert_eq!(selection(None, None), 0);
    }

    #[test]
    fn lengths_of_runs_are_counted_in_segments() {
        let mut runs = [(Some(0), 3), (None, 4), (Some(1), 3)];
        count_in_segments(&mut runs, &[1, 3, 7, 8, 10]);
        assert_eq!(runs, [(Some(0), 2), (None, 1), (Some(1), 2)]);
    }
}
