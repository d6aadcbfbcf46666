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

    /// Whether all of these rows have a number.
    pub(in super::super::super) fn has_all(&self, rows: Range<usize>) -> bool {
        match &self.present {
            Present::All => true,
            Present::None => rows.is_empty(),
            // No early exit, so that the compiler can vectorise the loop.
            Present::Some(present) => present[rows].iter().fold(true, |all, has_value| all & has_value),
        }
    }

    /// Whether none of these rows has a number.
    pub(in super::super::super) fn has_none(&self, rows: Range<usize>) -> bool {
        match &self.present {
            Present::All => rows.is_empty(),
            Present::None => true,
            Present::Some(present) => !present[rows].iter().fold(false, |any, has_value| any | has_value),
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

/// Places each number at the index of its row.
pub(in super::super::super) fn spread_over_rows(
    values: Vec<i64>,
    present: &[(bool, usize)],
    rows: usize,
) -> Numbers {
    if values.len() == rows {
        return Numbers { values, present: Present::All };
    }
    if values.is_empty() {
        return Numbers { values, present: Present::None };
    }
    let (mut spread, mut is_present) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut left = values.as_slice();
    for &(has_value, len) in present {
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
