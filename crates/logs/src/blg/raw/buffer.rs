//! The header of a buffer (WMI_BUFFER_HEADER).

use zerocopy::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Length of a [`BufferHeader`]; the first event follows it.
pub const BUFFER_HEADER_BYTES: usize = 0x48;

/// Maximum buffer size, as in Event Tracing for Windows; a larger size means that the log is damaged.
pub const MAX_BUFFER_BYTES: usize = 16 << 20;

/// Minimum buffer size.
pub const MIN_BUFFER_BYTES: usize = 1024;

/// Buffer flag: the last buffer of a flush.
pub const FLAG_LAST_BUFFER: u16 = 0x01;

/// Buffer flag: a data buffer, in newer logs.
pub const FLAG_DATA_BUFFER: u16 = 0x20;

/// Whether `bytes` is a valid buffer size: a multiple of 512 between 1 KiB and 16 MiB.
pub fn is_buffer_size(bytes: u32) -> bool {
    let bytes = bytes as usize;
    bytes.is_multiple_of(512) && (MIN_BUFFER_BYTES..=MAX_BUFFER_BYTES).contains(&bytes)
}

/// Header of a buffer, 0x48 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "WMI_BUFFER_HEADER")]
pub struct BufferHeader {
    /// Size of every buffer of the file.
    pub buffer_size: U32,
    /// Same as `offset` in newer logs; usually ignored.
    pub saved_offset: U32,
    /// End offset that the first event that did not fit would have had; ignored.
    pub current_offset: U32,
    /// Always 0.
    pub reference_count: U32,
    /// Flush time of the buffer, UTC, 100 ns units.
    pub flushed_at: I64,
    /// Index of the buffer in chronological order (in logs written by Windows 5.2, part of a GUID).
    pub sequence_number: U64,
    /// Type and frequency of the clock; always 0.
    pub clock: U64,
    /// Processor number; always 0.
    pub processor: u8,
    /// Alignment of the events in bytes: 0 or 8.
    pub alignment: u8,
    /// Id of the logger.
    pub logger_id: U16,
    /// State of the buffer: 3 in data buffers.
    pub state: U32,
    /// End of the events: length including this header.
    pub offset: U32,
    /// Bit 0: last buffer of a flush. Bit 5: set in the data buffers of newer logs.
    pub flags: U16,
    /// Type of the buffer: 4 for the first one, 0 for data buffers.
    pub kind: U16,
    /// Undefined bytes (pointers of the process that wrote the log).
    pub stale: [u8; 16],
}

const _: () = assert!(size_of::<BufferHeader>() == BUFFER_HEADER_BYTES);
