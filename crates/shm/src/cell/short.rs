//! A sum and a count in one word, and what of them does not fit there.

use super::Sum;
use crate::sync::{AtomicU64, Ordering};

/// How many bits of a word are the count, and how many the sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Widths {
    pub(super) count: u32,
    pub(super) sum: u32,
    /// So many of the sum's highest bits in the short word say how far the word of its passes is behind.
    highest: u32,
}

impl Widths {
    pub(super) const fn new(count: u32, sum: u32) -> Self {
        Self { count, sum, highest: if sum < 16 { 3 } else { 8 } }
    }

    /// The fields stand at the upper end of the word, so that they wrap as it does.
    #[inline(always)]
    const fn shift(self) -> u32 {
        64 - self.count - self.sum
    }

    /// Width of the sum without its highest bits.
    #[inline(always)]
    const fn low(self) -> u32 {
        self.sum - self.highest
    }
}

/// Three words: a sum and a count in short, which one addition changes, and behind them the whole count, and how often the
/// sum passed a multiple of the range of its lower bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Short<'a> {
    pub(super) words: &'a [AtomicU64],
    pub(super) first: usize,
    pub(super) widths: Widths,
}

impl Short<'_> {
    /// How often a reader that is held up tries again.
    const TRIES: usize = 1000;

    /// Adds to the sum and to the count, less than the range of each.
    #[inline(always)]
    pub(super) fn add(self, value: u64, count: u64) {
        let Self { words, first, widths } = self;
        let added = (value << widths.count | count) << widths.shift();
        let before = words[first].fetch_add(added, Ordering::Release);
        // Of the word with 65 bits.
        let highest = |word: u128| (word >> (64 - widths.highest)) as u64;
        let passed = highest(u128::from(before) + u128::from(added)) - highest(u128::from(before));
        if passed != 0 {
            words[first + 2].fetch_add(passed, Ordering::Release);
        }
        words[first + 1].fetch_add(count, Ordering::Release);
    }

    /// Whether nothing was added yet.
    #[inline(always)]
    pub(super) fn is_untouched(self) -> bool {
        let Self { words, first, .. } = self;
        words[first + 1].load(Ordering::Acquire) == 0 && words[first].load(Ordering::Acquire) == 0
    }

    /// The sum and the count, which belong together; `None` as for [`Pair::read`](super::Pair::read).
    pub(super) fn read(self) -> Option<Sum> {
        (0..Self::TRIES).find_map(|_| self.read_once())
    }

    /// The same, or `None` where the reader was held up.
    #[inline(always)]
    pub(super) fn read_once(self) -> Option<Sum> {
        let Self { words, first, widths } = self;
        let quarter = 1_u64 << (widths.count - 2);
        // In this order: what the later words count is in the short word already.
        let count = words[first + 1].load(Ordering::Acquire);
        let passed = words[first + 2].load(Ordering::Acquire);
        let short = words[first].load(Ordering::Acquire) >> widths.shift();
        let count_after = words[first + 1].load(Ordering::Acquire);
        let passed_after = words[first + 2].load(Ordering::Acquire);
        // A reader that was stopped in between would take what came meanwhile for what is late.
        let is_slow = count_after.wrapping_sub(count) > quarter
            || passed_after.wrapping_sub(passed) > 1 << (widths.highest - 2);
        if is_slow {
            return None;
        }
        let behind = short.wrapping_sub(count) & ((1 << widths.count) - 1);
        let count = count.wrapping_add(behind);
        let field = short >> widths.count;
        let late = (field >> widths.low()).wrapping_sub(passed) & ((1 << widths.highest) - 1);
        let low = field & ((1 << widths.low()) - 1);
        let carried = (passed.wrapping_add(late) << widths.low()).wrapping_add(low);
        // Each time that the count passed its end, one was carried into the sum.
        Some(Sum { sum: carried.wrapping_sub(count >> widths.count), count })
    }
}
