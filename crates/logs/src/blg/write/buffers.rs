//! Buffers and events on their way to the file.

use std::io::{Seek, SeekFrom, Write};

use tachograph_counters::civil::{FileTime, Moment};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{I64, U16, U32, U64};

use super::BlgWriterOptions;
use crate::blg::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader};
use crate::blg::raw::event::{
    EVENT_HEADER_BYTES, EventHeader, FULL_HEADER_64, MARKER_FLAGS, PART_BYTES, PDH_EVENT_CLASS,
};
use crate::blg::raw::header::{LogfileHeader, LogfileHeaderEnd, LogfileHeaderStart, SystemTraceHeader};
use crate::blg::raw::round_up_8;
use crate::blg::raw::zone::TimeZoneInformation;
use crate::error::LogError;

/// Not per processor, blocking, private, sequential: the mode of Windows 8 and later.
const LOG_FILE_MODE: u32 = 0x3002_0801;
/// Traced GUID, by pointer, with time stamp: the flags of every event of a 64-bit log.
const EVENT_FLAGS: u32 = 0x001A_0200;
const FLAG_DATA_BUFFER: u16 = 0x20;
const FLAG_LAST_BUFFER: u16 = 0x01;

/// Puts events into buffers, and buffers into the file.
pub(super) struct BufferWriter<W> {
    out: W,
    header: LogfileHeader,
    guid: [u8; 16],
    buffer_bytes: usize,
    /// The buffer being filled; its header's bytes stand at the front.
    buffer: Vec<u8>,
    number: u32,
    /// How much of the buffer the file has already.
    flushed: usize,
    /// Where the file's cursor is, to seek only when needed.
    position: u64,
    last_utc: FileTime,
}

impl<W: Write + Seek> BufferWriter<W> {
    pub(super) fn new(out: W, options: BlgWriterOptions) -> Result<Self, LogError> {
        let uuid = options.guid.map_or_else(uuid::Uuid::new_v4, uuid::Uuid::from_bytes_le);
        let mut header = LogfileHeader {
            system: SystemTraceHeader { header_type: 2, marker: MARKER_FLAGS, ..Default::default() },
            start: LogfileHeaderStart {
                buffer_size: U32::new(options.buffer_bytes as u32),
                version: [10, 0, 1, 5],
                build: U32::new(14393),
                processors: U32::new(1),
                timer_resolution: U32::new(156_250),
                log_file_mode: U32::new(LOG_FILE_MODE),
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
        // The name is for people; it must not push the header out of a small buffer.
        let room = ((options.buffer_bytes - BUFFER_HEADER_BYTES) & !7).min(u16::MAX.into());
        while header.natural_size() > room {
            header.file_name.pop();
            if header.file_name.is_empty() {
                break;
            }
        }
        header.system.size = U16::new(header.natural_size() as u16);
        let mut writer = Self {
            out,
            header,
            guid: uuid.to_bytes_le(),
            buffer_bytes: options.buffer_bytes,
            buffer: vec![0; BUFFER_HEADER_BYTES],
            number: 1,
            flushed: 0,
            position: 0,
            last_utc: FileTime(0),
        };
        writer.write_first_buffer()?;
        Ok(writer)
    }

    /// Notes the moment of the first sample: the start of the log.
    pub(super) fn start(&mut self, at: Moment) -> Result<(), LogError> {
        self.header.end.start_time = I64::new(at.utc.0);
        self.header.start.end_time = I64::new(at.utc.0);
        self.header.system.utc_time = I64::new(at.utc.0);
        self.write_first_buffer()
    }

    /// Most bytes of payload that one event may carry.
    pub(super) fn part_bytes(&self) -> usize {
        PART_BYTES.min(self.buffer_bytes - BUFFER_HEADER_BYTES - EVENT_HEADER_BYTES)
    }

    /// Adds an event, in parts where it is long.
    pub(super) fn event(
        &mut self,
        kind: u8,
        context: u32,
        local: FileTime,
        utc: FileTime,
        payload: &[u8],
    ) -> Result<(), LogError> {
        let part_bytes = self.part_bytes();
        let parts = payload.len().div_ceil(part_bytes).max(1) as u32;
        let mut header = EventHeader {
            header_type: FULL_HEADER_64,
            marker: MARKER_FLAGS,
            kind,
            version: U16::new(0x3C),
            local_time: I64::new(local.0),
            class: PDH_EVENT_CLASS,
            context: U32::new(context),
            flags: U32::new(EVENT_FLAGS),
            log_guid: self.guid,
            parts: U32::new(parts),
            ..Default::default()
        };
        for (number, part) in payload.chunks(part_bytes).enumerate() {
            let size = EVENT_HEADER_BYTES + part.len();
            header.part = U32::new(number as u32 + 1);
            header.size = U16::new(size as u16);
            if self.buffer.len() + round_up_8(size) > self.buffer_bytes {
                self.close_buffer(round_up_8(size))?;
            }
            self.buffer.extend_from_slice(header.as_bytes());
            self.buffer.extend_from_slice(part);
            self.buffer.resize(round_up_8(self.buffer.len()), 0);
        }
        // A buffer's time may not go back, whatever the samples' clock did.
        self.last_utc = self.last_utc.max(utc);
        Ok(())
    }

    /// Gives the events so far to the file: first the events, then the header that counts them, so that a file cut
    /// between the two is whole without them.
    pub(super) fn flush(&mut self) -> Result<(), LogError> {
        if self.flushed < self.buffer.len() && self.buffer.len() > BUFFER_HEADER_BYTES {
            let start = self.buffer_start();
            let from = self.flushed.max(BUFFER_HEADER_BYTES);
            let events = std::mem::take(&mut self.buffer);
            let written = self.write_at(start + from as u64, &events[from..]);
            self.buffer = events;
            written?;
            let header = self.buffer_header(FLAG_DATA_BUFFER | FLAG_LAST_BUFFER, self.buffer_bytes);
            self.write_at(start, header.as_bytes())?;
            self.flushed = self.buffer.len();
        }
        self.out.flush().map_err(LogError::io)
    }

    /// Completes the file: the last buffer, and the header.
    pub(super) fn finish(&mut self) -> Result<(), LogError> {
        // A log has at least one data buffer, be it empty.
        self.write_buffer(FLAG_DATA_BUFFER | FLAG_LAST_BUFFER, self.buffer_bytes)?;
        self.header.start.end_time = I64::new(self.last_utc.0);
        self.header.start.buffers_written = U32::new(self.number + 1);
        self.write_first_buffer()?;
        self.out.flush().map_err(LogError::io)
    }

    fn close_buffer(&mut self, next_event_bytes: usize) -> Result<(), LogError> {
        self.write_buffer(FLAG_DATA_BUFFER, next_event_bytes)?;
        self.number += 1;
        self.buffer.clear();
        self.buffer.resize(BUFFER_HEADER_BYTES, 0);
        self.flushed = 0;
        Ok(())
    }

    /// Writes the whole buffer with its fill. What a flush wrote before is written again: it is the same.
    fn write_buffer(&mut self, flags: u16, next_event_bytes: usize) -> Result<(), LogError> {
        let header = self.buffer_header(flags, next_event_bytes);
        let fill = self.buffer.len();
        self.buffer[..BUFFER_HEADER_BYTES].copy_from_slice(header.as_bytes());
        self.buffer.resize(self.buffer_bytes, 0xFF);
        let bytes = std::mem::take(&mut self.buffer);
        let written = self.write_at(self.buffer_start(), &bytes);
        self.buffer = bytes;
        self.buffer.truncate(fill);
        written
    }

    fn buffer_header(&self, flags: u16, next_event_bytes: usize) -> BufferHeader {
        let fill = self.buffer.len() as u32;
        BufferHeader {
            buffer_size: U32::new(self.buffer_bytes as u32),
            saved_offset: U32::new(fill),
            current_offset: U32::new(fill + next_event_bytes as u32),
            flushed_at: I64::new(self.last_utc.0),
            sequence_number: U64::new(u64::from(self.number)),
            state: U32::new(3),
            offset: U32::new(fill),
            flags: U16::new(flags),
            ..Default::default()
        }
    }

    fn write_first_buffer(&mut self) -> Result<(), LogError> {
        let mut bytes = vec![0; BUFFER_HEADER_BYTES];
        self.header.encode(&mut bytes);
        bytes.resize(round_up_8(bytes.len()), 0);
        let fill = U32::new(bytes.len() as u32);
        let header = BufferHeader {
            buffer_size: U32::new(self.buffer_bytes as u32),
            saved_offset: fill,
            offset: fill,
            flags: U16::new(FLAG_LAST_BUFFER),
            kind: U16::new(4),
            ..Default::default()
        };
        bytes[..BUFFER_HEADER_BYTES].copy_from_slice(header.as_bytes());
        bytes.resize(self.buffer_bytes, 0xFF);
        self.write_at(0, &bytes)
    }

    fn buffer_start(&self) -> u64 {
        u64::from(self.number) * self.buffer_bytes as u64
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), LogError> {
        if self.position != offset {
            self.out.seek(SeekFrom::Start(offset)).map_err(LogError::io)?;
            self.position = offset;
        }
        self.out.write_all(bytes).map_err(LogError::io)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}
