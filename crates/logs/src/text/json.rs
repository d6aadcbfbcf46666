//! Reading what `tacho relog -f json` and `tacho query -f json` write: a JSON object per sample and line.

mod line;

use std::fmt;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

use crate::mark::Place;
use crate::{Format, LogError, LogFacts, LogReader, Mark, Problem, Problems, ReadOptions, TextEncoding};

use super::column::{self, ColumnMaker};
use super::decoder::Decoder;
use super::excerpt;
use super::reader::{MAX_ROW_BYTES, MAX_ROW_CELLS, READ_AHEAD, extent_of, open_text, row_too_long};
use line::{Column, LineTime, MetPaths, Row, Stop};

/// A log of JSON lines being read: `{"time":"2024-03-05T10:00:00.000+01:00","values":{"\\\\M\\S\\C":1.5}}`. What the lines
/// hold is described in docs/json.md.
///
/// A sample has a [`Group`](tachograph_counters::sample::Group) for each path of its own line, in their order, as a
/// [`TextReader`](super::TextReader) has for each column. Values are formatted already; `null` is no value. The time zone
/// is the offset of the first line; each sample has that of its own.
///
/// Damage is stepped over, and noted with the offset of the line: a line that is no such object, or has no time or no
/// values, is left out, as is the last one when it was cut short; a value that is no number is none.
///
/// A line takes up to four times its length, at most 256 MiB, which the budget counts beyond 1 MiB. The column of a path is
/// made after its memory was reserved, also while a line is read.
pub struct JsonReader<R> {
    lines: BufReader<Decoder<R>>,
    line: Vec<u8>,
    /// Offset in the text of the next line, and its number.
    next_at: u64,
    next_number: u64,
    /// The same of the line in `line`.
    at: u64,
    number: u64,
    /// The first line, which was read for its time.
    has_line: bool,
    facts: LogFacts,
    columns: Vec<Column>,
    values: Vec<Option<f64>>,
    maker: ColumnMaker,
    met: MetPaths,
    problems: Problems,
    bad_text_is_noted: bool,
    is_done: bool,
}

impl<R: Read + Seek> JsonReader<R> {
    /// Opens a log that begins at the stream's current position, and reads its first line.
    ///
    /// # Errors
    ///
    /// When reading fails; "not a log" when the first line is no sample; "corrupt" when it is longer than 64 MiB; "over
    /// budget" when its paths need more memory than the options' budget has left.
    pub fn new(mut stream: R, options: &ReadOptions) -> Result<Self, LogError> {
        let (origin, file_bytes) = extent_of(&mut stream)?;
        let (text, format) = open_text(stream, options)?;
        if format != Format::Json {
            return Err(LogError::not_a_log(format!("this is {}, not JSON", format.name())));
        }
        Self::over(text, origin, file_bytes, options)
    }

    pub(super) fn over(
        mut text: Decoder<R>,
        origin: u64,
        file_bytes: u64,
        options: &ReadOptions,
    ) -> Result<Self, LogError> {
        text.without_end_cell();
        text.set_origin(origin);
        let facts = LogFacts {
            format: Format::Json,
            zone: TimeZone::utc(),
            boot_time: None,
            performance_frequency: None,
            windows_build: None,
            file_bytes,
        };
        let mut reader = Self {
            lines: BufReader::with_capacity(READ_AHEAD, text),
            line: Vec::new(),
            next_at: 0,
            next_number: 1,
            at: 0,
            number: 1,
            has_line: false,
            facts,
            columns: Vec::new(),
            values: Vec::new(),
            maker: ColumnMaker::default(),
            met: MetPaths::new(options.budget.reserve(0).map_err(LogError::over_budget)?),
            problems: Problems::default(),
            bad_text_is_noted: false,
            is_done: false,
        };
        reader.read_first()?;
        Ok(reader)
    }
}

impl<R: Read> JsonReader<R> {
    fn read_first(&mut self) -> Result<(), LogError> {
        if !self.read_line()? {
            return Err(LogError::not_a_log("the file has no line"));
        }
        let first = match LineTime::read(&self.line) {
            Ok(LineTime { time: Some(time), has_values: true }) => Moment::parse_rfc3339(&time),
            _ => None,
        };
        let Some(first) = first else {
            return Err(LogError::not_a_log(format!(
                "no performance log: it starts with {}; a JSON log has a line {{\"time\":...,\"values\":{{...}}}} for each \
                 sample, as 'relog -f json' writes them",
                excerpt::of_cell(&self.line)
            )));
        };
        self.facts.zone = match first.bias_minutes {
            0 => TimeZone::utc(),
            bias => {
                let sign = if bias > 0 { '-' } else { '+' };
                let minutes = bias.unsigned_abs();
                TimeZone::fixed(&format!("UTC{sign}{:02}:{:02}", minutes / 60, minutes % 60), bias)
            }
        };
        self.has_line = true;
        Ok(())
    }

    /// Reads the next line that is not empty; false at the end.
    fn read_line(&mut self) -> Result<bool, LogError> {
        loop {
            self.line.clear();
            if self.is_done {
                return Ok(false);
            }
            (self.at, self.number) = (self.next_at, self.next_number);
            // A separator here is a line end, of which there are fewer than bytes read ahead.
            self.lines.get_mut().allow(MAX_ROW_BYTES + READ_AHEAD as u64, MAX_ROW_CELLS);
            let read = self.lines.read_until(b'\n', &mut self.line);
            if let Err(error) = read {
                let text = self.lines.get_ref();
                let (over, is_exhausted) = (text.over_budget(), text.is_exhausted());
                self.is_done = over.is_some() || is_exhausted;
                return Err(match over {
                    Some(over) => LogError::over_budget(over),
                    None if is_exhausted => row_too_long(self.offset()),
                    None => LogError::io(error),
                });
            }
            if self.line.len() as u64 > MAX_ROW_BYTES {
                self.is_done = true;
                return Err(row_too_long(self.offset()));
            }
            self.next_at += self.line.len() as u64;
            self.next_number += 1;
            if self.line.is_empty() {
                self.is_done = true;
                return Ok(false);
            }
            if let Err(error) = self.lines.get_ref().check_chosen() {
                self.is_done = true;
                return Err(error);
            }
            self.note_bad_text();
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn note_bad_text(&mut self) {
        let text = self.lines.get_ref();
        if let (Some(offset), false) = (text.first_bad(), self.bad_text_is_noted) {
            self.bad_text_is_noted = true;
            let encoding = text.encoding();
            let what = format!("bytes that are no {encoding}, here and maybe later, are read as U+FFFD");
            self.problems.push(Problem::new(offset, what));
        }
    }

    /// Offset in the file of the line in `line`.
    fn offset(&mut self) -> u64 {
        let at = self.at;
        self.lines.get_mut().file_offset(at)
    }

    fn note(&mut self, what: &str) -> Problem {
        Problem::new(self.offset(), format!("line {} {what}", self.number))
    }

    /// Reads the line into `columns` and `values`; gives its time, or `None` where it is left out.
    fn parse(&mut self) -> Result<Option<Moment>, LogError> {
        let offset = self.offset();
        let columns = std::mem::take(&mut self.columns);
        let problems = (offset, &mut self.problems);
        let mut row = Row::new(columns, &mut self.values, &mut self.maker, &mut self.met, problems);
        let read = row.read(&self.line);
        let (wrong, stop) = (row.wrong, row.stop);
        self.columns = row.columns;
        if let Some(stop) = stop {
            self.is_done = true;
            return Err(match stop {
                Stop::TooManyValues => row_too_long(offset),
                Stop::OverBudget(over) => LogError::over_budget(over),
            });
        }
        match self.time_of(read) {
            Ok(at) => {
                for (path, found) in wrong {
                    let problem =
                        self.note(&format!("has no value of {path}")).found(found, "a number or null");
                    self.problems.push(problem);
                }
                Ok(Some(at))
            }
            Err(problem) => {
                self.problems.push(problem);
                Ok(None)
            }
        }
    }

    /// The time of a line that is a sample, or why it is left out.
    fn time_of(&mut self, read: serde_json::Result<LineTime>) -> Result<Moment, Problem> {
        const SAMPLE: &str = "{\"time\":...,\"values\":{...}}";
        let line = |reader: &Self| excerpt::of_cell(reader.line.trim_ascii_end());
        match read {
            Ok(LineTime { time: Some(time), has_values: true }) => {
                Moment::parse_rfc3339(&time).ok_or_else(|| {
                    self.note("has no time, and is left out")
                        .found(excerpt::of_text(&time), "a time such as '2024-03-05T10:00:00.000+01:00'")
                })
            }
            Ok(LineTime { time: None, .. }) => Err(self.note("has no time, and is left out")),
            Ok(_) => Err(self.note("has no values, and is left out").found(line(self), SAMPLE)),
            Err(error) if error.is_eof() && !self.line.ends_with(b"\n") => {
                Err(self.note("is cut short, and left out"))
            }
            Err(error) => Err(self
                .note(&format!("is no sample ({}), and left out", why(&error)))
                .found(line(self), SAMPLE)),
        }
    }
}

/// What is wrong with a line, and its column. serde_json also names a line, which is always the first of what it was given.
fn why(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) => format!("column {}: {what}", error.column()),
        None => text,
    }
}

impl<R: Read + Seek + Send> LogReader for JsonReader<R> {
    fn facts(&self) -> &LogFacts {
        &self.facts
    }

    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        while std::mem::take(&mut self.has_line) || self.read_line()? {
            let Some(at) = self.parse()? else { continue };
            sample.at = at;
            sample.is_baseline = false;
            sample.log = 0;
            sample.boot_time = FileTime(0);
            let values = &self.values;
            column::fill(sample, self.columns.iter().map(|column| &column.group), |column| values[column]);
            return Ok(true);
        }
        Ok(false)
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn guessed_encoding(&self) -> Option<TextEncoding> {
        self.lines.get_ref().guessed()
    }

    fn bytes_read(&self) -> u64 {
        self.lines.get_ref().bytes_read()
    }

    fn mark(&mut self) -> Option<Mark> {
        if !self.lines.get_ref().is_as_in_file() {
            return None;
        }
        let (at, number) =
            if self.has_line { (self.at, self.number) } else { (self.next_at, self.next_number) };
        let mut position = csv::Position::new();
        position.set_byte(at).set_line(number);
        Some(Mark(Place::Text(position)))
    }

    fn go_to(&mut self, mark: &Mark) -> Result<bool, LogError> {
        let Place::Text(position) = &mark.0 else { return Ok(false) };
        self.lines.seek(SeekFrom::Start(position.byte())).map_err(LogError::io)?;
        (self.next_at, self.next_number) = (position.byte(), position.line());
        self.has_line = false;
        self.is_done = false;
        Ok(true)
    }

    fn follows_growth(&self) -> bool {
        true
    }

    fn go_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        let byte = self.facts.file_bytes.saturating_sub(bytes);
        let mut there = csv::Position::new();
        there.set_byte(byte).set_line(self.next_number);
        let here = if self.has_line { self.at } else { self.next_at };
        if byte <= here || !self.lines.get_ref().is_as_in_file() || !self.go_to(&Mark(Place::Text(there)))? {
            return Ok(false);
        }
        // Very likely in the middle of a line.
        self.read_line()
    }
}

impl<R> fmt::Debug for JsonReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonReader")
            .field("facts", &self.facts)
            .field("line", &self.number)
            .finish_non_exhaustive()
    }
}
