//! Sections: headers and records, in memory or in a file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use zerocopy::IntoBytes;

use super::raw::{DATA_BYTES_OFFSET, SECTION_HEADER_BYTES, STOP_TIME_OFFSET, SectionHeader};

/// Where a trace's bytes go.
pub(super) trait Place {
    /// Writes all bytes at this offset, which is inside what was written before or at its end.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Leaves out what is beyond this length. What cannot be done stays: readers know it by the counts.
    fn cut(&mut self, length: u64);
}

impl Place for File {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn cut(&mut self, length: u64) {
        let _ = self.set_len(length);
    }
}

/// In memory nothing fails: its owner looks at the length first.
impl Place for Vec<u8> {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let offset = offset as usize;
        let (over, new) = bytes.split_at(bytes.len().min(self.len() - offset));
        self[offset..][..over.len()].copy_from_slice(over);
        self.extend_from_slice(new);
        Ok(())
    }

    fn cut(&mut self, length: u64) {
        self.truncate(length as usize);
    }
}

/// The sections of a trace: all of processor 0, one after another.
#[derive(Debug)]
pub(super) struct Sections {
    /// Most bytes of data of a section.
    limit: u32,
    /// Where the last section starts.
    start: u64,
    /// Its bytes of data.
    data_bytes: u32,
    /// Time stamp of its last record.
    last_time: u64,
    /// Bytes of data of all sections.
    total_bytes: u64,
}

impl Sections {
    /// No sections yet.
    pub(super) fn new(limit: u32) -> Self {
        Self { limit, start: 0, data_bytes: 0, last_time: 0, total_bytes: 0 }
    }

    /// Bytes of data of all sections.
    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// Where the last section ends.
    pub(super) fn end(&self) -> u64 {
        self.start + SECTION_HEADER_BYTES as u64 + u64::from(self.data_bytes)
    }

    /// Writes the header of the first section, which makes a trace without hooks.
    pub(super) fn begin(&self, place: &mut impl Place) -> io::Result<()> {
        place.write_at(SectionHeader::new(0).as_bytes(), self.start)
    }

    /// Adds records: all, or in an error none.
    pub(super) fn add(&mut self, place: &mut impl Place, records: &[u8], time_stamp: u64) -> io::Result<()> {
        let result = self.try_add(place, records, time_stamp);
        if result.is_err() {
            place.cut(self.end());
        }
        result
    }

    fn try_add(&mut self, place: &mut impl Place, records: &[u8], time_stamp: u64) -> io::Result<()> {
        let mut start = self.start;
        let mut data_bytes = self.data_bytes;
        // The hooks of a get are far below 32 bits: each has a length field of 16.
        let added = records.len() as u32;
        if data_bytes > 0 && added > self.limit.saturating_sub(data_bytes) {
            self.finish(place)?;
            start = self.end();
            data_bytes = 0;
        }
        if data_bytes == 0 {
            place.write_at(SectionHeader::new(time_stamp).as_bytes(), start)?;
        }
        let data = start + SECTION_HEADER_BYTES as u64;
        place.write_at(records, data + u64::from(data_bytes))?;
        // What is not counted does not exist: whoever is killed before this leaves the hooks of the gets
        // before, whole.
        place.write_at(&(data_bytes + added).to_le_bytes(), start + DATA_BYTES_OFFSET)?;
        self.start = start;
        self.data_bytes = data_bytes + added;
        self.last_time = time_stamp;
        self.total_bytes += u64::from(added);
        Ok(())
    }

    /// Writes the time at which the last section ended.
    pub(super) fn finish(&self, place: &mut impl Place) -> io::Result<()> {
        place.write_at(&self.last_time.to_le_bytes(), self.start + STOP_TIME_OFFSET)
    }
}
