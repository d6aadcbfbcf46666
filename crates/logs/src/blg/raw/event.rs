//! The header of an event (EVENT_TRACE_HEADER), and PDH's prefix of each payload.

use zerocopy::little_endian::{I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Length of an [`EventHeader`]; the payload follows it.
pub const EVENT_HEADER_BYTES: usize = 0x48;

/// Marker flags of every event.
pub const MARKER_FLAGS: u8 = 0xC0;

/// Maximum payload bytes that Windows writes per event; longer payloads are divided into parts.
pub const PART_BYTES: usize = 8000;

/// {933f3bb3-943e-490d-9ced-3cbb14c14479}, the class of PDH's events, in on-disk byte order.
pub const PDH_EVENT_CLASS: [u8; 16] =
    [0xb3, 0x3b, 0x3f, 0x93, 0x3e, 0x94, 0x0d, 0x49, 0x9c, 0xed, 0x3c, 0xbb, 0x14, 0xc1, 0x44, 0x79];

/// Event type: counter list.
pub const COUNTER_LIST: u8 = 0x20;
/// Event type: sample.
pub const SAMPLE: u8 = 0x22;
/// Event type: catalogue of instances, at the end of logs with block records.
pub const CATALOGUE: u8 = 0x23;
/// The signature at 0x1C of a catalogue's payload.
pub const CATALOGUE_SIGNATURE: u32 = 0x0000_05FF;
/// Event type: name table.
pub const NAME_TABLE: u8 = 0x24;

/// Header type of events in 32-bit logs.
pub const FULL_HEADER_32: u8 = 0x0A;
/// Header type of events in 64-bit logs.
pub const FULL_HEADER_64: u8 = 0x14;

/// The value that Tachograph writes as process id into the header and the events of a log, together with thread id 0,
/// which Windows never writes. Older versions of Tachograph, which did not mark clock steps, wrote process id 0.
pub const TACHOGRAPH_PROCESS_ID: u32 = 0x424C_0001;

/// Maximum bytes of all parts of an event. A sample of 60,000 threads has about 10 MB.
pub const MAX_JOINED_BYTES: usize = 64 << 20;

/// Marks: flags of a sample for which the Windows format has no field. In a 64-bit log, Tachograph stores them as the
/// low bits of [`EventHeader::context`], with [`Marks::SIGNATURE`] as the high bits. Windows writes 0 there, and its
/// readers ignore the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Marks {
    /// Bit 0: the sample is a baseline, which only starts the first interval of an excerpt from a longer log.
    pub is_baseline: bool,
    /// Bit 1: the machine was restarted since the previous sample.
    pub is_restart: bool,
    /// Bit 2: a different log starts here (logs were merged or appended).
    pub is_new_log: bool,
    /// Bit 3: the clock was set, so the difference between the system time in the values and the sample's time
    /// changed.
    pub is_clock_step: bool,
}

impl Marks {
    /// The upper 16 bits of a context that contains marks.
    pub const SIGNATURE: u32 = 0x424C_0000;

    /// The marks of an event; no marks if Windows wrote the event, or in a 32-bit log.
    pub fn from_header(header: &EventHeader) -> Self {
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

    /// Whether the difference between the values' system times and the samples' times can change at this sample.
    pub(crate) fn may_change_clock_difference(self) -> bool {
        self.is_clock_step || self.is_restart || self.is_new_log
    }

    /// Encodes the marks; 0, as in logs written by Windows, if there are none.
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
    /// Length of the event, including this header, without the padding to a multiple of 8.
    pub size: U16,
    /// 0x0A in 32-bit logs, 0x14 in 64-bit logs.
    pub header_type: u8,
    /// Always [`MARKER_FLAGS`].
    pub marker: u8,
    /// Event type: 0x20, 0x22, 0x23 or 0x24.
    pub kind: u8,
    /// Always 0.
    pub level: u8,
    /// Always 0x3C.
    pub version: U16,
    /// Id of the writing thread.
    pub thread_id: U32,
    /// Id of the writing process.
    pub process_id: U32,
    /// Time of the event, local, 100 ns units since 1601.
    pub local_time: I64,
    /// Always [`PDH_EVENT_CLASS`].
    pub class: [u8; 16],
    /// In 64-bit logs, 0 or Tachograph's [`Marks`]; in 32-bit logs, the kernel time.
    pub context: U32,
    /// In 64-bit logs, 0x001A0200; in 32-bit logs, the user time.
    pub flags: U32,
    /// The GUID of the log.
    pub log_guid: [u8; 16],
    /// Index of this part, from 1.
    pub part: U32,
    /// Number of parts of the payload.
    pub parts: U32,
}

const _: () = assert!(size_of::<EventHeader>() == EVENT_HEADER_BYTES);
