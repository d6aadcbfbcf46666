//! Reading a file of an archive by ranges of bytes.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// The bytes of a file of an archive. Files and all other seekable streams implement it.
pub trait ReadRanges {
    /// The number of bytes.
    ///
    /// # Errors
    ///
    /// When the bytes are unavailable.
    fn size(&mut self) -> io::Result<u64>;

    /// Appends ranges, which ascend and do not overlap, to `buffer`. If the bytes end within a range, reading ends there.
    ///
    /// # Errors
    ///
    /// When reading fails.
    fn read_ranges(&mut self, ranges: &[Range<u64>], buffer: &mut Vec<u8>) -> io::Result<()>;

    /// Announces ranges, which ascend and do not overlap, that are read next, possibly one at a time. Bytes that are far away can
    /// then be requested together.
    ///
    /// # Errors
    ///
    /// When reading fails.
    fn prepare(&mut self, ranges: &[Range<u64>]) -> io::Result<()> {
        let _ = ranges;
        Ok(())
    }
}

impl<R: Read + Seek> ReadRanges for R {
    fn size(&mut self) -> io::Result<u64> {
        self.seek(SeekFrom::End(0))
    }

    fn read_ranges(&mut self, ranges: &[Range<u64>], buffer: &mut Vec<u8>) -> io::Result<()> {
        for range in ranges {
            let bytes = range.end.saturating_sub(range.start);
            self.seek(SeekFrom::Start(range.start))?;
            if self.by_ref().take(bytes).read_to_end(buffer)? as u64 != bytes {
                break;
            }
        }
        Ok(())
    }
}
