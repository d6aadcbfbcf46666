//! The buffers of a file, one at a time, in order of time.

use std::io::{ErrorKind, Read, Seek, SeekFrom};

use zerocopy::FromBytes;

use crate::blg::raw::buffer::{BUFFER_HEADER_BYTES, BufferHeader};
use crate::error::LogError;
use crate::problem::{Problem, Problems};

/// Reads data buffers (number 1 and up) into one kept buffer.
pub(super) struct Buffers<R> {
    stream: R,
    file_bytes: u64,
    buffer_bytes: usize,
    /// Numbers of the buffers in order of time, for circular logs; `None` where that is the order of the file.
    order: Option<Vec<u32>>,
    /// How many buffers were read.
    read: usize,
    bytes: Vec<u8>,
    /// How many of `bytes` hold events.
    used: usize,
    number: u64,
}

impl<R: Read + Seek> Buffers<R> {
    /// Takes over a stream whose buffer 0 was read already.
    pub(super) fn new(stream: R, file_bytes: u64, buffer_bytes: usize) -> Self {
        Self { stream, file_bytes, buffer_bytes, order: None, read: 0, bytes: Vec::new(), used: 0, number: 0 }
    }

    /// Sorts the buffers by their sequence numbers, which takes one short read of each: the order of a circular log.
    pub(super) fn sort_by_sequence(&mut self) -> Result<(), LogError> {
        let count = u32::try_from(self.count()).unwrap_or(u32::MAX);
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
        self.order = Some(sequence.into_iter().map(|(_, number)| number).collect());
        Ok(())
    }

    /// Back to the first data buffer.
    pub(super) fn rewind(&mut self) -> Result<(), LogError> {
        self.read = 0;
        self.stream.seek(SeekFrom::Start(self.buffer_bytes as u64)).map_err(LogError::io)?;
        Ok(())
    }

    /// Reads the next buffer; false at the end.
    pub(super) fn next(&mut self, problems: &mut Problems) -> Result<bool, LogError> {
        let number = match &self.order {
            None => self.read as u64 + 1,
            Some(order) => match order.get(self.read) {
                None => return Ok(false),
                Some(&number) => {
                    let start = u64::from(number) * self.buffer_bytes as u64;
                    self.stream.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
                    u64::from(number)
                }
            },
        };
        self.bytes.clear();
        (&mut self.stream)
            .take(self.buffer_bytes as u64)
            .read_to_end(&mut self.bytes)
            .map_err(LogError::io)?;
        if self.bytes.is_empty() {
            return Ok(false);
        }
        self.read += 1;
        self.number = number;
        self.used = self.check_header(problems);
        Ok(true)
    }

    /// The bytes of the buffer in use, its header included.
    pub(super) fn used(&self) -> &[u8] {
        &self.bytes[..self.used]
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
            problems.push(
                Problem::new(offset + 0x30, "a buffer's fill is wrong; its events are searched for")
                    .found(fill, format!("72 to {}", self.buffer_bytes)),
            );
            return there;
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
            problems.push(Problem::new(
                offset + fill as u64,
                "bytes after the end of a buffer's events: a sample that was not finished, or a damaged fill",
            ));
            return there;
        }
        fill
    }
}
