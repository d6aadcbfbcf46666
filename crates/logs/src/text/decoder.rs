//! From the bytes of a file to UTF-8, whatever the file's encoding; knows which offset of the file each line came from.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};

use encoding_rs::CoderResult;

use crate::{LogError, OverBudget, Reservation};

use super::encoding::TextEncoding;

/// Bytes taken from the stream at once.
const BUFFER: usize = 64 * 1024;

/// The most starts of lines kept for [`Decoder::file_offset`]: more than the CSV reader can have ahead of the row that it
/// gives out, one byte a line, unless line ends are quoted.
const LINES: usize = 128 * 1024;

/// What comes after the file's last byte. To the CSV reader the end of a file ends a quoted cell too; this cell, behind a
/// separator, tells whether the last row was whole: it is a cell of its own unless a quote was open.
pub(super) const END_CELL: &[u8] = b"\0";

/// A stream of UTF-8, closed by a separator and [`END_CELL`].
#[derive(Debug)]
pub(super) struct Decoder<R> {
    stream: R,
    /// Where in the stream the file begins, and how many bytes the mark of its encoding has.
    origin: u64,
    mark_bytes: u64,
    raw: Box<[u8]>,
    /// The part of `raw` that is not decoded yet.
    start: usize,
    end: usize,
    stream_ended: bool,
    /// Bytes taken from the stream.
    taken: u64,
    /// Bytes of UTF-8 given out.
    given: u64,
    encoding: TextEncoding,
    /// How `encoding` is known.
    source: Source,
    converter: Option<encoding_rs::Decoder>,
    /// Where decoded offsets lie in the file, in rising order; see `file_offset`.
    lines: VecDeque<(u64, u64)>,
    first_bad: Option<u64>,
    end_cell: &'static [u8],
    /// Whether the end was given out.
    ended: bool,
    separator: u8,
    bytes_left: u64,
    separators_left: u64,
    exhausted: bool,
    /// What the longest row so far takes; of a reader without a budget `None`.
    row_memory: Option<Reservation>,
    row_bytes: u64,
    over_budget: Option<OverBudget>,
}

/// Why the encoding is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// All characters so far are ASCII.
    Open,
    /// The file says so.
    Marked,
    /// The caller says so, and the file has no mark.
    Chosen,
    /// The characters beyond ASCII look like it.
    Guessed,
}

/// How many bytes of a row are taken without being counted; most rows are shorter.
const UNCOUNTED_ROW_BYTES: u64 = 1 << 20;

/// What the rows of a text take for each byte: the CSV reader's buffer doubles, and knows where each cell ends.
const MEMORY_PER_ROW_BYTE: u64 = 4;

impl<R> Decoder<R> {
    fn set_encoding(&mut self, encoding: TextEncoding, source: Source) {
        self.encoding = encoding;
        self.source = source;
        self.converter = table_of(encoding).map(|table| table.new_decoder_without_bom_handling());
    }
}

impl<R: Read> Decoder<R> {
    /// Reads the start of the stream, and takes a mark of the encoding out. Without one it is `encoding`, or found out.
    pub(super) fn new(stream: R, encoding: Option<TextEncoding>) -> io::Result<Self> {
        let mut decoder = Self {
            stream,
            origin: 0,
            mark_bytes: 0,
            raw: vec![0; BUFFER].into_boxed_slice(),
            start: 0,
            end: 0,
            stream_ended: false,
            taken: 0,
            given: 0,
            encoding: TextEncoding::Utf8,
            source: Source::Open,
            converter: None,
            lines: VecDeque::new(),
            first_bad: None,
            end_cell: b",\0",
            ended: false,
            separator: b',',
            bytes_left: u64::MAX,
            separators_left: u64::MAX,
            exhausted: false,
            row_memory: None,
            row_bytes: 0,
            over_budget: None,
        };
        while decoder.end < 256 && !decoder.stream_ended {
            decoder.fill()?;
        }
        let start = &decoder.raw[..decoder.end];
        let marked = |encoding| Some((encoding, Source::Marked));
        let (mark_bytes, encoding) = if start.starts_with(&[0xef, 0xbb, 0xbf]) {
            (3, marked(TextEncoding::Utf8))
        } else if start.starts_with(&[0xff, 0xfe]) {
            (2, marked(TextEncoding::Utf16Le))
        } else if start.starts_with(&[0xfe, 0xff]) {
            (2, marked(TextEncoding::Utf16Be))
        } else if let Some(encoding) = encoding {
            (0, Some((encoding, Source::Chosen)))
        } else {
            (0, utf16_without_a_mark(start).and_then(marked))
        };
        decoder.start = mark_bytes;
        if let Some((encoding, source)) = encoding {
            decoder.set_encoding(encoding, source);
        }
        decoder.mark_bytes = decoder.start as u64;
        decoder.lines.push_back((0, decoder.mark_bytes));
        Ok(decoder)
    }

    /// Says where in the stream the file begins.
    pub(super) fn set_origin(&mut self, origin: u64) {
        self.origin = origin;
    }

    /// Whether all that was read so far was given out byte for byte, so that places in the text are places in the file.
    pub(super) fn is_as_in_file(&self) -> bool {
        self.is_utf8() && self.first_bad.is_none()
    }

    /// The start of the text, and the bytes it was made of, as they lie in the file.
    pub(super) fn peek(&self) -> (String, &[u8]) {
        let bytes = &self.raw[self.start..self.end.min(self.start + 128)];
        let encoding = match bytes.iter().position(|byte| !byte.is_ascii()) {
            Some(first) if self.source == Source::Open => TextEncoding::guess(&bytes[first..]),
            _ => self.encoding,
        };
        let text = match table_of(encoding) {
            Some(table) => table.decode_without_bom_handling(bytes).0,
            None => String::from_utf8_lossy(match std::str::from_utf8(bytes) {
                // A character that the end of the piece cuts is no sign of anything.
                Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
                _ => bytes,
            }),
        };
        (text.into_owned(), &self.raw[..self.end.min(128)])
    }

    /// Says what separates cells, and that [`END_CELL`] follows the text.
    pub(super) fn set_separator(&mut self, separator: u8) {
        self.separator = separator;
        self.end_cell = end_of(separator);
    }

    /// The text is no table: nothing follows it.
    pub(super) fn without_end_cell(&mut self) {
        self.separator = b'\n';
        self.end_cell = b"";
    }

    /// Counts the memory of long rows.
    pub(super) fn count_rows(&mut self, memory: Reservation) {
        self.row_memory = Some(memory);
    }

    /// Why a row could not be read on, where that was the memory.
    pub(super) fn over_budget(&self) -> Option<OverBudget> {
        self.over_budget
    }

    /// Sets how much may be read before the next call: a row that needs more ends in an error,
    /// [`is_exhausted`](Self::is_exhausted) then.
    pub(super) fn allow(&mut self, bytes: u64, separators: u64) {
        self.bytes_left = bytes;
        self.separators_left = separators;
        self.row_bytes = 0;
    }

    /// Whether reading failed because more was wanted than was allowed.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    /// Whether the end was given out. A row that the CSV reader finishes after that is the last.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The encoding, as far as it is known.
    pub(super) fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// The encoding, where it is a guess that could be wrong.
    pub(super) fn guessed(&self) -> Option<TextEncoding> {
        (self.source == Source::Guessed && !self.is_utf8()).then_some(self.encoding)
    }

    /// Bytes of the file that were read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.taken
    }

    /// Where in the file the first bytes lie that are no text in the file's encoding. They were replaced by U+FFFD, and
    /// so was every one that may follow.
    pub(super) fn first_bad(&self) -> Option<u64> {
        self.first_bad
    }

    /// Where the decoded offset of a line's start lies in the file, and forgets everything before: offsets must rise.
    pub(super) fn file_offset(&mut self, decoded: u64) -> u64 {
        while self.lines.get(1).is_some_and(|&(line, _)| line <= decoded) {
            self.lines.pop_front();
        }
        let bytes_each = self.unit_bytes() as u64;
        let (line, offset) = self.lines.front().copied().unwrap_or_default();
        // Within a line only an estimate (exact for ASCII), but never beyond what was read.
        offset.saturating_add(decoded.saturating_sub(line).saturating_mul(bytes_each)).min(self.taken)
    }

    /// An error where the caller chose the encoding and the text is not in it: every bad character would become U+FFFD.
    pub(super) fn check_chosen(&self) -> Result<(), LogError> {
        match self.first_bad {
            Some(offset) if self.source == Source::Chosen => Err(LogError::not_a_log(format!(
                "offset {offset:#x}: not valid {}, the encoding that was chosen for it; choose another one, or none to have \
                 it guessed",
                self.encoding
            ))),
            _ => Ok(()),
        }
    }

    fn is_utf8(&self) -> bool {
        matches!(self.encoding, TextEncoding::Utf8 | TextEncoding::Utf8WithMark)
    }

    /// Bytes of a character's smallest unit.
    fn unit_bytes(&self) -> usize {
        if matches!(self.encoding, TextEncoding::Utf16Le | TextEncoding::Utf16Be) { 2 } else { 1 }
    }

    /// Offset in the file of the next byte to be decoded.
    fn raw_offset(&self) -> u64 {
        self.taken - (self.end - self.start) as u64
    }

    /// Notes where the byte comes from that follows the next `ahead` decoded ones.
    fn note_line(&mut self, ahead: usize) {
        if self.lines.len() < LINES {
            self.lines.push_back((self.given + ahead as u64, self.raw_offset()));
        }
    }

    fn note_bad(&mut self) {
        let offset = self.raw_offset();
        self.first_bad.get_or_insert(offset);
    }

    /// Takes more from the stream, behind what is not decoded yet.
    fn fill(&mut self) -> io::Result<()> {
        self.raw.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            match self.stream.read(&mut self.raw[self.end..]) {
                Ok(0) => self.stream_ended = true,
                Ok(read) => {
                    self.end += read;
                    self.taken += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    /// Decodes into `out`, which has room for a character at least; 0 at the end of the stream.
    fn decode(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.start == self.end && !self.stream_ended {
                self.fill()?;
            }
            let written = if self.converter.is_some() { self.convert(out)? } else { self.copy(out)? };
            if let Some(written) = written {
                self.given += written as u64;
                return Ok(written);
            }
        }
    }

    /// UTF-8 as it is. `None`: try again, more was read or the encoding is another.
    fn copy(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let piece = &self.raw[self.start..self.end.min(self.start + out.len())];
        if self.source == Source::Open {
            // ASCII is the same in all of them. What follows decides, as much of it as can be had.
            let ascii = piece.iter().take_while(|byte| byte.is_ascii()).count();
            if ascii > 0 || piece.is_empty() {
                out[..ascii].copy_from_slice(&piece[..ascii]);
                self.start += ascii;
                return Ok(Some(ascii));
            }
            while self.end - self.start < BUFFER / 2 && !self.stream_ended {
                self.fill()?;
            }
            self.note_line(0);
            self.set_encoding(TextEncoding::guess(&self.raw[self.start..self.end]), Source::Guessed);
            return Ok(None);
        }
        let (valid, bad) = match std::str::from_utf8(piece) {
            Ok(_) => (piece.len(), None),
            Err(error) => (error.valid_up_to(), Some(error.error_len())),
        };
        if valid > 0 || piece.is_empty() {
            out[..valid].copy_from_slice(&piece[..valid]);
            self.start += valid;
            return Ok(Some(valid));
        }
        if bad == Some(None) && !self.stream_ended && self.end - self.start < 4 {
            // A character whose end is not read yet.
            self.fill()?;
            return Ok(None);
        }
        let length = bad.flatten().unwrap_or(piece.len());
        self.note_bad();
        let replacement = "\u{fffd}".as_bytes();
        out[..replacement.len()].copy_from_slice(replacement);
        self.start += length;
        self.note_line(replacement.len());
        Ok(Some(replacement.len()))
    }

    /// One line, or a part of it, of another encoding.
    fn convert(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let rest = &self.raw[self.start..self.end];
        let width = self.unit_bytes();
        let is_newline = |unit: &[u8]| match self.encoding {
            TextEncoding::Utf16Le => unit == [b'\n', 0],
            TextEncoding::Utf16Be => unit == [0, b'\n'],
            // No second byte of a character is a line end.
            _ => unit == [b'\n'],
        };
        let newline = rest.chunks_exact(width).position(is_newline);
        let length = match newline {
            Some(at) => (at + 1) * width,
            None => rest.len() - rest.len() % width,
        };
        if length == 0 && !self.stream_ended {
            self.fill()?;
            return Ok(None);
        }
        // At the end, half a unit is left for the converter to complain about.
        let is_last = newline.is_none() && self.stream_ended;
        let length = if is_last { rest.len() } else { length };
        let Some(converter) = &mut self.converter else { return Ok(Some(0)) };
        let (result, read, written, had_errors) = converter.decode_to_utf8(&rest[..length], out, is_last);
        if is_last && result == CoderResult::InputEmpty {
            // A converter must not be used after its end; there is nothing left to convert either.
            self.converter = None;
        }
        if had_errors {
            self.note_bad();
        }
        self.start += read;
        if newline.is_some() && read == length {
            self.note_line(written);
        }
        Ok((written > 0 || is_last).then_some(written))
    }
}

/// UTF-8. An error when more is read than was [allowed](Decoder::allow).
impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // The CSV reader always asks for a whole buffer.
        if out.len() < 16 {
            return Err(io::Error::other("the buffer is too small for a character"));
        }
        let written = self.decode(out)?;
        if written == 0 {
            let end = std::mem::take(&mut self.end_cell);
            out[..end.len()].copy_from_slice(end);
            self.ended = end.is_empty();
            return Ok(end.len());
        }
        let separators = out[..written].iter().filter(|&&byte| byte == self.separator).count() as u64;
        if written as u64 > self.bytes_left || separators > self.separators_left {
            self.exhausted = true;
            return Err(io::Error::other("a row is too long"));
        }
        self.bytes_left -= written as u64;
        self.separators_left -= separators;
        self.row_bytes += written as u64;
        if let Some(memory) = self.row_memory.as_mut().filter(|_| self.row_bytes > UNCOUNTED_ROW_BYTES)
            && let Err(over) = memory.grow_to(self.row_bytes * MEMORY_PER_ROW_BYTE)
        {
            self.over_budget = Some(over);
            return Err(io::Error::other("a row needs more memory than there is"));
        }
        Ok(written)
    }
}

/// To a place up to which the text was [as in the file](Decoder::is_as_in_file), counted in bytes of text.
impl<R: Seek> Seek for Decoder<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(decoded) = to else {
            return Err(io::Error::other("a text log is only counted from its start"));
        };
        let offset = self.mark_bytes.saturating_add(decoded);
        self.stream.seek(SeekFrom::Start(self.origin.saturating_add(offset)))?;
        (self.start, self.end) = (0, 0);
        // The converter is in the middle of a text, or has ended with it.
        self.set_encoding(self.encoding, self.source);
        self.stream_ended = false;
        self.taken = offset;
        self.given = decoded;
        self.lines.clear();
        self.lines.push_back((decoded, offset));
        self.ended = false;
        self.end_cell = end_of(self.separator);
        Ok(decoded)
    }
}

/// What follows the text of a table; [`Decoder::without_end_cell`] has a line end for a separator.
fn end_of(separator: u8) -> &'static [u8] {
    match separator {
        b'\n' => b"",
        b'\t' => b"\t\0",
        _ => b",\0",
    }
}

/// The table of an encoding; `None` for UTF-8, which needs none.
fn table_of(encoding: TextEncoding) -> Option<&'static encoding_rs::Encoding> {
    match encoding {
        TextEncoding::Utf8 | TextEncoding::Utf8WithMark => None,
        TextEncoding::Utf16Le => Some(encoding_rs::UTF_16LE),
        TextEncoding::Utf16Be => Some(encoding_rs::UTF_16BE),
        TextEncoding::CodePage(page) => Some(page.table()),
    }
}

/// UTF-16 of a file without a mark, by its first two characters: both are ASCII in every text log.
fn utf16_without_a_mark(start: &[u8]) -> Option<TextEncoding> {
    match *start.first_chunk::<4>()? {
        [1..=0x7f, 0, 1..=0x7f, 0] => Some(TextEncoding::Utf16Le),
        [0, 1..=0x7f, 0, 1..=0x7f] => Some(TextEncoding::Utf16Be),
        _ => None,
    }
}
