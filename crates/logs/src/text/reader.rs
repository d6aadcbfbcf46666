//! Reading a text log.

use std::cmp::Ordering;
use std::io::{Read, Seek, SeekFrom};

use csv::ByteRecord;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

use crate::mark::Place;
use crate::{Format, LogError, LogFacts, LogReader, Mark, Problem, Problems, ReadOptions, Reservation};

use super::cell::{Cell, has_more_than_17_digits, parse_cell};
use super::column::{self, ColumnGroup, ColumnGrouper};
use super::decoder::{Decoder, END_CELL};
use super::encoding::TextEncoding;
use super::excerpt;
use super::header::{UNKNOWN_ZONE, format_of, separator, zone_of};
use super::number::Digits;

/// The longest row, in bytes of UTF-8, and the most cells in one. With both, a reader takes at most about 256 MiB for a
/// row (the buffer doubles) and 1 KiB for a column, whatever the file says.
pub(super) const MAX_ROW_BYTES: u64 = 64 << 20;
pub(super) const MAX_ROW_CELLS: u64 = 1 << 20;

/// Bytes that are read ahead of a row's end at most. The decoder may give out so many more than a row may have, and so many
/// separators; the row itself is counted when it is there.
pub(super) const READ_AHEAD: usize = 64 * 1024;

/// A CSV or TSV log being read.
///
/// Every column is a [`Group`](tachograph_counters::sample::Group) of its own, in the order of the file: one counter of the type
/// [`DOUBLE_RAW`](tachograph_counters::CounterType::DOUBLE_RAW), with one row where the cell has a value, and none where
/// it is blank. With [`Grouping::Neighbours`](crate::Grouping::Neighbours), columns next to each other that differ in their
/// instance alone are one group with a row for each, of the status `NO_INSTANCE` where the cell is blank. The same path may
/// occur in two columns. A column whose header is no counter path keeps the whole text as
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
///   typeperf's console output has none, and Windows can cut a name, which is no damage.
/// * A last column whose header is no path is a comment, and no damage. Nor are empty lines, and in logs without a zone the
///   lines of text after the last row.
///
/// The zone's bias is the one that was in force when the log began, for all rows: nothing in the file tells of a change.
/// How characters are encoded is found out ([`TextEncoding`]).
#[derive(Debug)]
pub struct TextReader<R> {
    csv: csv::Reader<Decoder<R>>,
    record: ByteRecord,
    facts: LogFacts,
    /// The columns, those of one counter together.
    groups: Vec<ColumnGroup>,
    columns: usize,
    problems: Problems,
    bad_text_is_noted: bool,
    is_done: bool,
    /// Where the last row begins that was left out since it was cut short.
    cut_at: Option<u64>,
    /// Goes to a row, where the stream can seek.
    seek: Option<SeekRow<R>>,
    digits: Digits,
    /// The last cell of a row is a comment.
    has_comment: bool,
    /// The end of the log may be texts of the program that printed it.
    trailing: Trailing,
    /// What the columns take.
    reservation: Reservation,
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
    /// Opens a log that begins at the stream's current position, and reads its header.
    ///
    /// # Errors
    ///
    /// When reading fails; when the stream is empty or does not begin with `"(PDH-CSV 4.0)` or `"(PDH-TSV 4.0)`, quoted or
    /// not, in one of the encodings: "not a log", with a line that says what it looks like instead; when the header is
    /// longer than 64 MiB or has more than 1,048,576 cells: "corrupt".
    pub fn new(stream: R) -> Result<Self, LogError> {
        Self::with_options(stream, &ReadOptions::default())
    }

    /// As [`new`](Self::new), with options.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new); "over budget" when the columns need more memory than the options' budget has left.
    pub fn with_options(mut stream: R, options: &ReadOptions) -> Result<Self, LogError> {
        let (origin, file_bytes) = extent_of(&mut stream)?;
        Self::over(open_text(stream, options)?, file_bytes, options)?.with_seek(origin)
    }

    /// Goes to rows of a stream in which the file begins at `origin`.
    pub(super) fn with_seek(mut self, origin: u64) -> Result<Self, LogError> {
        self.csv.get_mut().set_origin(origin);
        self.seek = Some(|csv, position| csv.seek_raw(SeekFrom::Start(position.byte()), position));
        Ok(self)
    }
}

/// Where in a stream the file begins, and how long it is.
pub(super) fn extent_of<R: Seek>(stream: &mut R) -> Result<(u64, u64), LogError> {
    let here = stream.stream_position().map_err(LogError::io)?;
    let end = stream.seek(SeekFrom::End(0)).map_err(LogError::io)?;
    stream.seek(SeekFrom::Start(here)).map_err(LogError::io)?;
    Ok((here, end.saturating_sub(here)))
}

/// The text of a log, and its format.
pub(super) fn open_text<R: Read>(stream: R, options: &ReadOptions) -> Result<(Decoder<R>, Format), LogError> {
    let mut decoder = Decoder::new(stream, options.encoding).map_err(LogError::io)?;
    let (start, bytes) = decoder.peek();
    if bytes.is_empty() {
        return Err(LogError::not_a_log("the file is empty"));
    }
    let format = format_of(&start, bytes)?;
    decoder.count_rows(options.budget.reserve(0).map_err(LogError::over_budget)?);
    Ok((decoder, format))
}

impl<R: Read> TextReader<R> {
    /// Opens a log from a stream that cannot seek; `file_bytes` is its length for [`LogFacts`], 0 if unknown.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn from_stream(stream: R, file_bytes: u64) -> Result<Self, LogError> {
        let options = ReadOptions::default();
        Self::over(open_text(stream, &options)?, file_bytes, &options)
    }

    /// Reads the header of a text that is a table.
    pub(super) fn over(
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
            // With LF alone positions are exact; a CR before it is a blank at the end of a cell.
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
            problems: Problems::default(),
            bad_text_is_noted: false,
            is_done: false,
            cut_at: None,
            seek: None,
            digits: Digits::default(),
            has_comment: false,
            trailing: Trailing::default(),
            reservation: options.budget.reserve(0).map_err(LogError::over_budget)?,
        };
        reader.read_header(options)?;
        Ok(reader)
    }

    /// How the file's characters are encoded, as far as it was read.
    pub fn encoding(&self) -> TextEncoding {
        self.csv.get_ref().encoding()
    }

    /// With how many digits the values read so far were written.
    pub fn digits(&self) -> Digits {
        self.digits
    }

    /// How many columns the log has, the times not counted.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// What there is before the rows: the columns, and what the log says of itself.
    pub(super) fn header(&self) -> (&[ColumnGroup], &LogFacts) {
        (&self.groups, &self.facts)
    }

    /// Goes to the row that begins at a position; false where the stream cannot seek.
    fn go_to_row(&mut self, position: csv::Position) -> Result<bool, LogError> {
        let Some(seek) = self.seek else { return Ok(false) };
        seek(&mut self.csv, position).map_err(|error| LogError::io(into_io(error)))?;
        self.trailing = Trailing::default();
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
        let ahead = READ_AHEAD as u64;
        self.csv.get_mut().allow(MAX_ROW_BYTES + ahead, MAX_ROW_CELLS + ahead);
        match self.csv.read_byte_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => {
                self.is_done = true;
                return Ok(None);
            }
            Err(error) if self.csv.get_ref().is_exhausted() => {
                drop(error);
                self.is_done = true;
                return Err(row_too_long(self.row_offset()));
            }
            Err(error) => {
                let over = self.csv.get_ref().over_budget();
                self.is_done = over.is_some() || self.is_done;
                return Err(over.map_or_else(|| LogError::io(into_io(error)), LogError::over_budget));
            }
        }
        if let Err(error) = self.csv.get_ref().check_chosen() {
            self.is_done = true;
            return Err(error);
        }
        self.note_bad_text();
        let end_cells = u64::from(self.csv.get_ref().has_ended());
        if self.record.as_slice().len() as u64 > MAX_ROW_BYTES
            || self.record.len() as u64 > MAX_ROW_CELLS + end_cells
        {
            self.is_done = true;
            return Err(row_too_long(self.row_offset()));
        }
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

    fn read_header(&mut self, options: &ReadOptions) -> Result<(), LogError> {
        let row = loop {
            let Some(row) = self.read_row()? else {
                return Err(LogError::not_a_log("the file has no header"));
            };
            // typeperf begins with an empty line.
            if row == Row::CutInCell || !is_empty(&self.record) {
                break row;
            }
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
        let memory = options.budget.reserve(0).map_err(LogError::over_budget)?;
        let mut grouper = ColumnGrouper::new(options.grouping, memory);
        for (number, cell) in self.record.iter().enumerate().take(cells).skip(1) {
            let text = String::from_utf8_lossy(cell);
            // The last cell of a line that CR LF ends.
            let text = text.trim_end_matches('\r');
            if number + 1 == cells && !text.starts_with(['\\', '/']) {
                // The description of a collector, or PdhUpdateLog's comment.
                self.has_comment = true;
                continue;
            }
            let error = grouper.push(text).map_err(|over| {
                let all = self.record.iter().take(cells).skip(1);
                LogError::over_budget(grouper.with_all_columns(over, all))
            })?;
            self.columns += 1;
            if let Some(error) = error {
                let what =
                    format!("column {number} is no counter path, and kept as a counter's name: {error}");
                note(&mut self.problems, offset, || Problem {
                    found: Some(excerpt::of_cell(cell)),
                    ..Problem::new(offset, what)
                });
            }
        }
        (self.groups, self.reservation) = grouper.finish();
        Ok(())
    }

    /// Whether the row has a time and is not cut short; sets the sample's moment.
    fn read_time(&mut self, row: Row, sample: &mut Sample) -> bool {
        let cell = self.record.get(0).unwrap_or_default().trim_ascii();
        if cell.is_empty() && is_empty(&self.record) {
            // An empty line, which ends in CR LF.
            return false;
        }
        let local = FileTime::parse_log_time(cell);
        let is_text = local.is_none() && row != Row::CutInCell && starts_with_a_letter(cell);
        if is_text && !self.facts.is_zone_known() && !self.trailing.is_full() {
            let (offset, line) = (self.row_offset(), self.line());
            let cell = self.record.get(0).unwrap_or_default();
            self.trailing.0.push(no_time(offset, line, cell));
            return false;
        }
        self.trailing.0.drain(..).for_each(|problem| self.problems.push(problem));
        let (offset, line) = (self.row_offset(), self.line());
        let lacks_cells = match self.record.len().cmp(&(self.columns + 1)) {
            Ordering::Less => true,
            // PDH writes a blank cell as " "; one that holds nothing at all was cut before its value.
            // What is cut before the comment lacks nothing.
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
            note(&mut self.problems, offset, || no_time(offset, line, cell));
            return false;
        };
        sample.at = self.facts.zone.local_to_moment(local, None);
        true
    }

    /// Notes how many digits the row's values have.
    pub(super) fn note_digits(&mut self) {
        if self.digits == Digits::Seventeen && self.record.iter().skip(1).any(has_more_than_17_digits) {
            self.digits = Digits::Twenty;
        }
    }

    /// Puts the row's cells into the sample's groups, which are made at the first call.
    fn read_values(&mut self, sample: &mut Sample) {
        if self.record.len() != self.columns + 1 {
            self.note_length();
        }
        let (offset, line) = (self.row_offset(), self.line());
        let Self { record, problems, groups, .. } = self;
        let mut cells = record.iter().skip(1);
        column::fill(sample, groups.iter(), |column| {
            let cell = cells.next().unwrap_or_default();
            match parse_cell(cell) {
                Cell::Number(value) => Some(value),
                Cell::Blank => None,
                Cell::Other => {
                    note(problems, offset, || {
                        let what = format!("column {} of line {line} has no value", column + 1);
                        Problem::new(offset, what).found(excerpt::of_cell(cell), "a number")
                    });
                    None
                }
            }
        });
    }

    #[cold]
    fn note_length(&mut self) {
        let (found, expected) = (self.record.len(), self.columns + 1);
        let has_number =
            |cell: Option<&[u8]>| cell.is_some_and(|cell| matches!(parse_cell(cell), Cell::Number(_)));
        let what = if self.has_comment && found == expected + 1 {
            if !has_number(self.record.get(expected)) {
                return;
            }
            "has a number in its last column, which is no counter path: it is left out"
        } else if found < expected {
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
        let encoding = self.encoding();
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
                self.note_digits();
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
        self.csv.get_ref().guessed()
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

pub(super) fn row_too_long(offset: u64) -> LogError {
    let mib = MAX_ROW_BYTES >> 20;
    let what = format!("a row is longer than {mib} MiB or has more than {MAX_ROW_CELLS} cells");
    LogError::corrupt(Problem::new(offset, what))
}

/// Lines without a time that are no damage where nothing follows them: after the last row, typeperf says that it ends, and
/// that it has ended. In any language it does so in letters.
#[derive(Debug, Default)]
struct Trailing(Vec<Problem>);

impl Trailing {
    /// It says no more than this.
    const MAX_LINES: usize = 8;

    fn is_full(&self) -> bool {
        self.0.len() >= Self::MAX_LINES
    }
}

fn no_time(offset: u64, line: u64, cell: &[u8]) -> Problem {
    Problem::new(offset, format!("line {line} has no time, and is left out"))
        .found(excerpt::of_cell(cell), "a time 'MM/dd/yyyy HH:mm:ss.fff'")
}

fn starts_with_a_letter(cell: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&cell[..cell.len().min(4)]);
    start.chars().next().is_some_and(char::is_alphabetic)
}

fn is_empty(record: &ByteRecord) -> bool {
    record.iter().all(|cell| cell.trim_ascii().is_empty())
}

/// Notes a problem; its words are only made while they are kept.
pub(super) fn note(problems: &mut Problems, offset: u64, problem: impl FnOnce() -> Problem) {
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
