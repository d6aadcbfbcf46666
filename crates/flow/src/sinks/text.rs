//! Writing CSV and TSV.

use std::io::Write;

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::Format;
use tachograph_logs::text::{Column, TextWriter};

use super::Formatter;
use crate::union::UnionScan;
use crate::{FlowError, Sink};

/// Writes a text log as Windows' relog does: one column per counter of each instance, values formatted.
///
/// Takes samples of a [`Union`](crate::Union) over the same scan.
pub struct TextSink<W: Write> {
    formatter: Formatter,
    writer: TextWriter<W>,
}

impl<W: Write> TextSink<W> {
    /// A sink for the columns of a scan.
    ///
    /// # Errors
    ///
    /// When the format is not a text.
    pub fn new(out: W, format: Format, zone: TimeZone, scan: &UnionScan) -> Result<Self, FlowError> {
        let formatter = Formatter::new(scan);
        let columns = formatter
            .columns()
            .map(|column| Column { path: column.group.set.path(column.instance, column.counter) })
            .collect();
        Ok(Self { formatter, writer: TextWriter::new(out, format, zone, columns)? })
    }

    /// Leaves the header line out: the rows go behind those of a log that has the same columns.
    pub fn without_header(mut self) -> Self {
        self.writer = self.writer.without_header();
        self
    }
}

impl<W: Write> Sink for TextSink<W> {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let cells = self.formatter.format(sample);
        if !sample.is_baseline {
            self.writer.write_row(sample.at, cells.iter().copied())?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        Ok(self.writer.finish()?)
    }
}
