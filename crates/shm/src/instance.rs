//! An instance of a published set as a reader sees it, and where the values of its counters are.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::cell::{Pair, ratio_of};
use crate::layout::{LINE, MAX_NAME_BYTES, plain, slot};
use crate::reader::{SetReader, copy, load};
use crate::{Attributes, CellKind, CounterInfo, CounterSetInfo};

/// Nanoseconds in the 100 ns of a timer's value.
const TIMER_UNIT: u64 = 100;

/// Where the value of a counter is in the slots of a file, and how it is read.
///
/// Looked up once, it spares [`Instance::value_at`] the look for every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPlace {
    form: Form,
    kind: CellKind,
    needs_mark: bool,
    /// The first word.
    at: u32,
    lines: u32,
}

/// What there is to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// A word, without more.
    Word,
    /// A pair in one line.
    Pair,
    Other,
}

impl Default for CellPlace {
    /// That of a counter without a cell.
    fn default() -> Self {
        Self { form: Form::Other, kind: CellKind::None, needs_mark: false, at: 0, lines: 0 }
    }
}

impl CellPlace {
    /// The places of all counters of a description, in its order.
    pub fn of_all(description: &CounterSetInfo) -> Vec<Self> {
        let mut at = LINE;
        let place = |counter: &CounterInfo| {
            let lines = counter.lines();
            let needs_mark = counter.attributes.has(Attributes::BY_REFERENCE);
            let form = match counter.cell {
                CellKind::Plain if lines == 1 && !needs_mark => Form::Word,
                CellKind::Pair | CellKind::Timer if lines == 1 => Form::Pair,
                _ => Form::Other,
            };
            // 65,536 counters of 128 lines are less than 2^32 words.
            let place = Self { form, kind: counter.cell, needs_mark, at: at as u32, lines: lines as u32 };
            at += lines * LINE;
            place
        };
        description.counters.iter().map(place).collect()
    }
}

/// The value of a counter, as a raw data block holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Reading {
    /// The value; of a timer in units of 100 ns.
    pub value: u64,
    /// The value of its base, where both are kept together.
    pub base: Option<u64>,
}

/// An instance that is there now.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a> {
    pub(crate) words: &'a [AtomicU64],
    pub(crate) slot: &'a [AtomicU64],
    pub(crate) reader: &'a SetReader,
    pub(crate) place: usize,
    pub(crate) slots: usize,
    pub(crate) life: u64,
    /// How many bytes of long names may still be read in this look.
    pub(crate) left: &'a Cell<usize>,
}

impl Instance<'_> {
    /// The instance's number, which comes once in a file.
    #[inline]
    pub fn number(&self) -> u64 {
        self.life
    }

    /// The place of its slot.
    #[inline]
    pub fn slot(&self) -> usize {
        self.place
    }

    /// Of the history: how many instances it is of.
    #[inline]
    pub fn history(&self) -> Option<u64> {
        (self.life == slot::IS_HISTORY).then(|| load(self.slot, slot::ID_AND_LENGTH))
    }

    /// The instance's id.
    pub fn id(&self) -> u32 {
        load(self.slot, slot::ID_AND_LENGTH) as u32
    }

    /// When it was created: nanoseconds since the machine was started.
    pub fn born(&self) -> u64 {
        load(self.slot, slot::BORN)
    }

    /// Puts the instance's name into `name`; what is no UTF-8 is replaced. Gives whether the name is whole: its rest may be
    /// in slots that came while the file was read, or make no sense; or there were more long names in this look than its bound
    /// of 16 MiB holds.
    pub fn name_into(&self, name: &mut String) -> bool {
        name.clear();
        let mut bytes = [0; MAX_NAME_BYTES];
        let length = (load(self.slot, slot::ID_AND_LENGTH) >> 32) as usize;
        let length = length.min(MAX_NAME_BYTES);
        if length > (LINE - slot::NAME) * 8 {
            let Some(left) = self.left.get().checked_sub(length) else { return false };
            self.left.set(left);
        }
        let mut filled = copy(&self.slot[slot::NAME..LINE], &mut bytes[..length]);
        let mut next = load(self.slot, slot::NEXT);
        while filled < length && (1..=self.slots as u64).contains(&next) {
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

    /// The value of the counter at this place of the description; `None` where there is none now: a counter without a
    /// cell, one by reference that nobody has set, a pair that writers changed faster than it could be read.
    #[inline]
    pub fn value(&self, counter: usize) -> Option<Reading> {
        self.value_at(self.reader.cells.get(counter)?)
    }

    /// As [`value`](Self::value), of the counter whose cell is there.
    #[inline(always)]
    pub fn value_at(&self, cell: &CellPlace) -> Option<Reading> {
        match cell.form {
            // Nearly all counters: one word, which is always there.
            Form::Word => {
                let word = self.slot.get(cell.at as usize)?;
                Some(Reading { value: word.load(Ordering::Relaxed), base: None })
            }
            Form::Pair => {
                let words = self.slot.get(cell.at as usize..cell.at as usize + LINE)?;
                let read = Pair::<16, 48>::new(words).read()?;
                let value = if cell.kind == CellKind::Timer { read.sum / TIMER_UNIT } else { read.sum };
                Some(Reading { value, base: Some(read.count) })
            }
            Form::Other => self.value_of(cell),
        }
    }

    #[inline(never)]
    fn value_of(&self, cell: &CellPlace) -> Option<Reading> {
        let at = cell.at as usize;
        let words = self.slot.get(at..at + cell.lines as usize * LINE)?;
        match cell.kind {
            CellKind::None => None,
            CellKind::Plain => {
                if cell.needs_mark && load(words, plain::HAS_VALUE) == 0 {
                    return None;
                }
                let values = words.iter().step_by(LINE).map(|word| word.load(Ordering::Relaxed));
                Some(Reading { value: values.fold(0, u64::wrapping_add), base: None })
            }
            CellKind::Ratio => {
                let (value, base) = ratio_of(words.first()?.load(Ordering::Acquire));
                Some(Reading { value, base: Some(base) })
            }
            CellKind::Pair | CellKind::Timer => {
                let (mut sum, mut count) = (0_u64, 0_u64);
                for line in words.chunks_exact(LINE) {
                    let read = Pair::<16, 48>::new(line).read()?;
                    sum = sum.wrapping_add(read.sum);
                    count = count.wrapping_add(read.count);
                }
                let value = if cell.kind == CellKind::Timer { sum / TIMER_UNIT } else { sum };
                Some(Reading { value, base: Some(count) })
            }
        }
    }

    /// Whether what was read is that of one instance: ask after reading. `false`: it ended in the meantime.
    #[inline]
    pub fn is_whole(&self) -> bool {
        fence(Ordering::Acquire);
        self.slot[slot::LIFE].load(Ordering::Relaxed) == self.life
    }
}
