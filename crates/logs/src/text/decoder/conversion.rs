//! Reads the stream and converts it to UTF-8.

use std::io::{self, Read};

use encoding_rs::CoderResult;

use super::super::encoding::TextEncoding;
use super::{BUFFER, Decoder, MAX_LINES, Source};

impl<R: Read> Decoder<R> {
    /// Offset in the file of the next byte to be decoded.
    fn raw_offset(&self) -> u64 {
        self.read_bytes - (self.end - self.start) as u64
    }

    /// Records that the text after the next `ahead` decoded bytes is at the current offset in the file.
    fn record_line(&mut self, ahead: usize) {
        if self.lines.len() < MAX_LINES {
            self.lines.push_back((self.decoded_bytes + ahead as u64, self.raw_offset()));
        }
    }

    fn record_bad(&mut self) {
        let offset = self.raw_offset();
        self.first_bad.get_or_insert(offset);
    }

    /// Reads more bytes from the stream.
    pub(super) fn fill(&mut self) -> io::Result<()> {
        self.raw.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            match self.stream.read(&mut self.raw[self.end..]) {
                Ok(0) => self.stream_ended = true,
                Ok(read) => {
                    self.end += read;
                    self.read_bytes += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    /// Decodes into `out`, which has room for at least one character; returns 0 at the end of the stream.
    pub(super) fn decode(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.start == self.end && !self.stream_ended {
                self.fill()?;
            }
            let written = if self.converter.is_some() { self.convert(out)? } else { self.copy(out)? };
            if let Some(written) = written {
                self.decoded_bytes += written as u64;
                return Ok(written);
            }
        }
    }

    /// Copies UTF-8. Returns `None` to retry, after more was read or the encoding was determined.
    fn copy(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let chunk = &self.raw[self.start..self.end.min(self.start + out.len())];
        if self.source == Source::Undecided {
            // ASCII is the same in all encodings. The encoding is guessed from the bytes that follow.
            let ascii = chunk.iter().take_while(|byte| byte.is_ascii()).count();
            if ascii > 0 || chunk.is_empty() {
                out[..ascii].copy_from_slice(&chunk[..ascii]);
                self.start += ascii;
                return Ok(Some(ascii));
            }
            while self.end - self.start < BUFFER / 2 && !self.stream_ended {
                self.fill()?;
            }
            self.record_line(0);
            self.set_encoding(TextEncoding::guess(&self.raw[self.start..self.end]), Source::Guessed);
            return Ok(None);
        }
        let (valid, bad) = match std::str::from_utf8(chunk) {
            Ok(_) => (chunk.len(), None),
            Err(error) => (error.valid_up_to(), Some(error.error_len())),
        };
        if valid > 0 || chunk.is_empty() {
            out[..valid].copy_from_slice(&chunk[..valid]);
            self.start += valid;
            return Ok(Some(valid));
        }
        if bad == Some(None) && !self.stream_ended && self.end - self.start < 4 {
            // The rest of a character is not read yet.
            self.fill()?;
            return Ok(None);
        }
        let length = bad.flatten().unwrap_or(chunk.len());
        self.record_bad();
        let replacement = "\u{fffd}".as_bytes();
        out[..replacement.len()].copy_from_slice(replacement);
        self.start += length;
        self.record_line(replacement.len());
        Ok(Some(replacement.len()))
    }

    /// Converts one line, or a part of it, from another encoding. Returns `None` to retry.
    fn convert(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let rest = &self.raw[self.start..self.end];
        let width = self.unit_bytes();
        let is_newline = |unit: &[u8]| match self.encoding {
            TextEncoding::Utf16Le => unit == [b'\n', 0],
            TextEncoding::Utf16Be => unit == [0, b'\n'],
            // The second byte of a character is never a line end.
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
        // At the end, the converter reports an incomplete unit.
        let is_last = newline.is_none() && self.stream_ended;
        let length = if is_last { rest.len() } else { length };
        let Some(converter) = &mut self.converter else { return Ok(Some(0)) };
        let (result, read, written, had_errors) = converter.decode_to_utf8(&rest[..length], out, is_last);
        if is_last && result == CoderResult::InputEmpty {
            // A converter must not be used after its end.
            self.converter = None;
        }
        if had_errors {
            self.record_bad();
        }
        self.start += read;
        if newline.is_some() && read == length {
            self.record_line(written);
        }
        Ok((written > 0 || is_last).then_some(written))
    }
}

/// The conversion table of an encoding; `None` for UTF-8.
pub(super) fn table_of(encoding: TextEncoding) -> Option<&'static encoding_rs::Encoding> {
    match encoding {
        TextEncoding::Utf8 | TextEncoding::Utf8WithBom => None,
        TextEncoding::Utf16Le => Some(encoding_rs::UTF_16LE),
        TextEncoding::Utf16Be => Some(encoding_rs::UTF_16BE),
        TextEncoding::CodePage(page) => Some(page.table()),
    }
}
