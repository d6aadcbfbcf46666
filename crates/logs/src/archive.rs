//! The archive: a folder of Parquet files with one row per value, which any SQL engine can read.
//!
//! docs/archive.md describes the layout. Rows hold differences by the rules of [pairing](tachograph_counters::pairing),
//! so that `factor * sum(num) / sum(den)` is an average, and raw values can be restored exactly.

mod block;
mod columns;
mod description;
mod file;
mod folder;
mod interval;
mod listing;
mod machine;
mod parquet;
mod ranges;
mod read;
mod row_average;
mod rows;
mod segments;
mod storage;
mod table;
mod varint;
mod write;

pub use file::ArchiveFacts;
pub use folder::{
    ArchiveInput, FileSpan, TimeSpan, archive_inputs, complete_files, date_folder, date_folders, entries,
    in_order, is_archive_file, machine_folder, machine_folders, open_file, overlapping_file,
};
pub use interval::{CounterFacts, counter_facts};
pub use listing::{PathFacts, files_by_machine};
pub(crate) use machine::MachinePosition;
pub use machine::MachineReader;
pub use parquet::{Numbers, Present, Runs};
pub use ranges::ReadRanges;
pub(crate) use read::ArchivePosition;
pub use read::{ArchiveReader, SkippedDamage};
pub use row_average::{MixedTypes, RowAverage, RowNumbers, RowSums};
pub use rows::{
    ARCHIVE_COLUMNS, ArchiveRows, ColumnValues, ListedSample, ListedSamples, MachineBlock, RowColumn,
    RowGroup, RowGroupSpan, SampleRows,
};
pub use segments::{SegmentName, open_folder, segments};
pub use storage::{DiskStorage, Storage, StorageFile};
pub use write::{ArchiveOptions, ArchiveWriter, is_full_file};

/// The version of the layout that is written.
pub const ARCHIVE_VERSION: u64 = 2;

/// The first version of the layout that is read.
const MIN_ARCHIVE_VERSION: u64 = 1;

/// Maximum number of rows of a row group.
const MAX_ROWS: usize = 4 << 20;

/// Maximum number of bytes of a column in a row group.
const MAX_CHUNK_BYTES: usize = 64 << 20;

/// Number of rows of a page, the smallest unit of a column that readers can skip.
const PAGE_ROWS: usize = 1 << 17;

/// The reason why a part of a file is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Damage(&'static str);

/// Whether bytes have this checksum. Always true when fuzzing, because a fuzzer cannot guess checksums.
fn matches_checksum(bytes: &[u8], crc: u32) -> bool {
    cfg!(fuzzing) || crc32fast::hash(bytes) == crc
}
