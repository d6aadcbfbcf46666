//! Reading a text log.

use std::cmp::Ordering;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

use csv::ByteRecord;
use tachograph_counters::RawValue;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::Instances;
use tachograph_counters::time_zone::TimeZone;

use crate::mark::Place;
use crate::{Format, LogError, LogFacts, LogReader, Mark, Problem, Problems};

use super::cell::{Cell, parse_cell};
use super::column::{ColumnMaker, ColumnParts};
use super::decoder::{Decoder, END_CELL, TextEncoding};
use super::excerpt;
use super::header::{UNKNOWN_ZONE, format_of, separator, zone_of};

/// The longest row, in bytes of UTF-8, and the most cells in one. With both, a reader takes at most about 256 MiB for a
/// row (the buffer doubles) and 1 KiB for a column, whatever the file says.
const MAX_ROW_BYTES: u64 = 64 << 20;
const MAX_ROW_CELLS: u64 = 1 << 20;

/// A CSV or TSV log being read.
///
/// Every column is a [`Group`] of its own, in the order of the file: one counter of the type
/// [`DOUBLE_RAW`](tachograph_counters::CounterType::DOUBLE_RAW), with one row where the cell has a value, and none where
/// it is blank. The same path may stand in two columns. A column whose header is no counter path keeps the whole text as
/// the counter's name, in a set without a name.
///
/// Damage is stepped over, and noted: its offset in the file is that of the row.
///
/// * A row whose time cannot be read is left out.
/// * A cell that is no finite number has no value; one decimal comma is taken as a point.
/// * A row that is too short has no values in its last columns. Cells beyond the last column are left out: a TSV log has
///   `PdhUpdateLog`'s comment there, elsewhere it is damage unless they are blank.
/// * The last row is left out when it was cut short: in the midst of a quoted cell, or before anything of the last column.
///   A line end need not follow it.
/// * A first cell that does not name a time zone leaves it [unknown](UNKNOWN_ZONE), and local times are taken as UTC;
///   typeperf's console output has none, which is no damage.
///
/// The zone's bias is the one that was in force when the log began, for all rows: nothing in the file tells of a change.
/// How characters are encoded is found out ([`TextEncoding`]).
#[derive(Debug)]
pub struct TextReader<R> {
    csv: csv::Reader<Decoder<R>>,
    record: ByteRecord,
    facts: LogFacts,
    columns: Vec<ColumnParts>,
    none: Instances,
    problems: Problems,
    bad_text_is_noted: bool,
    is_done: bool,
    /// Where the last row begins that was left out since it was cut short.
    cut_at: Option<u64>,
    /// Goes to a row, where the stream can seek.
    seek: Option<SeekRow<R>>,
}

/// Goes to the row that begins at a position.
type SeekRow<R> = fn(&mut csv::Reader<Decoder<R>>, csv::Position) -> csv::Result<()>;

/// How a row ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Row {
    /// By a line end.
    Whole,
    /// By the end of the file, behind a whole cell.
    Cut,
    /// By the end of the file, in a quoted cell.
    CutInCell,
}

impl<R: Read + Seek> TextReader<R> {
    /// Opens a log that begins where the stream stands, and reads its header.
    ///
    /// # Errors
    ///
    /// When reading fails; when the stream is empty or does not begin with `"(PDH-CSV 4.0)` or `"(PDH-TSV 4.0)`, quoted or
    /// not, in one of the encodings: "not a log", with a line that says what it looks like instead; when the header is
    /// longer than 64 MiB or has more than 1,048,576 cells: "corrupt".
    pub fn new(mut stream: R) -> Result<Self, LogError> {
        let here = stream.stream_position().map_err(LogError::io)?;
        let end = stream.seek(SeekFrom::End(0)).map_err(LogError::io)?;
        stream.seek(SeekFrom::Start(here)).map_err(LogError::io)?;
        let mut reader = Self::from_stream(stream, end.saturating_sub(here))?;
        reader.csv.get_mut().set_origin(here);
        reader.seek = Some(|csv, position| csv.seek_raw(SeekFrom::Start(position.byte()), position));
        Ok(reader)
    }
}

impl<R: Read> TextReader<R> {
    /// Opens a log from a stream that cannot seek; `file_bytes` is its length for [`LogFacts`], 0 if unknown.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn from_stream(stream: R, file_bytes: u64) -> Result<Self, LogError> {
        let mut decoder = Decoder::new(stream).map_err(LogError::io)?;
        let (start, bytes) = decoder.peek();
        if bytes.is_empty() {
            return Err(LogError::not_a_log("the file is empty"));
        }
        let format = format_of(&start, bytes)?;
        decoder.set_separator(separator(format));
        let csv = csv::ReaderBuilder::new()
            .delimiter(separator(format))
            .has_headers(false)
            .flexible(true)
            // With LF alone positions are exact; a CR before it is a blank at the end of a cell.
            .terminator(csv::Terminator::Any(b'\n'))
            .buffer_capacity(64 * 1024)
            .from_reader(decoder);
        let zone = TimeZone::fixed(UNKNOWN_ZONE, 0);
        let mut reader = Self {
            csv,
            record: ByteRecord::new(),
            facts: LogFacts { format, zone, boot_time: None, performance_frequency: None, file_bytes },
            columns: Vec::new(),
            none: Arc::new([]),
            problems: Problems::default(),
            bad_text_is_noted: false,
            is_done: false,
            cut_at: None,
            seek: None,
        };
        reader.read_header()?;
        Ok(reader)
    }

    /// How the file's characters are encoded, as far as it was read.
    pub fn encoding(&self) -> TextEncoding {
        self.csv.get_ref().encoding()
    }

    /// How many columns the log has, the times not counted.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// What there is before the rows: the columns, and what the log says of itself.
    pub(super) fn header(&self) -> (&[ColumnParts], &LogFacts) {
        (&self.columns, &self.facts)
    }

    /// Goes to the row that begins at a position; false where the stream cannot seek.
    fn go_to_row(&mut self, position: csv::Position) -> Result<bool, LogError> {
        let Some(seek) = self.seek else { return Ok(false) };
        seek(&mut self.csv, position).map_err(|error| LogError::io(into_io(error)))?;
        self.is_done = false;
        Ok(true)
    }

    /// Where the last row begins, when it was cut short and left out.
    pub(super) fn cut_at(&self) -> Option<u64> {
        self.cut_at
    }

    /// Reads the next row's time; `None` at the end.
    pub(super) fn next_time(&mut self, sample: &mut Sample) -> Result<Option<Moment>, LogError> {
        while let Some(row) = self.read_row()? {
            if self.read_time(row, sample) {
                return Ok(Some(sample.at));
            }
        }
        Ok(None)
    }

    /// Reads the next row into `record`; `None` at the end.
    fn read_row(&mut self) -> Result<Option<Row>, LogError> {
        if self.is_done {
            return Ok(None);
        }
        self.csv.get_mut().allow(MAX_ROW_BYTES, MAX_ROW_CELLS);
        match self.csv.read_byte_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => {
                self.is_done = true;
                return Ok(None);
            }
            Err(error) if self.csv.get_ref().is_exhausted() => {
                drop(error);
                self.is_done = true;
                let what = format!(
                    "a row is longer than {} MiB or has more than {MAX_ROW_CELLS} cells",
                    MAX_ROW_BYTES >> 20
                );
                return Err(LogError::corrupt(Problem::new(self.row_offset(), what)));
            }
            Err(error) => return Err(LogError::io(into_io(error))),
        }
        self.note_bad_text();
        if !self.csv.get_ref().has_ended() {
            return Ok(Some(Row::Whole));
        }
        // Only the last row is finished after the end was given out, and it carries the end's cell.
        self.is_done = true;
        let last = self.record.len().saturating_sub(1);
        if self.record.get(last).is_some_and(|cell| cell != END_CELL) {
            return Ok(Some(Row::CutInCell));
        }
        self.record.truncate(last);
        let is_empty = self.record.iter().all(<[u8]>::is_empty);
        Ok(if is_empty && last <= 1 { None } else { Some(Row::Cut) })
    }

    fn read_header(&mut self) -> Result<(), LogError> {
        let Some(row) = self.read_row()? else {
            return Err(LogError::not_a_log("the file has no header"));
        };
        let offset = self.row_offset();
        if row == Row::CutInCell {
            self.record.truncate(self.record.len().saturating_sub(1));
            self.problems
                .push(Problem::new(offset, "the header is cut short, and its last cell is left out"));
        }
        let first = self.record.get(0).unwrap_or_default();
        match zone_of(&String::from_utf8_lossy(first), self.facts.format) {
            Some(zone) => self.facts.zone = zone,
            None => self.problems.push(
                Problem::new(offset, "the time zone cannot be read: local times are taken as UTC").found(
                    excerpt::of_cell(first),
                    "a name and minutes, such as '(Pacific Standard Time)(480)'",
                ),
            ),
        }
        let is_blank = |cell: &[u8]| cell.trim_ascii().is_empty();
        // PdhUpdateLog's comment, or a separator at the line's end: no column.
        let mut cells = self.record.len();
        while cells > 1 && self.record.get(cells - 1).is_some_and(is_blank) {
            cells -= 1;
        }
        let mut maker = ColumnMaker::default();
        for (number, cell) in self.record.iter().enumerate().take(cells).skip(1) {
            let text = String::from_utf8_lossy(cell);
            // The last cell of a line that CR LF ends.
            let (column, error) = maker.make(text.trim_end_matches('\r'));
            if let Some(error) = error {
                let what =
                    format!("column {number} is no counter path, and kept as a counter's name: {error}");
                note(&mut self.problems, offset, || Problem {
                    found: Some(excerpt::of_cell(cell)),
                    ..Problem::new(offset, what)
                });
            }
            self.columns.push(column);
        }
        Ok(())
    }

    /// Whether the row has a time and is not cut short; sets the sample's moment.
    fn read_time(&mut self, row: Row, sample: &mut Sample) -> bool {
        let cell = self.record.get(0).unwrap_or_default().trim_ascii();
        if cell.is_empty() && self.record.iter().all(|cell| cell.trim_ascii().is_empty()) {
            // An empty line, which ends in CR LF.
            return false;
        }
        let local = FileTime::parse_log_time(cell);
        let (offset, line) = (self.row_offset(), self.line());
        let lacks_cells = match self.record.len().cmp(&(self.columns.len() + 1)) {
            Ordering::Less => true,
            // PDH writes a blank cell as " "; one that holds nothing at all was cut before its value.
            Ordering::Equal => self.record.iter().next_back().is_none_or(<[u8]>::is_empty),
            Ordering::Greater => false,
        };
        if row == Row::CutInCell || (row == Row::Cut && lacks_cells) {
            self.problems.push(Problem::new(offset, format!("line {line} is cut short, and left out")));
            self.cut_at = Some(offset);
            return false;
        }
        let Some(local) = local else {
            let cell = self.record.get(0).unwrap_or_default();
            note(&mut self.problems, offset, || {
                Problem::new(offset, format!("line {line} has no time, and is left out"))
                    .found(excerpt::of_cell(cell), "a time 'MM/dd/yyyy HH:mm:ss.fff'")
            });
            return false;
        };
        sample.at = self.facts.zone.local_to_moment(local, None);
        true
    }

    /// Puts the row's cells into the sample's groups, which are made at the first call.
    fn read_values(&mut self, sample: &mut Sample) {
        let count = self.columns.len();
        if self.record.len() != count + 1 {
            self.note_length();
        }
        sample.groups.truncate(count);
        let known = sample.groups.len();
        sample.groups.extend(self.columns[known..].iter().map(|column| Group::new(Arc::clone(&column.set))));
        let cells = self.record.iter().skip(1).chain(std::iter::repeat(&b""[..]));
        for (number, ((group, column), cell)) in
            sample.groups.iter_mut().zip(&self.columns).zip(cells).enumerate()
        {
            group.describe(&column.set);
            group.clear_values();
            group.read_at = FileTime(0);
            let instances = match parse_cell(cell) {
                Cell::Number(value) => {
                    group.values.push(RawValue::from_double(value));
                    &column.instances
                }
                Cell::Blank => &self.none,
                Cell::Other => {
                    let position = self.record.position();
                    let line = position.map_or(0, csv::Position::line);
                    let offset = self.csv.get_mut().file_offset(position.map_or(0, csv::Position::byte));
                    note(&mut self.problems, offset, || {
                        let what = format!("column {} of line {line} has no value", number + 1);
                        Problem::new(offset, what).found(excerpt::of_cell(cell), "a number")
                    });
                    &self.none
                }
            };
            group.set_rows(instances);
        }
    }

    #[cold]
    fn note_length(&mut self) {
        let (found, expected) = (self.record.len(), self.columns.len() + 1);
        let what = if found < expected {
            "is too short: its last columns have no value"
        } else if self.facts.format == Format::Tsv
            || self.record.iter().skip(expected).all(|cell| cell.trim_ascii().is_empty())
        {
            return;
        } else {
            "is too long: what is beyond the last column is left out"
        };
        let (offset, line) = (self.row_offset(), self.line());
        note(&mut self.problems, offset, || {
            Problem::new(offset, format!("line {line} {what}"))
                .found(format_args!("{found} cells"), format!("{expected} cells"))
        });
    }

    #[cold]
    fn note_first_bad(&mut self, offset: u64) {
        self.bad_text_is_noted = true;
        let encoding = match self.encoding() {
            TextEncoding::Utf16Le | TextEncoding::Utf16Be => "UTF-16",
            TextEncoding::Utf8 | TextEncoding::Windows1252 => "UTF-8",
        };
        let what = format!("bytes that are no {encoding}, here and maybe later, are read as U+FFFD");
        self.problems.push(Problem::new(offset, what));
    }

    fn note_bad_text(&mut self) {
        if let (Some(offset), false) = (self.csv.get_ref().first_bad(), self.bad_text_is_noted) {
            self.note_first_bad(offset);
        }
    }

    /// Offset in the file of the row in `record`.
    fn row_offset(&mut self) -> u64 {
        let decoded = self.record.position().map_or(0, csv::Position::byte);
        self.csv.get_mut().file_offset(decoded)
    }

    /// Number of the row's first line, counted from 1.
    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }
}

impl<R: Read + Send> LogReader for TextReader<R> {
    fn facts(&self) -> &LogFacts {
        &self.facts
    }

    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        while let Some(row) = self.read_row()? {
            if self.read_time(row, sample) {
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

    fn bytes_read(&self) -> u64 {
        self.csv.get_ref().bytes_read()
    }

    fn mark(&mut self) -> Option<Mark> {
        let can_seek = self.seek.is_some() && self.csv.get_ref().is_as_in_file();
        can_seek.then(|| Mark(Place::Text(self.csv.position().clone())))
    }

    fn go_to(&mut self, mark: &Mark) -> Result<bool, LogError> {
        match &mark.0 {
            Place::Text(position) => self.go_to_row(position.clone()),
            Place::Blg(_) => Ok(false),
        }
    }

    fn follows_growth(&self) -> bool {
        true
    }

    fn go_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        let here = self.csv.position().clone();
        let byte = self.facts.file_bytes.saturating_sub(bytes);
        if byte <= here.byte() || !self.csv.get_ref().is_as_in_file() {
            return Ok(false);
        }
        let mut there = here;
        there.set_byte(byte);
        let is_there = self.go_to_row(there)?;
        // Very likely in the midst of a row.
        Ok(is_there && self.read_row()?.is_some())
    }
}

/// Notes a problem; its words are only made while they are kept.
fn note(problems: &mut Problems, offset: u64, problem: impl FnOnce() -> Problem) {
    if problems.list().len() < Problems::KEPT {
        problems.push(problem());
    } else {
        problems.push(Problem::new(offset, ""));
    }
}

/// The operating system's error; the CSV reader finds nothing else to complain about.
fn into_io(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}
