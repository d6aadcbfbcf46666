//! The header of an event (EVENT_TRACE_HEADER) and the prefix that PDH puts before each payload.

use zerocopy::little_endian::{I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of an [`EventHeader`]: the payload starts here.
pub const EVENT_HEADER_BYTES: usize = 0x48;

/// Marker flags of every event.
pub const MARKER_FLAGS: u8 = 0xC0;

/// Most payload bytes that Windows puts into one event; longer payloads are cut into parts.
pub const PART_BYTES: usize = 8000;

/// {933f3bb3-943e-490d-9ced-3cbb14c14479}, the class of PDH's events, in the order of the bytes on disk.
pub const PDH_EVENT_CLASS: [u8; 16] =
    [0xb3, 0x3b, 0x3f, 0x93, 0x3e, 0x94, 0x0d, 0x49, 0x9c, 0xed, 0x3c, 0xbb, 0x14, 0xc1, 0x44, 0x79];

/// Event type: counter list.
pub const COUNTER_LIST: u8 = 0x20;
/// Event type: sample.
pub const SAMPLE: u8 = 0x22;
/// Event type: catalogue of instances, at the end of logs with block records.
pub const CATALOGUE: u8 = 0x23;
/// What is at 0x1C of a catalogue's payload.
pub const CATALOGUE_SIGNATURE: u32 = 0x0000_05FF;
/// Event type: name table.
pub const NAME_TABLE: u8 = 0x24;

/// Header type of events in 32-bit logs.
pub const FULL_HEADER_32: u8 = 0x0A;
/// Header type of events in 64-bit logs.
pub const FULL_HEADER_64: u8 = 0x14;

/// Process id in the events and the header of logs that Tachograph writes and marks steps of the clock in. Older versions
/// wrote 0 there and no such marks; Windows never writes thread 0.
pub const WRITER: u32 = 0x424C_0001;

/// Most bytes that the parts of one event may add up to. A sample of 60,000 threads takes about 10 MB.
pub const MAX_JOINED_BYTES: usize = 64 << 20;

/// What Tachograph's writer says of a sample in [`EventHeader::context`] of a 64-bit log, where Windows writes 0 and
/// readers ignore the field: [`Marks::SIGNATURE`] and bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Marks {
    /// Bit 0: the sample only opens the first interval of a window cut out of a longer log.
    pub is_baseline: bool,
    /// Bit 1: the machine was started anew since the sample before.
    pub is_restart: bool,
    /// Bit 2: another log began here before the logs were merged.
    pub is_new_log: bool,
    /// Bit 3: the difference between the system time in the values and the sample's time changed here: the clock was set.
    pub is_clock_step: bool,
}

impl Marks {
    /// The upper half of a context with marks.
    pub const SIGNATURE: u32 = 0x424C_0000;

    /// The marks of an event; none where Windows, or a 32-bit log, has something else there.
    pub fn of(header: &EventHeader) -> Self {
        let context = header.context.get();
        if header.header_type != FULL_HEADER_64 || context & 0xFFFF_0000 != Self::SIGNATURE {
            return Self::default();
        }
        Self {
            is_baseline: context & 1 != 0,
            is_restart: context & 2 != 0,
            is_new_log: context & 4 != 0,
            is_clock_step: context & 8 != 0,
        }
    }

    /// Whether system times among the values may be at another distance from the samples' times from here on.
    pub(crate) fn breaks_clock(self) -> bool {
        self.is_clock_step || self.is_restart || self.is_new_log
    }

    /// The context that says so; 0, as Windows writes it, where there is nothing to say.
    pub fn context(self) -> u32 {
        if self == Self::default() {
            return 0;
        }
        Self::SIGNATURE
            | u32::from(self.is_baseline)
            | u32::from(self.is_restart) << 1
            | u32::from(self.is_new_log) << 2
            | u32::from(self.is_clock_step) << 3
    }
}

/// Header of an event and PDH's prefix, 0x48 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "EVENT_TRACE_HEADER")]
pub struct EventHeader {
    /// Bytes of the whole event, both headers included; padding to a multiple of 8 is not.
    pub size: U16,
    /// 0x0A in 32-bit logs, 0x14 in 64-bit logs.
    pub header_type: u8,
    /// 0xC0.
    pub marker: u8,
    /// What the event is: 0x20, 0x22, 0x23 or 0x24.
    pub kind: u8,
    /// 0.
    pub level: u8,
    /// 0x3C.
    pub version: U16,
    /// Thread that wrote it.
    pub thread_id: U32,
    /// Process that wrote it.
    pub process_id: U32,
    /// Local time, 100 ns units since 1601.
    pub local_time: I64,
    /// [`PDH_EVENT_CLASS`].
    pub class: [u8; 16],
    /// 0 (64-bit), kernel time (32-bit).
    pub context: U32,
    /// 0x001A0200 (64-bit), user time (32-bit).
    pub flags: U32,
    /// One GUID for the whole log.
    pub log_guid: [u8; 16],
    /// Number of this part, from 1.
    pub part: U32,
    /// How many parts the payload was cut into.
    pub parts: U32,
}

const _: () = assert!(size_of::<EventHeader>() == EVENT_HEADER_BYTES);
