//! Reading a published set. Nothing in the file is trusted: its contents may be invalid, or change at any time.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use crate::bus_error::Truncated;
use crate::folder::Folder;
use crate::instance::{CellLocation, Instance};
use crate::layout::{
    HEADER_BYTES, LINE_BYTES, MAGIC, MAX_DESCRIPTION, MAX_FILE, MAX_LONG_NAMES, PAGE, VERSION, header, slot,
    state,
};
use crate::map::{Mapping, is_write_locked, with_high_descriptor};
use crate::problem::{OpenError, Problem};
use crate::{CounterSetInfo, encoding};

/// A published set, open for reading.
#[derive(Debug)]
pub struct SetReader {
    file: File,
    /// The file's name in its folder.
    name: String,
    mapping: Mapping,
    /// Whether the file was truncated during a read. If so, the mapping is unusable.
    is_truncated: AtomicBool,
    /// The user id of the file's owner.
    owner: u32,
    /// The file's device and inode number.
    file_id: (u64, u64),
    pub(crate) head: Head,
    description: Arc<CounterSetInfo>,
    /// The location of each counter's value in a slot.
    pub(crate) cells: Vec<CellLocation>,
}

/// The constant fields of the file's header; see [`header`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// Offset of the slots in bytes.
    pub(crate) slots_at: usize,
    pub(crate) slot_bytes: usize,
    /// Maximum number of slots.
    capacity: u64,
    /// The id of the process that publishes the set.
    process: u64,
    /// Time of publication: nanoseconds since boot.
    started: u64,
    /// A random number that identifies the file.
    unique: u64,
    /// Whether the file has a socket that accepts requests.
    has_control: bool,
}

impl SetReader {
    /// Opens a file in a folder by its name.
    ///
    /// # Errors
    ///
    /// Errors of the operating system; the file is a symbolic link, is not a regular file, or has more than one hard link; its
    /// contents are invalid.
    pub fn open(folder: &Folder, name: &str) -> Result<Self, OpenError> {
        let file = folder.open_file(name).map_err(|error| match error.raw_os_error() {
            Some(libc::ELOOP) => OpenError::Unsuitable("a symbolic link, not a file"),
            _ => OpenError::Io(error),
        })?;
        let file = with_high_descriptor(file);
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(OpenError::Unsuitable("not a regular file"));
        }
        if metadata.nlink() > 1 {
            return Err(OpenError::Unsuitable("a file with more than one hard link"));
        }
        let size = metadata.len().min(MAX_FILE as u64 + 1) as usize;
        if !(HEADER_BYTES..=MAX_FILE).contains(&size) {
            let expected = format!("a size from {HEADER_BYTES} to {MAX_FILE} bytes");
            return Err(Problem::new(0, format!("{} bytes", metadata.len()), expected).into());
        }
        let mapping = Mapping::read_only(&file, size)?;
        let (head, description) =
            mapping.read_guarded(read_head).unwrap_or_else(|Truncated| Err(truncation_problem(size)))?;
        let cells = CellLocation::for_counters(&description);
        let (owner, file_id) = (metadata.uid(), (metadata.dev(), metadata.ino()));
        let (name, description) = (name.to_owned(), Arc::new(description));
        let is_truncated = AtomicBool::new(false);
        Ok(Self { file, name, mapping, is_truncated, owner, file_id, head, description, cells })
    }

    /// The description of the set.
    pub fn description(&self) -> &Arc<CounterSetInfo> {
        &self.description
    }

    /// The name of the file in its folder.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user id of the file's owner, as reported by the kernel.
    pub fn owner(&self) -> u32 {
        self.owner
    }

    /// The file's device and inode: unique while it is open.
    pub fn file_id(&self) -> (u64, u64) {
        self.file_id
    }

    /// The process id stored in the file. It may be wrong, or belong to another PID namespace.
    pub fn process(&self) -> u64 {
        self.head.process
    }

    /// The time of publication stored in the file: nanoseconds since boot.
    pub fn started(&self) -> u64 {
        self.head.started
    }

    /// The random number that distinguishes this file from others of the same set.
    pub fn unique(&self) -> u64 {
        self.head.unique
    }

    /// Whether the file's socket accepts requests.
    pub fn has_control(&self) -> bool {
        self.head.has_control
    }

    /// Whether the writer is alive and has not stopped the set.
    pub fn is_alive(&self) -> bool {
        if self.with_words(|words| load(words, header::STATE)) != Ok(state::LIVE) {
            return false;
        }
        // A writer holds the lock as long as it is alive.
        is_write_locked(&self.file)
    }

    /// Calls `visit` for each live instance, in the order of the slots.
    ///
    /// Returns whether the history (the combined values of ended instances) is consistent: `false` if an instance ended
    /// during the call, so that `visit` may have read the values of that instance twice (also in the history) or not at
    /// all.
    ///
    /// # Errors
    ///
    /// Invalid contents. The caller must then discard what `visit` read.
    pub fn read(&mut self, mut visit: impl FnMut(&Instance<'_>)) -> Result<bool, Problem> {
        // Slots that are added later are seen by the next pass.
        let slot_count = self.remap_if_grown()?;
        let name_budget = &Cell::new(MAX_LONG_NAMES);
        let result = self.with_words(|words| {
            let folds = load(words, header::FOLDS);
            for index in 0..slot_count {
                let start = (self.head.slots_at + index * self.head.slot_bytes) / 8;
                let Some(slot) = words.get(start..start + self.head.slot_bytes / 8) else {
                    return Err(truncation_problem(self.mapping.backed_bytes()));
                };
                let life = load(slot, slot::LIFE);
                if !matches!(life, 0 | slot::IS_NAME) {
                    visit(&Instance { words, slot, reader: self, index, slot_count, life, name_budget });
                }
            }
            fence(Ordering::Acquire);
            Ok(folds.is_multiple_of(2) && folds == load(words, header::FOLDS))
        });
        result.unwrap_or_else(|Truncated| Err(truncation_problem(self.mapping.backed_bytes())))
    }

    /// Calls `read` with the words of the file. Fails if the file was truncated during this call or an earlier one; the
    /// mapping then reads as zeros.
    fn with_words<T>(&self, read: impl FnOnce(&[AtomicU64]) -> T) -> Result<T, Truncated> {
        if self.is_truncated.load(Ordering::Relaxed) {
            return Err(Truncated);
        }
        let result = self.mapping.read_guarded(read);
        // Never reset: another read may have begun before the truncation.
        if result.is_err() {
            self.is_truncated.store(true, Ordering::Relaxed);
        }
        result
    }

    /// A number that changes when instances are added or end.
    pub fn changes(&self) -> u64 {
        self.with_words(|words| load(words, header::CHANGES)).unwrap_or_default()
    }

    /// The number of slots that were ever used.
    fn slots(&self, words: &[AtomicU64]) -> Result<usize, Problem> {
        let slots = load(words, header::SLOTS);
        if slots > self.head.capacity {
            let expected = format!("at most {} slots", self.head.capacity);
            return Err(Problem::new(header::SLOTS * 8, slots, expected));
        }
        Ok(slots as usize)
    }

    /// Returns the number of slots. Maps the file again if it has grown beyond the mapping.
    fn remap_if_grown(&mut self) -> Result<usize, Problem> {
        let slots = self
            .with_words(|words| self.slots(words))
            .unwrap_or_else(|Truncated| Err(truncation_problem(self.mapping.backed_bytes())))?;
        let needed = self.head.slots_at + slots * self.head.slot_bytes;
        if needed <= self.mapping.backed_bytes() {
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
        self.mapping = Mapping::read_only(&self.file, size).map_err(|error| {
            Problem::new(0, format!("a file that cannot be mapped ({error})"), "a mapping")
        })?;
        Ok(slots)
    }
}

/// Loads the word at an index; 0 beyond the end of the slice.
#[inline]
pub(crate) fn load(words: &[AtomicU64], index: usize) -> u64 {
    words.get(index).map_or(0, |word| word.load(Ordering::Acquire))
}

/// Copies words to bytes until one of the slices ends; returns the number of copied bytes.
pub(crate) fn copy(words: &[AtomicU64], bytes: &mut [u8]) -> usize {
    let mut filled = 0;
    for (word, chunk) in words.iter().zip(bytes.chunks_mut(8)) {
        let value = word.load(Ordering::Relaxed).to_le_bytes();
        chunk.copy_from_slice(&value[..chunk.len()]);
        filled += chunk.len();
    }
    filled
}

fn truncation_problem(size: usize) -> Problem {
    Problem::new(size, "a file that was truncated while it was read", "a file that only grows")
}

/// Decodes the header and the description of a file.
fn read_head(words: &[AtomicU64]) -> Result<(Head, CounterSetInfo), Problem> {
    let field = |index: usize, expected: &str, is_valid: &dyn Fn(u64) -> bool| {
        let value = load(words, index);
        if is_valid(value) {
            Ok(value)
        } else {
            Err(Problem::new(index * 8, format!("{value:#x}"), expected))
        }
    };
    field(header::MAGIC, "TACHOSET", &|value| value == MAGIC)?;
    let version = load(words, header::VERSION);
    if version != VERSION {
        let (found, expected) = (format!("version {version} of the layout"), format!("version {VERSION}"));
        return Err(Problem::new(header::VERSION * 8, found, expected));
    }
    let is_description = |value: u64| value <= MAX_DESCRIPTION as u64;
    let description_bytes =
        field(header::DESCRIPTION_BYTES, "a description of at most 16 MiB", &is_description)? as usize;
    let slots_at = (HEADER_BYTES + description_bytes).next_multiple_of(PAGE);
    field(header::SLOTS_OFFSET, &format!("slots at {slots_at}"), &|value| value == slots_at as u64)?;
    let mut bytes = vec![0; description_bytes.min(words.len().saturating_mul(8))];
    let start = (HEADER_BYTES / 8).min(words.len());
    let copied = copy(&words[start..], &mut bytes);
    if copied < description_bytes {
        return Err(Problem::new(words.len() * 8, "the end of the file", "the end of the description"));
    }
    let description = encoding::decode(&bytes)?;
    let slot_bytes = description.slot_lines() * LINE_BYTES;
    field(header::SLOT_BYTES, &format!("slots of {slot_bytes} bytes"), &|value| value == slot_bytes as u64)?;
    let max = (MAX_FILE.saturating_sub(slots_at) / slot_bytes) as u64;
    let capacity =
        field(header::CAPACITY, &format!("1 to {max} slots"), &|value| (1..=max).contains(&value))?;
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
