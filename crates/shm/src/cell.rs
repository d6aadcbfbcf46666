//! The cells in which values are kept: words that many threads update at once without a lock, and that a reader in
//! another process sees whole.

mod short;

use crate::sync::{AtomicU64, Ordering};
use short::{Short, Widths};

/// What a cell lies in: a line of the processor's cache, so that the cells of two counters are never in each other's way.
pub type CacheLine = [AtomicU64; 8];

/// A sum and the number of what was summed, read together.
///
/// A writer cannot change two words at once, and a reader that has the file read-only cannot stop it. So one word holds
/// what belongs together, in short: the low bits of the number in its lowest bits, those of the sum above. One addition
/// changes both. What goes over their ends is kept in words beside it, which may be late: the reader needs of them only how
/// often an end was passed, and the short word tells how far they are behind.
///
/// Additions of few things and of many have such a word each: a thread that was stopped between its two steps is so much
/// late as it added, and many at once would leave the first word no room for the threads that add one each. What a pair
/// holds is what both hold.
///
/// | word | holds |
/// | --- | --- |
/// | 0 | `sum << 16 | count` of the additions of less than 256 things, with the carries of the count into the sum |
/// | 1 | their count, all of it; added to after word 0 |
/// | 2 | how often their sum in word 0 passed a multiple of a 256th of its range (2^40); added to after word 0 |
/// | 3 | the part of additions in two steps that is above half the range of the sum in word 0, in units of that |
/// | 4 | the part of additions in two steps whose count is 256 or more, in units of 256 |
/// | 5-7 | as words 0 to 2, of the additions of 256 things and more; the count has 24 bits, the sum 40 |
///
/// Bounds of words 0 to 2: less than 2^16 may be under way or added between two loads of a reader, which asks word 1 again,
/// and tries anew where it was slower than a quarter of that; threads that are stopped between their two steps take 1
/// each, or up to 255 where they add many at once. In the same way up to 191 units of word 2, 58 hours of a timer, may be
/// under way, and the reader asks it again as well. Bounds of words 5 to 7: three quarters of 2^24 things, and 191 * 2^32
/// of their sum; so that some threads may be stopped there, more than 2^18 things, or things with a sum of 2^34 and more,
/// are added in several steps, each with its share of both.
///
/// In two steps, between which a reader may see the one without the other: an addition of few things that is half the range
/// of the sum or more (2^47: a time of 39 hours, 140 terabytes), and one of many that would take more than 256 steps (more than
/// 2^26 things, or a sum of 2^42 and more).
///
/// `COUNT` and `SUM` are the widths of the two fields of word 0 in bits; other widths than 16 and 48 are for the model
/// checker.
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
    /// Of the additions of few things.
    const FEW: Widths = Widths::new(COUNT, SUM);
    /// Of the additions of many.
    const MANY: Widths = {
        let count = COUNT + COUNT / 2;
        Widths::new(count, if SUM < 64 - count { SUM } else { 64 - count })
    };
    /// Counts of this many bits are few.
    const FEW_BITS: u32 = COUNT / 2;
    /// Half the range of the sum in word 0, as a number of bits.
    const HALF: u32 = SUM - 1;
    /// Most bits of a step's count and of its sum, where many are added: few threads that are stopped on their way must not
    /// take the reader's room for what is late.
    const STEP_COUNT: u32 = Self::MANY.count - Self::MANY.count / 4;
    const STEP_SUM: u32 = Self::MANY.sum - 1 - Self::MANY.sum / 8;
    /// Most steps, not more than the least count that is not few: each has some of it.
    const MOST_STEPS: u64 = 1 << Self::FEW_BITS;

    /// The pair in the first eight words.
    ///
    /// # Panics
    ///
    /// When there are fewer words.
    #[inline]
    pub fn new(words: &'a [AtomicU64]) -> Self {
        assert!(words.len() >= 8, "a pair has eight words");
        Self { words }
    }

    #[inline(always)]
    fn few(&self) -> Short<'a> {
        Short { words: self.words, first: 0, widths: Self::FEW }
    }

    #[inline(always)]
    fn many(&self) -> Short<'a> {
        Short { words: self.words, first: 5, widths: Self::MANY }
    }

    /// Adds `value` to the sum and one to the number.
    #[inline]
    pub fn add(&self, value: u64) {
        self.add_many(value, 1);
    }

    /// Adds `value`, which is the sum of `count` things, to the sum, and `count` to the number.
    ///
    /// A reader sees all of it or nothing up to 2^18 things with a sum below 2^34, and of less than 256 things below 2^47.
    /// Beyond that it may see a part of the things with their share of the sum; of more than 2^26 things, or with a sum of 2^42
    /// and more (of less than 256 things: 2^47), the one without the other for a moment.
    #[inline]
    pub fn add_many(&self, value: u64, count: u64) {
        if count >> Self::FEW_BITS != 0 {
            return self.add_in_shares(value, count);
        }
        self.add_few(value, count);
    }

    #[inline(always)]
    fn add_few(&self, value: u64, count: u64) {
        let (mut value, above) = (value, value >> Self::HALF);
        if above != 0 {
            self.words[3].fetch_add(above, Ordering::Release);
            value &= (1 << Self::HALF) - 1;
        }
        self.few().add(value, count);
    }

    /// Adds many things, as many at a time as fit.
    #[cold]
    fn add_in_shares(&self, value: u64, count: u64) {
        let steps = ((count - 1) >> Self::STEP_COUNT).max(value >> Self::STEP_SUM) + 1;
        if steps > Self::MOST_STEPS {
            self.words[4].fetch_add(count >> Self::FEW_BITS, Ordering::Release);
            return self.add_few(value, count & ((1 << Self::FEW_BITS) - 1));
        }
        if steps == 1 {
            return self.many().add(value, count);
        }
        for share in shares(Sum { sum: value, count }, steps) {
            self.many().add(share.sum, share.count);
        }
    }

    /// The sum and the number, which belong together; `None` where writers were faster than the reader a thousand times, or
    /// the words were written by nobody who keeps to the protocol.
    #[inline]
    pub fn read(&self) -> Option<Sum> {
        let above = self.words[3].load(Ordering::Acquire);
        let in_two_steps = self.words[4].load(Ordering::Acquire);
        let both = match self.few().read_once() {
            // Mostly the first try is it, and there were never many at once.
            Some(few) if self.many().is_untouched() => few,
            _ => self.read_both()?,
        };
        Some(Sum {
            sum: both.sum.wrapping_add(above << Self::HALF),
            count: both.count.wrapping_add(in_two_steps << Self::FEW_BITS),
        })
    }

    #[inline(never)]
    fn read_both(&self) -> Option<Sum> {
        let (few, many) = (self.few().read()?, self.many().read()?);
        Some(Sum { sum: few.sum.wrapping_add(many.sum), count: few.count.wrapping_add(many.count) })
    }
}

/// Some things in so many shares, not more than there are things: the sum of each share is that of its things, as far as whole
/// numbers go.
fn shares(all: Sum, steps: u64) -> impl Iterator<Item = Sum> {
    let part =
        |of: u64, share: u64, whole: u64| (u128::from(of) * u128::from(share) / u128::from(whole)) as u64;
    let mut before = Sum::default();
    (1..=steps).map(move |step| {
        // Shares of what is so far, less what was there before: rounding loses nothing.
        let count = part(all.count, step, steps);
        let after = Sum { sum: part(all.sum, count, all.count), count };
        let share = Sum { sum: after.sum - before.sum, count: after.count - before.count };
        before = after;
        share
    })
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

    #[test]
    fn sums_of_many_go_over_every_end() {
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

    /// Many at once are one addition of one word, so that no reader can see a part.
    #[test]
    fn many_are_added_in_one_step() {
        for (value, count) in [(0, 256), (7 * 256, 256), (7_000, 1_000), ((1 << 34) - 1, 1 << 18)] {
            let line = line();
            let pair = Pair::<16, 48>::new(&line);
            pair.add_many(value, count);
            // What is not in the short word is there after it only.
            let late = line[6].swap(0, Ordering::Relaxed);
            line[7].store(0, Ordering::Relaxed);
            assert_eq!(late, count);
            assert_eq!(pair.read(), Some(Sum { sum: value, count }));
            line[5].store(0, Ordering::Relaxed);
            assert_eq!(pair.read(), Some(Sum::default()));
        }
    }

    #[test]
    fn shares_have_their_part_of_both() {
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

    /// However much is added at once, it is all there.
    #[test]
    fn any_number_can_be_added_at_once() {
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

    /// The same of those that add as many as they may.
    #[test]
    fn writers_of_many_that_are_stopped_are_counted() {
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
