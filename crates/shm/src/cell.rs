//! Cells, which store the values of counters. Threads update them without a lock, and readers in other processes read
//! consistent values.

mod packed;

use crate::sync::{AtomicU64, Ordering};
use packed::{Packed, Widths};

/// A cache line as atomic words. Each cell has its own cache lines, so updates of two counters never contend for a
/// line.
pub type CacheLine = [AtomicU64; 8];

/// A sum and the number of its summands, read together.
///
/// A writer cannot change two words at once, and a reader that has mapped the file read-only cannot stop the writer. So
/// a packed word holds the low bits of both numbers: the count in its lowest bits, and the sum in the bits above. One addition to the
/// packed word changes both numbers. Overflows of the packed fields are counted in two further words, which are updated
/// after the packed word. A reader computes from the packed word how far these words lag.
///
/// Small additions (with a count below 256) and large additions use separate packed words. A thread that is stopped
/// after it has updated a packed word, but not the words that count overflows, makes these lag by the count that it
/// added. Large counts would use up the range that word 0 has for this lag. The value of the pair is the sum of both
/// packed words.
///
/// | word | holds |
/// | --- | --- |
/// | 0 | `sum << 16 | count` of additions with a count below 256, including carries from the count into the sum |
/// | 1 | the full count of these additions; added to after word 0 |
/// | 2 | how often the sum in word 0 passed a multiple of 2^40 (1/256 of its range); added to after word 0 |
/// | 3 | for additions in two steps, the value in units of 2^47, half the range of the sum in word 0 |
/// | 4 | for additions in two steps, the count in units of 256 |
/// | 5-7 | like words 0 to 2, for additions with a count of 256 or more; the count has 24 bits, the sum 40 |
///
/// Limits of words 0 to 2: the total count of the additions that are in progress, or are made between two loads of a
/// reader, must be less than 2^16. The reader re-reads word 1, and retries if it has changed by more than a quarter of
/// this range. A thread that is stopped between its updates of words 0 and 1 uses 1 of this range, or up to 255 if it adds a
/// larger count. Similarly, up to 191 units of word 2 (58 hours of a timer) may be in progress, and the reader re-reads
/// word 2 as well. Limits of words 5 to 7: a count of three quarters of 2^24, and a sum of 191 * 2^32. So that several
/// threads can be stopped between these updates, a count above 2^18, or a value of 2^34 or more, is added in several
/// steps, each with a proportional part of the count and the value.
///
/// Two kinds of additions take two steps, first to word 3 or 4 and then to a packed word, and a reader may see the
/// first step without the second: a count below 256 with a value of half the range of the sum or more (2^47: a time of
/// 39 hours, 140 terabytes), and a larger count that would take more than 256 steps (a count above 2^26, or a value of
/// 2^42 or more).
///
/// `COUNT` and `SUM` are the widths of the two fields of word 0 in bits; widths other than 16 and 48 are for the model
/// checker.
#[derive(Debug)]
pub struct Pair<'a, const COUNT: u32 = 16, const SUM: u32 = 48> {
    words: &'a [AtomicU64],
}

/// The value of a [`Pair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Sum {
    /// The sum, modulo 2^64.
    pub sum: u64,
    /// The number of summands.
    pub count: u64,
}

impl<'a, const COUNT: u32, const SUM: u32> Pair<'a, COUNT, SUM> {
    /// Widths for additions with a small count.
    const SMALL: Widths = Widths::new(COUNT, SUM);
    /// Widths for additions with a large count.
    const LARGE: Widths = {
        let count = COUNT + COUNT / 2;
        Widths::new(count, if SUM < 64 - count { SUM } else { 64 - count })
    };
    /// Counts with at most this number of bits are small.
    const SMALL_BITS: u32 = COUNT / 2;
    /// Half the range of the sum in word 0 is 2^`HALF`.
    const HALF: u32 = SUM - 1;
    /// Maximum number of bits of a step's count and value, for large counts. They are limited so that a few stopped
    /// threads do not use up the range for lagging words.
    const STEP_COUNT: u32 = Self::LARGE.count - Self::LARGE.count / 4;
    const STEP_SUM: u32 = Self::LARGE.sum - 1 - Self::LARGE.sum / 8;
    /// Maximum number of steps: the smallest large count, so that each step adds at least 1 to the count.
    const MAX_STEPS: u64 = 1 << Self::SMALL_BITS;

    /// The pair in the first eight words.
    ///
    /// # Panics
    ///
    /// If there are fewer words.
    #[inline]
    pub fn new(words: &'a [AtomicU64]) -> Self {
        assert!(words.len() >= 8, "a pair has eight words");
        Self { words }
    }

    #[inline(always)]
    fn small_cell(&self) -> Packed<'a> {
        Packed { words: self.words, first: 0, widths: Self::SMALL }
    }

    #[inline(always)]
    fn large_cell(&self) -> Packed<'a> {
        Packed { words: self.words, first: 5, widths: Self::LARGE }
    }

    /// Adds `value` to the sum and 1 to the count.
    #[inline]
    pub fn add(&self, value: u64) {
        self.add_many(value, 1);
    }

    /// Adds `value`, the sum of `count` summands, to the sum, and `count` to the count.
    ///
    /// Up to a count of 2^18 with a value below 2^34, and for counts below 256 with a value below 2^47, a reader sees
    /// the whole addition or nothing. Beyond that, it may see some of the summands with their part of the value. If the
    /// count is above 2^26, or the value 2^42 or more (for counts below 256: 2^47 or more), it may briefly see part of
    /// the count or of the value alone.
    #[inline]
    pub fn add_many(&self, value: u64, count: u64) {
        if count >> Self::SMALL_BITS != 0 {
            return self.add_large(value, count);
        }
        self.add_small(value, count);
    }

    #[inline(always)]
    fn add_small(&self, value: u64, count: u64) {
        let (mut value, excess) = (value, value >> Self::HALF);
        if excess != 0 {
            self.words[3].fetch_add(excess, Ordering::Release);
            value &= (1 << Self::HALF) - 1;
        }
        self.small_cell().add(value, count);
    }

    /// Adds a large count, in as few steps as possible.
    #[cold]
    fn add_large(&self, value: u64, count: u64) {
        let steps = ((count - 1) >> Self::STEP_COUNT).max(value >> Self::STEP_SUM) + 1;
        if steps > Self::MAX_STEPS {
            self.words[4].fetch_add(count >> Self::SMALL_BITS, Ordering::Release);
            return self.add_small(value, count & ((1 << Self::SMALL_BITS) - 1));
        }
        if steps == 1 {
            return self.large_cell().add(value, count);
        }
        for share in shares(Sum { sum: value, count }, steps) {
            self.large_cell().add(share.sum, share.count);
        }
    }

    /// Reads a consistent sum and count. `None` after a thousand failed attempts: writers were faster than the reader,
    /// or the words were not written by this protocol.
    #[inline]
    pub fn read(&self) -> Option<Sum> {
        let excess = self.words[3].load(Ordering::Acquire);
        let in_two_steps = self.words[4].load(Ordering::Acquire);
        let both = match self.small_cell().read_once() {
            // Usually the first attempt succeeds, and no count was large.
            Some(small) if self.large_cell().is_untouched() => small,
            _ => self.read_both()?,
        };
        Some(Sum {
            sum: both.sum.wrapping_add(excess << Self::HALF),
            count: both.count.wrapping_add(in_two_steps << Self::SMALL_BITS),
        })
    }

    #[inline(never)]
    fn read_both(&self) -> Option<Sum> {
        let (small, large) = (self.small_cell().read()?, self.large_cell().read()?);
        Some(Sum { sum: small.sum.wrapping_add(large.sum), count: small.count.wrapping_add(large.count) })
    }
}

/// Divides an addition into `steps` shares with equal parts of its count and sum, up to rounding. `steps` must not exceed
/// the count.
fn shares(all: Sum, steps: u64) -> impl Iterator<Item = Sum> {
    let scale = |amount: u64, numerator: u64, denominator: u64| {
        (u128::from(amount) * u128::from(numerator) / u128::from(denominator)) as u64
    };
    let mut before = Sum::default();
    (1..=steps).map(move |step| {
        // The difference of two cumulative amounts, so that the shares add up exactly despite rounding.
        let count = scale(all.count, step, steps);
        let after = Sum { sum: scale(all.sum, count, all.count), count };
        let share = Sum { sum: after.sum - before.sum, count: after.count - before.count };
        before = after;
        share
    })
}

/// Sets a ratio: two numbers of 32 bits in one word, the value in the upper half, its base in the lower.
#[inline]
pub fn set_ratio(word: &AtomicU64, value: u32, base: u32) {
    word.store(u64::from(value) << 32 | u64::from(base), Ordering::Release);
}

/// The value and the base of a ratio that [`set_ratio`] stored.
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
    fn sums_are_exact_when_fields_overflow() {
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

    #[test]
    fn sums_of_large_counts_are_exact_when_fields_overflow() {
        let line = line();
        let pair = Pair::<4, 8>::new(&line);
        let mut all = Sum::default();
        for step in 0..20_000_u64 {
            let (value, count) = (step * 37 % 301, step * 7 % 70);
            pair.add_many(value, count);
            all = Sum { sum: all.sum + value, count: all.count + count };
            assert_eq!(pair.read(), Some(all), "after {step} steps");
        }
    }

    /// A large count is a single addition to one word, so no reader can see a part of it.
    #[test]
    fn a_large_count_is_added_in_one_step() {
        for (value, count) in [(0, 256), (7 * 256, 256), (7_000, 1_000), ((1 << 34) - 1, 1 << 18)] {
            let line = line();
            let pair = Pair::<16, 48>::new(&line);
            pair.add_many(value, count);
            // The other words are updated after the packed word.
            let late = line[6].swap(0, Ordering::Relaxed);
            line[7].store(0, Ordering::Relaxed);
            assert_eq!(late, count);
            assert_eq!(pair.read(), Some(Sum { sum: value, count }));
            line[5].store(0, Ordering::Relaxed);
            assert_eq!(pair.read(), Some(Sum::default()));
        }
    }

    #[test]
    fn steps_have_proportional_parts_of_sum_and_count() {
        for (value, count, steps) in [(7 << 20, 1 << 20, 5), (5 << 26, 1 << 26, 256), (300 << 33, 300, 151)] {
            let mut all = Sum::default();
            for share in shares(Sum { sum: value, count }, steps) {
                assert_eq!(share.sum, value / count * share.count);
                assert!((1..=count.div_ceil(steps)).contains(&share.count), "{share:?}");
                all = Sum { sum: all.sum + share.sum, count: all.count + share.count };
            }
            assert_eq!(all, Sum { sum: value, count });
        }
        let hits = shares(Sum { sum: 2_999_999, count: 3_000_000 }, 12);
        assert!(hits.into_iter().all(|share| share.sum <= share.count && share.count - share.sum <= 1));
    }

    #[test]
    fn any_count_and_value_can_be_added_with_one_call() {
        let line = line();
        let pair = Pair::<16, 48>::new(&line);
        let mut all = Sum::default();
        for bits in (8..64).step_by(3) {
            for value in [0, 1 << 20, 1 << 41, 1 << 42, (1 << 47) - 1, u64::MAX] {
                let added = Sum { sum: value, count: (1 << bits) + 3 };
                pair.add_many(added.sum, added.count);
                all.sum = all.sum.wrapping_add(added.sum);
                all.count = all.count.wrapping_add(added.count);
                assert_eq!(pair.read(), Some(all), "{added:?}");
            }
        }
    }

    /// A writer that is stopped after its first update has changed word 0 only.
    #[test]
    fn stopped_writers_are_counted() {
        let line = line();
        let pair = Pair::<16, 48>::new(&line);
        let mut sum = (1 << 47) - 1;
        pair.add(sum);
        for stopped in 1..=3 {
            // Adding this value three times passes the middle and the end of the range.
            let value = 60_u64 << 40;
            line[0].fetch_add(value << 16 | 1, Ordering::Relaxed);
            sum += value;
            assert_eq!(pair.read(), Some(Sum { sum, count: 1 + stopped }));
        }
    }

    /// As in the previous test, with writers that each add the largest count and value of one step.
    #[test]
    fn stopped_writers_of_large_counts_are_counted() {
        let line = line();
        let pair = Pair::<16, 48>::new(&line);
        pair.add_many(5 << 32, 256);
        for stopped in 1..=47 {
            let (value, count) = ((1 << 34) - 1, 1 << 18);
            line[5].fetch_add(value << 24 | count, Ordering::Relaxed);
            let all = Sum { sum: (5 << 32) + stopped * value, count: 256 + stopped * count };
            assert_eq!(pair.read(), Some(all));
        }
    }

    #[test]
    fn large_values_and_counts_are_exact() {
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
    fn reading_invalid_words_terminates() {
        let line = line();
        for (index, word) in line.iter().enumerate() {
            word.store(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(index as u64 + 1), Ordering::Relaxed);
        }
        // Any result is acceptable.
        let _ = Pair::<16, 48>::new(&line).read();
    }

    #[test]
    fn a_ratio_round_trips() {
        let word = AtomicU64::new(0);
        set_ratio(&word, 7, u32::MAX);
        assert_eq!(ratio_of(word.load(Ordering::Relaxed)), (7, u64::from(u32::MAX)));
    }
}
