//! Writing CSV and TSV.

use std::io::{Read, Seek, Write};

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::text::{Column, TextWriter};
use tachograph_logs::{Digits, Format, SetLength, TextEncoding};

use super::{Formatter, LateInstances};
use crate::union::UnionScan;
use crate::{FlowError, Sink};

/// How a text log is written. The default is 17 digits in UTF-8 without a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextForm {
    /// Significant digits of values.
    pub digits: Digits,
    /// How the characters of names are encoded.
    pub encoding: TextEncoding,
}

impl Default for TextForm {
    fn default() -> Self {
        Self { digits: Digits::default(), encoding: TextEncoding::Utf8 }
    }
}

/// Writes a text log as Windows' relog does: one column per counter of each instance, values formatted.
///
/// Takes samples of a [`Union`](crate::Union) over the same scan.
pub struct TextSink<W: Write> {
    formatter: Formatter,
    writer: TextWriter<W>,
    /// Whether every row is handed on as it comes.
    is_flushed: bool,
}

impl<W: Write> TextSink<W> {
    /// A sink for the columns of a scan.
    ///
    /// # Errors
    ///
    /// When the format is not a text.
    pub fn new(out: W, format: Format, zone: TimeZone, scan: &UnionScan) -> Result<Self, FlowError> {
        let formatter = Formatter::new(scan);
        let columns = columns_of(&formatter);
        Ok(Self { formatter, writer: TextWriter::new(out, format, zone, columns)?, is_flushed: false })
    }

    /// Writes in this form; without it, in the default one.
    ///
    /// # Errors
    ///
    /// See [`TextWriter::with_encoding`].
    pub fn with_form(mut self, form: TextForm) -> Result<Self, FlowError> {
        self.writer = self.writer.with_digits(form.digits).with_encoding(form.encoding)?;
        Ok(self)
    }

    /// For samples of a live source, of which the scan has met the first: a name that passed to another process makes no
    /// value across, and instances that come later have no column. Every row is flushed as it comes.
    pub fn live(mut self) -> (Self, LateInstances) {
        let late = self.formatter.live();
        self.is_flushed = true;
        (self, late)
    }

    /// Leaves the header line out: the rows go behind those of a log that has the same columns.
    pub fn without_header(mut self) -> Self {
        self.writer = self.writer.without_header();
        self
    }

    /// How many raw values of the sample that was taken last have a column.
    pub(crate) fn values_of(&self, sample: &Sample) -> usize {
        self.formatter.values_of(sample)
    }

    /// What is written to, for instance to have a row synchronised with its disk.
    pub fn get_ref(&self) -> &W {
        self.writer.get_ref()
    }

    /// Bytes of a last row without its end that were taken away before this went on with the log.
    pub fn cut_bytes(&self) -> u64 {
        self.writer.cut_bytes()
    }

    /// Length of the log in bytes so far, also of one that was there before.
    pub fn bytes_written(&self) -> u64 {
        self.writer.bytes_written()
    }
}

impl<W: Read + Write + Seek + SetLength> TextSink<W> {
    /// A sink that goes on with the log in `out`, which must have the columns of the scan; see [`TextWriter::append`].
    ///
    /// # Errors
    ///
    /// When reading or writing fails, or the log cannot go on with these columns.
    pub fn append(out: W, scan: &UnionScan) -> Result<Self, FlowError> {
        let formatter = Formatter::new(scan);
        let writer = TextWriter::append(out, columns_of(&formatter))?;
        Ok(Self { formatter, writer, is_flushed: false })
    }
}

impl<W: Write + SetLength> TextSink<W> {
    /// Takes the file back to its last whole row after a failure; see [`TextWriter::give_up`].
    ///
    /// # Errors
    ///
    /// When the file cannot be cut.
    pub fn give_up(self) -> Result<u64, FlowError> {
        Ok(self.writer.give_up()?)
    }
}

fn columns_of(formatter: &Formatter) -> Vec<Column> {
    let path = |column: super::FormattedColumn<'_>| column.group.set.path(column.instance, column.counter);
    formatter.columns().map(|column| Column { path: path(column) }).collect()
}

impl<W: Write> Sink for TextSink<W> {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let cells = self.formatter.format(sample);
        if !sample.is_baseline {
            self.writer.write_row(sample.at, cells.iter().copied())?;
        } else if self.is_flushed {
            // Whoever reads along sees the columns an interval before the first row.
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
