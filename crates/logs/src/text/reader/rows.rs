//! Reads rows: their limits, times and values.

use std::cmp::Ordering;
use std::io::Read;

use csv::ByteRecord;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;

use super::super::cell::{Cell, has_more_than_17_digits, parse_cell};
use super::super::column;
use super::super::decoder::END_CELL;
use super::super::excerpt;
use super::super::number::Digits;
use super::super::source::{MAX_ROW_BYTES, MAX_ROW_CELLS, READ_AHEAD, row_too_long};
use super::{TextReader, into_io_error};
use crate::{Format, LogError, Problem};

/// The end of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowEnd {
    /// The end of a line.
    Line,
    /// The end of the file, after a complete cell.
    File,
    /// The end of the file, inside a quoted cell.
    InsideCell,
}

impl<R: Read> TextReader<R> {
    /// Reads the time of the next row; `None` at the end.
    pub(in crate::text) fn next_time(&mut self, sample: &mut Sample) -> Result<Option<Moment>, LogError> {
        while let Some(end) = self.read_row()? {
            if self.read_time(end, sample) {
                return Ok(Some(sample.at));
            }
        }
        Ok(None)
    }

    /// Reads the next row into `record`; `None` at the end.
    pub(super) fn read_row(&mut self) -> Result<Option<RowEnd>, LogError> {
        if self.is_done {
            return Ok(None);
        }
        let read_ahead = READ_AHEAD as u64;
        self.csv.get_mut().set_limits(MAX_ROW_BYTES + read_ahead, MAX_ROW_CELLS + read_ahead);
        match self.csv.read_byte_record(&mut self.record) {
            Ok(true) => {}
            Ok(false) => {
                self.is_done = true;
                return Ok(None);
            }
            Err(error) if self.csv.get_ref().is_over_limit() => {
                drop(error);
                self.is_done = true;
                return Err(row_too_long(self.row_offset()));
            }
            Err(error) => {
                let over = self.csv.get_ref().over_budget();
                self.is_done = over.is_some() || self.is_done;
                return Err(over.map_or_else(|| LogError::io(into_io_error(error)), LogError::over_budget));
            }
        }
        if let Err(error) = self.csv.get_ref().check_requested_encoding() {
            self.is_done = true;
            return Err(error);
        }
        if let (Some(offset), false) = (self.csv.get_ref().first_invalid(), self.is_invalid_text_reported) {
            self.report_invalid_text(offset);
        }
        let end_cells = u64::from(self.csv.get_ref().is_at_end());
        if self.record.as_slice().len() as u64 > MAX_ROW_BYTES
            || self.record.len() as u64 > MAX_ROW_CELLS + end_cells
        {
            self.is_done = true;
            return Err(row_too_long(self.row_offset()));
        }
        if !self.csv.get_ref().is_at_end() {
            return Ok(Some(RowEnd::Line));
        }
        // The decoder has reached its end, so this is the last row, and it includes END_CELL.
        self.is_done = true;
        let last = self.record.len().saturating_sub(1);
        if self.record.get(last).is_some_and(|cell| cell != END_CELL) {
            return Ok(Some(RowEnd::InsideCell));
        }
        self.record.truncate(last);
        let is_empty = self.record.iter().all(<[u8]>::is_empty);
        Ok(if is_empty && last <= 1 { None } else { Some(RowEnd::File) })
    }

    /// Sets the sample's time; false if the row has no time or is truncated.
    pub(super) fn read_time(&mut self, end: RowEnd, sample: &mut Sample) -> bool {
        let cell = self.record.get(0).unwrap_or_default().trim_ascii();
        if cell.is_empty() && is_blank(&self.record) {
            // An empty line that ends in CR LF, which the CSV reader does not skip.
            return false;
        }
        let local = FileTime::parse_log_time(cell);
        let is_text = local.is_none() && end != RowEnd::InsideCell && starts_with_a_letter(cell);
        if is_text && !self.facts.is_zone_known() && self.trailing_lines.len() < MAX_TRAILING_LINES {
            let (offset, line) = (self.row_offset(), self.line_number());
            let cell = self.record.get(0).unwrap_or_default();
            self.trailing_lines.push(no_time_problem(offset, line, cell));
            return false;
        }
        self.trailing_lines.drain(..).for_each(|problem| self.problems.push(problem));
        let (offset, line) = (self.row_offset(), self.line_number());
        let lacks_cells = match self.record.len().cmp(&(self.columns + 1)) {
            Ordering::Less => true,
            // PDH writes a blank cell as " ", so an empty cell was truncated before its value. A comment can be missing.
            Ordering::Equal => self.record.iter().next_back().is_none_or(<[u8]>::is_empty),
            Ordering::Greater => false,
        };
        if end == RowEnd::InsideCell || (end == RowEnd::File && lacks_cells) {
            self.problems.push(Problem::new(offset, format!("line {line} is cut short; it is skipped")));
            self.truncated_at = Some(offset);
            return false;
        }
        let Some(local) = local else {
            let cell = self.record.get(0).unwrap_or_default();
            self.problems.push_with(offset, || no_time_problem(offset, line, cell));
            return false;
        };
        sample.at = self.facts.zone.local_to_moment(local, None);
        true
    }

    /// Updates the number of digits from the row's values.
    pub(in crate::text) fn update_digits(&mut self) {
        if self.digits == Digits::Seventeen && self.record.iter().skip(1).any(has_more_than_17_digits) {
            self.digits = Digits::Twenty;
        }
    }

    /// Stores the row's values in the sample's groups.
    pub(super) fn read_values(&mut self, sample: &mut Sample) {
        if self.record.len() != self.columns + 1 {
            self.report_cell_count();
        }
        let (offset, line) = (self.row_offset(), self.line_number());
        let Self { record, problems, groups, is_repeated, .. } = self;
        let mut cells = record
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(index, _)| !is_repeated.get(*index).is_some_and(|is_repeated| *is_repeated));
        column::fill_sample(sample, groups.iter(), |_| {
            let (column, cell) = cells.next().unwrap_or_default();
            match parse_cell(cell) {
                Cell::Number(value) => Some(value),
                Cell::Blank => None,
                Cell::Other => {
                    problems.push_with(offset, || {
                        let message = format!("column {column} of line {line} has no value");
                        Problem::new(offset, message).found(excerpt::of_cell(cell), "a number")
                    });
                    None
                }
            }
        });
    }

    #[cold]
    fn report_cell_count(&mut self) {
        let (found, expected) = (self.record.len(), self.columns + 1);
        let has_number =
            |cell: Option<&[u8]>| cell.is_some_and(|cell| matches!(parse_cell(cell), Cell::Number(_)));
        let message = if self.has_comment && found == expected + 1 {
            if !has_number(self.record.get(expected)) {
                return;
            }
            "has a number in its last column, which is not a counter path; the number is skipped"
        } else if found < expected {
            "is too short; its last columns have no value"
        } else if self.facts.format == Format::Tsv
            || self.record.iter().skip(expected).all(|cell| cell.trim_ascii().is_empty())
        {
            return;
        } else {
            "is too long; cells after the last column are skipped"
        };
        let (offset, line) = (self.row_offset(), self.line_number());
        self.problems.push_with(offset, || {
            Problem::new(offset, format!("line {line} {message}"))
                .found(format_args!("{found} cells"), format!("{expected} cells"))
        });
    }

    #[cold]
    fn report_invalid_text(&mut self, offset: u64) {
        self.is_invalid_text_reported = true;
        let encoding = self.encoding();
        let message =
            format!("bytes that are not valid {encoding} are read as U+FFFD, here and possibly later");
        self.problems.push(Problem::new(offset, message));
    }

    /// Offset in the file of the row in `record`.
    pub(super) fn row_offset(&mut self) -> u64 {
        let decoded = self.record.position().map_or(0, csv::Position::byte);
        self.csv.get_mut().file_offset(decoded)
    }

    /// Line number of the row in `record`, from 1.
    fn line_number(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }
}

/// Maximum lines of text after the last row that are not damage: typeperf prints a few when it ends.
const MAX_TRAILING_LINES: usize = 8;

/// The problem of a row without a valid time, whose first cell is `cell`.
fn no_time_problem(offset: u64, line: u64, cell: &[u8]) -> Problem {
    Problem::new(offset, format!("line {line} has no valid time; it is skipped"))
        .found(excerpt::of_cell(cell), "a time 'MM/dd/yyyy HH:mm:ss.fff'")
}

fn starts_with_a_letter(cell: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&cell[..cell.len().min(4)]);
    start.chars().next().is_some_and(char::is_alphabetic)
}

pub(super) fn is_blank(record: &ByteRecord) -> bool {
    record.iter().all(|cell| cell.trim_ascii().is_empty())
}
