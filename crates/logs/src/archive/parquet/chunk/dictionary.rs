//! The distinct numbers of a chunk.

use std::collections::HashMap;
use std::ops::Range;

use super::super::runs;

/// Maximum number of distinct numbers: an index has at most 16 bits.
const MAX_NUMBERS: usize = 1 << 16;

/// A dictionary needs at least this number of rows per distinct number.
const ROWS_PER_NUMBER: usize = 4;

/// The distinct numbers of a chunk, and the index of each row's number.
pub(super) struct NumberDictionary {
    pub(super) numbers: Vec<i64>,
    indexes: Vec<u16>,
}

impl NumberDictionary {
    /// Collects the distinct numbers; `None` if they are too many.
    pub(super) fn new(numbers: &[i64]) -> Option<Self> {
        let max = MAX_NUMBERS.min(numbers.len() / ROWS_PER_NUMBER);
        let mut distinct: Vec<i64> = Vec::new();
        let mut by_number: HashMap<i64, u16> = HashMap::new();
        let mut indexes = Vec::with_capacity(numbers.len());
        let mut last = 0;
        for &number in numbers {
            // Most series have the same sequence of numbers, so most numbers follow their predecessor in the dictionary.
            let is_next = distinct.get(last + 1) == Some(&number);
            last = if is_next {
                last + 1
            } else if distinct.get(last) == Some(&number) {
                last
            } else if let Some(&index) = by_number.get(&number) {
                usize::from(index)
            } else {
                if distinct.len() >= max {
                    return None;
                }
                distinct.push(number);
                by_number.insert(number, (distinct.len() - 1) as u16);
                distinct.len() - 1
            };
            indexes.push(last as u16);
        }
        Some(Self { numbers: distinct, indexes })
    }

    /// Appends the indexes of a range of numbers, with their size in bits. They have whole bytes, so that zstd finds repeated
    /// sequences at any position.
    pub(super) fn push_indexes(&self, out: &mut Vec<u8>, range: Range<usize>) {
        let bits = if self.numbers.len() <= 1 << 8 { 8 } else { 16 };
        out.push(bits as u8);
        let indexes = self.indexes.get(range).unwrap_or_default();
        let equal = indexes.chunk_by(|one, other| one == other);
        runs::encode(out, bits, equal.map(|run| (u32::from(run[0]), run.len())));
    }
}
