//! The statuses of missing values in a frame, and its error messages.

use tachograph_counters::Status;

use crate::limits::MAX_TEXT_BYTES;
use crate::wire::{MessageError, Reader};

/// Size of the encoded status of a value.
const STATUS_BYTES: usize = 16;

/// Checks that the statuses are in the order of results and values, and that none is a success.
pub(super) fn check_statuses(bytes: &[u8], begin: usize, results: usize) -> Result<(), MessageError> {
    let mut reader = Reader::new(bytes);
    reader.bytes(begin)?;
    if !(bytes.len() - begin).is_multiple_of(STATUS_BYTES) {
        return Err(reader.invalid(0, "statuses of 16 bytes"));
    }
    let mut previous = None;
    while !reader.is_at_end() {
        let position = (reader.u32()?, reader.u32()?);
        let status = Status(reader.u32()?);
        reader.u32()?;
        if position.0 as usize >= results || previous >= Some(position) || status.is_good() {
            return Err(reader.invalid(STATUS_BYTES, "an error status, in the order of the values"));
        }
        previous = Some(position);
    }
    Ok(())
}

/// Reads the statuses of one result's missing values, in order.
pub(super) struct StatusReader<'a> {
    result: usize,
    reader: Reader<'a>,
    /// The next result, value and status.
    next: Option<(usize, usize, Status)>,
}

impl<'a> StatusReader<'a> {
    /// The statuses of a result, among those in `bytes`, which [`check_statuses`] has checked.
    pub(super) fn new(bytes: &'a [u8], result: usize) -> Self {
        // A frame can have very many statuses and results, so the first status of a result is not searched from the start.
        let (statuses, _) = bytes.as_chunks::<STATUS_BYTES>();
        let result_of =
            |status: &[u8]| Reader::new(status).u32().map_or(usize::MAX, |result| result as usize);
        let first = statuses.partition_point(|status| result_of(status) < result);
        let mut reader = Reader::new(&bytes[first * STATUS_BYTES..]);
        let next = Self::read(&mut reader);
        Self { result, reader, next }
    }

    fn read(reader: &mut Reader<'_>) -> Option<(usize, usize, Status)> {
        if reader.is_at_end() {
            return None;
        }
        let (result, value, status) = (reader.u32().ok()?, reader.u32().ok()?, reader.u32().ok()?);
        reader.u32().ok()?;
        Some((result as usize, value as usize, Status(status)))
    }

    /// The status that the value with this index has if it is missing. Calls must be in ascending order of values.
    pub(super) fn status(&mut self, value: usize) -> Status {
        while let Some((result, next_value, status)) = self.next {
            match (result, next_value).cmp(&(self.result, value)) {
                std::cmp::Ordering::Less => self.next = Self::read(&mut self.reader),
                std::cmp::Ordering::Equal => return status,
                std::cmp::Ordering::Greater => break,
            }
        }
        Status::CSTATUS_INVALID_DATA
    }
}

/// An error message in a frame.
pub(super) struct ReportedError<'a> {
    pub(super) result: usize,
    /// The counter; `None` for the whole set.
    pub(super) counter: Option<u32>,
    /// The number of occurrences.
    pub(super) count: u64,
    pub(super) instance: &'a str,
    pub(super) reason: &'a str,
}

/// Reads the error messages of a frame.
pub(super) struct ErrorReader<'a> {
    reader: Reader<'a>,
}

impl<'a> ErrorReader<'a> {
    pub(super) fn new(bytes: &'a [u8], begin: usize) -> Self {
        let mut reader = Reader::new(bytes);
        // The caller has checked that the frame has these bytes.
        let _ = reader.bytes(begin);
        Self { reader }
    }

    pub(super) fn read(&mut self) -> Result<Option<ReportedError<'a>>, MessageError> {
        let reader = &mut self.reader;
        if reader.is_at_end() {
            return Ok(None);
        }
        let (result, counter, count) = (reader.u32()? as usize, reader.u32()?, reader.u64()?);
        let lengths = [reader.u32()? as usize, reader.u32()? as usize];
        if lengths.iter().any(|&length| length > MAX_TEXT_BYTES) {
            return Err(reader.invalid(8, format!("texts of at most {MAX_TEXT_BYTES} bytes")));
        }
        let mut text = |length| {
            let text = reader.bytes(length)?;
            std::str::from_utf8(text).map_err(|_| reader.invalid(length, "UTF-8"))
        };
        let (instance, reason) = (text(lengths[0])?, text(lengths[1])?);
        let padding = self.reader.offset().next_multiple_of(8) - self.reader.offset();
        self.reader.bytes(padding)?;
        let counter = Some(counter).filter(|&id| id != u32::MAX);
        Ok(Some(ReportedError { result, counter, count, instance, reason }))
    }
}
