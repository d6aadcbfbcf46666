//! Reads the stream and converts it to UTF-8.

use std::io::{self, Read};

use encoding_rs::CoderResult;

use super::super::encoding::TextEncoding;
use super::{Decoder, EncodingSource, MAX_LINE_OFFSETS, READ_BYTES};

impl<R: Read> Decoder<R> {
    /// Offset in the file of the next byte to be decoded.
    fn next_file_offset(&self) -> u64 {
        self.read_bytes - (self.end - self.start) as u64
    }

    /// Records that the text after the next `ahead` decoded bytes is at the current offset in the file.
    fn record_line(&mut self, ahead: usize) {
        if self.line_offsets.len() < MAX_LINE_OFFSETS {
            self.line_offsets.push_back((self.decoded_bytes + ahead as u64, self.next_file_offset()));
        }
    }

    fn record_invalid_bytes(&mut self) {
        let offset = self.next_file_offset();
        self.first_invalid.get_or_insert(offset);
    }

    /// Reads more bytes from the stream.
    pub(super) fn read_more(&mut self) -> io::Result<()> {
        self.encoded.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        loop {
            match self.stream.read(&mut self.encoded[self.end..]) {
                Ok(0) => self.is_stream_at_end = true,
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
            if self.start == self.end && !self.is_stream_at_end {
                self.read_more()?;
            }
            let written =
                if self.converter.is_some() { self.convert_line(out)? } else { self.copy_utf8(out)? };
            if let Some(written) = written {
                self.decoded_bytes += written as u64;
                return Ok(written);
            }
        }
    }

    /// Copies UTF-8. Returns `None` to retry, after more was read or the encoding was determined.
    fn copy_utf8(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let chunk = &self.encoded[self.start..self.end.min(self.start + out.len())];
        if self.encoding_source == EncodingSource::Undecided {
            // ASCII is the same in all encodings. The encoding is guessed from the bytes that follow.
            let ascii = chunk.iter().take_while(|byte| byte.is_ascii()).count();
            if ascii > 0 || chunk.is_empty() {
                out[..ascii].copy_from_slice(&chunk[..ascii]);
                self.start += ascii;
                return Ok(Some(ascii));
            }
            while self.end - self.start < READ_BYTES / 2 && !self.is_stream_at_end {
                self.read_more()?;
            }
            self.record_line(0);
            self.set_encoding(
                TextEncoding::guess(&self.encoded[self.start..self.end]),
                EncodingSource::Guessed,
            );
            return Ok(None);
        }
        let (valid, invalid) = match std::str::from_utf8(chunk) {
            Ok(_) => (chunk.len(), None),
            Err(error) => (error.valid_up_to(), Some(error.error_len())),
        };
        if valid > 0 || chunk.is_empty() {
            out[..valid].copy_from_slice(&chunk[..valid]);
            self.start += valid;
            return Ok(Some(valid));
        }
        if invalid == Some(None) && !self.is_stream_at_end && self.end - self.start < 4 {
            // The rest of a character is not read yet.
            self.read_more()?;
            return Ok(None);
        }
        let length = invalid.flatten().unwrap_or(chunk.len());
        self.record_invalid_bytes();
        let replacement = "\u{fffd}".as_bytes();
        out[..replacement.len()].copy_from_slice(replacement);
        self.start += length;
        self.record_line(replacement.len());
        Ok(Some(replacement.len()))
    }

    /// Converts one line, or a part of it, from another encoding. Returns `None` to retry.
    fn convert_line(&mut self, out: &mut [u8]) -> io::Result<Option<usize>> {
        let rest = &self.encoded[self.start..self.end];
        let width = self.code_unit_bytes();
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
        if length == 0 && !self.is_stream_at_end {
            self.read_more()?;
            return Ok(None);
        }
        // At the end, the converter reports an incomplete unit.
        let is_last = newline.is_none() && self.is_stream_at_end;
        let length = if is_last { rest.len() } else { length };
        let Some(converter) = &mut self.converter else { return Ok(Some(0)) };
        let (result, read, written, had_errors) = converter.decode_to_utf8(&rest[..length], out, is_last);
        if is_last && result == CoderResult::InputEmpty {
            // A converter must not be used after its end.
            self.converter = None;
        }
        if had_errors {
            self.record_invalid_bytes();
        }
        self.start += read;
        if newline.is_some() && read == length {
            self.record_line(written);
        }
        Ok((written > 0 || is_last).then_some(written))
    }
}

/// The conversion table of an encoding; `None` for UTF-8.
pub(super) fn conversion_table(encoding: TextEncoding) -> Option<&'static encoding_rs::Encoding> {
    match encoding {
        TextEncoding::Utf8 | TextEncoding::Utf8WithBom => None,
        TextEncoding::Utf16Le => Some(encoding_rs::UTF_16LE),
        TextEncoding::Utf16Be => Some(encoding_rs::UTF_16BE),
        TextEncoding::CodePage(page) => Some(page.table()),
    }
}
