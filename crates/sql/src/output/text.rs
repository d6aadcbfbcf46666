//! Formats cells as text, with full precision.

use std::io::{self, Write};

use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray as _, Date32Array, Float32Array, Float64Array, RecordBatch,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{
    DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::temporal_conversions::as_datetime_with_timezone;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

/// The columns of a batch.
pub(super) struct Cells<'a> {
    columns: Vec<Cell<'a>>,
}

/// The values of a column, and how to format them.
pub(super) enum Cell<'a> {
    Double(&'a Float64Array),
    Single(&'a Float32Array),
    Date(&'a Date32Array),
    Time(&'a ArrayRef, TimeUnit, Zone),
    /// An array of the type `NULL` has no validity bits, so logical nulls are stored.
    Other(&'a ArrayRef, Option<NullBuffer>, ArrayFormatter<'a>),
}

/// The zone of the times of a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Zone {
    /// The times have no zone, such as local times.
    None,
    Utc,
    Other(Tz),
}

impl Zone {
    fn new(name: Option<&str>) -> Result<Self, ArrowError> {
        Ok(match name {
            None => Self::None,
            Some("UTC" | "Z" | "+00:00") => Self::Utc,
            Some(name) => Self::Other(name.parse()?),
        })
    }

    /// Formats a time, which is in UTC unless there is no zone, in ISO 8601 format: without a zone, with `Z`, or with an offset.
    fn format(self, time: Timestamp) -> String {
        match self {
            Self::None => Offset::UTC.to_datetime(time).to_string(),
            Self::Utc => time.to_string(),
            Self::Other(zone) => match offset(zone, time) {
                Some(offset) => time.display_with_offset(offset).to_string(),
                None => time.to_string(),
            },
        }
    }
}

/// The offset of a zone from UTC at a time.
fn offset(zone: Tz, time: Timestamp) -> Option<Offset> {
    let second = i64::try_from(time.as_nanosecond().div_euclid(1_000_000_000)).ok()?;
    let local = as_datetime_with_timezone::<TimestampSecondType>(second, zone)?;
    let seconds = (local.naive_local() - local.naive_utc()).num_seconds();
    Offset::from_seconds(i32::try_from(seconds).ok()?).ok()
}

impl<'a> Cell<'a> {
    pub(super) fn new(array: &'a ArrayRef) -> Result<Self, ArrowError> {
        let other = || ArrayFormatter::try_new(array.as_ref(), &FormatOptions::default());
        Ok(match array.data_type() {
            DataType::Float64 => Self::Double(array.as_primitive()),
            DataType::Float32 => Self::Single(array.as_primitive()),
            DataType::Date32 => Self::Date(array.as_primitive()),
            DataType::Timestamp(unit, zone) => Self::Time(array, *unit, Zone::new(zone.as_deref())?),
            _ => Self::Other(array, array.logical_nulls(), other()?),
        })
    }

    /// The text of a row; `None` for a missing value.
    pub(super) fn text(&self, row: usize) -> Option<String> {
        match self {
            Self::Double(array) => array.is_valid(row).then(|| number(array.value(row))),
            Self::Single(array) => array.is_valid(row).then(|| array.value(row).to_string()),
            Self::Date(array) => array.is_valid(row).then(|| date(array.value(row))),
            Self::Time(array, unit, zone) => array.is_valid(row).then(|| time(array, *unit, *zone, row)),
            Self::Other(_, nulls, formatter) => {
                let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                is_valid.then(|| formatter.value(row).to_string())
            }
        }
    }
}

impl<'a> Cells<'a> {
    pub(super) fn new(batch: &'a RecordBatch) -> Result<Self, ArrowError> {
        Ok(Self { columns: batch.columns().iter().map(Cell::new).collect::<Result<_, _>>()? })
    }

    pub(super) fn columns(&self) -> &[Cell<'a>] {
        &self.columns
    }

    /// Replaces the contents of `cells` by the cells of a row.
    pub(super) fn row(&self, row: usize, cells: &mut Vec<String>) {
        cells.clear();
        cells.extend(self.columns.iter().map(|column| column.text(row).unwrap_or_default()));
    }
}

/// The shortest text that parses to the same double.
pub(super) fn number(double: f64) -> String {
    match serde_json::Number::from_f64(double) {
        Some(number) => {
            let text = number.to_string();
            text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
        }
        None => double.to_string(),
    }
}

fn date(days: i32) -> String {
    const EPOCH: Date = Date::constant(1970, 1, 1);
    let date = jiff::Span::new().try_days(days).and_then(|span| EPOCH.checked_add(span));
    date.map_or_else(|_| days.to_string(), |date| date.to_string())
}

/// A time in ISO 8601 format.
fn time(array: &ArrayRef, unit: TimeUnit, zone: Zone, row: usize) -> String {
    let (number, time) = match unit {
        TimeUnit::Second => {
            let number = array.as_primitive::<TimestampSecondType>().value(row);
            (number, Timestamp::from_second(number))
        }
        TimeUnit::Millisecond => {
            let number = array.as_primitive::<TimestampMillisecondType>().value(row);
            (number, Timestamp::from_millisecond(number))
        }
        TimeUnit::Microsecond => {
            let number = array.as_primitive::<TimestampMicrosecondType>().value(row);
            (number, Timestamp::from_microsecond(number))
        }
        TimeUnit::Nanosecond => {
            let number = array.as_primitive::<TimestampNanosecondType>().value(row);
            (number, Timestamp::from_nanosecond(number.into()))
        }
    };
    time.map_or_else(|_| number.to_string(), |time| zone.format(time))
}

/// Writes a line of CSV (RFC 4180).
pub(super) fn write_csv_line(out: &mut impl Write, cells: &[String]) -> io::Result<()> {
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        // Cells that contain a delimiter are quoted.
        if cell.contains(['"', ',', '\n', '\r']) {
            write!(out, "\"{}\"", cell.replace('"', "\"\""))?;
        } else {
            out.write_all(cell.as_bytes())?;
        }
    }
    out.write_all(b"\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_cells_are_quoted_where_necessary() {
        let mut out = Vec::new();
        let cells = ["a", "b,c", "say \"x\"", "", "two\nlines"].map(str::to_owned);
        write_csv_line(&mut out, &cells).expect("written");
        assert_eq!(String::from_utf8(out).expect("UTF-8"), "a,\"b,c\",\"say \"\"x\"\"\",,\"two\nlines\"\r\n");
    }

    #[test]
    fn numbers_and_dates_have_full_precision() {
        assert_eq!(number(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(number(5.0), "5");
        assert_eq!(number(1e300), "1e+300");
        assert_eq!(date(20_783), "2026-11-26");
        assert_eq!(date(-1), "1969-12-31");
        assert_eq!(date(i32::MAX), i32::MAX.to_string());
    }

    #[test]
    fn times_have_the_offset_of_their_zone() {
        let text = |zone: Option<&str>, time: &str| {
            let time: Timestamp = time.parse().expect("a time");
            Zone::new(zone).expect("a zone").format(time)
        };
        assert_eq!(text(None, "2026-01-01T05:44:59.5Z"), "2026-01-01T05:44:59.5");
        assert_eq!(text(Some("UTC"), "2026-01-01T05:44:59Z"), "2026-01-01T05:44:59Z");
        assert_eq!(text(Some("+00:00"), "2026-01-01T05:44:59Z"), "2026-01-01T05:44:59Z");
        assert_eq!(text(Some("Asia/Kathmandu"), "2025-12-31T18:15:00Z"), "2026-01-01T00:00:00+05:45");
        assert_eq!(text(Some("-03:30"), "2026-01-01T00:00:00.25Z"), "2025-12-31T20:30:00.25-03:30");
        // The hour that is repeated at the end of summer time, and times before 1970.
        assert_eq!(text(Some("Europe/Berlin"), "2026-10-25T00:59:59Z"), "2026-10-25T02:59:59+02:00");
        assert_eq!(text(Some("Europe/Berlin"), "2026-10-25T01:00:00Z"), "2026-10-25T02:00:00+01:00");
        assert_eq!(text(Some("Europe/Berlin"), "1969-12-31T23:59:59.9Z"), "1970-01-01T00:59:59.9+01:00");
        assert!(Zone::new(Some("Europe/Nowhere")).is_err());
    }
}
