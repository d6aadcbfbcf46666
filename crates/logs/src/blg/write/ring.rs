//! The buffers of a circular log: fixed buffers, then a ring of buffers that are overwritten.

use crate::blg::raw::buffer::BUFFER_HEADER_BYTES;
use crate::blg::raw::event::EVENT_HEADER_BYTES;
use crate::blg::raw::round_up_8;
use crate::error::LogError;

/// Minimum number of buffers of a circular log: one for the header, one for the counter list, and three so that a
/// sample that spans two buffers does not overwrite the previous sample.
const MIN_BUFFERS: u64 = 5;

/// Buffer size and maximum size of a circular log.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    max_bytes: u64,
    buffer_bytes: usize,
    part_bytes: usize,
}

/// The ring: all buffers after those with the name tables and the counter list.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    limit: Limit,
    /// Index of the first buffer of the ring; the buffers before it are never overwritten.
    first: u64,
}

impl Limit {
    /// Creates the limit of a circular log.
    ///
    /// # Errors
    ///
    /// When the limit is too small for any log.
    pub(super) fn new(max_bytes: u64, buffer_bytes: usize, part_bytes: usize) -> Result<Self, LogError> {
        let limit = Self { max_bytes, buffer_bytes, part_bytes };
        if limit.buffers() < MIN_BUFFERS {
            return Err(limit.too_small("a header, a counter list and two samples", MIN_BUFFERS));
        }
        Ok(limit)
    }

    /// Checks that the fixed payloads and a ring for samples of this size fit.
    pub(super) fn check(
        &self,
        fixed: impl Iterator<Item = usize>,
        sample_bytes: usize,
    ) -> Result<(), LogError> {
        self.check_ring(1 + self.buffers_of(fixed), sample_bytes)
    }

    fn check_ring(&self, first: u64, sample_bytes: usize) -> Result<(), LogError> {
        // Two samples must fit, plus one buffer, because the first sample can start in the middle of a buffer.
        // Parts of full size are the worst case, because they leave the most space at the end of a buffer unused.
        let parts = sample_bytes.div_ceil(self.part_bytes).max(1) as u64;
        let event_bytes = self.buffer_bytes - BUFFER_HEADER_BYTES;
        let per_buffer = (event_bytes / round_up_8(EVENT_HEADER_BYTES + self.part_bytes)).max(1) as u64;
        let min = first + 2 * parts.div_ceil(per_buffer) + 1;
        if self.buffers() < min {
            return Err(self.too_small(&format!("two samples of {sample_bytes} bytes"), min));
        }
        Ok(())
    }

    /// The number of buffers that these payloads need.
    fn buffers_of(&self, payloads: impl Iterator<Item = usize>) -> u64 {
        let mut buffers = 1;
        let mut fill = BUFFER_HEADER_BYTES;
        for mut rest in payloads {
            while rest > 0 {
                let part = rest.min(self.part_bytes);
                let size = round_up_8(EVENT_HEADER_BYTES + part);
                if fill + size > self.buffer_bytes {
                    buffers += 1;
                    fill = BUFFER_HEADER_BYTES;
                }
                fill += size;
                rest -= part;
            }
        }
        buffers
    }

    fn buffers(&self) -> u64 {
        self.max_bytes / self.buffer_bytes as u64
    }

    fn too_small(&self, contents: &str, min: u64) -> LogError {
        LogError::unsupported(format!(
            "a circular log of {} bytes is too small for {contents}: it takes at least {} bytes",
            self.max_bytes,
            min.saturating_mul(self.buffer_bytes as u64)
        ))
    }
}

impl Ring {
    /// Creates a ring of the buffers from index `first`.
    pub(super) fn new(limit: Limit, first: u64) -> Self {
        Self { limit, first }
    }

    /// Position in the file, in buffers, of the buffer with this index.
    pub(super) fn file_index(&self, index: u64) -> u64 {
        match index.checked_sub(self.first) {
            None => index,
            // The ring has at least three buffers.
            Some(in_ring) => self.first + in_ring % (self.limit.buffers() - self.first).max(1),
        }
    }

    /// Number of buffers in the file after `written` buffers have been written.
    pub(super) fn file_buffers(&self, written: u64) -> u64 {
        written.min(self.limit.buffers())
    }

    /// Checks that a sample does not overwrite the previous one.
    pub(super) fn check(&self, sample_bytes: usize) -> Result<(), LogError> {
        self.limit.check_ring(self.first, sample_bytes)
    }
}
