//! Writing CSV and TSV.

use std::io::{Read, Seek, Write};

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::text::{Column, TextWriter};
use tachograph_logs::{Digits, Format, SetLength, TextEncoding};

use super::{Formatter, LateInstances};
use crate::logs::LogReport;
use crate::union::UnionScan;
use crate::{FlowError, Sink};

/// The form of a text log. The default is 17 digits, in UTF-8 without a byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextForm {
    /// Significant digits of values.
    pub digits: Digits,
    /// The encoding of names.
    pub encoding: TextEncoding,
    /// Whether values are not paired if an instance name passed to another process, unlike in text that Windows writes. For
    /// logs that were not written by Windows: there, names pass on more often.
    pub pairs_by_identity: bool,
}

impl TextForm {
    /// The form in which these logs are converted to text: as many digits as the first one has.
    pub fn of_logs(reports: &[LogReport]) -> Self {
        Self {
            digits: reports.first().map_or_else(Digits::default, LogReport::digits),
            pairs_by_identity: reports.iter().all(|report| report.facts().windows_build.is_none()),
            ..Self::default()
        }
    }
}

impl Default for TextForm {
    fn default() -> Self {
        Self { digits: Digits::default(), encoding: TextEncoding::Utf8, pairs_by_identity: false }
    }
}

/// Writes a text log like relog on Windows does: one column per counter of each instance, with formatted values.
///
/// Requires samples of a [`Union`](crate::Union) over the same scan.
pub struct TextSink<W: Write> {
    formatter: Formatter,
    writer: TextWriter<W>,
    is_flushed: bool,
}

impl<W: Write> TextSink<W> {
    /// A sink for the columns of a scan.
    ///
    /// # Errors
    ///
    /// When the format is not a text format.
    pub fn new(out: W, format: Format, zone: TimeZone, scan: &UnionScan) -> Result<Self, FlowError> {
        let formatter = Formatter::new(scan);
        let columns = columns_of(&formatter);
        Ok(Self { formatter, writer: TextWriter::new(out, format, zone, columns)?, is_flushed: false })
    }

    /// Sets the form.
    ///
    /// # Errors
    ///
    /// See [`TextWriter::with_encoding`].
    pub fn with_form(mut self, form: TextForm) -> Result<Self, FlowError> {
        self.writer = self.writer.with_digits(form.digits).with_encoding(form.encoding)?;
        self.formatter.pairs_by_identity = form.pairs_by_identity;
        Ok(self)
    }

    /// Prepares for a live source whose first sample was scanned: values of two processes with the same name are not
    /// paired, instances that appear later have no column, and every row is flushed.
    pub fn live(mut self) -> (Self, LateInstances) {
        let late = self.formatter.use_live_rules();
        self.is_flushed = true;
        (self, late)
    }

    /// Omits the header line, for rows that are appended to a log with the same columns.
    pub fn without_header(mut self) -> Self {
        self.writer = self.writer.without_header();
        self
    }

    /// Number of columns, without that of the time.
    pub(crate) fn column_count(&self) -> usize {
        self.formatter.cells.len()
    }

    /// Number of values in the last row.
    pub(crate) fn value_count(&self) -> usize {
        self.formatter.value_count()
    }

    /// The output, for example to sync it to disk.
    pub fn get_ref(&self) -> &W {
        self.writer.get_ref()
    }

    /// Size in bytes of the incomplete last row that [`append`](Self::append) removed; 0 if there was none.
    pub fn cut_bytes(&self) -> u64 {
        self.writer.cut_bytes()
    }

    /// Length of the log in bytes, including the part before [`append`](Self::append).
    pub fn bytes_written(&self) -> u64 {
        self.writer.bytes_written()
    }
}

impl<W: Read + Write + Seek + SetLength> TextSink<W> {
    /// A sink that appends to the log in `out`, which must have the columns of the scan; see [`TextWriter::append`].
    ///
    /// # Errors
    ///
    /// When reading or writing fails, or the log has different columns.
    pub fn append(out: W, scan: &UnionScan) -> Result<Self, FlowError> {
        let formatter = Formatter::new(scan);
        let writer = TextWriter::append(out, columns_of(&formatter))?;
        Ok(Self { formatter, writer, is_flushed: false })
    }
}

impl<W: Write + SetLength> TextSink<W> {
    /// Truncates the file to its last complete row after a failure; see [`TextWriter::abort`].
    ///
    /// # Errors
    ///
    /// When the file cannot be truncated.
    pub fn abort(self) -> Result<u64, FlowError> {
        Ok(self.writer.abort()?)
    }
}

fn columns_of(formatter: &Formatter) -> Vec<Column> {
    let path = |column: super::FormattedColumn<'_>| column.group.set.path(column.instance, column.counter);
    formatter.columns().map(|column| Column { path: path(column) }).collect()
}

impl<W: Write> Sink for TextSink<W> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let cells = self.formatter.format(sample);
        if !sample.is_baseline {
            self.writer.write_row(sample.at, cells.iter().copied())?;
        } else if self.is_flushed {
            // The header is written now, so that a reader of the growing log sees the columns before the first row.
            self.writer.begin(sample.at)?;
        }
        if self.is_flushed {
            self.writer.flush()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        Ok(self.writer.finish()?)
    }
}
