//! `/proc/interrupts` and `/proc/softirqs`: one column per online processor, one row per kind.

use tachograph_perflib::Timestamps;

use crate::error_texts::error_text;
use crate::open_file::OpenFile;
use crate::scan::{number, words};

/// The sums of a file's columns.
///
/// The kernel's numbers have 32 bits and wrap: at 1,000 timer interrupts per second, after 49 days. These sums have
/// 64 bits.
#[derive(Debug)]
pub(super) struct ColumnSums {
    path: std::path::PathBuf,
    file: OpenFile,
    header: Vec<u8>,
    columns: Vec<Column>,
    row: Vec<u32>,
    rows: usize,
    read_at: Option<Timestamps>,
    has_clock: bool,
    outcome: Result<(), String>,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    processor: u32,
    is_new: bool,
    all: Sum,
    clock: Sum,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    /// The 64-bit sum.
    total: u64,
    last: u64,
    now: u64,
}

/// The sums of a processor's column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnSum {
    pub(super) all: u64,
    /// Timer rows only.
    pub(super) clock: u64,
}

impl ColumnSums {
    pub(super) fn new(path: std::path::PathBuf) -> Self {
        Self {
            file: OpenFile::new(&path),
            path,
            header: Vec::new(),
            columns: Vec::new(),
            row: Vec::new(),
            rows: 0,
            read_at: None,
            has_clock: false,
            outcome: Ok(()),
        }
    }

    /// Reads the file, unless it was already read at this moment.
    pub(super) fn read(&mut self, at: Timestamps) -> Result<(), &str> {
        if self.read_at != Some(at) {
            self.read_at = Some(at);
            self.outcome = self.read_now();
        }
        self.outcome.as_ref().copied().map_err(String::as_str)
    }

    /// Whether the file has a timer row.
    pub(super) fn has_clock(&self) -> bool {
        self.has_clock
    }

    /// The column of a processor.
    pub(super) fn of(&self, processor: u32) -> Option<ColumnSum> {
        // Processors are in order: the index is the id unless some are offline.
        let is_it = |column: &&Column| column.processor == processor;
        let column = self.columns.get(processor as usize).filter(is_it);
        let column = column.or_else(|| self.columns.iter().find(is_it))?;
        Some(ColumnSum { all: column.all.total, clock: column.clock.total })
    }

    fn read_now(&mut self) -> Result<(), String> {
        let name = self.path.display();
        let text = self.file.read().map_err(|error| error_text(&name, &error))?;
        let mut lines = text.split_inclusive(|&byte| byte == b'\n');
        let header = lines.next().unwrap_or_default();
        if header != self.header {
            let before = std::mem::take(&mut self.columns);
            for word in words(header.trim_ascii_end()) {
                let processor = word.strip_prefix(b"CPU").and_then(number);
                let processor = processor.and_then(|number| u32::try_from(number).ok());
                let processor =
                    processor.ok_or_else(|| format!("{name}: the first line lists no processors"))?;
                let known = before.iter().find(|column| column.processor == processor).copied();
                self.columns.push(known.unwrap_or(Column {
                    processor,
                    is_new: true,
                    all: Sum::default(),
                    clock: Sum::default(),
                }));
            }
            self.header.clear();
            self.header.extend_from_slice(header);
        }
        if self.columns.is_empty() {
            self.header.clear();
            return Err(format!("{name}: the first line lists no processors"));
        }

        for column in &mut self.columns {
            column.all.now = 0;
            column.clock.now = 0;
        }
        let mut rows = 0;
        for line in lines {
            let Some(line) = line.strip_suffix(b"\n") else {
                return Err(format!("{name}: the last line is truncated"));
            };
            let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
            let label = line[..colon].trim_ascii_start();
            // Rows with fewer numbers (ERR, MIS) are totals for the whole machine.
            let Some(rest) = numbers(&line[colon + 1..], self.columns.len(), &mut self.row) else { continue };
            rows += 1;
            // TLB shootdowns are function call interrupts, which CAL already counts.
            if label == b"TLB" {
                continue;
            }
            let is_clock = label == b"LOC" || is_timer(rest);
            self.has_clock |= is_clock;
            for (column, &value) in self.columns.iter_mut().zip(&self.row) {
                column.all.now = column.all.now.wrapping_add(value.into());
                if is_clock {
                    column.clock.now = column.clock.now.wrapping_add(value.into());
                }
            }
        }
        let has_same_rows = rows == self.rows;
        self.rows = rows;
        for column in &mut self.columns {
            for sum in [&mut column.all, &mut column.clock] {
                sum.update(column.is_new, has_same_rows);
            }
            column.is_new = false;
        }
        Ok(())
    }
}

impl Sum {
    fn update(&mut self, is_new: bool, has_same_rows: bool) {
        let step = if is_new {
            self.now
        } else if has_same_rows {
            // Each number can have wrapped, but their sum modulo 2^32 is exact. An increase by more than half of 2^32
            // is actually a decrease (one row was replaced by another).
            let step = (self.now as u32).wrapping_sub(self.last as u32);
            if step > u32::MAX / 2 { 0 } else { step.into() }
        } else {
            // The row of a device was added or removed.
            self.now.saturating_sub(self.last)
        };
        self.total = self.total.wrapping_add(step);
        self.last = self.now;
    }
}

/// Reads `count` numbers into `row` and returns the rest of the line; `None` if there are fewer.
fn numbers<'a>(mut text: &'a [u8], count: usize, row: &mut Vec<u32>) -> Option<&'a [u8]> {
    row.clear();
    for _ in 0..count {
        text = text.trim_ascii_start();
        let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
        // The kernel's numbers have 32 bits. If one is larger, its low bits suffice for differences.
        row.push(number(&text[..end])? as u32);
        text = &text[end..];
    }
    Some(text)
}

/// Whether a row is the timer of an architecture that has no LOC row.
fn is_timer(description: &[u8]) -> bool {
    let last = description.trim_ascii_end().rsplit(|&byte| byte == b' ').next();
    matches!(last, Some(b"arch_timer" | b"riscv-timer"))
}
