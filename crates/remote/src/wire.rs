//! Reading and writing the fields of messages: little-endian integers and length-prefixed strings.

use std::fmt;

use tachograph_counters::civil::FileTime;
use tachograph_perflib::Guid;

use crate::limits::MAX_TEXT_BYTES;

/// An invalid message: the offset of the invalid field, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageError {
    /// Offset in the message.
    pub offset: usize,
    /// What was expected there.
    pub expected: String,
}

impl MessageError {
    pub(crate) fn new(offset: usize, expected: impl Into<String>) -> Self {
        Self { offset, expected: expected.into() }
    }
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {:#x}: expected {}", self.offset, self.expected)
    }
}

impl std::error::Error for MessageError {}

/// Exclusive upper bound of times in units of 100 ns: about the year 10000.
const MAX_TIME: i64 = 8_400 * 366 * FileTime::PER_DAY;
/// Describes the range that [`is_time`] accepts, for error messages.
pub(crate) const TIME_RANGE: &str = "a time between the years 1601 and 9999";

/// Whether a time is within the range that consumers accept.
pub(crate) fn is_time(time: i64) -> bool {
    (0..MAX_TIME).contains(&time)
}

/// Reads fields in sequence.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    /// The error for the field that was read last, which ends at the current offset and has `size` bytes.
    pub(crate) fn invalid(&self, size: usize, expected: impl Into<String>) -> MessageError {
        MessageError::new(self.offset.saturating_sub(size), expected)
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'a [u8], MessageError> {
        let field = self.bytes.get(self.offset..).and_then(|rest| rest.get(..length));
        let field = field.ok_or_else(|| MessageError::new(self.offset, format!("{length} more bytes")))?;
        self.offset += length;
        Ok(field)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, MessageError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, MessageError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, MessageError> {
        self.array().map(i64::from_le_bytes)
    }

    /// A time in units of 100 ns, checked by [`is_time`].
    pub(crate) fn time(&mut self) -> Result<i64, MessageError> {
        let time = self.i64()?;
        match is_time(time) {
            true => Ok(time),
            false => Err(self.invalid(8, TIME_RANGE)),
        }
    }

    pub(crate) fn guid(&mut self) -> Result<Guid, MessageError> {
        self.array().map(Guid::from_bytes)
    }

    /// An item count. It is bounded by `max`, and by the number of items of at least `min_item_bytes` that fit into the rest of
    /// the message.
    pub(crate) fn count(&mut self, max: usize, min_item_bytes: usize) -> Result<usize, MessageError> {
        let count = self.u32()? as usize;
        let rest = self.bytes.len() - self.offset;
        let max = max.min(rest / min_item_bytes.max(1));
        if count > max {
            return Err(self.invalid(4, format!("at most {max} items")));
        }
        Ok(count)
    }

    /// A string of at most [`MAX_TEXT_BYTES`] bytes.
    pub(crate) fn text(&mut self) -> Result<&'a str, MessageError> {
        let length = self.u32()? as usize;
        if length > MAX_TEXT_BYTES {
            return Err(self.invalid(4, format!("a string of at most {MAX_TEXT_BYTES} bytes")));
        }
        let text = self.bytes(length)?;
        std::str::from_utf8(text).map_err(|_| self.invalid(length, "UTF-8"))
    }

    /// Whether the message ends here.
    pub(crate) fn is_at_end(&self) -> bool {
        self.offset == self.bytes.len()
    }

    /// Checks that the message ends here.
    pub(crate) fn end(&self) -> Result<(), MessageError> {
        match self.is_at_end() {
            true => Ok(()),
            false => Err(MessageError::new(self.offset, "the end of the message")),
        }
    }
}

/// Truncates a string to [`MAX_TEXT_BYTES`], at a character boundary.
pub(crate) fn truncated(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

/// Appends a string, [`truncated`] if it is too long.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str) {
    let text = truncated(text);
    push_u32(out, text.len() as u32);
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn push_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(crate) fn push_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(crate) fn push_i64(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(crate) fn pad_to_8(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}
