//! The buffers of a file, one at a time, in order of time.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use zerocopy::FromBytes;

use crate::blg::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader};
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
}

/// Which buffer is in use: how many were read, it included (0: none yet), its number, and in a circular log its sequence
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BufferPlace {
    read: usize,
    number: u64,
    sequence: Option<u64>,
}

impl<R: Read + Seek> Buffers<R> {
    /// Takes over a stream whose buffer 0 was read already.
    pub(super) fn new(stream: R, file_bytes: u64, buffer_bytes: usize) -> Self {
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
            self.stream
                .seek(SeekFrom::Start(u64::from(number) * self.buffer_bytes as u64))
                .map_err(LogError::io)?;
            let mut header = [0; BUFFER_HEADER_BYTES];
            // A buffer without a whole header comes last, where its damage is told.
            let place = match self.stream.read_exact(&mut header) {
                Ok(()) => BufferHeader::read_from_bytes(&header).map(|header| header.sequence_number.get()),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(u64::MAX),
                Err(error) => return Err(LogError::io(error)),
            };
            sequence.push((place.unwrap_or(u64::MAX), number));
        }
        sequence.sort_unstable();
        self.order = Some(sequence);
        Ok(())
    }

    /// Back to the first data buffer.
    pub(super) fn rewind(&mut self) -> Result<(), LogError> {
        self.read = 0;
        self.sequence = None;
        self.stream.seek(SeekFrom::Start(self.buffer_bytes as u64)).map_err(LogError::io)?;
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
        self.stand_before(before)?;
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
        self.stand_before(before)?;
        Ok(true)
    }

    /// Makes the buffer the next one that so many are read before.
    fn stand_before(&mut self, before: usize) -> Result<(), LogError> {
        self.read = before;
        self.sequence = None;
        self.bytes.clear();
        self.used = 0;
        if self.order.is_none() {
            let start = (before as u64 + 1).saturating_mul(self.buffer_bytes as u64);
            self.stream.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
        }
        Ok(())
    }

    /// Reads the next buffer; false at the end.
    pub(super) fn next(&mut self, problems: &mut Problems) -> Result<bool, LogError> {
        loop {
            let place = match &self.order {
                None => None,
                Some(order) => match order.get(self.read) {
                    None => return Ok(false),
                    Some(&place) => Some(place),
                },
            };
            let number = place.map_or(self.read as u64 + 1, |(_, number)| u64::from(number));
            if place.is_some() {
                let start = number * self.buffer_bytes as u64;
                self.stream.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
            }
            self.bytes.clear();
            self.used = 0;
            (&mut self.stream)
                .take(self.buffer_bytes as u64)
                .read_to_end(&mut self.bytes)
                .map_err(LogError::io)?;
            if self.bytes.is_empty() {
                return Ok(false);
            }
            self.read += 1;
            self.number = number;
            if let Some((sequence, _)) = place {
                let found = BufferHeader::read_from_prefix(&self.bytes)
                    .map_or(u64::MAX, |(header, _)| header.sequence_number.get());
                if found != sequence {
                    // A recorder has overwritten it since: what is there now is later than the rest of this reading.
                    continue;
                }
                let before = self.sequence.replace(sequence);
                self.is_behind_gap = before.is_none_or(|before| before.checked_add(1) != Some(sequence));
            }
            self.used = self.check_header(problems);
            return Ok(true);
        }
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

    pub(super) fn bytes_read(&self) -> u64 {
        ((self.read as u64 + 1) * self.buffer_bytes as u64).min(self.file_bytes)
    }

    fn count(&self) -> u64 {
        self.file_bytes.div_ceil(self.buffer_bytes as u64)
    }

    /// How many bytes of the buffer hold events, as far as they are there.
    fn check_header(&self, problems: &mut Problems) -> usize {
        let offset = self.offset();
        let there = self.bytes.len();
        let Ok((header, _)) = BufferHeader::read_from_prefix(&self.bytes) else {
            problems.push(
                Problem::new(offset, "the file ends within a buffer's header").found(there, "72 bytes"),
            );
            return 0;
        };
        if self.bytes.iter().all(|&byte| byte == 0) {
            problems.push(Problem::new(offset, "a buffer of zeros: it was never written"));
            return 0;
        }
        if header.buffer_size.get() as usize != self.buffer_bytes {
            problems.push(
                Problem::new(offset, "the size in a buffer's header differs from the file's")
                    .found(header.buffer_size.get(), self.buffer_bytes.to_string()),
            );
        }
        let fill = header.offset.get() as usize;
        if fill < BUFFER_HEADER_BYTES || fill > self.buffer_bytes {
            // In a circular log what follows may be older than the rest.
            let second = self.second_fill(&header, BUFFER_HEADER_BYTES).filter(|_| self.order.is_some());
            problems.push(
                Problem::new(offset + 0x30, "a buffer's fill is wrong; its events are searched for")
                    .found(fill, format!("72 to {}", self.buffer_bytes)),
            );
            return second.unwrap_or(there);
        }
        if fill > there {
            problems.push(
                Problem::new(offset + there as u64, "the file ends within a buffer")
                    .found(there, format!("{fill} bytes of it")),
            );
            return there;
        }
        // Writers fill up with FF. Anything else after the fill is a sample that was being written when the recorder was
        // killed, or the fill is damaged, or it was cut off within its four bytes: what is whole there is read.
        if self.bytes[fill..].iter().any(|&byte| byte != 0xFF) {
            if self.order.is_some() {
                return self.without_stale(&header, fill, problems);
            }
            problems.push(Problem::new(
                offset + fill as u64,
                "bytes after the end of a buffer's events: a sample that was not finished, or a damaged fill",
            ));
            return there;
        }
        fill
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
