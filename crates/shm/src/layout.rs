//! Where things are in a file, in words of 8 bytes. docs/shared-memory.md describes the same.

/// Words of a cache line.
pub(crate) const LINE: usize = 8;

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;

/// `TACHOSET` as a little-endian word.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"TACHOSET");

/// The version of the layout. Readers refuse others, and nobody removes them: how their writers tell that they live is another
/// version's matter.
pub(crate) const VERSION: u64 = 2;

/// Bytes of the header: four cache lines.
pub(crate) const HEADER_BYTES: usize = 256;

/// Words of the header. What changes while the set lives has a line of its own.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    pub(crate) const VERSION: usize = 1;
    /// Bytes of the description, which follows the header.
    pub(crate) const DESCRIPTION_BYTES: usize = 2;
    /// Where the slots begin, in bytes, a multiple of 4096.
    pub(crate) const SLOTS_AT: usize = 3;
    /// Bytes of a slot, a multiple of 64.
    pub(crate) const SLOT_BYTES: usize = 4;
    /// Most slots that the file may have.
    pub(crate) const CAPACITY: usize = 5;
    /// The number of the process, as it sees itself.
    pub(crate) const PROCESS: usize = 6;
    /// When the set was published: nanoseconds of CLOCK_BOOTTIME.
    pub(crate) const STARTED: usize = 7;
    /// A random number: two files never have the same.
    pub(crate) const UNIQUE: usize = 8;
    /// 1: requests are answered over the socket beside the file.
    pub(crate) const HAS_CONTROL: usize = 9;

    /// How far it is with the set: one of `state`.
    pub(crate) const STATE: usize = 16;
    /// How many slots were ever used.
    pub(crate) const SLOTS: usize = 17;
    /// Grows with every instance that comes or goes.
    pub(crate) const CHANGES: usize = 18;
    /// Odd while the values of an instance that ends are taken over into the history.
    pub(crate) const FOLDS: usize = 19;
}

/// Values of the state.
pub(crate) mod state {
    pub(crate) const STARTING: u64 = 0;
    pub(crate) const LIVE: u64 = 1;
    pub(crate) const STOPPED: u64 = 2;
}

/// Words of a slot's first line.
pub(crate) mod slot {
    /// 0: free. Else the instance's number, which comes once in a file, or one of the two marks below.
    pub(crate) const LIFE: usize = 0;
    /// The instance's id in the lower half, the length of its name in bytes in the upper; in the history, how many
    /// instances it is of.
    pub(crate) const ID_AND_LENGTH: usize = 1;
    /// When the instance was created: nanoseconds of CLOCK_BOOTTIME.
    pub(crate) const BORN: usize = 2;
    /// The slot where the name goes on, counted from 1; 0: it does not.
    pub(crate) const NEXT: usize = 3;
    /// The name's bytes, to the end of the first line; in a slot of a name, to the end of the slot.
    pub(crate) const NAME: usize = 4;

    /// The life of a slot that holds the rest of a name.
    pub(crate) const IS_NAME: u64 = u64::MAX;
    /// The life of the slot that holds what instances that ended have left.
    pub(crate) const IS_HISTORY: u64 = u64::MAX - 1;
}

/// Words of a plain cell's line.
pub(crate) mod plain {
    /// The value.
    pub(crate) const VALUE: usize = 0;
    /// 1: there is a value. Looked at for counters by reference only.
    pub(crate) const HAS_VALUE: usize = 1;
}

/// Most bytes of a description.
pub(crate) const MAX_DESCRIPTION: usize = 16 << 20;

/// Most bytes of a text of the description.
pub(crate) const MAX_TEXT: usize = 64 << 10;

/// Most bytes of names that are read from slots beyond their own in one look: more instances than one can have of one chain
/// of slots would make a small file large.
pub(crate) const MAX_LONG_NAMES: usize = 16 << 20;

/// Most bytes of a file.
pub(crate) const MAX_FILE: usize = 1 << 30;

/// Most bytes of an instance's name: 1023 UTF-16 units are at most three bytes each.
pub(crate) const MAX_NAME_BYTES: usize = 3 * tachograph_schema::CounterSetInfo::MAX_NAME;

/// The size of a memory page that the layout reckons with.
pub(crate) const PAGE: usize = 4096;
