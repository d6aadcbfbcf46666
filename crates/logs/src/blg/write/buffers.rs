//! Writes events to buffers, and buffers to the file.

use std::io::{Seek, SeekFrom, Write};

use tachograph_counters::civil::{FileTime, Moment};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{I64, U16, U32, U64};

use super::header;
use super::options::BlgWriterOptions;
use super::ring::{Limit, Ring};
use crate::blg::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader, FLAG_DATA_BUFFER, FLAG_LAST_BUFFER};
use crate::blg::raw::event::{
    EVENT_HEADER_BYTES, EventHeader, FULL_HEADER_64, MARKER_FLAGS, PART_BYTES, PDH_EVENT_CLASS,
    TACHOGRAPH_PROCESS_ID,
};
use crate::blg::raw::header::{BUFFERS_WRITTEN_AT, END_TIME_AT, LogfileHeader};
use crate::blg::raw::round_up_8;
use crate::error::LogError;
use crate::length::SetLength;

/// `WNODE_FLAG_TRACED_GUID`, `USE_GUID_PTR`, `USE_MOF_PTR` and `USE_TIMESTAMP`, as in every event of a 64-bit log.
const EVENT_FLAGS: u32 = 0x001A_0200;

/// The value of `position` if the file position is unknown: after opening, and after a failed write. The next write
/// then seeks.
const UNKNOWN: u64 = u64::MAX;

/// The end of a buffer after its events consists of these bytes.
static FILL: [u8; 4096] = [0xFF; 4096];

/// The memory for events is reduced after [`SPARE_FLUSHES`] consecutive flushes at which it had at least this number of
/// bytes, and four times as many as needed.
const MIN_SPARE: usize = 4096;
const SPARE_FLUSHES: u32 = 8;

/// Collects events in a buffer, and writes buffers to the file.
pub(super) struct BufferWriter<W> {
    out: W,
    /// `None` for an existing log, whose header is kept.
    header: Option<LogfileHeader>,
    guid: [u8; 16],
    /// Header type of events without a context.
    event_header_type: u8,
    buffer_bytes: usize,
    /// The part of the current buffer that has not been written to the file. The start of a buffer has space for the header.
    buffer: Vec<u8>,
    /// The index of the current buffer.
    index: u64,
    /// Length of the part of the current buffer that has been written to the file, header included; `buffer` follows it.
    flushed: usize,
    /// Number of consecutive flushes for which `buffer` was too large.
    spare_flushes: u32,
    /// The state to restore if writing fails.
    checkpoint: Checkpoint,
    /// The position of the file, to avoid needless seeks.
    position: u64,
    /// The time of the latest event.
    last_utc: FileTime,
    /// The limit of a circular log.
    limit: Option<Limit>,
    /// The ring of a circular log, after the counter list is written.
    ring: Option<Ring>,
    /// A buffer without events, which is written over the oldest buffer of the ring before that buffer is reused.
    empty: Vec<u8>,
    /// Whether the old buffer in the place of the current buffer has been overwritten with `empty`.
    is_emptied: bool,
}

/// The end of the file after the last flush.
#[derive(Clone, Copy)]
struct Checkpoint {
    /// Index of the last buffer.
    index: u64,
    /// End of its written events, header included; 0 if nothing of it has been written.
    fill: usize,
    last_utc: FileTime,
}

impl<W: Write + Seek> BufferWriter<W> {
    pub(super) fn new(out: W, options: BlgWriterOptions) -> Result<Self, LogError> {
        let uuid = options.guid.map_or_else(uuid::Uuid::new_v4, uuid::Uuid::from_bytes_le);
        let mut writer = Self::after(out, options.buffer_bytes, 1);
        if let Some(max_bytes) = options.circular_bytes {
            writer.limit = Some(Limit::new(max_bytes, options.buffer_bytes, writer.part_bytes())?);
        }
        writer.guid = uuid.to_bytes_le();
        writer.position = 0;
        writer.header = Some(header::new(options, uuid));
        writer.write_first_buffer()?;
        Ok(writer)
    }

    /// Continues a log with `buffers` buffers of `buffer_bytes`.
    pub(super) fn after(out: W, buffer_bytes: usize, buffers: u64) -> Self {
        Self {
            out,
            header: None,
            guid: [0; 16],
            event_header_type: FULL_HEADER_64,
            buffer_bytes,
            buffer: vec![0; BUFFER_HEADER_BYTES],
            index: buffers,
            flushed: 0,
            spare_flushes: 0,
            checkpoint: Checkpoint { index: buffers, fill: 0, last_utc: FileTime(0) },
            position: UNKNOWN,
            last_utc: FileTime(0),
            limit: None,
            ring: None,
            empty: Vec::new(),
            is_emptied: false,
        }
    }

    /// Sets the GUID, event header type and end time of an existing log.
    pub(super) fn continuing(mut self, guid: [u8; 16], event_header_type: u8, last_utc: FileTime) -> Self {
        (self.guid, self.event_header_type, self.last_utc) = (guid, event_header_type, last_utc);
        self.checkpoint.last_utc = last_utc;
        self
    }

    pub(super) fn get_ref(&self) -> &W {
        &self.out
    }

    pub(super) fn is_circular(&self) -> bool {
        self.limit.is_some()
    }

    /// Checks that a circular log has room for the payloads in its fixed part, and for a first sample.
    pub(super) fn check_start(
        &self,
        fixed: impl Iterator<Item = usize>,
        sample_bytes: usize,
    ) -> Result<(), LogError> {
        self.limit.map_or(Ok(()), |limit| limit.check(fixed, sample_bytes))
    }

    /// Checks that a circular log has room for a sample.
    pub(super) fn check_sample(&self, sample_bytes: usize) -> Result<(), LogError> {
        self.ring.map_or(Ok(()), |ring| ring.check(sample_bytes))
    }

    /// Stores the time of the first sample as the start of the log.
    pub(super) fn start(&mut self, at: Moment) -> Result<(), LogError> {
        if let Some(header) = &mut self.header {
            header::start(header, at);
        }
        self.write_first_buffer()
    }

    /// Ends the part of a circular log that is never overwritten.
    pub(super) fn start_ring(&mut self) -> Result<(), LogError> {
        let Some(limit) = self.limit else { return Ok(()) };
        self.close_buffer(self.buffer_bytes)?;
        self.ring = Some(Ring::new(limit, self.index));
        self.empty.resize(self.buffer_bytes, 0xFF);
        if let Some(header) = &mut self.header {
            header.start.start_buffers = U32::new(u32::try_from(self.index).unwrap_or(u32::MAX));
        }
        self.write_first_buffer()
    }

    /// Maximum payload bytes of an event.
    pub(super) fn part_bytes(&self) -> usize {
        PART_BYTES.min(self.buffer_bytes - BUFFER_HEADER_BYTES - EVENT_HEADER_BYTES)
    }

    /// Length of the file if it were finished now.
    pub(super) fn file_bytes(&self) -> u64 {
        self.file_buffers().saturating_mul(self.buffer_bytes as u64)
    }

    /// Adds an event, in several parts if it is long.
    pub(super) fn push_event(
        &mut self,
        kind: u8,
        context: u32,
        local: FileTime,
        utc: FileTime,
        payload: &[u8],
    ) -> Result<(), LogError> {
        let part_bytes = self.part_bytes();
        let parts = payload.len().div_ceil(part_bytes).max(1) as u32;
        // Only 64-bit events have a context. Apart from that, 32-bit and 64-bit events have the same layout.
        let header_type = if context == 0 { self.event_header_type } else { FULL_HEADER_64 };
        let flags = if header_type == FULL_HEADER_64 { EVENT_FLAGS } else { 0 };
        let mut header = EventHeader {
            header_type,
            marker: MARKER_FLAGS,
            kind,
            version: U16::new(0x3C),
            process_id: U32::new(TACHOGRAPH_PROCESS_ID),
            local_time: I64::new(local.0),
            class: PDH_EVENT_CLASS,
            context: U32::new(context),
            flags: U32::new(flags),
            log_guid: self.guid,
            parts: U32::new(parts),
            ..Default::default()
        };
        for (index, part) in payload.chunks(part_bytes).enumerate() {
            let size = EVENT_HEADER_BYTES + part.len();
            header.part = U32::new(index as u32 + 1);
            header.size = U16::new(size as u16);
            if self.fill() + round_up_8(size) > self.buffer_bytes {
                self.close_buffer(round_up_8(size))?;
            }
            self.buffer.extend_from_slice(header.as_bytes());
            self.buffer.extend_from_slice(part);
            self.buffer.resize(round_up_8(self.buffer.len()), 0);
        }
        // The flush times of buffers never go backwards, even if the clock is set back.
        self.last_utc = self.last_utc.max(utc);
        Ok(())
    }

    /// Writes all events, then the buffer header with their length, so that the file is consistent if the process dies
    /// between the two writes.
    pub(super) fn flush(&mut self) -> Result<(), LogError> {
        self.write_events(FLAG_DATA_BUFFER | FLAG_LAST_BUFFER, self.buffer_bytes)?;
        self.out.flush().map_err(LogError::io)?;
        self.checkpoint = Checkpoint { index: self.index, fill: self.flushed, last_utc: self.last_utc };
        Ok(())
    }

    /// Completes the file: the last buffer, and the header.
    pub(super) fn finish(&mut self) -> Result<(), LogError> {
        let flags = FLAG_DATA_BUFFER | FLAG_LAST_BUFFER;
        if self.ring.is_some() {
            self.write_events(flags, self.buffer_bytes)?;
        } else if self.header.is_some() || self.has_events() {
            // A log has at least one data buffer, even if it is empty.
            self.write_buffer(flags, self.buffer_bytes)?;
            self.flushed = self.fill();
            self.buffer.clear();
        }
        self.complete(self.file_buffers())
    }

    /// Writes the end time and the number of buffers to the header.
    fn complete(&mut self, buffers: u64) -> Result<(), LogError> {
        let buffers = u32::try_from(buffers).unwrap_or(u32::MAX);
        match &mut self.header {
            Some(header) => {
                header::finish(header, self.last_utc, buffers);
                self.write_first_buffer()?;
            }
            None => {
                self.write_at(END_TIME_AT, &self.last_utc.0.to_le_bytes())?;
                self.write_at(BUFFERS_WRITTEN_AT, &buffers.to_le_bytes())?;
            }
        }
        self.out.flush().map_err(LogError::io)
    }

    /// The end of the events of the current buffer.
    fn fill(&self) -> usize {
        self.flushed + self.buffer.len()
    }

    fn has_events(&self) -> bool {
        self.fill() > BUFFER_HEADER_BYTES
    }

    /// Number of buffers if the file were finished now.
    fn file_buffers(&self) -> u64 {
        let has_open_buffer = self.has_events() || (self.header.is_some() && self.ring.is_none());
        let buffers = self.index + u64::from(has_open_buffer);
        self.ring.map_or(buffers, |ring| ring.file_buffers(buffers))
    }

    fn close_buffer(&mut self, next_event_bytes: usize) -> Result<(), LogError> {
        if self.ring.is_some() {
            // Also writes the events that have not been written yet.
            self.write_header(FLAG_DATA_BUFFER, next_event_bytes)?;
        } else {
            self.write_buffer(FLAG_DATA_BUFFER, next_event_bytes)?;
        }
        self.index += 1;
        self.buffer.clear();
        self.buffer.resize(BUFFER_HEADER_BYTES, 0);
        self.flushed = 0;
        self.is_emptied = false;
        Ok(())
    }

    /// Writes new events and the buffer header, if there are new events.
    fn write_events(&mut self, flags: u16, next_event_bytes: usize) -> Result<(), LogError> {
        if !self.buffer.is_empty() && self.has_events() {
            self.write_header(flags, next_event_bytes)?;
            self.flushed = self.fill();
            let is_spare = self.buffer.capacity() >= MIN_SPARE.max(4 * self.buffer.len());
            self.spare_flushes = if is_spare { self.spare_flushes + 1 } else { 0 };
            if self.spare_flushes == SPARE_FLUSHES {
                self.buffer.shrink_to(2 * self.buffer.len());
            }
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes new events, then the buffer header.
    fn write_header(&mut self, flags: u16, next_event_bytes: usize) -> Result<(), LogError> {
        let start = self.buffer_start();
        if self.ring.is_some() && !self.is_emptied {
            // Empty the oldest buffer before reusing it. Otherwise, if the process died between two writes, old events
            // could be read with the new header, or new events with the old header, and so in the wrong order.
            let header = self.empty_header(flags);
            self.empty[..BUFFER_HEADER_BYTES].copy_from_slice(header.as_bytes());
            let empty = std::mem::take(&mut self.empty);
            let written = self.write_at(start, &empty);
            self.empty = empty;
            written?;
            self.is_emptied = true;
        }
        let from = self.flushed.max(BUFFER_HEADER_BYTES);
        if from < self.fill() {
            let events = std::mem::take(&mut self.buffer);
            let written = self.write_at(start + from as u64, &events[from - self.flushed..]);
            self.buffer = events;
            written?;
        }
        let header = self.buffer_header(self.fill(), flags, next_event_bytes);
        self.write_at(start, header.as_bytes())
    }

    /// Completes the buffer in the file: writes what a flush has not written, and the header.
    fn write_buffer(&mut self, flags: u16, next_event_bytes: usize) -> Result<(), LogError> {
        let (start, fill) = (self.buffer_start(), self.fill());
        let header = self.buffer_header(fill, flags, next_event_bytes);
        if self.flushed == 0 {
            self.buffer[..BUFFER_HEADER_BYTES].copy_from_slice(header.as_bytes());
            self.buffer.resize(self.buffer_bytes, 0xFF);
            self.spare_flushes = 0;
        }
        let bytes = std::mem::take(&mut self.buffer);
        let written = self.write_at(start + self.flushed as u64, &bytes);
        self.buffer = bytes;
        if self.flushed == 0 {
            self.buffer.truncate(fill);
            return written;
        }
        written?;
        let mut at = fill;
        while at < self.buffer_bytes {
            let rest = &FILL[..FILL.len().min(self.buffer_bytes - at)];
            self.write_at(start + at as u64, rest)?;
            at += rest.len();
        }
        // The header is last, so that the file is consistent if the process dies before.
        self.write_at(start, header.as_bytes())
    }

    fn buffer_header(&self, fill: usize, flags: u16, next_event_bytes: usize) -> BufferHeader {
        BufferHeader {
            buffer_size: U32::new(self.buffer_bytes as u32),
            saved_offset: U32::new(fill as u32),
            current_offset: U32::new((fill + next_event_bytes) as u32),
            flushed_at: I64::new(self.last_utc.0),
            sequence_number: U64::new(self.index),
            state: U32::new(3),
            offset: U32::new(fill as u32),
            flags: U16::new(flags),
            ..Default::default()
        }
    }

    fn empty_header(&self, flags: u16) -> BufferHeader {
        self.buffer_header(BUFFER_HEADER_BYTES, flags, self.buffer_bytes)
    }

    fn write_first_buffer(&mut self) -> Result<(), LogError> {
        match &self.header {
            Some(header) => self.write_at(0, &header::first_buffer(header)),
            None => Ok(()),
        }
    }

    fn buffer_start(&self) -> u64 {
        self.ring.map_or(self.index, |ring| ring.file_index(self.index)) * self.buffer_bytes as u64
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), LogError> {
        if std::mem::replace(&mut self.position, UNKNOWN) != offset {
            self.out.seek(SeekFrom::Start(offset)).map_err(LogError::io)?;
        }
        self.out.write_all(bytes).map_err(LogError::io)?;
        self.position = offset + bytes.len() as u64;
        Ok(())
    }
}

impl<W: Write + Seek + SetLength> BufferWriter<W> {
    /// Restores the file to its state at the last flush and completes its header. Never extends the file, so this works
    /// on a full disk; as a result the last buffer is cut off after its events. Returns the length of the file.
    pub(super) fn abort(mut self) -> Result<u64, LogError> {
        let Checkpoint { index, fill, last_utc } = self.checkpoint;
        let reached = std::mem::replace(&mut self.index, index);
        self.last_utc = last_utc;
        let flags = FLAG_DATA_BUFFER | FLAG_LAST_BUFFER;
        let (start, size) = (self.buffer_start(), self.buffer_bytes as u64);
        if fill == 0 {
            // Nothing of this buffer was flushed. A new log without samples becomes empty; an existing log ends before
            // this buffer.
            let length = if self.header.is_some() { 0 } else { start };
            self.out.set_length(length).map_err(LogError::io)?;
            return Ok(length);
        }
        let end = start + fill as u64;
        // After the ring has wrapped, older samples follow this buffer.
        let length = match self.ring.filter(|ring| ring.file_index(index) != index) {
            Some(ring) => ring.file_buffers(index) * size,
            None => end,
        };
        self.out.set_length(length).map_err(LogError::io)?;
        let header = self.buffer_header(fill, flags, self.buffer_bytes);
        self.write_at(start, header.as_bytes())?;
        if end < length {
            self.write_at(end, &vec![0xFF; (start + size - end) as usize])?;
        }
        // The old buffers that were being overwritten are lost: replace them with empty ones.
        for lost in index + 1..=reached {
            self.index = lost;
            let start = self.buffer_start();
            if start < length {
                let mut empty = vec![0xFF; self.buffer_bytes];
                empty[..BUFFER_HEADER_BYTES].copy_from_slice(self.empty_header(flags).as_bytes());
                self.write_at(start, &empty)?;
            }
        }
        self.complete(length.div_ceil(size))?;
        Ok(length)
    }
}
