//! Statistics in machine-readable form: JSON and CSV with the same columns. Schema: docs/json.md.

mod json_line;

use std::fmt::Write as _;
use std::io;

use json_line::JsonLine;
use serde::{Serialize, Serializer};
use tachograph_counters::AverageKind;

use super::statistics::{ExtraFigures, StatisticsRow, StatisticsSpan};

/// The statistics of one counter for JSON and CSV. A missing value is `null` in JSON and empty in CSV.
#[derive(Clone, Debug, Serialize)]
pub struct StatisticsRecord {
    /// The full counter path.
    pub path: String,
    /// The machine, without backslashes.
    pub machine: Option<String>,
    /// The counter set.
    pub set: String,
    /// The parent of the instance.
    pub parent: Option<String>,
    /// The instance, without parent and index.
    pub instance: Option<String>,
    /// Index of the instance among those with its name.
    pub index: Option<u32>,
    /// The counter.
    pub counter: String,
    /// The Windows name of the counter type, or its number as `0x...`.
    #[serde(rename = "type")]
    pub counter_type: String,
    /// The unit; empty if the counter has no unit.
    pub unit: String,
    /// `raw` or `arithmetic`.
    pub average_kind: &'static str,
    /// Number of formatted values.
    pub values: u64,
    /// Number of intervals with an error status.
    pub errors: u64,
    /// The last value.
    #[serde(serialize_with = "number")]
    pub last: Option<f64>,
    /// The average.
    #[serde(serialize_with = "number")]
    pub average: Option<f64>,
    /// The smallest value.
    #[serde(serialize_with = "number")]
    pub minimum: Option<f64>,
    /// The largest value.
    #[serde(serialize_with = "number")]
    pub maximum: Option<f64>,
    /// The 50th percentile (nearest rank).
    #[serde(serialize_with = "number")]
    pub p50: Option<f64>,
    /// The 90th percentile.
    #[serde(serialize_with = "number")]
    pub p90: Option<f64>,
    /// The 95th percentile.
    #[serde(serialize_with = "number")]
    pub p95: Option<f64>,
    /// The 99th percentile.
    #[serde(serialize_with = "number")]
    pub p99: Option<f64>,
    /// The time of the first valid raw value, as RFC 3339.
    pub first_time: Option<String>,
    /// The time of the last valid raw value, as RFC 3339.
    pub last_time: Option<String>,
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

impl From<&StatisticsRow> for StatisticsRecord {
    fn from(row: &StatisticsRow) -> Self {
        let summary = &row.summary;
        let quantile = |number: usize| summary.quantiles.map(|quantiles| quantiles[number]);
        Self {
            path: row.path.clone(),
            machine: row.machine.as_ref().map(|machine| machine.to_string()),
            set: row.set.name.to_string(),
            parent: row.instance.as_ref().and_then(|instance| instance.parent()).map(str::to_owned),
            instance: row.instance.as_ref().map(|instance| instance.name().to_owned()),
            index: row.instance.as_ref().map(|instance| instance.index()),
            counter: row.counter.name.to_string(),
            counter_type: row.counter.counter_type.to_string(),
            unit: row.counter.unit().into_owned(),
            average_kind: match summary.average_kind {
                AverageKind::Raw => "raw",
                AverageKind::Arithmetic => "arithmetic",
            },
            values: summary.values,
            errors: summary.errors,
            last: summary.last,
            average: summary.average,
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

/// The form of a [`StatisticsReport`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportForm {
    /// An array with one object per line.
    Json,
    /// A header line, then one line per row.
    Csv,
}

/// Writes rows of statistics as JSON or CSV, one by one.
pub struct StatisticsReport<W: io::Write> {
    to: Target<W>,
    /// The columns after the fixed ones: their positions in [`StatisticsRow::extra`], and their names.
    extra: Vec<(usize, String)>,
    has_spans: bool,
}

/// The writer of the rows, by format.
enum Target<W: io::Write> {
    Json { out: W, separator: &'static str, line: JsonLine },
    // Boxed, since a writer is large.
    Csv(Box<csv::Writer<W>>),
}

impl<W: io::Write> StatisticsReport<W> {
    /// A report of rows with these further statistics. With `has_spans`, each row has the time range that it covers.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn new(form: ReportForm, extra: &ExtraFigures, has_spans: bool, mut out: W) -> io::Result<Self> {
        // Some percentiles are in every report.
        let names = extra.names().into_iter().enumerate();
        let extra: Vec<_> = names.filter(|(_, name)| !COLUMNS.contains(&name.as_str())).collect();
        let to = match form {
            ReportForm::Json => {
                out.write_all(b"[")?;
                Target::Json { out, separator: "\n", line: JsonLine::default() }
            }
            ReportForm::Csv => {
                let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(out);
                let spans: &[&str] = if has_spans { &SPAN_COLUMNS } else { &[] };
                let names = extra.iter().map(|(_, name)| name.as_str());
                csv.write_record(spans.iter().chain(&COLUMNS).copied().chain(names)).map_err(into_io)?;
                Target::Csv(Box::new(csv))
            }
        };
        Ok(Self { to, extra, has_spans })
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
        match &mut self.to {
            Target::Json { out, separator, line } => {
                out.write_all(separator.as_bytes())?;
                *separator = ",\n";
                out.write_all(line.of_row(span, row, extra)?)
            }
            Target::Csv(csv) => {
                let record = StatisticsRecord::from(row);
                let extra: Vec<_> = extra.map(|(_, figure)| Figure(figure)).collect();
                match span.map(|span| [span.begin.rfc3339(), span.end.rfc3339()]) {
                    Some(span) => csv.serialize((span, record, extra)).map_err(into_io),
                    None => csv.serialize((record, extra)).map_err(into_io),
                }
            }
        }
    }

    /// Writes the end of the report.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn finish(self) -> io::Result<()> {
        match self.to {
            Target::Json { mut out, .. } => {
                out.write_all(b"\n]\n")?;
                out.flush()
            }
            Target::Csv(mut csv) => csv.flush(),
        }
    }
}

/// A number with full precision.
#[derive(Serialize)]
struct Figure(#[serde(serialize_with = "number")] Option<f64>);

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

/// The columns of a row's time range.
const SPAN_COLUMNS: [&str; 2] = ["begin", "end"];

/// The columns of every report, in order.
const COLUMNS: [&str; 22] = [
    "path",
    "machine",
    "set",
    "parent",
    "instance",
    "index",
    "counter",
    "type",
    "unit",
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
