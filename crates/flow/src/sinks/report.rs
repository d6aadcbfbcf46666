//! Statistics in machine-readable form: JSON and CSV with the same columns. Schema: docs/json.md.

mod counter_texts;
mod frame;
mod json_line;
mod row_identity;

use std::fmt::Write as _;
use std::io;

use serde::{Serialize, Serializer};
use tachograph_counters::{AverageKind, Summary};

pub use frame::ReportForm;
pub(super) use frame::RowFrame;
pub(super) use row_identity::{IDENTITY_COLUMNS, RowIdentity};

use super::statistics::{ExtraFigures, StatisticsRow, StatisticsSpan};

/// The statistics of one counter for CSV, after its [`RowIdentity`].
#[derive(Serialize)]
struct StatisticsFigures {
    /// `raw` or `arithmetic`.
    average_kind: &'static str,
    /// Number of formatted values.
    values: u64,
    /// Number of intervals with an error status.
    errors: u64,
    #[serde(serialize_with = "number")]
    last: Option<f64>,
    /// `None` also if the values are different ids.
    #[serde(serialize_with = "number")]
    average: Option<f64>,
    #[serde(serialize_with = "number")]
    minimum: Option<f64>,
    #[serde(serialize_with = "number")]
    maximum: Option<f64>,
    /// The 50th percentile (nearest rank).
    #[serde(serialize_with = "number")]
    p50: Option<f64>,
    #[serde(serialize_with = "number")]
    p90: Option<f64>,
    #[serde(serialize_with = "number")]
    p95: Option<f64>,
    #[serde(serialize_with = "number")]
    p99: Option<f64>,
    /// The time of the first valid raw value, as RFC 3339.
    first_time: Option<String>,
    /// The time of the last valid raw value, as RFC 3339.
    last_time: Option<String>,
}

/// Serializes a number with full precision. Integers below 10^15 have no decimal point.
pub(super) fn number<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match *number {
        Some(integer) if is_plain_integer(integer) => serializer.serialize_i64(integer as i64),
        number => number.serialize(serializer),
    }
}

/// Whether a number is an integer that can be written without a decimal point.
fn is_plain_integer(number: f64) -> bool {
    number.fract() == 0.0 && number.abs() < 1e15
}

/// The word for a kind of average.
fn kind_word(kind: AverageKind) -> &'static str {
    match kind {
        AverageKind::Raw => "raw",
        AverageKind::Arithmetic => "arithmetic",
    }
}

/// The average of a row. Different ids have no average.
fn average_of(row: &StatisticsRow) -> Option<f64> {
    let Summary { average, minimum, maximum, .. } = &row.summary;
    average.filter(|_| minimum == maximum || !row.counter.is_identifier())
}

/// The columns that identify a row of statistics.
fn identity_of(row: &StatisticsRow) -> RowIdentity<'_> {
    RowIdentity::new(&row.path, row.machine.as_ref(), &row.set, &row.counter, row.instance.as_ref())
}

impl From<&StatisticsRow> for StatisticsFigures {
    fn from(row: &StatisticsRow) -> Self {
        let summary = &row.summary;
        let quantile = |index: usize| summary.quantiles.map(|quantiles| quantiles[index]);
        Self {
            average_kind: kind_word(summary.average_kind),
            values: summary.values,
            errors: summary.errors,
            last: summary.last,
            average: average_of(row),
            minimum: summary.minimum,
            maximum: summary.maximum,
            p50: quantile(0),
            p90: quantile(1),
            p95: quantile(2),
            p99: quantile(3),
            first_time: summary.first_time.map(|moment| moment.rfc3339()),
            last_time: summary.last_time.map(|moment| moment.rfc3339()),
        }
    }
}

/// Writes rows of statistics as JSON or CSV, one by one.
pub struct StatisticsReport<W: io::Write> {
    frame: RowFrame<W>,
    /// For each column after the fixed ones, its position in [`StatisticsRow::extra`] and its name.
    extra: Vec<(usize, String)>,
    has_maximum_time: bool,
    has_spans: bool,
}

impl<W: io::Write> StatisticsReport<W> {
    /// Starts a report of rows with these further statistics. With `has_spans`, each row has the time range that it covers.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn new(form: ReportForm, extra_figures: &ExtraFigures, has_spans: bool, out: W) -> io::Result<Self> {
        // Percentiles that are in every report are not repeated.
        let names = extra_figures.names().into_iter().enumerate();
        let extra: Vec<_> = names.filter(|(_, name)| !COLUMNS.contains(&name.as_str())).collect();
        let spans: &[&str] = if has_spans { &SPAN_COLUMNS } else { &[] };
        let fixed = spans.iter().chain(&IDENTITY_COLUMNS).chain(&COLUMNS).copied();
        let has_maximum_time = extra_figures.maximum_time;
        let numbers = extra.iter().map(|(_, name)| name.as_str());
        let columns = fixed.chain(numbers).chain(has_maximum_time.then_some(MAXIMUM_TIME));
        let frame = RowFrame::new(form, columns, out)?;
        Ok(Self { frame, extra, has_maximum_time, has_spans })
    }

    /// Writes a row, and the time range that it covers.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn push(&mut self, span: Option<StatisticsSpan>, row: &StatisticsRow) -> io::Result<()> {
        let span = span.filter(|_| self.has_spans);
        let figure = |index: usize| row.extra.get(index).copied().flatten();
        let extra = self.extra.iter().map(|(index, name)| (name.as_str(), figure(*index)));
        let maximum_time = self.has_maximum_time.then_some(row.maximum_time);
        let record = || {
            let times = span.into_iter().flat_map(|span| [span.begin.rfc3339(), span.end.rfc3339()]);
            let extra = extra.clone().map(|(_, figure)| Figure(figure));
            let (times, extra): (Vec<_>, Vec<_>) = (times.collect(), extra.collect());
            let maximum_time = maximum_time.map(|time| [time.map(|time| time.rfc3339())]);
            let maximum_time: Vec<_> = maximum_time.into_iter().flatten().collect();
            (times, identity_of(row), StatisticsFigures::from(row), extra, maximum_time)
        };
        self.frame.push(|line| line.write_row(span, row, extra.clone(), maximum_time), record)
    }

    /// Writes the end of the report.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn finish(self) -> io::Result<()> {
        self.frame.finish()
    }
}

/// A number with full precision.
#[derive(Serialize)]
pub(super) struct Figure(#[serde(serialize_with = "number")] pub(super) Option<f64>);

/// Writes the statistics as a JSON array with one object per line.
///
/// # Errors
///
/// When writing fails.
pub fn write_statistics_json(rows: &[StatisticsRow], out: &mut impl io::Write) -> io::Result<()> {
    write_statistics(ReportForm::Json, rows, out)
}

/// Writes the statistics as CSV with a header line.
///
/// # Errors
///
/// When writing fails.
pub fn write_statistics_csv(rows: &[StatisticsRow], out: &mut impl io::Write) -> io::Result<()> {
    write_statistics(ReportForm::Csv, rows, out)
}

fn write_statistics(form: ReportForm, rows: &[StatisticsRow], out: &mut impl io::Write) -> io::Result<()> {
    let mut report = StatisticsReport::new(form, &ExtraFigures::default(), false, out)?;
    rows.iter().try_for_each(|row| report.push(None, row))?;
    report.finish()
}

/// Keeps the kind of an I/O error, since callers do not treat a closed pipe as a failure.
pub(super) fn into_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// The name of the time of the maximum.
const MAXIMUM_TIME: &str = "maximum_time";

/// The columns of a row's time range.
const SPAN_COLUMNS: [&str; 2] = ["begin", "end"];

/// The columns of [`StatisticsFigures`], in order.
const COLUMNS: [&str; 13] = [
    "average_kind",
    "values",
    "errors",
    "last",
    "average",
    "minimum",
    "maximum",
    "p50",
    "p90",
    "p95",
    "p99",
    "first_time",
    "last_time",
];

/// Appends a number as JSON: the shortest text that parses to the same value.
pub(super) fn push_number(out: &mut String, number: Option<f64>) {
    // Writing into a String cannot fail.
    let _ = match number {
        None => write!(out, "null"),
        Some(integer) if is_plain_integer(integer) => write!(out, "{}", integer as i64),
        Some(number) => write!(out, "{number}"),
    };
}
