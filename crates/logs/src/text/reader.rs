//! Reads CSV and TSV logs.

mod columns;
mod rows;

use std::io::{Read, Seek, SeekFrom};

use csv::ByteRecord;
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

use crate::mark::Position;
use crate::{Format, LogError, LogFacts, LogReader, Mark, Problem, Problems, ReadOptions, Reservation};

use super::column::ColumnGroup;
use super::decoder::Decoder;
use super::encoding::TextEncoding;
use super::header::{UNKNOWN_ZONE, separator};
use super::number::Digits;
use super::source::{READ_AHEAD, open_text, origin_and_length};

/// Reads a CSV or TSV log.
///
/// Every column is a [`Group`](tachograph_counters::sample::Group), in the order of the file: one counter of type
/// [`DOUBLE_RAW`](tachograph_counters::CounterType::DOUBLE_RAW), with one row if the cell has a value, and none if it
/// is blank. With [`Grouping::Neighbours`](crate::Grouping::Neighbours), adjacent columns that differ only in the
/// instance are one group with a row per column, and a blank cell has the status `NO_INSTANCE`. If a header is not a
/// counter path, its text becomes the name of a counter in a set without a name.
///
/// Damage is skipped and reported with the offset of the row:
///
/// * If several columns have the same path (case-insensitive), only the first is read.
/// * A row without a readable time is skipped.
/// * A cell that is not a finite number has no value. A single decimal comma is accepted.
/// * If a row is too short, its last columns have no value. Cells after the last column are skipped: in a TSV log they are
///   `PdhUpdateLog`'s comment, elsewhere they are damage unless blank.
/// * A truncated last row, which ends inside a quoted cell or before the value of the last column, is skipped. A row
///   that lacks only its line end is complete.
/// * If the first cell names no time zone, the zone is [unknown](UNKNOWN_ZONE), and local times are read as UTC. This
///   is not damage: the output of typeperf has no zone, and Windows can truncate the zone's name.
/// * A last column whose header is not a path is a comment, not damage. Empty lines are not damage either; nor are
///   lines of text after the last row in a log without a zone.
///
/// The bias at the start of the log applies to all rows, because the format cannot express a change. The encoding is
/// detected ([`TextEncoding`]).
#[derive(Debug)]
pub struct TextReader<R> {
    csv: csv::Reader<Decoder<R>>,
    record: ByteRecord,
    facts: LogFacts,
    groups: Vec<ColumnGroup>,
    /// Number of columns in the file, without the column of times and the comment.
    columns: usize,
    /// Whether the cell at an index of a row belongs to a column that repeats an earlier path. Ends at the last such column.
    is_repeated: Vec<bool>,
    problems: Problems,
    is_invalid_text_reported: bool,
    is_done: bool,
    /// Offset of the last row, if it was truncated and skipped.
    truncated_at: Option<u64>,
    /// Seeks to a row, if the stream supports it.
    seek_to_row: Option<SeekToRow<R>>,
    digits: Digits,
    /// Whether the last cell of a row is a comment.
    has_comment: bool,
    /// Problems of lines that start with a letter instead of a time. They are not reported if no row follows:
    /// typeperf prints such lines when it ends.
    trailing_lines: Vec<Problem>,
    reservation: Reservation,
}

type SeekToRow<R> = fn(&mut csv::Reader<Decoder<R>>, csv::Position) -> csv::Result<()>;

impl<R: Read + Seek> TextReader<R> {
    /// Opens a log at the stream's current position and reads its header.
    ///
    /// # Errors
    ///
    /// When reading fails; [`LogError::is_corrupt`] if the stream is empty or does not start with `"(PDH-CSV 4.0)`
    /// or `"(PDH-TSV 4.0)`, quoted or not (the message says what it looks like), or if the header is longer than 64
    /// MiB or has more than 1,048,576 cells.
    pub fn new(stream: R) -> Result<Self, LogError> {
        Self::with_options(stream, &ReadOptions::default())
    }

    /// Like [`new`](Self::new), with options.
    ///
    /// # Errors
    ///
    /// Like [`new`](Self::new), and [`LogError::is_over_budget`] if the columns need more memory than the options'
    /// budget has left.
    pub fn with_options(mut stream: R, options: &ReadOptions) -> Result<Self, LogError> {
        let (origin, file_bytes) = origin_and_length(&mut stream)?;
        Self::from_text(open_text(stream, options)?, file_bytes, options)?.with_seek(origin)
    }

    /// Enables seeking. The file starts at offset `origin` of the stream.
    pub(super) fn with_seek(mut self, origin: u64) -> Result<Self, LogError> {
        self.csv.get_mut().set_origin(origin);
        self.seek_to_row = Some(|csv, position| csv.seek_raw(SeekFrom::Start(position.byte()), position));
        Ok(self)
    }
}

impl<R: Read> TextReader<R> {
    /// Opens a log from a stream that cannot seek; `file_bytes` is its length for [`LogFacts`], or 0 if unknown.
    ///
    /// # Errors
    ///
    /// Like [`new`](Self::new).
    pub fn from_stream(stream: R, file_bytes: u64) -> Result<Self, LogError> {
        let options = ReadOptions::default();
        Self::from_text(open_text(stream, &options)?, file_bytes, &options)
    }

    /// Opens the text of a CSV or TSV log and reads its header.
    pub(super) fn from_text(
        (mut decoder, format): (Decoder<R>, Format),
        file_bytes: u64,
        options: &ReadOptions,
    ) -> Result<Self, LogError> {
        if !matches!(format, Format::Csv | Format::Tsv) {
            return Err(LogError::not_a_log(format!("this is {}, neither CSV nor TSV", format.name())));
        }
        decoder.set_separator(separator(format));
        let csv = csv::ReaderBuilder::new()
            .delimiter(separator(format))
            .has_headers(false)
            .flexible(true)
            // With LF as the only terminator, positions are exact; a CR before it is white space at the end of a
            // cell.
            .terminator(csv::Terminator::Any(b'\n'))
            .buffer_capacity(READ_AHEAD)
            .from_reader(decoder);
        let zone = TimeZone::fixed(UNKNOWN_ZONE, 0);
        let mut reader = Self {
            csv,
            record: ByteRecord::new(),
            facts: LogFacts {
                format,
                zone,
                boot_time: None,
                performance_frequency: None,
                windows_build: None,
                file_bytes,
            },
            groups: Vec::new(),
            columns: 0,
            is_repeated: Vec::new(),
            problems: Problems::default(),
            is_invalid_text_reported: false,
            is_done: false,
            truncated_at: None,
            seek_to_row: None,
            digits: Digits::default(),
            has_comment: false,
            trailing_lines: Vec::new(),
            reservation: options.budget.reserve(0).map_err(LogError::over_budget)?,
        };
        reader.read_header(options)?;
        Ok(reader)
    }

    /// The encoding of the file, as far as known.
    pub fn encoding(&self) -> TextEncoding {
        self.csv.get_ref().encoding()
    }

    /// The number of digits of the values read so far.
    pub fn digits(&self) -> Digits {
        self.digits
    }

    /// The number of columns, without the column of times.
    pub fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn header(&self) -> (&[ColumnGroup], &LogFacts) {
        (&self.groups, &self.facts)
    }

    /// Whether columns are ignored because they repeat a path.
    pub(super) fn has_repeated_columns(&self) -> bool {
        !self.is_repeated.is_empty()
    }

    /// Seeks to the row at a position; false if the stream does not support it.
    fn seek_row(&mut self, position: csv::Position) -> Result<bool, LogError> {
        let Some(seek) = self.seek_to_row else { return Ok(false) };
        seek(&mut self.csv, position).map_err(|error| LogError::io(into_io_error(error)))?;
        self.trailing_lines = Vec::new();
        self.is_done = false;
        Ok(true)
    }

    /// Offset of the last row, if it was truncated and skipped.
    pub(super) fn truncated_at(&self) -> Option<u64> {
        self.truncated_at
    }
}

impl<R: Read + Send> LogReader for TextReader<R> {
    fn facts(&self) -> &LogFacts {
        &self.facts
    }

    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        while let Some(end) = self.read_row()? {
            if self.read_time(end, sample) {
                self.update_digits();
                self.read_values(sample);
                sample.is_baseline = false;
                sample.log = 0;
                sample.boot_time = FileTime(0);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn digits(&self) -> Digits {
        self.digits
    }

    fn guessed_encoding(&self) -> Option<TextEncoding> {
        self.csv.get_ref().guessed_encoding()
    }

    fn bytes_read(&self) -> u64 {
        self.csv.get_ref().bytes_read()
    }

    fn mark(&mut self) -> Option<Mark> {
        let can_seek = self.seek_to_row.is_some() && self.csv.get_ref().matches_file();
        can_seek.then(|| Mark(Position::Text(self.csv.position().clone())))
    }

    fn seek(&mut self, mark: &Mark) -> Result<bool, LogError> {
        match &mark.0 {
            Position::Text(position) => self.seek_row(position.clone()),
            Position::Blg(_) | Position::Archive(_) | Position::Machine(_) => Ok(false),
        }
    }

    fn follows_growth(&self) -> bool {
        true
    }

    fn seek_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        let current = self.csv.position().clone();
        let byte = self.facts.file_bytes.saturating_sub(bytes);
        if byte <= current.byte() || !self.csv.get_ref().matches_file() {
            return Ok(false);
        }
        let mut target = current;
        target.set_byte(byte);
        let can_seek = self.seek_row(target)?;
        // Skip a row, which is probably incomplete.
        Ok(can_seek && self.read_row()?.is_some())
    }
}

/// Converts an error of the CSV reader, which is always an I/O error.
fn into_io_error(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}
