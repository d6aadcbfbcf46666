//! The cells in which values are kept: words that many threads update at once without a lock, and that a reader in
//! another process sees whole.

use crate::sync::{AtomicU64, Ordering};

/// What a cell lies in: a line of the processor's cache, so that the cells of two counters are never in each other's way.
pub type CacheLine = [AtomicU64; 8];

/// A sum and the number of what was summed, read together.
///
/// A writer cannot change two words at once, and a reader that has the file read-only cannot stop it. So one word holds
/// what belongs together, in short: the low bits of the number in its lowest [`COUNT_BITS`](Self::COUNT_BITS) bits, those
/// of the sum above. One addition changes both. What goes over their ends is kept in words beside it, which may be late:
/// the reader needs of them only how often an end was passed, and the short word tells how far they are behind.
///
/// | word | holds |
/// | --- | --- |
/// | 0 | `sum << COUNT_BITS | count`, with the carries of the count into the sum |
/// | 1 | the count, all of it; added to after word 0 |
/// | 2 | how often the sum in word 0 passed a multiple of a 256th of its range (2^40); added to after word 0 |
/// | 3 | the part of single additions that is above half the range of the sum in word 0, in units of that |
/// | 4 | the part of single additions whose count is 256 or more, in units of 256 |
///
/// Bounds: less than `1 << COUNT_BITS` may be under way or added between two loads of a reader, which asks word 1 again,
/// and tries anew where it was slower than a quarter of that; threads that are stopped between their two steps take 1
/// each, or up to 255 where they add many at once. In the same way up to 191 units of word 2, 58 hours of a timer, may be
/// under way, and the reader asks it again as well. An addition of half the range of the sum or more (2^47: a time of 39
/// hours, 140 terabytes), or of 256 things at once or more, may be seen in two steps.
///
/// `COUNT` and `SUM` are the widths of the two fields in bits; other widths than 16 and 48 are for the model checker.
#[derive(Debug)]
pub struct Pair<'a, const COUNT: u32 = 16, const SUM: u32 = 48> {
    words: &'a [AtomicU64],
}

/// What a [`Pair`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sum {
    /// The sum, modulo 2^64.
    pub sum: u64,
    /// How many additions it is of.
    pub count: u64,
}

impl<'a, const COUNT: u32, const SUM: u32> Pair<'a, COUNT, SUM> {
    /// Width of the count in the short word.
    pub const COUNT_BITS: u32 = COUNT;
    /// The fields stand at the upper end of the word, so that they wrap as it does.
    const SHIFT: u32 = 64 - COUNT - SUM;
    /// Half the range of the sum in the short word, as a number of bits.
    const HALF: u32 = SUM - 1;
    /// So many of the sum's highest bits in the short word say how far word 2 is behind.
    const HIGHEST: u32 = if SUM < 16 { 3 } else { 8 };
    /// Width of the rest of the sum.
    const LOW: u32 = SUM - Self::HIGHEST;
    /// Counts of this many bits and more are not for the short word: few threads that are stopped on their way could
    /// take the reader's room for what is late.
    const MANY: u32 = COUNT / 2;
    /// How often a reader that is held up tries again.
    const TRIES: usize = 1000;

    /// The pair in the first five words.
    ///
    /// # Panics
    ///
    /// When there are fewer words.
    #[inline]
    pub fn new(words: &'a [AtomicU64]) -> Self {
        assert!(words.len() >= 5, "a pair has five words");
        Self { words }
    }

    /// Adds `value` to the sum and one to the number.
    #[inline]
    pub fn add(&self, value: u64) {
        self.add_many(value, 1);
    }

    /// Adds `value`, which is the sum of `count` things, to the sum, and `count` to the number.
    ///
    /// Whole multiples of 256 of the number are added in a second step, as are such of the sum that are half its range or
    /// more.
    #[inline]
    pub fn add_many(&self, value: u64, count: u64) {
        let (mut value, mut count) = (value, count);
        let above = value >> Self::HALF;
        if above != 0 {
            self.words[3].fetch_add(above, Ordering::Release);
            value &= (1 << Self::HALF) - 1;
        }
        let many = count >> Self::MANY;
        if many != 0 {
            self.words[4].fetch_add(many, Ordering::Release);
            count &= (1 << Self::MANY) - 1;
        }
        self.add_some(value, count);
    }

    #[inline]
    fn add_some(&self, value: u64, count: u64) {
        let added = (value << COUNT | count) << Self::SHIFT;
        let before = self.words[0].fetch_add(added, Ordering::Release);
        // Of the word with 65 bits.
        let highest = |word: u128| (word >> (64 - Self::HIGHEST)) as u64;
        let passed = highest(u128::from(before) + u128::from(added)) - highest(u128::from(before));
        if passed != 0 {
            self.words[2].fetch_add(passed, Ordering::Release);
        }
        self.words[1].fetch_add(count, Ordering::Release);
    }

    /// The sum and the number, which belong together; `None` where writers were faster than the reader a thousand times, or
    /// the words were written by nobody who keeps to the protocol.
    #[inline]
    pub fn read(&self) -> Option<Sum> {
        // Mostly the first try is it.
        self.read_once().or_else(|| self.try_again())
    }

    #[cold]
    fn try_again(&self) -> Option<Sum> {
        (1..Self::TRIES).find_map(|_| self.read_once())
    }

    #[inline]
    fn read_once(&self) -> Option<Sum> {
        let quarter = 1_u64 << (COUNT - 2);
        // In this order: what the later words count is in word 0 already.
        let count = self.words[1].load(Ordering::Acquire);
        let passed = self.words[2].load(Ordering::Acquire);
        let above = self.words[3].load(Ordering::Acquire);
        let many = self.words[4].load(Ordering::Acquire);
        let short = self.words[0].load(Ordering::Acquire) >> Self::SHIFT;
        let count_after = self.words[1].load(Ordering::Acquire);
        let passed_after = self.words[2].load(Ordering::Acquire);
        // A reader that was stopped in between would take what came meanwhile for what is late.
        let is_slow = count_after.wrapping_sub(count) > quarter
            || passed_after.wrapping_sub(passed) > 1 << (Self::HIGHEST - 2);
        if is_slow {
            return None;
        }
        let behind = short.wrapping_sub(count) & ((1 << COUNT) - 1);
        let count = count.wrapping_add(behind);
        let field = short >> COUNT;
        let late = (field >> Self::LOW).wrapping_sub(passed) & ((1 << Self::HIGHEST) - 1);
        let low = field & ((1 << Self::LOW) - 1);
        let carried = (passed.wrapping_add(late) << Self::LOW).wrapping_add(low);
        // Each time that the count passed its end, one was carried into the sum.
        let sum = carried.wrapping_sub(count >> COUNT).wrapping_add(above << Self::HALF);
        Some(Sum { sum, count: count.wrapping_add(many << Self::MANY) })
    }
}

/// Two numbers of 32 bits in one word, which are set together: the value in the upper half, its base in the lower.
#[inline]
pub fn set_ratio(word: &AtomicU64, value: u32, base: u32) {
    word.store(u64::from(value) << 32 | u64::from(base), Ordering::Release);
}

/// The value and the base of a ratio.
#[inline]
pub fn ratio_of(word: u64) -> (u64, u64) {
    (word >> 32, word & 0xFFFF_FFFF)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn line() -> CacheLine {
        Default::default()
    }

    #[test]
    fn sums_go_over_every_end() {
        let line = line();
        let pair = Pair::<4, 8>::new(&line);
        let (mut sum, mut count) = (0_u64, 0_u64);
        for step in 0..20_000_u64 {
            let value = step * 37 % 301;
            pair.add(value);
            sum += value;
            count += 1;
            assert_eq!(pair.read(), Some(Sum { sum, count }), "after {step} steps");
        }
    }

    /// Writers that are stopped after their first step have changed word 0 and nothing else.
    #[test]
    fn writers_that_are_stopped_are_counted() {
        let line = line();
        let pair = Pair::<16, 48>::new(&line);
        let mut sum = (1 << 47) - 1;
        pair.add(sum);
        for stopped in 1..=3 {
            // Three of them pass the middle of the range and its end.
            let value = 60_u64 << 40;
            line[0].fetch_add(value << 16 | 1, Ordering::Relaxed);
            sum += value;
            assert_eq!(pair.read(), Some(Sum { sum, count: 1 + stopped }));
        }
    }

    #[test]
    fn large_values_and_counts_are_whole() {
        let line = line();
        let pair = Pair::<16, 48>::new(&line);
        let mut sum = 0_u64;
        for value in [1 << 46, 1 << 47, (1 << 47) - 1, (1 << 48) + 5, u64::MAX, 1, 1 << 63] {
            pair.add(value);
            sum = sum.wrapping_add(value);
            assert_eq!(pair.read().map(|read| read.sum), Some(sum), "{value}");
        }
        pair.add_many(7, 1_000_000);
        assert_eq!(pair.read(), Some(Sum { sum: sum.wrapping_add(7), count: 1_000_007 }));
    }

    #[test]
    fn words_of_nobody_end() {
        let line = line();
        for (place, word) in line.iter().enumerate() {
            word.store(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(place as u64 + 1), Ordering::Relaxed);
        }
        // Any answer will do, as long as there is one.
        let _ = Pair::<16, 48>::new(&line).read();
    }

    #[test]
    fn a_ratio_is_one_word() {
        let word = AtomicU64::new(0);
        set_ratio(&word, 7, u32::MAX);
        assert_eq!(ratio_of(word.load(Ordering::Relaxed)), (7, u64::from(u32::MAX)));
    }
}
