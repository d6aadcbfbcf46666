//! Reads the buffers of a file one at a time, in chronological order.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use zerocopy::{FromBytes, IntoBytes};

use super::declared_end::{DECLARED_END_BYTES, DeclaredEnd};
use crate::blg::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader};
use crate::blg::raw::event::EventHeader;
use crate::blg::raw::header::END_TIME_AT;
use crate::error::LogError;
use crate::{Problem, Problems};

/// Maximum number of buffers that are sorted: as many as a circular log of 256 GiB has with Windows' buffer size.
const MAX_SORTED: u64 = 1 << 22;

/// Reads data buffers (index 1 and up) into one reused buffer.
pub(super) struct Buffers<R> {
    stream: R,
    file_bytes: u64,
    buffer_bytes: usize,
    /// Sequence number and index of each buffer in chronological order, for circular logs; `None` if the file is in
    /// that order.
    order: Option<Vec<(u64, u32)>>,
    /// The number of buffers read.
    read: usize,
    bytes: Vec<u8>,
    /// The length of the header and the events at the start of `bytes`.
    used: usize,
    /// The index of the current buffer in the file.
    index: u64,
    /// The sequence number of the current buffer of a circular log.
    sequence: Option<u64>,
    /// Whether the chronologically previous buffer of a circular log was overwritten.
    follows_gap: bool,
    /// The end of the log according to its header.
    declared: DeclaredEnd,
    /// Whether the file ended inside the current buffer, so that bytes appended later belong to it.
    is_short: bool,
    /// The offset after which events may be incomplete; `None` if no recorder can be writing the current buffer.
    incomplete_from: Option<usize>,
}

/// Identifies the current buffer: the number of buffers read so far, including this one (0: none yet), its index, and
/// its sequence number in a circular log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferPosition {
    read: usize,
    index: u64,
    sequence: Option<u64>,
}

/// The length of a buffer's header and events, according to the header and as found.
struct Fill {
    /// The length to search for events.
    used: usize,
    /// The length according to the header; if that is invalid, the length of the header alone.
    counted: usize,
    /// Whether the header agrees with the contents.
    is_consistent: bool,
}

/// Parses the header of a buffer. If `bytes` is too short, all fields have their maximum value.
fn parse_header(bytes: &[u8]) -> BufferHeader {
    BufferHeader::read_from_prefix(bytes)
        .map_or_else(|_| zerocopy::transmute!([0xFF_u8; BUFFER_HEADER_BYTES]), |(header, _)| header)
}

impl<R: Read + Seek> Buffers<R> {
    /// Creates a reader of the buffers after buffer 0.
    pub(super) fn new(stream: R, file_bytes: u64, buffer_bytes: usize, declared: DeclaredEnd) -> Self {
        Self {
            stream,
            file_bytes,
            buffer_bytes,
            order: None,
            read: 0,
            bytes: Vec::new(),
            used: 0,
            index: 0,
            sequence: None,
            follows_gap: false,
            declared,
            is_short: false,
            incomplete_from: None,
        }
    }

    /// Sorts the buffers of a circular log by sequence number, reading only their headers. More than [`MAX_SORTED`]
    /// buffers stay in file order.
    pub(super) fn sort_by_sequence(&mut self) -> Result<(), LogError> {
        let Some(count) = u32::try_from(self.count()).ok().filter(|&count| u64::from(count) <= MAX_SORTED)
        else {
            return Ok(());
        };
        let mut sequence = Vec::new();
        for index in 1..count {
            // A buffer without a complete header sorts last; its damage is reported when it is read.
            let header = self.header_in_file(u64::from(index))?;
            sequence.push((header.sequence_number.get(), index));
        }
        sequence.sort_unstable();
        self.order = Some(sequence);
        Ok(())
    }

    pub(super) fn rewind(&mut self) -> Result<(), LogError> {
        self.set_next(0);
        Ok(())
    }

    /// Whether the file is in chronological order.
    pub(super) fn are_in_order(&self) -> bool {
        self.order.is_none()
    }

    pub(super) fn position(&self) -> BufferPosition {
        BufferPosition { read: self.read, index: self.index, sequence: self.sequence }
    }

    /// Seeks to a buffer; false if it has been overwritten.
    pub(super) fn seek(&mut self, to: &BufferPosition) -> Result<bool, LogError> {
        if to.read == 0 {
            self.rewind()?;
            return Ok(true);
        }
        // The last buffer of the file may have been extended since.
        let is_full = (to.index + 1).saturating_mul(self.buffer_bytes as u64) < self.file_bytes;
        if self.position() == *to && !self.bytes.is_empty() && is_full {
            return Ok(true);
        }
        let before = match (&self.order, to.sequence) {
            (None, None) => to.read - 1,
            (Some(order), Some(sequence)) => {
                let key = (sequence, to.index as u32);
                let Ok(found) = order.binary_search(&key) else { return Ok(false) };
                found
            }
            _ => return Ok(false),
        };
        self.set_next(before);
        // The buffer's problems were reported when it was first read.
        let mut ignored = Problems::default();
        Ok(self.next(&mut ignored)? && self.index == to.index)
    }

    /// Skips whole buffers until about the last `bytes` bytes are left. Returns false if the current position is already
    /// past that point.
    pub(super) fn seek_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        let count = match &self.order {
            Some(order) => order.len(),
            None => usize::try_from(self.count()).unwrap_or(usize::MAX).saturating_sub(1),
        };
        let buffers = usize::try_from(bytes / self.buffer_bytes as u64).unwrap_or(usize::MAX).max(1);
        let Some(before) = count.checked_sub(buffers).filter(|&before| before > self.read) else {
            return Ok(false);
        };
        self.set_next(before);
        Ok(true)
    }

    /// Continues after the first `before` buffers.
    fn set_next(&mut self, before: usize) {
        self.read = before;
        self.sequence = None;
        self.bytes.clear();
        self.used = 0;
        self.is_short = false;
        self.incomplete_from = None;
    }

    /// Reads the next buffer; false at the end.
    ///
    /// A short buffer is the last one, even if a recorder appends to it meanwhile.
    pub(super) fn next(&mut self, problems: &mut Problems) -> Result<bool, LogError> {
        loop {
            let sorted = match &self.order {
                None => None,
                Some(order) => match order.get(self.read) {
                    None => return Ok(false),
                    Some(&buffer) => Some(buffer),
                },
            };
            if self.is_short && sorted.is_none() {
                return Ok(false);
            }
            let index = sorted.map_or(self.read as u64 + 1, |(_, index)| u64::from(index));
            self.read_buffer(index)?;
            if self.bytes.is_empty() {
                return Ok(false);
            }
            self.read += 1;
            self.index = index;
            let is_unfinished = index >= self.declared.buffers;
            if let Some((sequence, _)) = sorted {
                // A recorder has overwritten this buffer since the buffers were sorted, or while it was read. It is
                // now newer than all other buffers, so skip it.
                if parse_header(&self.bytes).sequence_number.get() != sequence
                    || (is_unfinished && self.header_in_file(index)?.sequence_number.get() != sequence)
                {
                    continue;
                }
                let before = self.sequence.replace(sequence);
                self.follows_gap = before.is_none_or(|before| before.checked_add(1) != Some(sequence));
            }
            let mut found = Problems::default();
            let mut fill = self.check_header(&mut found);
            if is_unfinished && self.is_last(fill.is_consistent)? {
                self.incomplete_from = Some(fill.counted);
            } else {
                if is_unfinished && !fill.is_consistent && sorted.is_none() {
                    // The recorder has started the next buffer in the meantime, so this one no longer changes: read
                    // it again.
                    self.read_buffer(index)?;
                    found = Problems::default();
                    fill = self.check_header(&mut found);
                }
                problems.append(found);
            }
            self.used = fill.used;
            return Ok(true);
        }
    }

    /// Whether the current buffer is the last one of the log. In a sequential log, false for a complete buffer with a
    /// consistent header, whose events are all complete.
    fn is_last(&mut self, is_consistent: bool) -> Result<bool, LogError> {
        if let Some(order) = &self.order {
            return Ok(self.read == order.len());
        }
        if self.is_short {
            return Ok(true);
        }
        if is_consistent {
            return Ok(false);
        }
        let file_bytes = self.stream.seek(SeekFrom::End(0)).map_err(LogError::io)?;
        let is_last = file_bytes <= (self.index + 1) * self.buffer_bytes as u64;
        self.is_short |= is_last;
        Ok(is_last)
    }

    fn read_buffer(&mut self, index: u64) -> Result<(), LogError> {
        self.used = 0;
        self.incomplete_from = None;
        let start = index.saturating_mul(self.buffer_bytes as u64);
        self.stream.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
        // A whole buffer is read at once; `read_to_end` begins with small reads.
        let is_complete = start.saturating_add(self.buffer_bytes as u64) <= self.file_bytes;
        self.bytes.resize(if is_complete { self.buffer_bytes } else { 0 }, 0);
        let read = if is_complete { self.stream.read(&mut self.bytes).map_err(LogError::io)? } else { 0 };
        self.bytes.truncate(read);
        if read < self.buffer_bytes {
            let rest = (self.buffer_bytes - read) as u64;
            (&mut self.stream).take(rest).read_to_end(&mut self.bytes).map_err(LogError::io)?;
        }
        self.is_short = self.bytes.len() < self.buffer_bytes;
        Ok(())
    }

    /// Reads the current header of a buffer from the file. If the file ends before the header does, all fields have
    /// their maximum value.
    fn header_in_file(&mut self, index: u64) -> Result<BufferHeader, LogError> {
        Ok(self.read_in_file(index, 0)?.unwrap_or_else(|| parse_header(&[])))
    }

    /// Reads a `T` at `offset` in a buffer, directly from the file; `None` if the file ends too early.
    fn read_in_file<T: FromBytes + IntoBytes>(
        &mut self,
        index: u64,
        offset: u64,
    ) -> Result<Option<T>, LogError> {
        let start = index.saturating_mul(self.buffer_bytes as u64).saturating_add(offset);
        self.stream.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
        let mut found = T::new_zeroed();
        match self.stream.read_exact(found.as_mut_bytes()) {
            Ok(()) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(LogError::io(error)),
        }
    }

    /// Whether a recorder may still be writing the event at `at` of the current buffer.
    pub(super) fn may_be_incomplete(&self, at: usize) -> bool {
        self.incomplete_from.is_some_and(|from| at >= from)
    }

    /// Whether a recorder may still be writing to the log: the header does not count the current buffer.
    pub(super) fn is_unfinished(&self) -> bool {
        self.index >= self.declared.buffers
    }

    /// Compares the log's end according to its header with the file. A longer file is unfinished, not damaged.
    pub(super) fn check_end(&mut self) -> Result<Option<Problem>, LogError> {
        if self.contradiction()?.is_none() {
            return Ok(None);
        }
        // Read the header again, because a recorder may have finished the log in the meantime.
        let mut fields = [0; DECLARED_END_BYTES];
        self.stream.seek(SeekFrom::Start(END_TIME_AT)).map_err(LogError::io)?;
        match self.stream.read_exact(&mut fields) {
            Ok(()) => self.declared.update(&fields),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(LogError::io(error)),
        }
        self.contradiction()
    }

    /// The first contradiction between the declared end and the file.
    fn contradiction(&mut self) -> Result<Option<Problem>, LogError> {
        let file_bytes = self.stream.seek(SeekFrom::End(0)).map_err(LogError::io)?;
        let size = self.buffer_bytes as u64;
        let index = file_bytes.saturating_sub(1) / size;
        let header = self.header_in_file(index)?;
        let writer = self.read_in_file::<EventHeader>(index, BUFFER_HEADER_BYTES as u64)?;
        let last = (index, &header, writer.map(|event| event.process_id.get()));
        Ok(self.declared.check(file_bytes, size, self.order.is_none(), last))
    }

    /// Whether the previous buffer of a circular log was overwritten, so that this one can start in the middle of
    /// an event.
    pub(super) fn follows_gap(&self) -> bool {
        self.follows_gap
    }

    /// The current buffer up to the end of its events, including the header.
    pub(super) fn used(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    pub(super) fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    pub(super) fn offset(&self) -> u64 {
        self.index * self.buffer_bytes as u64
    }

    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn bytes_read(&self) -> u64 {
        ((self.read as u64 + 1) * self.buffer_bytes as u64).min(self.file_bytes)
    }

    fn count(&self) -> u64 {
        self.file_bytes.div_ceil(self.buffer_bytes as u64)
    }

    /// Determines the length of the buffer's events.
    fn check_header(&self, problems: &mut Problems) -> Fill {
        let offset = self.offset();
        let available = self.bytes.len();
        // Without a usable header, all bytes are searched for events.
        let unknown = |used| Fill { used, counted: BUFFER_HEADER_BYTES, is_consistent: false };
        let Ok((header, _)) = BufferHeader::read_from_prefix(&self.bytes) else {
            problems.push(
                Problem::new(offset, "the file ends inside a buffer's header").found(available, "72 bytes"),
            );
            return unknown(0);
        };
        if are_all(&self.bytes, 0) {
            problems.push(Problem::new(offset, "the buffer was never written: all bytes are zero"));
            return unknown(0);
        }
        let mut is_consistent = true;
        if header.buffer_size.get() as usize != self.buffer_bytes {
            problems.push(
                Problem::new(offset, "the size in a buffer's header differs from the log's buffer size")
                    .found(header.buffer_size.get(), self.buffer_bytes.to_string()),
            );
            is_consistent = false;
        }
        let fill = header.offset.get() as usize;
        if fill < BUFFER_HEADER_BYTES || fill > self.buffer_bytes {
            // In a circular log, the bytes after the events can belong to older events.
            let second = self.second_fill(&header, BUFFER_HEADER_BYTES).filter(|_| self.order.is_some());
            problems.push(
                Problem::new(
                    offset + 0x30,
                    "the length of a buffer's events is wrong; all of the buffer is searched for events",
                )
                .found(fill, format!("72 to {}", self.buffer_bytes)),
            );
            return unknown(second.unwrap_or(available));
        }
        if fill > available {
            problems.push(
                Problem::new(offset + available as u64, "the file ends inside a buffer")
                    .found(available, format!("{fill} bytes")),
            );
            return unknown(available);
        }
        // Writers pad with FF. Other bytes mean that the recorder was killed while writing a sample, or that the
        // length is wrong. In a sequential log, the complete events among these bytes are read.
        if !are_all(&self.bytes[fill..], 0xFF) {
            if self.order.is_some() {
                let used = self.circular_fill(&header, fill, problems);
                return Fill { used, counted: fill, is_consistent: false };
            }
            problems.push(Problem::new(
                offset + fill as u64,
                "bytes after the end of a buffer's events: an unfinished sample, or the length of the events is wrong",
            ));
            return Fill { used: available, counted: fill, is_consistent: false };
        }
        Fill { used: fill, counted: fill, is_consistent }
    }

    /// Determines the length of the events in a buffer of a circular log, if bytes other than padding follow them: an
    /// unfinished sample, or older contents. A larger length is accepted only from the second copy in the header.
    #[cold]
    fn circular_fill(&self, header: &BufferHeader, fill: usize, problems: &mut Problems) -> usize {
        let offset = self.offset();
        if let Some(second) = self.second_fill(header, fill) {
            let problem = Problem::new(
                offset + 0x30,
                "the length of a buffer's events is wrong; its second copy in the header is used",
            );
            problems.push(problem.found(fill, second.to_string()));
            return second;
        }
        problems.push(Problem::new(
            offset + fill as u64,
            "bytes after the end of a buffer's events are skipped: an unfinished sample, or older ones",
        ));
        fill
    }

    /// The second copy of the length, if it is at least `min` and only padding follows it.
    fn second_fill(&self, header: &BufferHeader, min: usize) -> Option<usize> {
        let fill = header.saved_offset.get() as usize;
        let rest = self.bytes.get(fill..)?;
        (fill >= min && are_all(rest, 0xFF)).then_some(fill)
    }
}

/// Whether all bytes have this value.
fn are_all(bytes: &[u8], value: u8) -> bool {
    // Without an early exit within a chunk, many bytes are compared at a time.
    bytes.chunks(64).all(|chunk| chunk.iter().fold(0, |bits, byte| bits | (byte ^ value)) == 0)
}
