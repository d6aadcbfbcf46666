//! Reading a published set, of which nothing is trusted: neither that its bytes make sense, nor that they stay.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use crate::bus_error::WasCut;
use crate::folder::Folder;
use crate::instance::{CellPlace, Instance};
use crate::layout::{
    HEADER_BYTES, LINE_BYTES, MAGIC, MAX_DESCRIPTION, MAX_FILE, MAX_LONG_NAMES, PAGE, VERSION, header, slot,
    state,
};
use crate::map::{Mapping, is_locked_to_write, with_high_number};
use crate::problem::{OpenError, Problem};
use crate::{CounterSetInfo, encoding};

/// A published set, open for reading.
#[derive(Debug)]
pub struct SetReader {
    file: File,
    name: String,
    mapping: Mapping,
    /// The file was cut under a look, and the mapping is of no use any more.
    was_cut: AtomicBool,
    owner: u32,
    file_id: (u64, u64),
    pub(crate) head: Head,
    description: Arc<CounterSetInfo>,
    pub(crate) cells: Vec<CellPlace>,
}

/// What the header says and does not change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) slots_at: usize,
    pub(crate) slot_bytes: usize,
    capacity: u64,
    process: u64,
    started: u64,
    unique: u64,
    has_control: bool,
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
        let file = with_high_number(file);
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
        let cells = CellPlace::of_all(&description);
        let (owner, file_id) = (metadata.uid(), (metadata.dev(), metadata.ino()));
        let description = Arc::new(description);
        let name = name.to_owned();
        Ok(Self {
            file,
            name,
            mapping,
            was_cut: AtomicBool::new(false),
            owner,
            file_id,
            head,
            description,
            cells,
        })
    }

    /// What the set is.
    pub fn description(&self) -> &Arc<CounterSetInfo> {
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
        if self.look(|words| load(words, header::STATE)) != Ok(state::LIVE) {
            return false;
        }
        // The writer has the lock as long as it lives.
        is_locked_to_write(&self.file)
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
        // What comes later is seen the next time.
        let slots = self.see_growth()?;
        let left = Cell::new(MAX_LONG_NAMES);
        let outcome = self.look(|words| {
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
        outcome.unwrap_or_else(|WasCut| Err(cut(self.mapping.backed())))
    }

    /// Looks at the words of the file. Once it was cut under a look, there is nothing but zeros in their place.
    fn look<T>(&self, look: impl FnOnce(&[AtomicU64]) -> T) -> Result<T, WasCut> {
        if self.was_cut.load(Ordering::Relaxed) {
            return Err(WasCut);
        }
        let seen = self.mapping.guarded(look);
        // Never back: another look may have begun before the cut.
        if seen.is_err() {
            self.was_cut.store(true, Ordering::Relaxed);
        }
        seen
    }

    /// A number that changes when instances come or go.
    pub fn changes(&self) -> u64 {
        self.look(|words| load(words, header::CHANGES)).unwrap_or_default()
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
        let slots =
            self.look(|words| self.slots(words)).unwrap_or_else(|WasCut| Err(cut(self.mapping.backed())))?;
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

/// A word, or 0 beyond the end.
#[inline]
pub(crate) fn load(words: &[AtomicU64], place: usize) -> u64 {
    words.get(place).map_or(0, |word| word.load(Ordering::Acquire))
}

/// Copies the bytes of words until one of both ends; gives how many.
pub(crate) fn copy(words: &[AtomicU64], bytes: &mut [u8]) -> usize {
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

fn read_head(words: &[AtomicU64]) -> Result<(Head, CounterSetInfo), Problem> {
    let field = |place: usize, expected: &str, is_good: &dyn Fn(u64) -> bool| {
        let value = load(words, place);
        if is_good(value) { Ok(value) } else { Err(Problem::new(place * 8, format!("{value:#x}"), expected)) }
    };
    field(header::MAGIC, "TACHOSET", &|value| value == MAGIC)?;
    let version = load(words, header::VERSION);
    if version != VERSION {
        let (found, expected) = (format!("version {version} of the layout"), format!("version {VERSION}"));
        return Err(Problem::new(header::VERSION * 8, found, expected));
    }
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
