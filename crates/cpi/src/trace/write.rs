//! Sections: headers and records, in memory or in a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use zerocopy::IntoBytes;

use super::raw::{DATA_BYTES_OFFSET, SECTION_HEADER_BYTES, STOP_TIME_OFFSET, SectionHeader};

/// A file or a buffer to which a trace is written.
pub(super) trait Destination {
    /// Writes all bytes at `offset`, which must not be past the end of what has been written.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Truncates to this length. If that fails, readers report the trailing bytes.
    fn truncate(&mut self, length: u64);
}

impl Destination for File {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn truncate(&mut self, length: u64) {
        let _ = self.set_len(length);
    }
}

/// Writing to memory does not fail; the caller has checked the length.
impl Destination for Vec<u8> {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = offset as usize;
        let (overwritten, new) = bytes.split_at(bytes.len().min(self.len() - offset));
        self[offset..][..overwritten.len()].copy_from_slice(overwritten);
        self.extend_from_slice(new);
        Ok(())
    }

    fn truncate(&mut self, length: u64) {
        self.truncate(length as usize);
    }
}

/// The sections of a trace, all for processor 0, one after another.
#[derive(Debug)]
pub(super) struct Sections {
    /// Maximum number of data bytes per section.
    limit: u32,
    /// Start of the last section.
    start: u64,
    /// Number of data bytes in the last section.
    data_bytes: u32,
    /// Time stamp of the last record.
    last_time: u64,
    /// Number of data bytes in all sections.
    total_bytes: u64,
}

impl Sections {
    /// Creates an empty list of sections.
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, start: 0, data_bytes: 0, last_time: 0, total_bytes: 0 }
    }

    /// Number of data bytes in all sections.
    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// End of the last section.
    pub(super) fn end(&self) -> u64 {
        self.start + SECTION_HEADER_BYTES as u64 + u64::from(self.data_bytes)
    }

    /// Writes the header of the first section, which by itself is a valid, empty trace.
    pub(super) fn begin(&self, destination: &mut impl Destination) -> io::Result<()> {
        destination.write_at(SectionHeader::new(0).as_bytes(), self.start)
    }

    /// Adds records: all of them, or none on an error.
    pub(super) fn add(
        &mut self,
        destination: &mut impl Destination,
        records: &[u8],
        time_stamp: u64,
    ) -> io::Result<()> {
        let result = self.try_add(destination, records, time_stamp);
        if result.is_err() {
            destination.truncate(self.end());
        }
        result
    }

    fn try_add(
        &mut self,
        destination: &mut impl Destination,
        records: &[u8],
        time_stamp: u64,
    ) -> io::Result<()> {
        let mut start = self.start;
        let mut data_bytes = self.data_bytes;
        // One `get` call writes a bounded number of hooks, each under 64 KiB, so this fits in u32.
        let added = records.len() as u32;
        if data_bytes > 0 && added > self.limit.saturating_sub(data_bytes) {
            self.finish(destination)?;
            start = self.end();
            data_bytes = 0;
        }
        if data_bytes == 0 {
            destination.write_at(SectionHeader::new(time_stamp).as_bytes(), start)?;
        }
        let data_offset = start + SECTION_HEADER_BYTES as u64;
        destination.write_at(records, data_offset + u64::from(data_bytes))?;
        // Readers do not decode data past the count, so a process killed before this write leaves only complete `get`s.
        destination.write_at(&(data_bytes + added).to_le_bytes(), start + DATA_BYTES_OFFSET)?;
        self.start = start;
        self.data_bytes = data_bytes + added;
        self.last_time = time_stamp;
        self.total_bytes += u64::from(added);
        Ok(())
    }

    /// Writes the end time of the last section.
    pub(super) fn finish(&self, destination: &mut impl Destination) -> io::Result<()> {
        destination.write_at(&self.last_time.to_le_bytes(), self.start + STOP_TIME_OFFSET)
    }
}
