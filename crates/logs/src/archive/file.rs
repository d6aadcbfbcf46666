//! One file: its parts, their checksums, and the metadata that other programs can read too.
//!
//! ```text
//! PAR1 | (16 column chunks, sample table) for each row group | descriptions | page indexes, footer, length, PAR1
//! ```
//!
//! The parts are contiguous, and every byte is covered by a checksum. The checksums of chunks are in the sample table.
//! Those of tables and descriptions are in the metadata, and so is the last checksum, which covers everything from the
//! page indexes to the end.

mod metadata;
mod read;
mod tail;
mod write;

use serde_json::{Value, json};
use tachograph_counters::Problem;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::time_zone::TimeZone;

use super::Damage;
use crate::LogError;
pub(super) use read::ArchiveFile;
pub(super) use write::FileWriter;

/// The keys of the metadata in the footer.
const METADATA_KEY: &str = "tachograph.archive";
const CHECKSUM_KEY: &str = "tachograph.checksum";

/// Maximum number of bytes of the indexes and the footer.
const MAX_TAIL_BYTES: u64 = 32 << 20;
/// Maximum number of bytes of a sample table or of the descriptions, decompressed.
const MAX_TABLE_BYTES: usize = 16 << 20;

/// A compressed part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    offset: u64,
    bytes: usize,
    /// Number of bytes before compression.
    uncompressed_bytes: usize,
    crc: u32,
}

impl Part {
    fn to_json(self) -> Value {
        json!([self.offset, self.bytes, self.uncompressed_bytes, self.crc])
    }

    /// Decodes a part; `None` if it is larger than the limit.
    fn from_numbers((offset, bytes, uncompressed_bytes, crc): (u64, usize, usize, u32)) -> Option<Self> {
        let is_small = bytes <= MAX_TABLE_BYTES && uncompressed_bytes <= MAX_TABLE_BYTES;
        is_small.then_some(Self { offset, bytes, uncompressed_bytes, crc })
    }
}

/// A part in the metadata: offset, bytes, bytes before compression, checksum.
type EncodedPart = (u64, usize, usize, u32);

/// The properties of the recording of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ArchiveFacts {
    /// The machine's name.
    pub machine: String,
    /// The machine's time zone.
    pub zone: TimeZone,
    /// When the machine was booted, in UTC, if known.
    pub boot_time: Option<FileTime>,
    /// Ticks per second of the machine's performance counter, if known.
    pub performance_frequency: Option<i64>,
    /// Build number of the Windows that wrote the original log.
    pub windows_build: Option<u32>,
    /// Identifies the recording or conversion. Files with the same id form one log.
    pub recording: String,
}

/// The properties of a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowGroupFacts {
    /// The number of rows.
    pub(super) rows: usize,
    /// The number of samples.
    pub(super) samples: usize,
    /// The time of the first sample.
    pub(super) first: Moment,
    /// The time of the last sample, UTC.
    pub(super) last: FileTime,
    table: Part,
}

/// An error that names the part of the file.
fn corrupt(offset: u64, part: &str, damage: Damage) -> LogError {
    LogError::corrupt(Problem::new(offset, format!("{part}: {}", damage.0)))
}

/// Formats the offset at which the bytes of the last checksum begin, and the checksum, in hexadecimal.
fn checksum_text(offset: u64, crc: u32) -> String {
    format!("{offset:016x} {crc:08x}")
}
