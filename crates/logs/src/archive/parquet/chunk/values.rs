//! The decoded values of a chunk.

use std::ops::Range;

/// Which rows have a value.
#[derive(Debug, PartialEq, Eq)]
pub enum Present {
    /// All rows.
    All,
    /// No row.
    None,
    /// The rows with `true`.
    Some(Vec<bool>),
}

/// The decoded numbers of a chunk.
#[derive(Debug)]
pub struct Numbers {
    /// One number per row, 0 for rows without one; empty if no row has a number. Doubles are stored as their bits.
    pub values: Vec<i64>,
    /// Which rows have a number.
    pub present: Present,
}

impl Numbers {
    /// The number of a row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        match &self.present {
            Present::All => Some(self.values[row]),
            Present::None => None,
            Present::Some(present) => present[row].then(|| self.values[row]),
        }
    }
}

/// A column of numbers, as it is stored: without places for missing numbers.
#[derive(Clone, Debug, Default)]
pub(in super::super::super) struct OptionalNumbers {
    /// The numbers of the rows that have one.
    pub(in super::super::super) values: Vec<i64>,
    /// Runs of rows: whether they have a number, and how many they are.
    pub(in super::super::super) present: Vec<(bool, usize)>,
}

impl OptionalNumbers {
    /// Adds a row.
    pub(in super::super::super) fn push(&mut self, number: Option<i64>) {
        self.push_presence(number.is_some(), 1);
        self.values.extend(number);
    }

    /// Adds the presence of numbers in the next rows.
    pub(in super::super::super) fn push_presence(&mut self, are_present: bool, rows: usize) {
        match self.present.last_mut() {
            Some((is_present, len)) if *is_present == are_present => *len += rows,
            _ => self.present.push((are_present, rows)),
        }
    }

    pub(in super::super::super) fn clear(&mut self) {
        self.values.clear();
        self.present.clear();
    }

    /// A column without rows that has the memory of this one.
    pub(in super::super::super) fn cleared(mut self) -> Self {
        self.clear();
        self
    }

    /// Places each number at the index of its row.
    pub(in super::super::super) fn spread_over_rows(self) -> Numbers {
        let rows = self.present.iter().map(|(_, len)| len).sum();
        if self.values.len() == rows {
            return Numbers { values: self.values, present: Present::All };
        }
        if self.values.is_empty() {
            return Numbers { values: self.values, present: Present::None };
        }
        let (mut spread, mut is_present) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        let mut left = self.values.as_slice();
        for (has_value, len) in self.present {
            is_present.resize(is_present.len() + len, has_value);
            if has_value {
                let (taken, rest) = left.split_at_checked(len).unwrap_or((left, &[]));
                spread.extend_from_slice(taken);
                left = rest;
            } else {
                spread.resize(spread.len() + len, 0);
            }
        }
        Numbers { values: spread, present: Present::Some(is_present) }
    }

    /// Reads the numbers in ascending order of rows.
    pub(in super::super::super) fn cursor(&self) -> NumberCursor<'_> {
        NumberCursor { values: &self.values, present: &self.present, first_row: 0 }
    }
}

/// Reads the numbers of a column. Each call must be for the row of the previous call, or a later row.
pub(in super::super::super) struct NumberCursor<'a> {
    /// The numbers from the current run on.
    values: &'a [i64],
    /// The runs from the current one on.
    present: &'a [(bool, usize)],
    /// The first row of the current run.
    first_row: usize,
}

impl<'a> NumberCursor<'a> {
    /// The number of a row.
    #[inline]
    pub(in super::super::super) fn get(&mut self, row: usize) -> Option<i64> {
        self.advance(row);
        let has_number = self.present.first().is_some_and(|(has_number, _)| *has_number);
        has_number.then(|| self.values.get(row - self.first_row).copied()).flatten()
    }

    /// The numbers of these rows; `None` if one of them has no number.
    pub(in super::super::super) fn all(&mut self, rows: Range<usize>) -> Option<&'a [i64]> {
        self.advance(rows.start);
        let has_number = self.present.first().is_some_and(|(has_number, _)| *has_number);
        let values = self.values.get(rows.start - self.first_row..rows.end - self.first_row)?;
        (has_number && self.run_ends_after(&rows)).then_some(values)
    }

    /// Whether none of these rows has a number.
    pub(in super::super::super) fn has_none(&mut self, rows: Range<usize>) -> bool {
        self.advance(rows.start);
        self.present.first().is_none_or(|(has_number, _)| !has_number && self.run_ends_after(&rows))
    }

    /// Whether the current run has the last of these rows.
    fn run_ends_after(&self, rows: &Range<usize>) -> bool {
        self.present.first().is_some_and(|(_, len)| rows.end <= self.first_row + len)
    }

    /// Moves to the run that has this row.
    #[inline]
    fn advance(&mut self, row: usize) {
        while let [(has_number, len), rest @ ..] = self.present {
            if row < self.first_row + len {
                return;
            }
            if *has_number {
                self.values = self.values.get(*len..).unwrap_or_default();
            }
            self.first_row += len;
            self.present = rest;
        }
    }
}

/// The values of a column with few distinct values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs<T> {
    /// The distinct values.
    pub dictionary: Vec<T>,
    /// Runs of rows: an index into the dictionary, or `None` for rows without a value, and the length.
    pub runs: Vec<(Option<u32>, usize)>,
}

impl<T> Runs<T> {
    /// Keeps only the rows in these ascending ranges.
    pub(in super::super::super) fn keep(&mut self, wanted: &[Range<usize>]) {
        let mut kept_runs = Vec::new();
        let (mut end, mut wanted) = (0, wanted);
        for &(index, len) in &self.runs {
            let run = end..end + len;
            end = run.end;
            let mut taken = 0;
            for range in wanted.iter().take_while(|range| range.start < run.end) {
                taken += range.end.min(run.end) - range.start.max(run.start);
            }
            while wanted.first().is_some_and(|range| range.end <= run.end) {
                wanted = &wanted[1..];
            }
            if taken > 0 {
                kept_runs.push((index, taken));
            }
        }
        self.runs = kept_runs;
    }
}

/// The decoded texts of a chunk.
pub(in super::super::super) type Texts = Runs<String>;
