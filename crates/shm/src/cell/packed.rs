//! A sum and a count that are packed in one word, and two further words that count their overflows.

use super::Sum;
use crate::sync::{AtomicU64, Ordering};

/// The widths of count and sum in the packed word, in bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Widths {
    pub(super) count: u32,
    pub(super) sum: u32,
    /// The number of highest bits of the packed sum from which the lag of the overflow word is computed.
    highest: u32,
}

impl Widths {
    pub(super) const fn new(count: u32, sum: u32) -> Self {
        Self { count, sum, highest: if sum < 16 { 3 } else { 8 } }
    }

    /// The fields are at the upper end of the word, so that they wrap when the word does.
    #[inline(always)]
    const fn field_shift(self) -> u32 {
        64 - self.count - self.sum
    }

    /// Width of the sum without its highest bits.
    #[inline(always)]
    const fn low_width(self) -> u32 {
        self.sum - self.highest
    }
}

/// Three words: a packed sum and count, which one addition changes; the full count; and how often the sum passed a
/// multiple of the range of its lower bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packed<'a> {
    /// The words of the cell.
    pub(super) words: &'a [AtomicU64],
    /// The index of the packed word; the other two words follow it.
    pub(super) first: usize,
    pub(super) widths: Widths,
}

impl Packed<'_> {
    /// Maximum number of attempts of a reader.
    const MAX_ATTEMPTS: usize = 1000;

    /// Adds to the sum and to the count. Both values must be less than the range of their field.
    #[inline(always)]
    pub(super) fn add(self, value: u64, count: u64) {
        let Self { words, first, widths } = self;
        let added = (value << widths.count | count) << widths.field_shift();
        let before = words[first].fetch_add(added, Ordering::Release);
        // Computed as if the word had 65 bits, so that its overflow is counted.
        let highest = |word: u128| (word >> (64 - widths.highest)) as u64;
        let passed = highest(u128::from(before) + u128::from(added)) - highest(u128::from(before));
        if passed != 0 {
            words[first + 2].fetch_add(passed, Ordering::Release);
        }
        words[first + 1].fetch_add(count, Ordering::Release);
    }

    /// Whether nothing has been added yet.
    #[inline(always)]
    pub(super) fn is_untouched(self) -> bool {
        let Self { words, first, .. } = self;
        words[first + 1].load(Ordering::Acquire) == 0 && words[first].load(Ordering::Acquire) == 0
    }

    /// Reads a consistent sum and count; `None` as for [`Pair::read`](super::Pair::read).
    pub(super) fn read(self) -> Option<Sum> {
        (0..Self::MAX_ATTEMPTS).find_map(|_| self.read_once())
    }

    /// Tries once to read; `None` if writers changed the words too much during the read.
    #[inline(always)]
    pub(super) fn read_once(self) -> Option<Sum> {
        let Self { words, first, widths } = self;
        let quarter = 1_u64 << (widths.count - 2);
        // In this order, so that the packed word includes all additions that the other two words include.
        let count = words[first + 1].load(Ordering::Acquire);
        let passed = words[first + 2].load(Ordering::Acquire);
        let packed = words[first].load(Ordering::Acquire) >> widths.field_shift();
        let count_after = words[first + 1].load(Ordering::Acquire);
        let passed_after = words[first + 2].load(Ordering::Acquire);
        // If the reader was interrupted between these loads, it would mistake later additions for the lag.
        let is_slow = count_after.wrapping_sub(count) > quarter
            || passed_after.wrapping_sub(passed) > 1 << (widths.highest - 2);
        if is_slow {
            return None;
        }
        let lag = packed.wrapping_sub(count) & ((1 << widths.count) - 1);
        let count = count.wrapping_add(lag);
        let field = packed >> widths.count;
        let passed_lag = (field >> widths.low_width()).wrapping_sub(passed) & ((1 << widths.highest) - 1);
        let low = field & ((1 << widths.low_width()) - 1);
        let carried = (passed.wrapping_add(passed_lag) << widths.low_width()).wrapping_add(low);
        // Each overflow of the count carried one into the sum.
        Some(Sum { sum: carried.wrapping_sub(count >> widths.count), count })
    }
}
