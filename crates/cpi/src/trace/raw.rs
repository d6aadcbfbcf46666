//! The structures of a trace file on disk.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes of a section.
pub(super) const MAGIC: [u8; 4] = *b"NRM2";
/// The byte-order word of a little-endian file.
pub(super) const BYTE_ORDER: u32 = 0x0403_0201;
/// A line feed, which a transfer in text mode would change.
pub(super) const GUARD: u8 = 0x0A;
pub(super) const SECTION_HEADER_BYTES: usize = 512;
/// Offset of the number of data bytes in a section's header.
pub(super) const DATA_BYTES_OFFSET: u64 = 16;
/// Offset of the end time in a section's header.
pub(super) const STOP_TIME_OFFSET: u64 = 44;
/// Operating system: 64-bit Linux.
pub(super) const LINUX_64: u32 = 0x64;

/// Major code of CPI hooks.
pub(super) const MAJOR: u16 = 0xC0;
pub(super) const RECORD_HEADER_BYTES: usize = 16;
/// Maximum size of a record, limited by its length field.
pub(super) const MAX_RECORD_BYTES: usize = 0xFFFC;
/// The bits of the record's type in [`RecordHeader::type_and_bytes`].
pub(super) const TYPE_BITS: u16 = 0b11;
pub(super) const INTEGERS: u16 = 0;
/// A record that has no time stamp if [`SectionHeader::type_1_without_time`] is set.
pub(super) const MAYBE_WITHOUT_TIME: u16 = 1;
pub(super) const INTEGERS_AND_STRINGS: u16 = 2;
pub(super) const MAX_LABEL_BYTES: usize = 2048;

/// The header of a section. A section contains the records of one processor.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct SectionHeader {
    /// Always [`MAGIC`].
    pub(super) magic: [u8; 4],
    /// [`BYTE_ORDER`] in a little-endian file.
    pub(super) byte_order: U32,
    /// [`GUARD`] unless a transfer in text mode damaged the file.
    pub(super) guard: u8,
    pub(super) reserved: [u8; 3],
    /// The size of this header, always 512.
    pub(super) header_bytes: U32,
    /// Bytes of the records that follow.
    pub(super) data_bytes: U32,
    pub(super) unused: U32,
    pub(super) processor: U32,
    /// Not 0 if records of type 1 have no time stamp.
    pub(super) type_1_without_time: U32,
    /// Flags. Bit 0: other data at the end of the file; bit 1: wrap; bit 2: continuous.
    pub(super) collection_mode: U32,
    /// Time stamp of the first record; 0 if the section is empty.
    pub(super) start_time: U64,
    /// Time stamp of the last record; 0 until the section is complete.
    pub(super) stop_time: U64,
    pub(super) metrics: U32,
    /// Not 0 if records were lost.
    pub(super) overflow: U32,
    pub(super) processors: U32,
    pub(super) unknown: U32,
    /// The operating system, such as [`LINUX_64`].
    pub(super) os_type: U32,
    pub(super) rest: [u8; 440],
}

const _: () = assert!(size_of::<SectionHeader>() == SECTION_HEADER_BYTES);

impl SectionHeader {
    /// The header of a new, empty section.
    pub(super) fn new(start_time: u64) -> Self {
        Self {
            magic: MAGIC,
            byte_order: U32::new(BYTE_ORDER),
            guard: GUARD,
            reserved: [0; 3],
            header_bytes: U32::new(SECTION_HEADER_BYTES as u32),
            data_bytes: U32::ZERO,
            unused: U32::ZERO,
            processor: U32::ZERO,
            type_1_without_time: U32::ZERO,
            collection_mode: U32::ZERO,
            start_time: U64::new(start_time),
            stop_time: U64::ZERO,
            metrics: U32::ZERO,
            overflow: U32::ZERO,
            processors: U32::new(1),
            unknown: U32::ZERO,
            os_type: U32::new(LINUX_64),
            rest: [0; 440],
        }
    }
}

/// The header of a record, which stores one hook.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct RecordHeader {
    /// Bits 0 and 1: the type. With these bits cleared: the size of the record including this header.
    pub(super) type_and_bytes: U16,
    pub(super) major: U16,
    /// Minor code: the kind of hook in the top four bits, the caller's in the low byte.
    pub(super) minor: U32,
    pub(super) time_stamp: U64,
}

const _: () = assert!(size_of::<RecordHeader>() == RECORD_HEADER_BYTES);

/// The kinds of hooks: the top four bits of the minor code.
pub(super) mod kind {
    pub(in crate::trace) const LABEL_START: u32 = 0x0;
    pub(in crate::trace) const SUMMARY: u32 = 0x1;
    pub(in crate::trace) const THREAD: u32 = 0x2;
    pub(in crate::trace) const PROCESSORS: u32 = 0x4;
    pub(in crate::trace) const SYSTEM: u32 = 0x8;
    pub(in crate::trace) const LABEL_END: u32 = 0xF;
}
