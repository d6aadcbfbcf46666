//! Buffer 0 of a new log: the header event.

use tachograph_counters::civil::{FileTime, Moment};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{I64, U16, U32};

use super::options::BlgWriterOptions;
use crate::blg::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader, FLAG_LAST_BUFFER};
use crate::blg::raw::event::{MARKER_FLAGS, TACHOGRAPH_PROCESS_ID};
use crate::blg::raw::header::{
    LogfileHeader, LogfileHeaderEnd, LogfileHeaderStart, MODE_CIRCULAR, MODE_SEQUENTIAL, SystemTraceHeader,
};
use crate::blg::raw::round_up_8;
use crate::blg::raw::zone::TimeZoneInformation;

/// The log file mode of Windows 8 and later (not per processor, blocking, private), without the sequential or
/// circular bit.
const LOG_FILE_MODE: u32 = 0x3002_0800;

/// Returns the header of a new log with the GUID `uuid`.
pub(super) fn new(options: BlgWriterOptions, uuid: uuid::Uuid) -> LogfileHeader {
    let kind = if options.circular_bytes.is_some() { MODE_CIRCULAR } else { MODE_SEQUENTIAL };
    let max_mib = options.circular_bytes.unwrap_or_default().div_ceil(1 << 20);
    let mut header = LogfileHeader {
        system: SystemTraceHeader {
            header_type: 2,
            marker: MARKER_FLAGS,
            process_id: U32::new(TACHOGRAPH_PROCESS_ID),
            ..Default::default()
        },
        start: LogfileHeaderStart {
            buffer_size: U32::new(options.buffer_bytes as u32),
            version: [10, 0, 1, 5],
            build: U32::new(14393),
            processors: U32::new(1),
            timer_resolution: U32::new(156_250),
            maximum_file_size: U32::new(u32::try_from(max_mib).unwrap_or(u32::MAX)),
            log_file_mode: U32::new(LOG_FILE_MODE | kind),
            buffers_written: U32::new(1),
            start_buffers: U32::new(1),
            pointer_size: U32::new(8),
            ..Default::default()
        },
        pointers: [0; 2],
        zone: TimeZoneInformation::from_zone(&options.zone),
        end: LogfileHeaderEnd {
            boot_time: I64::new(options.boot_time.map_or(0, |boot| boot.0)),
            performance_frequency: I64::new(options.performance_frequency),
            clock_type: U32::new(2),
            ..Default::default()
        },
        logger_name: uuid.hyphenated().to_string(),
        file_name: options.file_name,
    };
    // Truncate the file name if the header does not fit into a small buffer.
    let max_size = ((options.buffer_bytes - BUFFER_HEADER_BYTES) & !7).min(u16::MAX.into());
    while header.natural_size() > max_size {
        header.file_name.pop();
        if header.file_name.is_empty() {
            break;
        }
    }
    header.system.size = U16::new(header.natural_size() as u16);
    header
}

/// Sets the time of the first sample.
pub(super) fn start(header: &mut LogfileHeader, at: Moment) {
    header.end.start_time = I64::new(at.utc.0);
    header.start.end_time = I64::new(at.utc.0);
    header.system.utc_time = I64::new(at.utc.0);
}

/// Sets the end time and the number of buffers.
pub(super) fn finish(header: &mut LogfileHeader, last: FileTime, buffers: u32) {
    header.start.end_time = I64::new(last.0);
    header.start.buffers_written = U32::new(buffers);
}

pub(super) fn first_buffer(header: &LogfileHeader) -> Vec<u8> {
    let mut bytes = vec![0; BUFFER_HEADER_BYTES];
    header.encode(&mut bytes);
    bytes.resize(round_up_8(bytes.len()), 0);
    let fill = U32::new(bytes.len() as u32);
    let head = BufferHeader {
        buffer_size: header.start.buffer_size,
        saved_offset: fill,
        offset: fill,
        flags: U16::new(FLAG_LAST_BUFFER),
        kind: U16::new(4),
        ..Default::default()
    };
    bytes[..BUFFER_HEADER_BYTES].copy_from_slice(head.as_bytes());
    bytes.resize(header.start.buffer_size.get() as usize, 0xFF);
    bytes
}
