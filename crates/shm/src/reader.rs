//! Reading a published set, of which nothing is trusted: neither that its bytes make sense, nor that they stay.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::cell::{Pair, ratio_of};
use crate::folder::Folder;
use crate::layout::{
    HEADER_BYTES, LINE, LINE_BYTES, MAGIC, MAX_DESCRIPTION, MAX_FILE, MAX_LONG_NAMES, MAX_NAME_BYTES, PAGE,
    VERSION, header, plain, slot, state,
};
use crate::map::{Mapping, WasCut};
use crate::problem::{OpenError, Problem};
use crate::{CellKind, CounterDescription, Description, encoding};

/// Nanoseconds in the 100 ns of a timer's value.
const TIMER_UNIT: u64 = 100;

/// A published set, open for reading.
#[derive(Debug)]
pub struct SetReader {
    file: File,
    name: String,
    mapping: Mapping,
    /// The file was cut under a look, and the mapping is of no use any more.
    was_cut: bool,
    owner: u32,
    file_id: (u64, u64),
    head: Head,
    description: Arc<Description>,
    cells: Vec<Place>,
}

/// What the header says and does not change.
#[derive(Clone, Copy, Debug)]
struct Head {
    slots_at: usize,
    slot_bytes: usize,
    capacity: u64,
    process: u64,
    started: u64,
    unique: u64,
    has_control: bool,
}

/// Where a counter's value is in a slot.
#[derive(Clone, Copy, Debug)]
struct Place {
    kind: CellKind,
    /// The first word.
    at: usize,
    lines: usize,
    needs_mark: bool,
    /// Whether its value is the first word, without more.
    is_word: bool,
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
    words: &'a [AtomicU64],
    slot: &'a [AtomicU64],
    reader: &'a SetReader,
    place: usize,
    slots: usize,
    life: u64,
    /// How many bytes of long names may still be read in this look.
    left: &'a Cell<usize>,
}

impl SetReader {
    /// Opens a file of a folder, by its name there.
    ///
    /// # Errors
    ///
    /// What the operating system says; that it is a link or no regular file; what does not make sense in it.
    pub fn open(folder: &Folder, name: &str) -> Result<Self, OpenError> {
        let file = folder.open_file(name).map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => OpenError::NotAFile("a link, not a file"),
            _ => OpenError::Io(error),
        })?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(OpenError::NotAFile("not a regular file"));
        }
        if metadata.nlink() > 1 {
            return Err(OpenError::NotAFile("a file with several names"));
        }
        let size = metadata.len().min(MAX_FILE as u64 + 1) as usize;
        if !(HEADER_BYTES..=MAX_FILE).contains(&size) {
            let expected = format!("a size from {HEADER_BYTES} to {MAX_FILE} bytes");
            return Err(Problem::new(0, format!("{} bytes", metadata.len()), expected).into());
        }
        let mapping = Mapping::to_read(&file, size)?;
        let (head, description) = mapping.guarded(read_head).unwrap_or_else(|WasCut| Err(cut(size)))?;
        let mut at = LINE;
        let cell = |counter: &CounterDescription| {
            let lines = counter.lines();
            let needs_mark = counter.attributes & CounterDescription::BY_REFERENCE != 0;
            let is_word = counter.cell == CellKind::Plain && lines == 1 && !needs_mark;
            let cell = Place { kind: counter.cell, at, lines, needs_mark, is_word };
            at += lines * LINE;
            cell
        };
        let cells = description.counters.iter().map(cell).collect();
        let (owner, file_id) = (metadata.uid(), (metadata.dev(), metadata.ino()));
        let description = Arc::new(description);
        let name = name.to_owned();
        Ok(Self { file, name, mapping, was_cut: false, owner, file_id, head, description, cells })
    }

    /// What the set is.
    pub fn description(&self) -> &Arc<Description> {
        &self.description
    }

    /// The name of the file in its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user who owns the file, as the kernel says.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// The file's device and its number there: as long as it is open, no other file has both.
    pub fn file_id(&self) -> (u64, u64) {
        self.file_id
    }

    /// The number of the process, as the file says: it may be that of another name space, or not true.
    pub fn process(&self) -> u64 {
        self.head.process
    }

    /// When it was published, as the file says: nanoseconds since the machine was started.
    pub fn started(&self) -> u64 {
        self.head.started
    }

    /// The random number that tells it from other files of the same set.
    pub fn unique(&self) -> u64 {
        self.head.unique
    }

    /// Whether requests are answered over the socket beside it.
    pub fn has_control(&self) -> bool {
        self.head.has_control
    }

    /// Whether its writer lives and publishes it still.
    pub fn is_alive(&self) -> bool {
        let state = self.mapping.guarded(|words| load(words, header::STATE));
        if self.was_cut || state != Ok(state::LIVE) {
            return false;
        }
        // The writer has the lock as long as it lives; who gets it knows that nobody has.
        match self.file.try_lock_shared() {
            Ok(()) => {
                let _ = self.file.unlock();
                false
            }
            Err(_) => true,
        }
    }

    /// Looks at each instance that lives now, in the order of the slots.
    ///
    /// Gives whether the history holds: `false` where an instance ended in the meantime, which `look` may have seen both
    /// by itself and in the history, or not at all.
    ///
    /// # Errors
    ///
    /// What does not make sense in the file. What `look` saw before is not to be used.
    pub fn read(&mut self, mut look: impl FnMut(&Instance<'_>)) -> Result<bool, Problem> {
        if self.was_cut {
            return Err(cut(self.mapping.backed()));
        }
        // What comes later is seen the next time.
        let slots = self.see_growth()?;
        let left = Cell::new(MAX_LONG_NAMES);
        let outcome = self.mapping.guarded(|words| {
            let folds = load(words, header::FOLDS);
            for place in 0..slots {
                let start = (self.head.slots_at + place * self.head.slot_bytes) / 8;
                let Some(slot) = words.get(start..start + self.head.slot_bytes / 8) else {
                    return Err(cut(self.mapping.backed()));
                };
                let life = load(slot, slot::LIFE);
                if !matches!(life, 0 | slot::IS_NAME) {
                    look(&Instance { words, slot, reader: self, place, slots, life, left: &left });
                }
            }
            fence(Ordering::Acquire);
            Ok(folds.is_multiple_of(2) && folds == load(words, header::FOLDS))
        });
        outcome.unwrap_or_else(|WasCut| {
            self.was_cut = true;
            Err(cut(self.mapping.backed()))
        })
    }

    /// A number that changes when instances come or go.
    pub fn changes(&self) -> u64 {
        self.mapping.guarded(|words| load(words, header::CHANGES)).unwrap_or_default()
    }

    /// How many slots the file says that it has.
    fn slots(&self, words: &[AtomicU64]) -> Result<usize, Problem> {
        let slots = load(words, header::SLOTS);
        if slots > self.head.capacity {
            let expected = format!("at most {} slots", self.head.capacity);
            return Err(Problem::new(header::SLOTS * 8, slots, expected));
        }
        Ok(slots as usize)
    }

    /// How many slots there are; where the file has grown beyond what is mapped, it is mapped anew.
    fn see_growth(&mut self) -> Result<usize, Problem> {
        let slots = self.mapping.guarded(|words| self.slots(words)).unwrap_or(Ok(0))?;
        let needed = self.head.slots_at + slots * self.head.slot_bytes;
        if needed <= self.mapping.backed() {
            return Ok(slots);
        }
        let size = self.file.metadata().map_or(0, |metadata| metadata.len()).min(MAX_FILE as u64) as usize;
        if size < needed {
            return Err(Problem::new(
                size,
                "the end of the file",
                format!("{slots} slots, to byte {needed}"),
            ));
        }
        self.mapping = Mapping::to_read(&self.file, size)
            .map_err(|error| Problem::new(0, format!("a file that cannot be mapped ({error})"), "memory"))?;
        Ok(slots)
    }
}

impl Instance<'_> {
    /// The instance's number, which comes once in a file.
    pub fn number(&self) -> u64 {
        self.life
    }

    /// The place of its slot.
    pub fn slot(&self) -> usize {
        self.place
    }

    /// Of the history: how many instances it is of.
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
        let cell = self.reader.cells.get(counter)?;
        // Nearly all counters: one word, which is always there.
        if cell.is_word {
            let word = self.slot.get(cell.at)?;
            return Some(Reading { value: word.load(Ordering::Relaxed), base: None });
        }
        self.value_of(cell)
    }

    fn value_of(&self, cell: &Place) -> Option<Reading> {
        let words = self.slot.get(cell.at..cell.at + cell.lines * LINE)?;
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
    pub fn is_whole(&self) -> bool {
        fence(Ordering::Acquire);
        self.slot[slot::LIFE].load(Ordering::Relaxed) == self.life
    }
}

/// A word, or 0 beyond the end.
fn load(words: &[AtomicU64], place: usize) -> u64 {
    words.get(place).map_or(0, |word| word.load(Ordering::Acquire))
}

/// Copies the bytes of words until one of both ends; gives how many.
fn copy(words: &[AtomicU64], bytes: &mut [u8]) -> usize {
    let mut filled = 0;
    for (word, chunk) in words.iter().zip(bytes.chunks_mut(8)) {
        let value = word.load(Ordering::Relaxed).to_le_bytes();
        chunk.copy_from_slice(&value[..chunk.len()]);
        filled += chunk.len();
    }
    filled
}

fn cut(size: usize) -> Problem {
    Problem::new(size, "a file that was cut while it was read", "a file that only grows")
}

fn read_head(words: &[AtomicU64]) -> Result<(Head, Description), Problem> {
    let field = |place: usize, expected: &str, is_good: &dyn Fn(u64) -> bool| {
        let value = load(words, place);
        if is_good(value) { Ok(value) } else { Err(Problem::new(place * 8, format!("{value:#x}"), expected)) }
    };
    field(header::MAGIC, "TACHOSET", &|value| value == MAGIC)?;
    field(header::VERSION, "version 1", &|value| value == VERSION)?;
    let is_description = |value: u64| value <= MAX_DESCRIPTION as u64;
    let description_bytes =
        field(header::DESCRIPTION_BYTES, "at most 16 MiB of description", &is_description)? as usize;
    let slots_at = (HEADER_BYTES + description_bytes).next_multiple_of(PAGE);
    field(header::SLOTS_AT, &format!("slots at {slots_at}"), &|value| value == slots_at as u64)?;
    let mut bytes = vec![0; description_bytes.min(words.len().saturating_mul(8))];
    let start = (HEADER_BYTES / 8).min(words.len());
    let copied = copy(&words[start..], &mut bytes);
    if copied < description_bytes {
        return Err(Problem::new(words.len() * 8, "the end of the file", "the end of the description"));
    }
    let description = encoding::decode(&bytes)?;
    let slot_bytes = description.slot_lines() * LINE_BYTES;
    field(header::SLOT_BYTES, &format!("slots of {slot_bytes} bytes"), &|value| value == slot_bytes as u64)?;
    let most = (MAX_FILE.saturating_sub(slots_at) / slot_bytes) as u64;
    let capacity =
        field(header::CAPACITY, &format!("1 to {most} slots"), &|value| (1..=most).contains(&value))?;
    let head = Head {
        slots_at,
        slot_bytes,
        capacity,
        process: load(words, header::PROCESS),
        started: load(words, header::STARTED),
        unique: load(words, header::UNIQUE),
        has_control: load(words, header::HAS_CONTROL) == 1,
    };
    Ok((head, description))
}
