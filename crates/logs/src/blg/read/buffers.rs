//! The buffers of a file, one at a time, in order of time.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use zerocopy::{FromBytes, IntoBytes};

use super::claims::{CLAIM_BYTES, Claims};
use crate::blg::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader};
use crate::blg::raw::event::EventHeader;
use crate::blg::raw::header::END_TIME_AT;
use crate::error::LogError;
use crate::problem::{Problem, Problems};

/// Most buffers that are sorted: a circular log of 256 GiB as Windows makes them.
const MAX_SORTED: u64 = 1 << 22;

/// Reads data buffers (number 1 and up) into one kept buffer.
pub(super) struct Buffers<R> {
    stream: R,
    file_bytes: u64,
    buffer_bytes: usize,
    /// Sequence numbers and numbers of the buffers in order of time, for circular logs; `None` where that is the order of
    /// the file.
    order: Option<Vec<(u64, u32)>>,
    /// How many buffers were read.
    read: usize,
    bytes: Vec<u8>,
    /// How many of `bytes` hold events.
    used: usize,
    number: u64,
    /// In a circular log: the sequence number of the buffer that is read.
    sequence: Option<u64>,
    /// Whether what stood before the buffer was overwritten.
    is_behind_gap: bool,
    /// What the log's header says of its buffers.
    claims: Claims,
    /// Whether the file ended within the buffer in use: bytes that a recorder appends from now on belong to it.
    is_short: bool,
    /// In the buffer that a recorder may be writing: from where on events need not be whole.
    unsettled: Option<usize>,
}

/// Which buffer is in use: how many were read, it included (0: none yet), its number, and in a circular log its sequence
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferPlace {
    read: usize,
    number: u64,
    sequence: Option<u64>,
}

/// What the header of a buffer says of its events, compared with what is there.
struct Fill {
    /// How many bytes are searched for events.
    used: usize,
    /// How many bytes of events the header counts; the header's own where it is wrong.
    counted: usize,
    /// Whether the header agrees with what is there.
    is_whole: bool,
}

/// A buffer's header; of fewer bytes than that one whose numbers are all the largest.
fn header_of(bytes: &[u8]) -> BufferHeader {
    BufferHeader::read_from_prefix(bytes)
        .map_or_else(|_| zerocopy::transmute!([0xFF_u8; BUFFER_HEADER_BYTES]), |(header, _)| header)
}

impl<R: Read + Seek> Buffers<R> {
    /// Takes over a stream whose buffer 0 was read already.
    pub(super) fn new(stream: R, file_bytes: u64, buffer_bytes: usize, claims: Claims) -> Self {
        Self {
            stream,
            file_bytes,
            buffer_bytes,
            order: None,
            read: 0,
            bytes: Vec::new(),
            used: 0,
            number: 0,
            sequence: None,
            is_behind_gap: false,
            claims,
            is_short: false,
            unsettled: None,
        }
    }

    /// Sorts the buffers by their sequence numbers, which takes one short read of each: the order of a circular log. More
    /// than 4,194,304 are left in the order of the file.
    pub(super) fn sort_by_sequence(&mut self) -> Result<(), LogError> {
        let Some(count) = u32::try_from(self.count()).ok().filter(|&count| u64::from(count) <= MAX_SORTED)
        else {
            return Ok(());
        };
        let mut sequence = Vec::new();
        for number in 1..count {
            // A buffer without a whole header comes last, where its damage is told.
            let header = self.header_in_file(u64::from(number))?;
            sequence.push((header.sequence_number.get(), number));
        }
        sequence.sort_unstable();
        self.order = Some(sequence);
        Ok(())
    }

    /// Back to the first data buffer.
    pub(super) fn rewind(&mut self) -> Result<(), LogError> {
        self.stand_before(0);
        Ok(())
    }

    /// Whether the order of the file is that of time.
    pub(super) fn are_in_order(&self) -> bool {
        self.order.is_none()
    }

    /// Which buffer is in use.
    pub(super) fn place(&self) -> BufferPlace {
        BufferPlace { read: self.read, number: self.number, sequence: self.sequence }
    }

    /// Back or forth to a buffer; false where it is not there any more.
    pub(super) fn go_to(&mut self, place: &BufferPlace) -> Result<bool, LogError> {
        if place.read == 0 {
            self.rewind()?;
            return Ok(true);
        }
        // The last one that there was may hold more by now.
        let is_full = (place.number + 1).saturating_mul(self.buffer_bytes as u64) < self.file_bytes;
        if self.place() == *place && !self.bytes.is_empty() && is_full {
            return Ok(true);
        }
        let before = match (&self.order, place.sequence) {
            (None, None) => place.read - 1,
            (Some(order), Some(sequence)) => {
                let wanted = (sequence, place.number as u32);
                let Ok(found) = order.binary_search(&wanted) else { return Ok(false) };
                found
            }
            _ => return Ok(false),
        };
        self.stand_before(before);
        // What is wrong with it was told when it was read first.
        let mut ignored = Problems::default();
        Ok(self.next(&mut ignored)? && self.number == place.number)
    }

    /// Forward to the last buffers, of `bytes` together; false where that is not forward.
    pub(super) fn go_near_end(&mut self, bytes: u64) -> Result<bool, LogError> {
        let count = match &self.order {
            Some(order) => order.len(),
            None => usize::try_from(self.count()).unwrap_or(usize::MAX).saturating_sub(1),
        };
        let wanted = usize::try_from(bytes / self.buffer_bytes as u64).unwrap_or(usize::MAX).max(1);
        let Some(before) = count.checked_sub(wanted).filter(|&before| before > self.read) else {
            return Ok(false);
        };
        self.stand_before(before);
        Ok(true)
    }

    /// Makes the buffer the next one that so many are read before.
    fn stand_before(&mut self, before: usize) {
        self.read = before;
        self.sequence = None;
        self.bytes.clear();
        self.used = 0;
        self.is_short = false;
        self.unsettled = None;
    }

    /// Reads the next buffer; false at the end.
    ///
    /// A short buffer is the last one, also when a recorder appends meanwhile: the rest of it was not read.
    pub(super) fn next(&mut self, problems: &mut Problems) -> Result<bool, LogError> {
        loop {
            let place = match &self.order {
                None => None,
                Some(order) => match order.get(self.read) {
                    None => return Ok(false),
                    Some(&place) => Some(place),
                },
            };
            if self.is_short && place.is_none() {
                return Ok(false);
            }
            let number = place.map_or(self.read as u64 + 1, |(_, number)| u64::from(number));
            self.read_buffer(number)?;
            if self.bytes.is_empty() {
                return Ok(false);
            }
            self.read += 1;
            self.number = number;
            let is_unfinished = number >= self.claims.buffers;
            if let Some((sequence, _)) = place {
                // A recorder has overwritten it since, or while it was read: it is later than the rest of this reading.
                if header_of(&self.bytes).sequence_number.get() != sequence
                    || (is_unfinished && self.header_in_file(number)?.sequence_number.get() != sequence)
                {
                    continue;
                }
                let before = self.sequence.replace(sequence);
                self.is_behind_gap = before.is_none_or(|before| before.checked_add(1) != Some(sequence));
            }
            let mut found = Problems::default();
            let mut fill = self.check_header(&mut found);
            if is_unfinished && self.is_last(fill.is_whole)? {
                self.unsettled = Some(fill.counted);
            } else {
                if is_unfinished && !fill.is_whole && place.is_none() {
                    // The recorder has begun the next buffer since: from then on this one stays as it is.
                    self.read_buffer(number)?;
                    found = Problems::default();
                    fill = self.check_header(&mut found);
                }
                problems.append(found);
            }
            self.used = fill.used;
            return Ok(true);
        }
    }

    /// Whether the buffer in use is the last one of the log; of one that is whole and does not end the file it does not
    /// matter.
    fn is_last(&mut self, is_whole: bool) -> Result<bool, LogError> {
        if let Some(order) = &self.order {
            return Ok(self.read == order.len());
        }
        if self.is_short {
            return Ok(true);
        }
        if is_whole {
            return Ok(false);
        }
        let file_bytes = self.stream.seek(SeekFrom::End(0)).map_err(LogError::io)?;
        let is_last = file_bytes <= (self.number + 1) * self.buffer_bytes as u64;
        self.is_short |= is_last;
        Ok(is_last)
    }

    fn read_buffer(&mut self, number: u64) -> Result<(), LogError> {
        self.bytes.clear();
        self.used = 0;
        self.unsettled = None;
        let start = number.saturating_mul(self.buffer_bytes as u64);
        self.stream.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
        (&mut self.stream)
            .take(self.buffer_bytes as u64)
            .read_to_end(&mut self.bytes)
            .map_err(LogError::io)?;
        self.is_short = self.bytes.len() < self.buffer_bytes;
        Ok(())
    }

    /// Re-reads the header of a buffer from the file. If the file ends before the header does, all its fields are the maximum.
    fn header_in_file(&mut self, number: u64) -> Result<BufferHeader, LogError> {
        Ok(self.read_in_file(number, 0)?.unwrap_or_else(|| header_of(&[])))
    }

    /// What the file has now at `offset` of a buffer; `None` where it ends before.
    fn read_in_file<T: FromBytes + IntoBytes>(
        &mut self,
        number: u64,
        offset: u64,
    ) -> Result<Option<T>, LogError> {
        let start = number.saturating_mul(self.buffer_bytes as u64).saturating_add(offset);
        self.stream.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
        let mut found = T::new_zeroed();
        match self.stream.read_exact(found.as_mut_bytes()) {
            Ok(()) => Ok(Some(found)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(LogError::io(error)),
        }
    }

    /// Whether an event at `at` of the buffer in use may be one that a recorder is writing, so that it need not be whole.
    pub(super) fn is_unsettled(&self, at: usize) -> bool {
        self.unsettled.is_some_and(|from| at >= from)
    }

    /// Whether a recorder may still be writing to the log: its header does not count the buffer in use.
    pub(super) fn is_unfinished(&self) -> bool {
        self.number >= self.claims.buffers
    }

    /// Compares what the header says of the log's end with the file. One that is longer than its header says was not finished.
    pub(super) fn check_end(&mut self) -> Result<Option<Problem>, LogError> {
        if self.contradiction()?.is_none() {
            return Ok(None);
        }
        // A recorder may have finished the log just when the header was read, half of it before and half after.
        let mut fields = [0; CLAIM_BYTES];
        self.stream.seek(SeekFrom::Start(END_TIME_AT)).map_err(LogError::io)?;
        match self.stream.read_exact(&mut fields) {
            Ok(()) => self.claims.update(&fields),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(LogError::io(error)),
        }
        self.contradiction()
    }

    fn contradiction(&mut self) -> Result<Option<Problem>, LogError> {
        let file_bytes = self.stream.seek(SeekFrom::End(0)).map_err(LogError::io)?;
        let size = self.buffer_bytes as u64;
        let number = file_bytes.saturating_sub(1) / size;
        let header = self.header_in_file(number)?;
        let writer = self.read_in_file::<EventHeader>(number, BUFFER_HEADER_BYTES as u64)?;
        let last = (number, &header, writer.map(|event| event.process_id.get()));
        Ok(self.claims.check(file_bytes, size, self.order.is_none(), last))
    }

    /// Whether, in a circular log, what stood before this buffer was overwritten: parts of an event that began there may
    /// stand at its start.
    pub(super) fn is_behind_gap(&self) -> bool {
        self.is_behind_gap
    }

    /// The bytes of the buffer in use, its header included.
    pub(super) fn used(&self) -> &[u8] {
        &self.bytes[..self.used]
    }

    pub(super) fn buffer_bytes(&self) -> usize {
        self.buffer_bytes
    }

    /// Offset of the buffer in the file.
    pub(super) fn offset(&self) -> u64 {
        self.number * self.buffer_bytes as u64
    }

    /// How many bytes a buffer has room for.
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub(super) fn bytes_read(&self) -> u64 {
        ((self.read as u64 + 1) * self.buffer_bytes as u64).min(self.file_bytes)
    }

    fn count(&self) -> u64 {
        self.file_bytes.div_ceil(self.buffer_bytes as u64)
    }

    /// How many bytes of the buffer hold events, as far as they are there.
    fn check_header(&self, problems: &mut Problems) -> Fill {
        let offset = self.offset();
        let there = self.bytes.len();
        // Where the header says nothing: its events are searched for.
        let unknown = |used| Fill { used, counted: BUFFER_HEADER_BYTES, is_whole: false };
        let Ok((header, _)) = BufferHeader::read_from_prefix(&self.bytes) else {
            problems.push(
                Problem::new(offset, "the file ends within a buffer's header").found(there, "72 bytes"),
            );
            return unknown(0);
        };
        if self.bytes.iter().all(|&byte| byte == 0) {
            problems.push(Problem::new(offset, "a buffer of zeros: it was never written"));
            return unknown(0);
        }
        let mut is_whole = true;
        if header.buffer_size.get() as usize != self.buffer_bytes {
            problems.push(
                Problem::new(offset, "the size in a buffer's header differs from the file's")
                    .found(header.buffer_size.get(), self.buffer_bytes.to_string()),
            );
            is_whole = false;
        }
        let fill = header.offset.get() as usize;
        if fill < BUFFER_HEADER_BYTES || fill > self.buffer_bytes {
            // In a circular log what follows may be older than the rest.
            let second = self.second_fill(&header, BUFFER_HEADER_BYTES).filter(|_| self.order.is_some());
            problems.push(
                Problem::new(offset + 0x30, "a buffer's fill is wrong; its events are searched for")
                    .found(fill, format!("72 to {}", self.buffer_bytes)),
            );
            return unknown(second.unwrap_or(there));
        }
        if fill > there {
            problems.push(
                Problem::new(offset + there as u64, "the file ends within a buffer")
                    .found(there, format!("{fill} bytes of it")),
            );
            return unknown(there);
        }
        // Writers fill up with FF. Anything else after the fill is a sample that was being written when the recorder was
        // killed, or the fill is damaged, or it was cut off within its four bytes: what is whole there is read.
        if self.bytes[fill..].iter().any(|&byte| byte != 0xFF) {
            if self.order.is_some() {
                let used = self.without_stale(&header, fill, problems);
                return Fill { used, counted: fill, is_whole: false };
            }
            problems.push(Problem::new(
                offset + fill as u64,
                "bytes after the end of a buffer's events: a sample that was not finished, or a damaged fill",
            ));
            return Fill { used: there, counted: fill, is_whole: false };
        }
        Fill { used: fill, counted: fill, is_whole }
    }

    /// How many bytes hold events in a buffer of a circular log that has something after its fill: in a buffer that is
    /// being used again that may be a sample that was not finished, and also what it held before, which is older than all
    /// else. Only a second copy of the fill that takes in more is believed.
    #[cold]
    fn without_stale(&self, header: &BufferHeader, fill: usize, problems: &mut Problems) -> usize {
        let offset = self.offset();
        if let Some(second) = self.second_fill(header, fill) {
            let problem = Problem::new(offset + 0x30, "a buffer's fill is wrong; its second copy is taken");
            problems.push(problem.found(fill, second.to_string()));
            return second;
        }
        problems.push(Problem::new(
            offset + fill as u64,
            "bytes after the end of a buffer's events, left out: a sample that was not finished, or older ones",
        ));
        fill
    }

    /// The second copy of the fill, where it is at least `least` and nothing follows it.
    fn second_fill(&self, header: &BufferHeader, least: usize) -> Option<usize> {
        let fill = header.saved_offset.get() as usize;
        let rest = self.bytes.get(fill..)?;
        (fill >= least && rest.iter().all(|&byte| byte == 0xFF)).then_some(fill)
    }
}
