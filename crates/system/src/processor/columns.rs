//! `/proc/interrupts` and `/proc/softirqs`: one column per online processor, one row per interrupt or softirq.

use tachograph_perflib::{SharedReading, Timestamps};

use crate::open_file::OpenFile;
use crate::scan::{parse_number, words};
use crate::wrapping_sum::WrappingSum;

/// The sums of a file's columns.
///
/// The kernel's numbers have 32 bits, so they wrap (after 49 days at 1,000 timer interrupts per second). These sums have
/// 64 bits.
#[derive(Debug)]
pub(super) struct ColumnSums {
    file: SharedReading<OpenFile>,
    sums: Sums,
    /// The moment of the last read.
    read_at: Option<Timestamps>,
    /// The result of the last read.
    outcome: Result<(), String>,
}

/// The sums, and what their next update needs.
#[derive(Debug)]
struct Sums {
    /// The first line as last read; it lists the processors.
    header: Vec<u8>,
    columns: Vec<Column>,
    /// The numbers of the row that is being parsed.
    row: Vec<u32>,
    /// The number of rows at the last read.
    row_count: usize,
    /// Returns the kind of a row from its label and the text after its numbers; `None` if the kind has no sum of its own.
    kind_of: fn(&[u8], &[u8]) -> Option<usize>,
    /// For each kind, whether the file has a row of it.
    has_kind: [bool; KINDS],
}

#[derive(Clone, Copy, Debug)]
struct Column {
    processor: u32,
    /// Whether the column has not been read yet.
    is_new: bool,
    /// The sum of all rows.
    all: WrappingSum,
    /// The sums of the rows of each kind.
    kinds: [WrappingSum; KINDS],
}

/// The sums of a processor's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnSum {
    /// The sum of all rows.
    pub(super) all: u64,
    /// The sums of the rows of each kind.
    pub(super) kinds: [u64; KINDS],
}

/// The maximum number of kinds of rows that have sums of their own.
pub(super) const KINDS: usize = 10;

/// The kind of the timer's rows in `/proc/interrupts`.
pub(super) const TIMER: usize = 0;

/// The labels of `/proc/softirqs`; the index is the kind.
const SOFTIRQS: [&[u8]; KINDS] =
    [b"HI", b"TIMER", b"NET_TX", b"NET_RX", b"BLOCK", b"IRQ_POLL", b"TASKLET", b"SCHED", b"HRTIMER", b"RCU"];

const NO_PROCESSORS: &str = "the first line lists no processors";

impl ColumnSums {
    /// `/proc/interrupts`, where only the timer has a sum of its own.
    pub(super) fn interrupts(file: &SharedReading<OpenFile>) -> Self {
        Self::new(file, |label, rest| (label == b"LOC" || is_timer(rest)).then_some(TIMER))
    }

    /// `/proc/softirqs`, where each row has a sum of its own.
    pub(super) fn softirqs(file: &SharedReading<OpenFile>) -> Self {
        Self::new(file, |label, _| SOFTIRQS.iter().position(|&kind| kind == label))
    }

    fn new(file: &SharedReading<OpenFile>, kind_of: fn(&[u8], &[u8]) -> Option<usize>) -> Self {
        let sums = Sums {
            header: Vec::new(),
            columns: Vec::new(),
            row: Vec::new(),
            row_count: 0,
            kind_of,
            has_kind: [false; KINDS],
        };
        Self { file: file.clone(), sums, read_at: None, outcome: Ok(()) }
    }

    /// Reads the file, unless it was already read at this moment.
    pub(super) fn read(&mut self, at: Timestamps) -> Result<(), &str> {
        if self.read_at != Some(at) {
            self.read_at = Some(at);
            let update = |file: &mut OpenFile| {
                let outcome = self.sums.update(file.content());
                outcome.map_err(|problem| format!("{}: {problem}", file.path().display()))
            };
            self.outcome = self.file.at(at, update).unwrap_or_else(|failure| Err(failure.reason.to_string()));
        }
        self.outcome.as_ref().copied().map_err(String::as_str)
    }

    /// Closes the file until the next read.
    pub(super) fn close(&mut self) {
        self.file.with(OpenFile::close);
    }

    /// Whether the file has a row of this kind.
    pub(super) fn has_row(&self, kind: usize) -> bool {
        self.sums.has_kind.get(kind).copied().unwrap_or_default()
    }

    /// The sums of a processor's column.
    pub(super) fn column_sum(&self, processor: u32) -> Option<ColumnSum> {
        // The columns are in the order of the ids, so the index is the id unless some processors are offline.
        let is_processor = |column: &&Column| column.processor == processor;
        let columns = &self.sums.columns;
        let column = columns.get(processor as usize).filter(is_processor);
        let column = column.or_else(|| columns.iter().find(is_processor))?;
        Some(ColumnSum { all: column.all.total, kinds: column.kinds.map(|sum| sum.total) })
    }
}

impl Sums {
    /// Adds the increases since the last text.
    fn update(&mut self, text: &[u8]) -> Result<(), &'static str> {
        let mut lines = text.split_inclusive(|&byte| byte == b'\n');
        let header = lines.next().unwrap_or_default();
        if header != self.header {
            let before = std::mem::take(&mut self.columns);
            for word in words(header.trim_ascii_end()) {
                let processor = word.strip_prefix(b"CPU").and_then(parse_number);
                let processor = processor.and_then(|number| u32::try_from(number).ok());
                let processor = processor.ok_or(NO_PROCESSORS)?;
                let known = before.iter().find(|column| column.processor == processor).copied();
                self.columns.push(known.unwrap_or(Column {
                    processor,
                    is_new: true,
                    all: WrappingSum::default(),
                    kinds: [WrappingSum::default(); KINDS],
                }));
            }
            self.header.clear();
            self.header.extend_from_slice(header);
        }
        if self.columns.is_empty() {
            self.header.clear();
            return Err(NO_PROCESSORS);
        }

        for column in &mut self.columns {
            for sum in column.sums() {
                sum.current = 0;
            }
        }
        let mut rows = 0;
        for line in lines {
            let Some(line) = line.strip_suffix(b"\n") else {
                return Err("the last line is truncated");
            };
            let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
            let label = line[..colon].trim_ascii_start();
            // Rows with fewer numbers (ERR, MIS) are for the whole machine.
            let Some(rest) = numbers(&line[colon + 1..], self.columns.len(), &mut self.row) else { continue };
            rows += 1;
            // TLB shootdowns are function call interrupts, which CAL already counts.
            if label == b"TLB" {
                continue;
            }
            let kind = (self.kind_of)(label, rest);
            for (column, &value) in self.columns.iter_mut().zip(&self.row) {
                column.all.current = column.all.current.wrapping_add(value.into());
                if let Some(kind) = kind {
                    let sum = &mut column.kinds[kind];
                    sum.current = sum.current.wrapping_add(value.into());
                }
            }
            if let Some(kind) = kind {
                self.has_kind[kind] = true;
            }
        }
        let sums_same_rows = rows == self.row_count;
        self.row_count = rows;
        for column in &mut self.columns {
            let is_new = std::mem::take(&mut column.is_new);
            for sum in column.sums() {
                sum.update(is_new, sums_same_rows);
            }
        }
        Ok(())
    }
}

impl Column {
    fn sums(&mut self) -> impl Iterator<Item = &mut WrappingSum> {
        std::iter::once(&mut self.all).chain(&mut self.kinds)
    }
}

/// Reads `count` numbers into `row` and returns the rest of the line; `None` if there are fewer.
fn numbers<'a>(mut text: &'a [u8], count: usize, row: &mut Vec<u32>) -> Option<&'a [u8]> {
    row.clear();
    for _ in 0..count {
        text = text.trim_ascii_start();
        let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
        // If a number has more than 32 bits, its low bits suffice to compute increases.
        row.push(parse_number(&text[..end])? as u32);
        text = &text[end..];
    }
    Some(text)
}

/// Whether a row is the timer of an architecture that has no LOC row.
fn is_timer(description: &[u8]) -> bool {
    let last = description.trim_ascii_end().rsplit(|&byte| byte == b' ').next();
    matches!(last, Some(b"arch_timer" | b"riscv-timer"))
}
