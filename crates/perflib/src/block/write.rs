//! Writes raw data blocks.

mod error;
mod instances;

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, IntoBytes};

pub use error::WriteError;
pub use instances::InstancesWriter;

use super::capacity::MAX_BLOCK_BYTES;
use super::kind::Kind;
use super::raw::{CounterData, DataHeader, MultiCounters, ResultHeader, round_up_8};
use super::stamp::Stamp;
use super::{MAX_COUNTERS, WILDCARD_ID};
use crate::ErrorCode;

const HEADER_BYTES: usize = size_of::<DataHeader>();

/// Writes a raw data block into a reused buffer, result by result, in the order of the identifiers.
///
/// Once the buffer is large enough for a block, nothing is allocated. A value is 8 bytes wide; `None`, a value that
/// cannot be read now, has data size 0 (see
/// [`DecodeOptions::allow_missing_values`](super::DecodeOptions::allow_missing_values)). A result stays unfinished if
/// an error occurs or its [`InstancesWriter`] is not closed. The next result, such as an [`error`](Self::error),
/// replaces it.
///
/// A block never exceeds [`MAX_BLOCK_BYTES`].
#[derive(Debug)]
pub struct BlockWriter<'v> {
    out: &'v mut Vec<u8>,
    /// The length of the header and the finished results, in bytes.
    finished_bytes: usize,
    /// The number of results so far.
    results: u32,
    /// Maximum length of the block, in bytes.
    max_bytes: usize,
}

impl<'v> BlockWriter<'v> {
    /// Starts a block; clears the buffer.
    pub fn begin(out: &'v mut Vec<u8>, stamp: &Stamp) -> Self {
        out.clear();
        out.extend_from_slice(stamp.header().as_bytes());
        Self { out, finished_bytes: HEADER_BYTES, results: 0, max_bytes: MAX_BLOCK_BYTES }
    }

    /// Limits the length of the block to less than [`MAX_BLOCK_BYTES`].
    pub(crate) fn limit(&mut self, max_bytes: usize) {
        self.max_bytes = max_bytes.min(MAX_BLOCK_BYTES);
    }

    /// The number of finished results, which is the index of the next one.
    pub fn results(&self) -> u32 {
        self.results
    }

    /// Writes an error result (`PERF_ERROR_RETURN`).
    ///
    /// # Errors
    ///
    /// [`WriteError::NoErrorCode`] for code 0, [`WriteError::TooLarge`].
    pub fn error(&mut self, code: ErrorCode) -> Result<(), WriteError> {
        if code.0 == 0 {
            return Err(WriteError::NoErrorCode);
        }
        self.start_result(Kind::Error, code.0)?;
        self.finish_result()
    }

    /// Writes one counter of one instance (`PERF_SINGLE_COUNTER`).
    ///
    /// # Errors
    ///
    /// [`WriteError::TooLarge`].
    pub fn single_counter(&mut self, value: Option<u64>) -> Result<(), WriteError> {
        self.start_result(Kind::SingleCounter, 0)?;
        self.put_value(value)?;
        self.finish_result()
    }

    /// Writes several counters of one instance (`PERF_MULTIPLE_COUNTERS`): one value per id.
    ///
    /// The caller must ensure that the ids differ. The ids of a registered set always do.
    ///
    /// # Errors
    ///
    /// [`WriteError::Ids`] for no ids, more than [`MAX_COUNTERS`] or the wildcard, [`WriteError::Values`] if the
    /// numbers of values and ids differ, [`WriteError::TooLarge`].
    pub fn multiple_counters(&mut self, ids: &[u32], values: &[Option<u64>]) -> Result<(), WriteError> {
        if ids.len() != values.len() {
            return Err(WriteError::Values { found: values.len(), expected: ids.len() });
        }
        self.start_result(Kind::MultipleCounters, 0)?;
        self.put_ids(ids)?;
        values.iter().try_for_each(|&value| self.put_value(value))?;
        self.finish_result()
    }

    /// Starts a result with one counter of several instances (`PERF_MULTIPLE_INSTANCES`): one value per instance.
    ///
    /// # Errors
    ///
    /// [`WriteError::TooLarge`].
    pub fn multiple_instances(&mut self) -> Result<InstancesWriter<'_, 'v>, WriteError> {
        self.start_result(Kind::MultipleInstances, 0)?;
        InstancesWriter::open(self, 1)
    }

    /// Starts a result with several counters of several instances (`PERF_COUNTERSET`): one value per instance and id.
    ///
    /// The caller must ensure that the ids differ. The ids of a registered set always do.
    ///
    /// # Errors
    ///
    /// [`WriteError::Ids`] for no ids, more than [`MAX_COUNTERS`] or the wildcard, [`WriteError::TooLarge`].
    pub fn counterset(&mut self, ids: &[u32]) -> Result<InstancesWriter<'_, 'v>, WriteError> {
        self.start_result(Kind::CounterSet, 0)?;
        self.put_ids(ids)?;
        InstancesWriter::open(self, ids.len())
    }

    /// Ends the block, discarding an unfinished result.
    ///
    /// # Errors
    ///
    /// [`WriteError::NoFrequency`] if the frequency is not positive: consumers would reject the block.
    pub fn finish(self) -> Result<(), WriteError> {
        self.out.truncate(self.finished_bytes);
        let total = to_u32(self.finished_bytes)?;
        // `begin` wrote the header.
        let Ok((header, _)) = DataHeader::mut_from_prefix(self.out) else { return Ok(()) };
        if header.frequency.get() <= 0 {
            return Err(WriteError::NoFrequency);
        }
        header.total_bytes = total;
        header.result_count = self.results.into();
        Ok(())
    }

    /// Starts a result, discarding an unfinished one.
    fn start_result(&mut self, kind: Kind, status: u32) -> Result<(), WriteError> {
        self.out.truncate(self.finished_bytes);
        let header =
            ResultHeader { status: status.into(), kind: kind.number().into(), ..ResultHeader::default() };
        self.append_bytes(header.as_bytes())
    }

    fn finish_result(&mut self) -> Result<(), WriteError> {
        let bytes = to_u32(self.out.len() - self.finished_bytes)?;
        self.results = self.results.checked_add(1).ok_or(WriteError::TooLarge)?;
        self.overwrite_number(self.finished_bytes + 8, bytes);
        self.finished_bytes = self.out.len();
        Ok(())
    }

    /// Writes counter ids, padded to a multiple of 8.
    fn put_ids(&mut self, ids: &[u32]) -> Result<(), WriteError> {
        if ids.is_empty() || ids.len() > MAX_COUNTERS || ids.contains(&WILDCARD_ID) {
            return Err(WriteError::Ids);
        }
        let bytes = size_of::<MultiCounters>() + size_of_val(ids);
        let padded = round_up_8(bytes);
        let header = MultiCounters { bytes: to_u32(padded)?, counter_count: to_u32(ids.len())? };
        self.append_bytes(header.as_bytes())?;
        ids.iter().try_for_each(|id| self.append_bytes(&id.to_le_bytes()))?;
        self.append_bytes(&[0; 8][..padded - bytes])
    }

    /// Writes a value of 8 bytes; `None` has data size 0.
    fn put_value(&mut self, value: Option<u64>) -> Result<(), WriteError> {
        let data_bytes = if value.is_some() { 8 } else { 0 };
        let header = CounterData { data_bytes: U32::new(data_bytes), bytes: U32::new(16) };
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(header.as_bytes());
        bytes[8..].copy_from_slice(&value.unwrap_or(0).to_le_bytes());
        self.append_bytes(&bytes)
    }

    /// Appends bytes.
    fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.reserve(bytes.len())?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Reserves memory. Fails if the block would exceed `max_bytes`.
    fn reserve(&mut self, bytes: usize) -> Result<(), WriteError> {
        if bytes > self.max_bytes.saturating_sub(self.out.len()) {
            return Err(WriteError::TooLarge);
        }
        self.out.try_reserve(bytes).map_err(|_| WriteError::TooLarge)
    }

    /// Overwrites the field at an offset, which was written as 0, with the number that is now known.
    fn overwrite_number(&mut self, offset: usize, number: U32) {
        self.out[offset..offset + size_of::<U32>()].copy_from_slice(number.as_bytes());
    }
}

/// Converts a size or count to a 32-bit field of a block.
fn to_u32(number: usize) -> Result<U32, WriteError> {
    u32::try_from(number).map(U32::new).map_err(|_| WriteError::TooLarge)
}

#[cfg(test)]
mod tests;
