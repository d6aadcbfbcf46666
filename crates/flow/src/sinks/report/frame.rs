//! The text around the rows of a report: the brackets and commas of JSON, the header line of CSV.

use std::io;

use serde::Serialize;

use super::into_io;
use super::json_line::JsonLine;

/// The form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportForm {
    /// An array with one object per line.
    Json,
    /// A header line, then one line per row.
    Csv,
}

/// Writes rows one by one, as JSON or CSV.
pub(in crate::sinks) enum RowFrame<W: io::Write> {
    Json { out: W, separator: &'static str, line: JsonLine },
    // Boxed, since a writer is large.
    Csv(Box<csv::Writer<W>>),
}

impl<W: io::Write> RowFrame<W> {
    /// Writes the start of a report with these columns.
    pub(in crate::sinks) fn new<'a>(
        form: ReportForm,
        columns: impl Iterator<Item = &'a str>,
        mut out: W,
    ) -> io::Result<Self> {
        Ok(match form {
            ReportForm::Json => {
                out.write_all(b"[")?;
                Self::Json { out, separator: "\n", line: JsonLine::default() }
            }
            ReportForm::Csv => {
                let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(out);
                csv.write_record(columns).map_err(into_io)?;
                Self::Csv(Box::new(csv))
            }
        })
    }

    /// Writes a row: `object` as JSON, `record` as CSV.
    pub(in crate::sinks) fn push<R: Serialize>(
        &mut self,
        object: impl FnOnce(&mut JsonLine) -> io::Result<&[u8]>,
        record: impl FnOnce() -> R,
    ) -> io::Result<()> {
        match self {
            Self::Json { out, separator, line } => {
                out.write_all(separator.as_bytes())?;
                *separator = ",\n";
                out.write_all(object(line)?)
            }
            Self::Csv(csv) => csv.serialize(record()).map_err(into_io),
        }
    }

    /// Writes the end of the report.
    pub(in crate::sinks) fn finish(self) -> io::Result<()> {
        match self {
            Self::Json { mut out, .. } => {
                out.write_all(b"\n]\n")?;
                out.flush()
            }
            Self::Csv(mut csv) => csv.flush(),
        }
    }
}
