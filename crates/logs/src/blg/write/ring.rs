//! A circular log's buffers: those that stay, and those that are used again and again.

use crate::blg::raw::buffer::BUFFER_HEADER_BYTES;
use crate::blg::raw::event::EVENT_HEADER_BYTES;
use crate::blg::raw::round_up_8;
use crate::error::LogError;

/// Fewest buffers that a circular log may have: the header, the counter list, and three so that a sample that goes on in a
/// second buffer does not overwrite the one before it.
const LEAST_BUFFERS: u64 = 5;

/// How large the buffers are, and how many of them a circular log may have.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    most_bytes: u64,
    buffer_bytes: usize,
    part_bytes: usize,
}

/// The buffers behind those with the name tables and the counter list.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    limit: Limit,
    /// Number of the first buffer of the ring; those before it are never overwritten.
    first: u64,
}

impl Limit {
    /// # Errors
    ///
    /// When no log fits.
    pub(super) fn new(most_bytes: u64, buffer_bytes: usize, part_bytes: usize) -> Result<Self, LogError> {
        let limit = Self { most_bytes, buffer_bytes, part_bytes };
        if limit.buffers() < LEAST_BUFFERS {
            return Err(limit.too_small("a header, a counter list and two samples", LEAST_BUFFERS));
        }
        Ok(limit)
    }

    /// Whether there is room for these payloads at the start, and a ring for such samples.
    pub(super) fn check(
        &self,
        fixed: impl Iterator<Item = usize>,
        sample_bytes: usize,
    ) -> Result<(), LogError> {
        self.check_ring(1 + self.buffers_of(fixed), sample_bytes)
    }

    fn check_ring(&self, first: u64, sample_bytes: usize) -> Result<(), LogError> {
        // Two samples that begin within a buffer. Full parts are the worst case: shorter ones fill a buffer better.
        let parts = sample_bytes.div_ceil(self.part_bytes).max(1) as u64;
        let room = self.buffer_bytes - BUFFER_HEADER_BYTES;
        let per_buffer = (room / round_up_8(EVENT_HEADER_BYTES + self.part_bytes)).max(1) as u64;
        let least = first + 2 * parts.div_ceil(per_buffer) + 1;
        if self.buffers() < least {
            return Err(self.too_small(&format!("two samples of {sample_bytes} bytes"), least));
        }
        Ok(())
    }

    /// How many buffers these payloads fill, one after another.
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
        self.most_bytes / self.buffer_bytes as u64
    }

    fn too_small(&self, what: &str, least: u64) -> LogError {
        LogError::unsupported(format!(
            "a circular log of {} bytes is too small for {what}: it takes at least {} bytes",
            self.most_bytes,
            least.saturating_mul(self.buffer_bytes as u64)
        ))
    }
}

impl Ring {
    /// The buffers from number `first` on.
    pub(super) fn new(limit: Limit, first: u64) -> Self {
        Self { limit, first }
    }

    /// Where in the file the buffer of this number stands, counted in buffers.
    pub(super) fn place(&self, number: u64) -> u64 {
        match number.checked_sub(self.first) {
            None => number,
            // There are three at least.
            Some(behind) => self.first + behind % (self.limit.buffers() - self.first).max(1),
        }
    }

    /// How many buffers the file has when so many were written.
    pub(super) fn file_buffers(&self, written: u64) -> u64 {
        written.min(self.limit.buffers())
    }

    /// Whether a sample leaves the one before it whole.
    pub(super) fn check(&self, sample_bytes: usize) -> Result<(), LogError> {
        self.limit.check_ring(self.first, sample_bytes)
    }
}
