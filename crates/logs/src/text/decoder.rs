//! Decodes a file of any encoding to UTF-8, and maps lines of the text to offsets in the file.

mod conversion;

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};

use crate::{LogError, OverBudget, Reservation};

use super::encoding::TextEncoding;
use conversion::conversion_table;

/// Size of a read from the stream.
const READ_BYTES: usize = 64 * 1024;

/// Maximum number of line starts that are stored for [`Decoder::file_offset`]. It is more than the CSV reader can buffer, even
/// if every line has only one byte, unless quoted cells contain line ends.
const MAX_LINE_OFFSETS: usize = 128 * 1024;

/// A cell that marks the end of the file; a separator and this cell are appended to the text. The CSV reader accepts
/// a quoted cell that is not closed at the end of the file. In that case, these bytes become part of that cell instead
/// of a separate cell.
pub(super) const END_CELL: &[u8] = b"\0";

/// A stream of UTF-8 that ends with a separator and [`END_CELL`].
#[derive(Debug)]
pub(super) struct Decoder<R> {
    stream: R,
    /// Offset of the file in the stream, and the length of its byte order mark.
    origin: u64,
    bom_bytes: u64,
    /// Bytes that were read from the stream.
    encoded: Box<[u8]>,
    /// The range of `encoded` that is not decoded yet.
    start: usize,
    end: usize,
    is_stream_at_end: bool,
    read_bytes: u64,
    /// Bytes of UTF-8 returned.
    decoded_bytes: u64,
    encoding: TextEncoding,
    /// How `encoding` was determined.
    encoding_source: EncodingSource,
    /// Converts the text to UTF-8; `None` if it is UTF-8.
    converter: Option<encoding_rs::Decoder>,
    /// The start of each line: its offset in the text and its offset in the file, ascending. See `file_offset`.
    line_offsets: VecDeque<(u64, u64)>,
    /// Offset in the file of the first invalid bytes.
    first_invalid: Option<u64>,
    /// The bytes to append to the text, until they have been returned.
    end_cell: &'static [u8],
    /// Whether the end of the text has been returned.
    is_text_at_end: bool,
    separator: u8,
    /// See [`set_limits`](Self::set_limits).
    bytes_left: u64,
    separators_left: u64,
    is_over_limit: bool,
    /// The memory of the longest row so far; `None` without a budget.
    row_reservation: Option<Reservation>,
    /// Bytes of UTF-8 returned since the last call of [`set_limits`](Self::set_limits).
    row_bytes: u64,
    over_budget: Option<OverBudget>,
}

/// How an encoding was determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EncodingSource {
    /// All characters so far are ASCII.
    Undecided,
    /// By a byte order mark, or by the zeros of UTF-16.
    Unicode,
    /// By the caller; the file has no byte order mark.
    Requested,
    /// From the characters beyond ASCII.
    Guessed,
}

/// Rows of up to this number of bytes are not counted; most rows are shorter.
const UNCOUNTED_ROW_BYTES: u64 = 1 << 20;

/// Memory per byte of a row: the CSV reader's buffer doubles, and stores the end of each cell.
const MEMORY_PER_ROW_BYTE: u64 = 4;

impl<R> Decoder<R> {
    fn set_encoding(&mut self, encoding: TextEncoding, source: EncodingSource) {
        self.encoding = encoding;
        self.encoding_source = source;
        self.converter = conversion_table(encoding).map(|table| table.new_decoder_without_bom_handling());
    }
}

impl<R: Read> Decoder<R> {
    /// Reads the start of the stream and skips a byte order mark. Without one, the encoding is `encoding`, or
    /// detected.
    pub(super) fn new(stream: R, encoding: Option<TextEncoding>) -> io::Result<Self> {
        let mut decoder = Self {
            stream,
            origin: 0,
            bom_bytes: 0,
            encoded: vec![0; READ_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            is_stream_at_end: false,
            read_bytes: 0,
            decoded_bytes: 0,
            encoding: TextEncoding::Utf8,
            encoding_source: EncodingSource::Undecided,
            converter: None,
            line_offsets: VecDeque::new(),
            first_invalid: None,
            end_cell: b",\0",
            is_text_at_end: false,
            separator: b',',
            bytes_left: u64::MAX,
            separators_left: u64::MAX,
            is_over_limit: false,
            row_reservation: None,
            row_bytes: 0,
            over_budget: None,
        };
        while decoder.end < 256 && !decoder.is_stream_at_end {
            decoder.read_more()?;
        }
        let start = &decoder.encoded[..decoder.end];
        let marked = |encoding| Some((encoding, EncodingSource::Unicode));
        let (bom_bytes, encoding) = if start.starts_with(&[0xef, 0xbb, 0xbf]) {
            (3, marked(TextEncoding::Utf8))
        } else if start.starts_with(&[0xff, 0xfe]) {
            (2, marked(TextEncoding::Utf16Le))
        } else if start.starts_with(&[0xfe, 0xff]) {
            (2, marked(TextEncoding::Utf16Be))
        } else if let Some(encoding) = encoding {
            (0, Some((encoding, EncodingSource::Requested)))
        } else {
            (0, utf16_without_bom(start).and_then(marked))
        };
        decoder.start = bom_bytes;
        if let Some((encoding, source)) = encoding {
            decoder.set_encoding(encoding, source);
        }
        decoder.bom_bytes = decoder.start as u64;
        decoder.line_offsets.push_back((0, decoder.bom_bytes));
        Ok(decoder)
    }

    /// Sets the offset of the file in the stream.
    pub(super) fn set_origin(&mut self, origin: u64) {
        self.origin = origin;
    }

    /// Whether all text so far equals the bytes of the file, so that positions in both are the same.
    pub(super) fn matches_file(&self) -> bool {
        self.is_utf8() && self.first_invalid.is_none()
    }

    /// The start of the text, and the corresponding bytes of the file.
    pub(super) fn peek(&self) -> (String, &[u8]) {
        let bytes = &self.encoded[self.start..self.end.min(self.start + 128)];
        let encoding = match bytes.iter().position(|byte| !byte.is_ascii()) {
            Some(first) if self.encoding_source == EncodingSource::Undecided => {
                TextEncoding::guess(&bytes[first..])
            }
            _ => self.encoding,
        };
        let text = match conversion_table(encoding) {
            Some(table) => table.decode_without_bom_handling(bytes).0,
            None => String::from_utf8_lossy(match std::str::from_utf8(bytes) {
                // Ignore a character that is cut off at the end.
                Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
                _ => bytes,
            }),
        };
        (text.into_owned(), &self.encoded[..self.end.min(128)])
    }

    /// Sets the separator of cells, and appends [`END_CELL`] to the text.
    pub(super) fn set_separator(&mut self, separator: u8) {
        self.separator = separator;
        self.end_cell = end_cell_of_table(separator);
    }

    /// Appends no [`END_CELL`] to the text, because the text is not a table.
    pub(super) fn omit_end_cell(&mut self) {
        self.separator = b'\n';
        self.end_cell = b"";
    }

    /// Sets the reservation that grows with the memory of long rows.
    pub(super) fn set_row_reservation(&mut self, memory: Reservation) {
        self.row_reservation = Some(memory);
    }

    /// The reason why reading failed, if a row needs too much memory.
    pub(super) fn over_budget(&self) -> Option<OverBudget> {
        self.over_budget
    }

    /// Limits the bytes and separators that can be read before the next call. Reading more is an error, after which
    /// [`is_over_limit`](Self::is_over_limit) returns true.
    pub(super) fn set_limits(&mut self, bytes: u64, separators: u64) {
        self.bytes_left = bytes;
        self.separators_left = separators;
        self.row_bytes = 0;
    }

    /// Whether reading failed because of the limits.
    pub(super) fn is_over_limit(&self) -> bool {
        self.is_over_limit
    }

    /// Whether the end of the text has been returned. The row that the CSV reader completes after that is the last
    /// one.
    pub(super) fn is_at_end(&self) -> bool {
        self.is_text_at_end
    }

    /// The encoding, as far as known.
    pub(super) fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// The encoding, if it was guessed.
    pub(super) fn guessed_encoding(&self) -> Option<TextEncoding> {
        (self.encoding_source == EncodingSource::Guessed && !self.is_utf8()).then_some(self.encoding)
    }

    /// Bytes of the file read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read_bytes
    }

    /// Offset in the file of the first bytes that are invalid in its encoding. Invalid bytes are replaced by
    /// U+FFFD.
    pub(super) fn first_invalid(&self) -> Option<u64> {
        self.first_invalid
    }

    /// Converts the offset of a line in the text to its offset in the file. Offsets must ascend: earlier lines are
    /// discarded.
    pub(super) fn file_offset(&mut self, decoded: u64) -> u64 {
        while self.line_offsets.get(1).is_some_and(|&(line, _)| line <= decoded) {
            self.line_offsets.pop_front();
        }
        let unit_bytes = self.code_unit_bytes() as u64;
        let (line, offset) = self.line_offsets.front().copied().unwrap_or_default();
        // Inside a line this is an estimate (exact for ASCII), but never past the bytes that were read.
        offset.saturating_add(decoded.saturating_sub(line).saturating_mul(unit_bytes)).min(self.read_bytes)
    }

    /// Returns an error if the text is invalid in the encoding that the caller requested, instead of replacing
    /// characters.
    pub(super) fn check_requested_encoding(&self) -> Result<(), LogError> {
        match self.first_invalid {
            Some(offset) if self.encoding_source == EncodingSource::Requested => {
                Err(LogError::not_a_log(format!(
                    "offset {offset:#x}: not valid {}, the requested encoding; choose another one, or none to have it guessed",
                    self.encoding
                )))
            }
            _ => Ok(()),
        }
    }

    fn is_utf8(&self) -> bool {
        matches!(self.encoding, TextEncoding::Utf8 | TextEncoding::Utf8WithBom)
    }

    /// Bytes per code unit.
    fn code_unit_bytes(&self) -> usize {
        if matches!(self.encoding, TextEncoding::Utf16Le | TextEncoding::Utf16Be) { 2 } else { 1 }
    }
}

/// Returns UTF-8, or an error if more is read than [allowed](Decoder::set_limits).
impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // The CSV reader always passes a large buffer.
        if out.len() < 16 {
            return Err(io::Error::other("the buffer is too small for a character"));
        }
        let written = self.decode(out)?;
        if written == 0 {
            let end = std::mem::take(&mut self.end_cell);
            out[..end.len()].copy_from_slice(end);
            self.is_text_at_end = end.is_empty();
            return Ok(end.len());
        }
        let separators = out[..written].iter().filter(|&&byte| byte == self.separator).count() as u64;
        if written as u64 > self.bytes_left || separators > self.separators_left {
            self.is_over_limit = true;
            return Err(io::Error::other("a row is too long"));
        }
        self.bytes_left -= written as u64;
        self.separators_left -= separators;
        self.row_bytes += written as u64;
        if let Some(memory) = self.row_reservation.as_mut().filter(|_| self.row_bytes > UNCOUNTED_ROW_BYTES)
            && let Err(over) = memory.grow_to(self.row_bytes * MEMORY_PER_ROW_BYTE)
        {
            self.over_budget = Some(over);
            return Err(io::Error::other("a row needs more memory than its budget has left"));
        }
        Ok(written)
    }
}

/// Seeks in a text that [matches its file](Decoder::matches_file), by offset in the text.
impl<R: Seek> Seek for Decoder<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(decoded) = to else {
            return Err(io::Error::other("only positions from the start are supported"));
        };
        let offset = self.bom_bytes.saturating_add(decoded);
        self.stream.seek(SeekFrom::Start(self.origin.saturating_add(offset)))?;
        (self.start, self.end) = (0, 0);
        // Reset the converter, which has state.
        self.set_encoding(self.encoding, self.encoding_source);
        self.is_stream_at_end = false;
        self.read_bytes = offset;
        self.decoded_bytes = decoded;
        self.line_offsets.clear();
        self.line_offsets.push_back((decoded, offset));
        self.is_text_at_end = false;
        self.end_cell = end_cell_of_table(self.separator);
        Ok(decoded)
    }
}

/// The bytes appended to the text of a table; none if the separator is a line end ([`Decoder::omit_end_cell`]).
fn end_cell_of_table(separator: u8) -> &'static [u8] {
    match separator {
        b'\n' => b"",
        b'\t' => b"\t\0",
        _ => b",\0",
    }
}

/// Detects UTF-16 without a byte order mark by its first two characters, which are ASCII in every text log.
fn utf16_without_bom(start: &[u8]) -> Option<TextEncoding> {
    match *start.first_chunk::<4>()? {
        [1..=0x7f, 0, 1..=0x7f, 0] => Some(TextEncoding::Utf16Le),
        [0, 1..=0x7f, 0, 1..=0x7f] => Some(TextEncoding::Utf16Be),
        _ => None,
    }
}
