//! An instance of a published set as a reader sees it, and the locations of its counters' values.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::cell::{Pair, ratio_of};
use crate::layout::{LINE_WORDS, MAX_NAME_BYTES, plain, slot};
use crate::reader::{SetReader, copy, load};
use crate::{Attributes, CellKind, CounterInfo, CounterSetInfo};

/// The unit of a timer's value in nanoseconds.
const TIMER_UNIT_NS: u64 = 100;

/// The location of a counter's value in a slot, and how it is read.
///
/// [`Instance::value_at`] uses it to read the value of many instances without a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellLocation {
    form: Form,
    /// The kind of the counter's cell.
    kind: CellKind,
    /// Whether the value is valid only if [`plain::HAS_VALUE`] is set.
    needs_has_value: bool,
    /// The index of the first word in the slot.
    first_word: u32,
    /// The number of cache lines.
    lines: u32,
}

/// How a value is read. The first two forms are read without a function call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A single word.
    Word,
    /// A pair in one line.
    Pair,
    /// A value of several lines, a ratio, a value by reference, or none.
    Other,
}

impl Default for CellLocation {
    /// The location of a counter without a cell.
    fn default() -> Self {
        Self { form: Form::Other, kind: CellKind::None, needs_has_value: false, first_word: 0, lines: 0 }
    }
}

impl CellLocation {
    /// The locations of all counters of a description, in the order of the description.
    pub fn for_counters(description: &CounterSetInfo) -> Vec<Self> {
        let mut first_word = LINE_WORDS;
        let location = |counter: &CounterInfo| {
            let lines = counter.lines();
            let needs_has_value = counter.attributes.has(Attributes::BY_REFERENCE);
            let form = match counter.cell {
                CellKind::Plain if lines == 1 && !needs_has_value => Form::Word,
                CellKind::Pair | CellKind::Timer if lines == 1 => Form::Pair,
                _ => Form::Other,
            };
            // 65,536 counters of 128 lines are less than 2^32 words.
            let location = Self {
                form,
                kind: counter.cell,
                needs_has_value,
                first_word: first_word as u32,
                lines: lines as u32,
            };
            first_word += lines * LINE_WORDS;
            location
        };
        description.counters.iter().map(location).collect()
    }
}

/// The value of a counter, as raw data blocks store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Reading {
    /// The value; for a timer in units of 100 ns.
    pub value: u64,
    /// The value of the counter's base, if both are stored together.
    pub base: Option<u64>,
}

/// A live instance, or the history: the slot with the combined values of ended instances.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    /// The words of the file.
    pub(crate) words: &'a [AtomicU64],
    /// The words of the instance's slot.
    pub(crate) slot: &'a [AtomicU64],
    pub(crate) reader: &'a SetReader,
    /// The index of the slot.
    pub(crate) index: usize,
    /// The number of slots when the pass began.
    pub(crate) slot_count: usize,
    /// The value of [`slot::LIFE`]: the serial number of the instance, or [`slot::IS_HISTORY`].
    pub(crate) life: u64,
    /// The number of bytes of long names that may still be read in this pass, which is one call of [`SetReader::read`].
    pub(crate) name_budget: &'a Cell<usize>,
}

impl Instance<'_> {
    /// The serial number of the instance, unique in the file.
    #[inline]
    pub fn serial(&self) -> u64 {
        self.life
    }

    /// The index of the instance's slot.
    #[inline]
    pub fn slot(&self) -> usize {
        self.index
    }

    /// For the history, the number of ended instances; otherwise `None`.
    #[inline]
    pub fn history(&self) -> Option<u64> {
        (self.life == slot::IS_HISTORY).then(|| load(self.slot, slot::ID_AND_LENGTH))
    }

    /// The instance's id.
    pub fn id(&self) -> u32 {
        load(self.slot, slot::ID_AND_LENGTH) as u32
    }

    /// When the instance was created: nanoseconds since boot.
    pub fn created(&self) -> u64 {
        load(self.slot, slot::BORN)
    }

    /// Reads the instance's name; invalid UTF-8 is replaced. Returns whether the name is complete. It is incomplete if
    /// it continues in slots that are invalid or were added during this call of [`SetReader::read`], or if the long
    /// names that the call reads exceed 16 MiB.
    pub fn read_name(&self, name: &mut String) -> bool {
        name.clear();
        let mut bytes = [0; MAX_NAME_BYTES];
        let length = (load(self.slot, slot::ID_AND_LENGTH) >> 32) as usize;
        let length = length.min(MAX_NAME_BYTES);
        if length > (LINE_WORDS - slot::NAME) * 8 {
            let Some(left) = self.name_budget.get().checked_sub(length) else { return false };
            self.name_budget.set(left);
        }
        let mut filled = copy(&self.slot[slot::NAME..LINE_WORDS], &mut bytes[..length]);
        let mut next = load(self.slot, slot::NEXT);
        while filled < length && (1..=self.slot_count as u64).contains(&next) {
            let head = self.reader.head;
            let start = (head.slots_at + (next as usize - 1) * head.slot_bytes) / 8;
            let Some(words) = self.words.get(start..start + head.slot_bytes / 8) else { break };
            if load(words, slot::LIFE) != slot::IS_NAME {
                break;
            }
            filled += copy(&words[slot::NAME..], &mut bytes[filled..length]);
            next = load(words, slot::NEXT);
        }
        name.push_str(&String::from_utf8_lossy(&bytes[..filled]));
        filled == length
    }

    /// The value of the counter at this index of the description; `None` for a counter without a cell, a counter by reference
    /// that is not set, and a pair that writers changed faster than it could be read.
    #[inline]
    pub fn value(&self, counter: usize) -> Option<Reading> {
        self.value_at(self.reader.cells.get(counter)?)
    }

    /// Like [`value`](Self::value), for the counter at this location.
    #[inline(always)]
    pub fn value_at(&self, cell: &CellLocation) -> Option<Reading> {
        match cell.form {
            // Nearly all counters are a single word, which always has a value.
            Form::Word => {
                let word = self.slot.get(cell.first_word as usize)?;
                Some(Reading { value: word.load(Ordering::Relaxed), base: None })
            }
            Form::Pair => {
                let first = cell.first_word as usize;
                let words = self.slot.get(first..first + LINE_WORDS)?;
                let read = Pair::<16, 48>::new(words).read()?;
                let value = if cell.kind == CellKind::Timer { read.sum / TIMER_UNIT_NS } else { read.sum };
                Some(Reading { value, base: Some(read.count) })
            }
            Form::Other => self.other_value(cell),
        }
    }

    #[inline(never)]
    fn other_value(&self, cell: &CellLocation) -> Option<Reading> {
        let first = cell.first_word as usize;
        let words = self.slot.get(first..first + cell.lines as usize * LINE_WORDS)?;
        match cell.kind {
            CellKind::None => None,
            CellKind::Plain => {
                if cell.needs_has_value && load(words, plain::HAS_VALUE) == 0 {
                    return None;
                }
                let values = words.iter().step_by(LINE_WORDS).map(|word| word.load(Ordering::Relaxed));
                Some(Reading { value: values.fold(0, u64::wrapping_add), base: None })
            }
            CellKind::Ratio => {
                let (value, base) = ratio_of(words.first()?.load(Ordering::Acquire));
                Some(Reading { value, base: Some(base) })
            }
            CellKind::Pair | CellKind::Timer => {
                let (mut sum, mut count) = (0_u64, 0_u64);
                for line in words.chunks_exact(LINE_WORDS) {
                    let read = Pair::<16, 48>::new(line).read()?;
                    sum = sum.wrapping_add(read.sum);
                    count = count.wrapping_add(read.count);
                }
                let value = if cell.kind == CellKind::Timer { sum / TIMER_UNIT_NS } else { sum };
                Some(Reading { value, base: Some(count) })
            }
        }
    }

    /// Whether all values that were read before this call belong to this instance; `false` if it has ended.
    #[inline]
    pub fn is_consistent(&self) -> bool {
        fence(Ordering::Acquire);
        self.slot[slot::LIFE].load(Ordering::Relaxed) == self.life
    }
}
