//! The log file header: the one event of buffer 0 (SYSTEM_TRACE_HEADER and TRACE_LOGFILE_HEADER).

use zerocopy::little_endian::{I64, U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::buffer::BUFFER_HEADER_BYTES;
use super::zone::TimeZoneInformation;
use super::{push_utf16_nul, utf16_until_nul};
use crate::Problem;

/// LogFileMode: sequential file, buffers in chronological order.
pub const MODE_SEQUENTIAL: u32 = 1;
/// LogFileMode: circular file, buffers in order of their sequence numbers.
pub const MODE_CIRCULAR: u32 = 2;

/// Offset of the end time in the file: after the buffer header, the event header and four numbers. Independent of
/// the pointer size.
pub const END_TIME_AT: u64 = BUFFER_HEADER_BYTES as u64 + 0x20 + 0x10;
/// Offset of the number of buffers in the file.
pub const BUFFERS_WRITTEN_AT: u64 = BUFFER_HEADER_BYTES as u64 + 0x20 + 0x24;

/// The fixed part of the event, 0x20 bytes, before TRACE_LOGFILE_HEADER.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "SYSTEM_TRACE_HEADER")]
pub struct SystemTraceHeader {
    /// Version of the header: 0, 1 or 2.
    pub version: U16,
    /// 1 = 32-bit log, 2 = 64-bit log.
    pub header_type: u8,
    /// Always 0xC0.
    pub marker: u8,
    /// Length of the event, including this header.
    pub size: U16,
    /// Hook type and group; always 0.
    pub hook: U16,
    /// Id of the thread that created the log.
    pub thread_id: U32,
    /// Id of the process that created the log.
    pub process_id: U32,
    /// Start time of the log, UTC, 100 ns units.
    pub utc_time: I64,
    /// Kernel time in clock ticks.
    pub kernel_time: U32,
    /// User time in clock ticks.
    pub user_time: U32,
}

/// The part of TRACE_LOGFILE_HEADER before its two pointers, 0x38 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct LogfileHeaderStart {
    /// Size of every buffer.
    pub buffer_size: U32,
    /// Windows version: major, minor, sub, sub-minor.
    pub version: [u8; 4],
    /// Windows build.
    pub build: U32,
    /// Number of processors; 1 in all known logs.
    pub processors: U32,
    /// End time of the log, UTC, 100 ns units; out of date if the recorder was killed.
    pub end_time: I64,
    /// Timer resolution, 100 ns units.
    pub timer_resolution: U32,
    /// Maximum file size in MiB; 0 = unlimited.
    pub maximum_file_size: U32,
    /// Mode bits, such as [`MODE_CIRCULAR`].
    pub log_file_mode: U32,
    /// Number of buffers written, including buffer 0; out of date if the recorder was killed.
    pub buffers_written: U32,
    /// Number of buffers at the start that a circular log never overwrites, including buffer 0; 1 in other logs.
    pub start_buffers: U32,
    /// 4 or 8: the size of the pointers that follow.
    pub pointer_size: U32,
    /// Number of lost events.
    pub events_lost: U32,
    /// Processor clock in MHz.
    pub cpu_mhz: U32,
}

/// The part of TRACE_LOGFILE_HEADER after the time zone and its padding, 0x20 bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct LogfileHeaderEnd {
    /// Boot time of the machine, UTC; 0 if unknown.
    pub boot_time: I64,
    /// Frequency of the performance counter, in ticks per second.
    pub performance_frequency: I64,
    /// Creation time of the file, UTC.
    pub start_time: I64,
    /// Clock type: 2 = system time.
    pub clock_type: U32,
    /// Number of lost buffers.
    pub buffers_lost: U32,
}

/// The header event with its variable parts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[doc(alias = "TRACE_LOGFILE_HEADER")]
pub struct LogfileHeader {
    /// The fixed part of the event.
    pub system: SystemTraceHeader,
    /// Sizes, version, mode.
    pub start: LogfileHeaderStart,
    /// Two meaningless pointers, 4 bytes each in 32-bit logs.
    pub pointers: [u64; 2],
    /// The time zone of the recording machine.
    pub zone: TimeZoneInformation,
    /// Times and clock.
    pub end: LogfileHeaderEnd,
    /// Name of the log session: its GUID as text.
    pub logger_name: String,
    /// The path of the log when it was created.
    pub file_name: String,
}

const START: usize = size_of::<SystemTraceHeader>();
const POINTERS: usize = START + size_of::<LogfileHeaderStart>();

impl LogfileHeader {
    /// The build number of the Windows version that wrote the log; `None` if Tachograph wrote it. Only Tachograph
    /// writes 0 for both the thread id and the processor clock.
    pub fn windows_build(&self) -> Option<u32> {
        let is_windows = self.system.thread_id.get() != 0 || self.start.cpu_mhz.get() != 0;
        is_windows.then(|| self.start.build.get())
    }

    /// Decodes the header event at the start of `bytes`, which are at file offset `offset`.
    ///
    /// # Errors
    ///
    /// A [`Problem`] if the event is longer than `bytes` or its pointer size is neither 4 nor 8.
    pub fn decode(bytes: &[u8], offset: u64) -> Result<Self, Problem> {
        let Ok((system, _)) = SystemTraceHeader::read_from_prefix(bytes) else {
            let problem = Problem::new(offset, "the header event is cut off");
            return Err(problem.found(bytes.len(), "at least 32 bytes"));
        };
        let size = usize::from(system.size.get());
        let cut_off = |message: &'static str| Problem::new(offset, message).found(size, "more bytes");
        let Some(event) = bytes.get(..size).filter(|event| event.len() >= POINTERS) else {
            return Err(Problem::new(offset + 4, "the header event's size is wrong")
                .found(size, "a size that fits in the buffer"));
        };
        let Some((start, after)) =
            event.get(START..).and_then(|bytes| LogfileHeaderStart::read_from_prefix(bytes).ok())
        else {
            return Err(cut_off("the header event is cut off"));
        };
        let (pointers, after) = match (start.pointer_size.get(), after) {
            (4, [a0, a1, a2, a3, b0, b1, b2, b3, after @ ..]) => (
                [u32::from_le_bytes([*a0, *a1, *a2, *a3]), u32::from_le_bytes([*b0, *b1, *b2, *b3])]
                    .map(u64::from),
                after,
            ),
            (8, after) if after.len() >= 16 => {
                let mut pointers = [0; 2];
                for (pointer, bytes) in pointers.iter_mut().zip(after.chunks_exact(8)) {
                    *pointer = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
                }
                (pointers, &after[16..])
            }
            (4 | 8, _) => return Err(cut_off("the header event is cut off")),
            (other, _) => {
                let at = offset + (START + 0x2C) as u64;
                return Err(Problem::new(at, "the pointer size is wrong").found(other, "4 or 8"));
            }
        };
        let parts = TimeZoneInformation::read_from_prefix(after).ok().and_then(|(zone, after)| {
            // The next structure is aligned to 8.
            let (end, after) = LogfileHeaderEnd::read_from_prefix(after.get(4..)?).ok()?;
            Some((zone, end, after))
        });
        let Some((zone, end, after)) = parts else { return Err(cut_off("the header event is cut off")) };
        let (logger_name, name_bytes) = utf16_until_nul(after);
        let (file_name, _) = utf16_until_nul(&after[name_bytes..]);
        Ok(Self { system, start, pointers, zone, end, logger_name, file_name })
    }

    /// Appends the event, with trailing zeros up to the size in `system`. The padding after the event is not
    /// included.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(self.system.as_bytes());
        out.extend_from_slice(self.start.as_bytes());
        for pointer in self.pointers {
            let bytes = pointer.to_le_bytes();
            out.extend_from_slice(if self.start.pointer_size.get() == 4 { &bytes[..4] } else { &bytes });
        }
        out.extend_from_slice(self.zone.as_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(self.end.as_bytes());
        push_utf16_nul(out, &self.logger_name);
        push_utf16_nul(out, &self.file_name);
        let size = usize::from(self.system.size.get()).max(out.len() - begin);
        out.resize(begin + size, 0);
    }

    /// Length of the encoded event without trailing zeros.
    pub fn natural_size(&self) -> usize {
        let pointers = 2 * self.start.pointer_size.get() as usize;
        let texts = 2 * (self.logger_name.encode_utf16().count() + self.file_name.encode_utf16().count() + 2);
        POINTERS + pointers + size_of::<TimeZoneInformation>() + 4 + size_of::<LogfileHeaderEnd>() + texts
    }
}
