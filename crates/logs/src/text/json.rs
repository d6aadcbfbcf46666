//! Reads the JSON lines written by `tacho relog -f json` and `tacho query -f json`: one object per line, one line per
//! sample.

mod line;

use std::fmt;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;

use crate::mark::Position;
use crate::{Format, LogError, LogFacts, LogReader, Mark, Problem, Problems, ReadOptions, TextEncoding};

use super::column::{self, ColumnBuilder};
use super::decoder::Decoder;
use super::excerpt;
use super::source::{MAX_ROW_BYTES, MAX_ROW_CELLS, READ_AHEAD, open_text, origin_and_length, row_too_long};
use line::{Column, KnownPaths, LineProperties, Row, StopReason};

/// Reads a log of JSON lines: `{"time":"2024-03-05T10:00:00.000+01:00","values":{"\\\\M\\S\\C":1.5}}`. The format is
/// described in docs/json.md.
///
/// A sample has a [`Group`](tachograph_counters::sample::Group) for each path of its line, in order, like the columns
/// of a [`TextReader`](super::TextReader). Values are already formatted; `null` is a missing value. The time zone of
/// the log is the UTC offset of the first line; each sample has its own offset.
///
/// Damage is skipped and reported with the offset of the line: a line that is not such an object, or has no time or
/// no values, is skipped, as is a truncated last line; a value that is not a number is treated as missing.
///
/// Reading a line takes up to four times its length in memory, at most 256 MiB; the budget counts lines that are
/// longer than 1 MiB. The memory of a path's column is reserved before the column is built.
pub struct JsonReader<R> {
    lines: BufReader<Decoder<R>>,
    line: Vec<u8>,
    /// Offset in the text and number of the next line.
    next_offset: u64,
    next_line_number: u64,
    /// Offset in the text and number of the line in `line`.
    text_offset: u64,
    line_number: u64,
    /// Whether `line` has a line that is not processed yet. Only true for the first line.
    has_unparsed_line: bool,
    facts: LogFacts,
    columns: Vec<Column>,
    values: Vec<Option<f64>>,
    builder: ColumnBuilder,
    paths: KnownPaths,
    problems: Problems,
    is_invalid_text_reported: bool,
    is_done: bool,
}

impl<R: Read + Seek> JsonReader<R> {
    /// Opens a log that begins at the stream's current position, and reads its first line.
    ///
    /// # Errors
    ///
    /// When reading fails; [`LogError::is_corrupt`] if the first line is not a sample or longer than 64 MiB;
    /// [`LogError::is_over_budget`] if its paths need more memory than the options' budget has left.
    pub fn new(mut stream: R, options: &ReadOptions) -> Result<Self, LogError> {
        let (origin, file_bytes) = origin_and_length(&mut stream)?;
        let (text, format) = open_text(stream, options)?;
        if format != Format::Json {
            return Err(LogError::not_a_log(format!("this is {}, not JSON", format.name())));
        }
        Self::from_text(text, origin, file_bytes, options)
    }

    pub(super) fn from_text(
        mut text: Decoder<R>,
        origin: u64,
        file_bytes: u64,
        options: &ReadOptions,
    ) -> Result<Self, LogError> {
        text.omit_end_cell();
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
            next_offset: 0,
            next_line_number: 1,
            text_offset: 0,
            line_number: 1,
            has_unparsed_line: false,
            facts,
            columns: Vec::new(),
            values: Vec::new(),
            builder: ColumnBuilder::default(),
            paths: KnownPaths::new(options.budget.reserve(0).map_err(LogError::over_budget)?),
            problems: Problems::default(),
            is_invalid_text_reported: false,
            is_done: false,
        };
        reader.read_first_line()?;
        Ok(reader)
    }
}

impl<R: Read> JsonReader<R> {
    fn read_first_line(&mut self) -> Result<(), LogError> {
        if !self.read_line()? {
            return Err(LogError::not_a_log("the file has no line"));
        }
        let first = match LineProperties::parse(&self.line) {
            Ok(LineProperties { time: Some(time), has_values: true }) => Moment::parse_rfc3339(&time),
            _ => None,
        };
        let Some(first) = first else {
            return Err(LogError::not_a_log(format!(
                "not a performance log: it starts with {}; a JSON log has a line {{\"time\":...,\"values\":{{...}}}} per \
                 sample, as written by 'relog -f json'",
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
        self.has_unparsed_line = true;
        Ok(())
    }

    /// Reads the next line that is not empty; false at the end.
    fn read_line(&mut self) -> Result<bool, LogError> {
        loop {
            self.line.clear();
            if self.is_done {
                return Ok(false);
            }
            (self.text_offset, self.line_number) = (self.next_offset, self.next_line_number);
            // The decoder counts line ends as separators here. The bytes read ahead never have more than this limit.
            self.lines.get_mut().set_limits(MAX_ROW_BYTES + READ_AHEAD as u64, MAX_ROW_CELLS);
            let read = self.lines.read_until(b'\n', &mut self.line);
            if let Err(error) = read {
                let text = self.lines.get_ref();
                let (over, is_over_limit) = (text.over_budget(), text.is_over_limit());
                self.is_done = over.is_some() || is_over_limit;
                return Err(match over {
                    Some(over) => LogError::over_budget(over),
                    None if is_over_limit => row_too_long(self.offset()),
                    None => LogError::io(error),
                });
            }
            if self.line.len() as u64 > MAX_ROW_BYTES {
                self.is_done = true;
                return Err(row_too_long(self.offset()));
            }
            self.next_offset += self.line.len() as u64;
            self.next_line_number += 1;
            if self.line.is_empty() {
                self.is_done = true;
                return Ok(false);
            }
            if let Err(error) = self.lines.get_ref().check_requested_encoding() {
                self.is_done = true;
                return Err(error);
            }
            self.report_invalid_text();
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn report_invalid_text(&mut self) {
        let text = self.lines.get_ref();
        if let (Some(offset), false) = (text.first_invalid(), self.is_invalid_text_reported) {
            self.is_invalid_text_reported = true;
            let encoding = text.encoding();
            let message =
                format!("bytes that are not valid {encoding} are read as U+FFFD, here and possibly later");
            self.problems.push(Problem::new(offset, message));
        }
    }

    /// Offset in the file of the line in `line`.
    fn offset(&mut self) -> u64 {
        let at = self.text_offset;
        self.lines.get_mut().file_offset(at)
    }

    fn problem(&mut self, message: &str) -> Problem {
        Problem::new(self.offset(), format!("line {} {message}", self.line_number))
    }

    /// Parses the line into `columns` and `values`. Returns its time, or `None` if it is skipped.
    fn parse(&mut self) -> Result<Option<Moment>, LogError> {
        let offset = self.offset();
        let columns = std::mem::take(&mut self.columns);
        let problems = (offset, &mut self.problems);
        let mut row = Row::new(columns, &mut self.values, &mut self.builder, &mut self.paths, problems);
        let outcome = row.parse(&self.line);
        let (invalid_values, stop) = (row.invalid_values, row.stop);
        self.columns = row.columns;
        if let Some(stop) = stop {
            self.is_done = true;
            return Err(match stop {
                StopReason::TooManyValues => row_too_long(offset),
                StopReason::OverBudget(over) => LogError::over_budget(over),
            });
        }
        match self.sample_time(outcome) {
            Ok(at) => {
                for (path, found) in invalid_values {
                    let problem =
                        self.problem(&format!("has no value of {path}")).found(found, "a number or null");
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

    /// The time of a line, or the reason why it is not a sample.
    fn sample_time(&mut self, outcome: serde_json::Result<LineProperties>) -> Result<Moment, Problem> {
        const SAMPLE: &str = "{\"time\":...,\"values\":{...}}";
        let line = |reader: &Self| excerpt::of_cell(reader.line.trim_ascii_end());
        match outcome {
            Ok(LineProperties { time: Some(time), has_values: true }) => Moment::parse_rfc3339(&time)
                .ok_or_else(|| {
                    self.problem("has no valid time; it is skipped")
                        .found(excerpt::of_text(&time), "a time such as '2024-03-05T10:00:00.000+01:00'")
                }),
            Ok(LineProperties { time: None, .. }) => Err(self.problem("has no time; it is skipped")),
            Ok(_) => Err(self.problem("has no values; it is skipped").found(line(self), SAMPLE)),
            Err(error) if error.is_eof() && !self.line.ends_with(b"\n") => {
                Err(self.problem("is cut short; it is skipped"))
            }
            Err(error) => Err(self
                .problem(&format!("is not a sample ({}); it is skipped", describe_error(&error)))
                .found(line(self), SAMPLE)),
        }
    }
}

/// The error of a line, with its column. The line number of serde_json is always 1, so it is removed.
fn describe_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&position) {
        Some(message) => format!("column {}: {message}", error.column()),
        None => text,
    }
}

impl<R: Read + Seek + Send> LogReader for JsonReader<R> {
    fn facts(&self) -> &LogFacts {
        &self.facts
    }

    fn next(&mut self, sample: &mut Sample) -> Result<bool, LogError> {
        while std::mem::take(&mut self.has_unparsed_line) || self.read_line()? {
            let Some(at) = self.parse()? else { continue };
            sample.at = at;
            sample.is_baseline = false;
            sample.log = 0;
            sample.boot_time = FileTime(0);
            let values = &self.values;
            column::fill_sample(sample, self.columns.iter().map(|column| &column.group), |column| {
                values[column]
            });
            return Ok(true);
        }
        Ok(false)
    }

    fn problems(&self) -> &Problems {
        &self.problems
    }

    fn guessed_encoding(&self) -> Option<TextEncoding> {
        self.lines.get_ref().guessed_encoding()
    }

    fn bytes_read(&self) -> u64 {
        self.lines.get_ref().bytes_read()
    }

    fn mark(&mut self) -> Option<Mark> {
        if !self.lines.get_ref().matches_file() {
            return None;
        }
        let (offset, line_number) = if self.has_unparsed_line {
            (self.text_offset, self.line_number)
        } else {
            (self.next_offset, self.next_line_number)
        };
        let mut position = csv::Position::new();
        position.set_byte(offset).set_line(line_number);
        Some(Mark(Position::Text(position)))
    }

    fn seek(&mut self, mark: &Mark) -> Result<bool, LogError> {
        let Position::Text(position) = &mark.0 else { return Ok(false) };
        self.lines.seek(SeekFrom::Start(position.byte())).map_err(LogError::io)?;
        (self.next_offset, self.next_line_number) = (position.byte(), position.line());
        self.has_unparsed_line = false;
        self.is_done = false;
        Ok(true)
    }

    fn follows_growth(&self) -> bool {
        true
    }

    fn seek_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        let byte = self.facts.file_bytes.saturating_sub(bytes);
        let mut target = csv::Position::new();
        target.set_byte(byte).set_line(self.next_line_number);
        let current = if self.has_unparsed_line { self.text_offset } else { self.next_offset };
        if byte <= current
            || !self.lines.get_ref().matches_file()
            || !self.seek(&Mark(Position::Text(target)))?
        {
            return Ok(false);
        }
        // Skip a line, which is probably incomplete.
        self.read_line()
    }
}

impl<R> fmt::Debug for JsonReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonReader")
            .field("facts", &self.facts)
            .field("line", &self.line_number)
            .finish_non_exhaustive()
    }
}
