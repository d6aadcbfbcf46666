//! The layout of a file: indexes of words of 8 bytes, sizes and limits. docs/shared-memory.md describes it.

/// Number of words in a cache line.
pub(crate) const LINE_WORDS: usize = 8;

/// Size of a cache line in bytes.
pub(crate) const LINE_BYTES: usize = 64;

/// `TACHOSET` as a little-endian word.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"TACHOSET");

/// The version of the layout. Readers reject files of other versions, and never remove them, because these versions may
/// define another way to detect a live writer.
pub(crate) const VERSION: u64 = 2;

/// Size of the header in bytes: four cache lines.
pub(crate) const HEADER_BYTES: usize = 256;

/// Indexes of the words of the header. Words that change while the set is published have a cache line of their own.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 1;
    /// Size of the description, which follows the header, in bytes.
    pub(crate) const DESCRIPTION_BYTES: usize = 2;
    /// Offset of the slots in bytes, a multiple of 4096.
    pub(crate) const SLOTS_OFFSET: usize = 3;
    /// Size of a slot in bytes, a multiple of 64.
    pub(crate) const SLOT_BYTES: usize = 4;
    /// Maximum number of slots.
    pub(crate) const CAPACITY: usize = 5;
    /// The process id in the PID namespace of the process.
    pub(crate) const PROCESS: usize = 6;
    /// Time of publication: nanoseconds of CLOCK_BOOTTIME.
    pub(crate) const STARTED: usize = 7;
    /// A random number that identifies the file.
    pub(crate) const UNIQUE: usize = 8;
    /// 1 if the socket of the file accepts requests, otherwise 0.
    pub(crate) const HAS_CONTROL: usize = 9;

    /// The state of the set: one of `state`.
    pub(crate) const STATE: usize = 16;
    /// The number of slots that were ever used.
    pub(crate) const SLOTS: usize = 17;
    /// Incremented when an instance is added or ends.
    pub(crate) const CHANGES: usize = 18;
    /// Incremented before and after the values of an ending instance are added to the history, so it is odd while they
    /// are being added.
    pub(crate) const FOLDS: usize = 19;
}

/// Values of [`header::STATE`].
pub(crate) mod state {
    pub(crate) const STARTING: u64 = 0;
    pub(crate) const LIVE: u64 = 1;
    pub(crate) const STOPPED: u64 = 2;
}

/// Indexes of the words of a slot's first line.
pub(crate) mod slot {
    /// 0 if the slot is free. Otherwise the serial number of the instance, unique in the file, or [`IS_NAME`]
    /// or [`IS_HISTORY`].
    pub(crate) const LIFE: usize = 0;
    /// The instance's id in the lower half, the length of its name in bytes in the upper half; in the history, the number of
    /// ended instances.
    pub(crate) const ID_AND_LENGTH: usize = 1;
    /// Time of creation: nanoseconds of CLOCK_BOOTTIME.
    pub(crate) const BORN: usize = 2;
    /// The slot in which the name continues, counted from 1; 0 if the name ends in this slot.
    pub(crate) const NEXT: usize = 3;
    /// The name, up to the end of the first line; in a slot that continues a name, up to the end of the slot.
    pub(crate) const NAME: usize = 4;

    /// The [`LIFE`] of a slot that continues a name.
    pub(crate) const IS_NAME: u64 = u64::MAX;
    /// The [`LIFE`] of the history: the slot with the combined values of ended instances.
    pub(crate) const IS_HISTORY: u64 = u64::MAX - 1;
}

/// Indexes of the words of a plain cell's line.
pub(crate) mod plain {
    pub(crate) const VALUE: usize = 0;
    /// 1 if the value is set, otherwise 0. Used for counters by reference only.
    pub(crate) const HAS_VALUE: usize = 1;
}

/// Maximum size of the description in bytes.
pub(crate) const MAX_DESCRIPTION: usize = 16 << 20;

/// Maximum size of a string of the description in bytes.
pub(crate) const MAX_STRING: usize = 64 << 10;

/// Maximum total size of the long names that one call of `SetReader::read` reads from continuation slots, in bytes. It
/// bounds the memory that a small file can require, since instances could share continuation slots.
pub(crate) const MAX_LONG_NAMES: usize = 16 << 20;

/// Maximum size of a file in bytes.
pub(crate) const MAX_FILE: usize = 1 << 30;

/// Maximum size of an instance's name in bytes: 1023 UTF-16 units of at most three bytes each.
pub(crate) const MAX_NAME_BYTES: usize = 3 * tachograph_schema::CounterSetInfo::MAX_NAME;

/// The page size that the layout assumes.
pub(crate) const PAGE: usize = 4096;
