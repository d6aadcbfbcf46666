//! Opens the text of a log, and defines the limits of a row.

use std::io::{Read, Seek, SeekFrom};

use crate::{Format, LogError, Problem, ReadOptions};

use super::decoder::Decoder;
use super::header::detect_format;

/// Maximum length of a row in bytes of UTF-8, and maximum number of cells in a row. With these limits, a reader needs
/// at most about 256 MiB for a row (the buffer doubles), and the memory of its columns.
pub(super) const MAX_ROW_BYTES: u64 = 64 << 20;
pub(super) const MAX_ROW_CELLS: u64 = 1 << 20;

/// Maximum bytes that are read ahead of a row's end. The decoder's limits include this number of additional bytes and
/// separators; the row itself is checked after it is read.
pub(super) const READ_AHEAD: usize = 64 * 1024;

/// Returns the offset of the file in the stream, which is the current position, and the file's length.
pub(super) fn origin_and_length<R: Seek>(stream: &mut R) -> Result<(u64, u64), LogError> {
    let start = stream.stream_position().map_err(LogError::io)?;
    let end = stream.seek(SeekFrom::End(0)).map_err(LogError::io)?;
    stream.seek(SeekFrom::Start(start)).map_err(LogError::io)?;
    Ok((start, end.saturating_sub(start)))
}

/// Detects the encoding and the format of a text, and returns its decoder.
pub(super) fn open_text<R: Read>(stream: R, options: &ReadOptions) -> Result<(Decoder<R>, Format), LogError> {
    let mut decoder = Decoder::new(stream, options.encoding).map_err(LogError::io)?;
    let (start, bytes) = decoder.peek();
    if bytes.is_empty() {
        return Err(LogError::not_a_log("the file is empty"));
    }
    let format = detect_format(&start, bytes)?;
    decoder.set_row_reservation(options.budget.reserve(0).map_err(LogError::over_budget)?);
    Ok((decoder, format))
}

/// The error for a row at this offset that exceeds a limit.
pub(super) fn row_too_long(offset: u64) -> LogError {
    let mib = MAX_ROW_BYTES >> 20;
    let message = format!("a row is longer than {mib} MiB or has more than {MAX_ROW_CELLS} cells");
    LogError::corrupt(Problem::new(offset, message))
}
