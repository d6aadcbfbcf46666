//! The history of a set: the combined values of its ended instances.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::cell::{Pair, ratio_of, set_ratio};
use crate::layout::{LINE_WORDS, plain, slot};
use crate::{Aggregate, Attributes, CellKind, CounterSetInfo};

/// Adds the values of the slot `ended` to the slot `history`. For each counter, `cells` has the index of the first
/// cache line of its cell in a slot, and the number of lines.
pub(super) fn add_ended_slot(
    description: &CounterSetInfo,
    cells: &[(u32, u32)],
    ended: &[AtomicU64],
    history: &[AtomicU64],
) {
    // In the history's slot, this word is the number of instances that were added.
    let folded_before = history[slot::ID_AND_LENGTH].fetch_add(1, Ordering::Relaxed);
    for (counter, &(first, count)) in description.counters.iter().zip(cells) {
        let line_words = |slot: &'_ [AtomicU64], line: u32| {
            let start = (first + line) as usize * LINE_WORDS;
            start..(start + LINE_WORDS).min(slot.len())
        };
        for line in 0..count {
            let (from, to) = (&ended[line_words(ended, line)], &history[line_words(history, line)]);
            let is_first = folded_before == 0;
            match counter.cell {
                CellKind::None => {}
                CellKind::Pair | CellKind::Timer => {
                    if let Some(sum) = Pair::<16, 48>::new(from).read() {
                        Pair::<16, 48>::new(to).add_many(sum.sum, sum.count);
                    }
                }
                CellKind::Ratio => {
                    let (value, base) = ratio_of(from[0].load(Ordering::Relaxed));
                    let (value_before, base_before) = ratio_of(to[0].load(Ordering::Relaxed));
                    let sum = |a: u64, b: u64| u32::try_from(a + b).unwrap_or(u32::MAX);
                    set_ratio(&to[0], sum(value, value_before), sum(base, base_before));
                }
                CellKind::Plain => {
                    let has_value = |cell: &[AtomicU64]| cell[plain::HAS_VALUE].load(Ordering::Relaxed) != 0;
                    let by_reference = counter.attributes.has(Attributes::BY_REFERENCE);
                    if by_reference && !has_value(from) {
                        continue;
                    }
                    let is_first = is_first || by_reference && !has_value(to);
                    let value = from[plain::VALUE].load(Ordering::Relaxed);
                    let before = to[plain::VALUE].load(Ordering::Relaxed);
                    let (smaller, larger) =
                        ((value as i64).min(before as i64), (value as i64).max(before as i64));
                    let after = match counter.aggregate {
                        // The value of a striped counter is the sum of its lines. The minimum or maximum of one line means
                        // nothing, so the lines of striped counters are always added.
                        Aggregate::Minimum | Aggregate::Maximum if count == 1 && is_first => value,
                        Aggregate::Minimum if count == 1 => smaller as u64,
                        Aggregate::Maximum if count == 1 => larger as u64,
                        _ => value.wrapping_add(before),
                    };
                    to[plain::VALUE].store(after, Ordering::Relaxed);
                    if has_value(from) {
                        to[plain::HAS_VALUE].store(1, Ordering::Relaxed);
                    }
                }
            }
        }
    }
}
