//! One file: its parts, their checksums, and the metadata that other programs can read too.
//!
//! ```text
//! PAR1 | (16 column chunks, sample table) for each row group | descriptions | page indexes, footer, length, PAR1
//! ```
//!
//! The parts are contiguous, and every byte is covered by a checksum. The checksums of chunks are in the sample table.
//! Those of tables and descriptions are in the metadata, and so is the last checksum, which covers everything from the
//! page indexes to the end.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tachograph_counters::Problem;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::set::CounterSet;
use tachograph_counters::time_zone::{TimeZone, is_possible_bias};

use super::block::Rows;
use super::columns::COLUMNS;
use super::description::{self, Descriptions, EncodedZone};
use super::folder::TimeSpan;
use super::parquet::{
    ChunkPages, ChunkReader, ChunkWriter, FileFooter, MAGIC, Numbers, PageIndexes, PagePlace, Present,
    RowGroup, Runs, Texts, find_text,
};
use super::ranges::ReadRanges;
use super::table::{Chunk, SampleTable};
use super::{ARCHIVE_VERSION, Damage, FIRST_VERSION, MAX_CHUNK_BYTES, MAX_ROWS, has_checksum};
use crate::LogError;

/// The keys of the metadata in the footer.
const METADATA_KEY: &str = "tachograph.archive";
const CHECKSUM_KEY: &str = "tachograph.checksum";

/// Maximum number of bytes of the indexes and the footer.
const MAX_TAIL_BYTES: u64 = 32 << 20;
/// The descriptions, the indexes and the footer usually fit into this number of bytes. They are announced together.
const USUAL_TAIL_BYTES: u64 = 32 << 10;
/// Maximum number of bytes of a sample table or of the descriptions, decompressed.
const MAX_TABLE_BYTES: usize = 16 << 20;
/// Compression level of sample tables and descriptions, which are small. If the level of the columns is at most
/// [`FAST_LEVEL`], that level is used instead.
const TABLE_LEVEL: i32 = 19;
/// The highest compression level that counts as fast.
const FAST_LEVEL: i32 = 3;
const CREATED_BY: &str = concat!("tachograph ", env!("CARGO_PKG_VERSION"));

/// A compressed part of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    offset: u64,
    bytes: usize,
    /// Number of bytes before compression.
    size: usize,
    crc: u32,
}

impl Part {
    fn to_json(self) -> Value {
        json!([self.offset, self.bytes, self.size, self.crc])
    }

    /// Decodes a part; `None` if it is larger than the limit.
    fn from_numbers((offset, bytes, size, crc): (u64, usize, usize, u32)) -> Option<Self> {
        let is_small = bytes <= MAX_TABLE_BYTES && size <= MAX_TABLE_BYTES;
        is_small.then_some(Self { offset, bytes, size, crc })
    }
}

/// A part in the metadata: offset, bytes, size, checksum.
type EncodedPart = (u64, usize, usize, u32);

/// The metadata in the footer.
#[derive(Deserialize)]
struct EncodedMetadata {
    machine: String,
    time_zone: EncodedZone,
    boot_time: Option<i64>,
    performance_frequency: Option<i64>,
    windows_build: Option<u32>,
    #[serde(default)]
    recording: String,
    descriptions: EncodedPart,
    row_groups: Vec<EncodedRowGroup>,
}

/// The only field that the metadata of all versions has.
#[derive(Deserialize)]
struct EncodedVersion {
    version: u64,
}

#[derive(Deserialize)]
struct EncodedRowGroup {
    rows: usize,
    samples: usize,
    first: i64,
    first_bias: i32,
    last: i64,
    table: EncodedPart,
}

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

/// Writes one file.
pub(super) struct FileWriter<W> {
    out: W,
    offset: u64,
    chunks: ChunkWriter,
    tables: zstd::bulk::Compressor<'static>,
    groups: Vec<RowGroup>,
    facts: Vec<RowGroupFacts>,
    buffer: Vec<u8>,
}

impl<W: Write> FileWriter<W> {
    pub(super) fn new(mut out: W, level: i32) -> std::io::Result<Self> {
        out.write_all(&MAGIC)?;
        Ok(Self {
            out,
            offset: MAGIC.len() as u64,
            chunks: ChunkWriter::new(level)?,
            tables: zstd::bulk::Compressor::new(if level <= FAST_LEVEL { level } else { TABLE_LEVEL })?,
            groups: Vec::new(),
            facts: Vec::new(),
            buffer: Vec::new(),
        })
    }

    /// The number of bytes written.
    pub(super) fn bytes(&self) -> u64 {
        self.offset
    }

    pub(super) fn row_groups(&self) -> &[RowGroupFacts] {
        &self.facts
    }

    /// Writes a block as a row group.
    pub(super) fn push(&mut self, rows: &Rows, mut table: SampleTable) -> std::io::Result<()> {
        check_size("a row group", rows.len(), MAX_ROWS)?;
        self.buffer.clear();
        let mut chunks = rows.write(&mut self.chunks, &mut self.buffer)?;
        for chunk in &mut chunks {
            check_size("a column chunk", chunk.bytes, MAX_CHUNK_BYTES)?;
            let start = chunk.offset as usize;
            let crc = crc32fast::hash(&self.buffer[start..start + chunk.bytes]);
            chunk.offset += self.offset;
            table.chunks.push(Chunk { offset: chunk.offset, bytes: chunk.bytes, crc });
        }
        self.out.write_all(&self.buffer)?;
        self.offset += self.buffer.len() as u64;
        let (first, last) = (table.samples.first(), table.samples.last());
        let time =
            |sample: Option<&super::table::SampleHead>| sample.map_or(Moment::default(), |sample| sample.at);
        let (first, last, samples) = (time(first), time(last).utc, table.samples.len());
        let part = self.part(&table.encode())?;
        self.facts.push(RowGroupFacts { rows: rows.len(), samples, first, last, table: part });
        self.groups.push(RowGroup { rows: rows.len(), chunks });
        Ok(())
    }

    /// Compresses and writes a part.
    fn part(&mut self, bytes: &[u8]) -> std::io::Result<Part> {
        check_size("a sample table or the descriptions", bytes.len(), MAX_TABLE_BYTES)?;
        let compressed = self.tables.compress(bytes)?;
        check_size("a sample table or the descriptions", compressed.len(), MAX_TABLE_BYTES)?;
        self.out.write_all(&compressed)?;
        let part = Part {
            offset: self.offset,
            bytes: compressed.len(),
            size: bytes.len(),
            crc: crc32fast::hash(&compressed),
        };
        self.offset += compressed.len() as u64;
        Ok(part)
    }

    /// Writes the end of the file, and returns the underlying writer.
    pub(super) fn finish(mut self, facts: &ArchiveFacts, descriptions: &Descriptions) -> std::io::Result<W> {
        let descriptions = self.part(descriptions.encode().as_bytes())?;
        let row_group = |group: &RowGroupFacts| {
            json!({
                "rows": group.rows, "samples": group.samples, "first": group.first.utc.0,
                "first_bias": group.first.bias_minutes, "last": group.last.0,
                "table": group.table.to_json(),
            })
        };
        let metadata = json!({
            "version": ARCHIVE_VERSION,
            "machine": facts.machine,
            "time_zone": description::encode_zone(&facts.zone),
            "boot_time": facts.boot_time.map(|time| time.0),
            "performance_frequency": facts.performance_frequency,
            "windows_build": facts.windows_build,
            "recording": facts.recording,
            "descriptions": descriptions.to_json(),
            "row_groups": self.facts.iter().map(row_group).collect::<Vec<_>>(),
        });
        let footer = FileFooter {
            columns: &COLUMNS,
            row_groups: &self.groups,
            metadata: &[(METADATA_KEY, metadata.to_string()), (CHECKSUM_KEY, checksum_text(self.offset, 0))],
            created_by: CREATED_BY,
        };
        let mut tail = footer.encode(self.offset);
        check_size("the footer", tail.len(), MAX_TAIL_BYTES as usize)?;
        // The checksum is computed while its own digits are 0.
        let checksum = checksum_text(self.offset, crc32fast::hash(&tail));
        let placeholder = checksum_text(self.offset, 0);
        if let Some(at) = tail.windows(placeholder.len()).rposition(|window| window == placeholder.as_bytes())
        {
            tail[at..at + placeholder.len()].copy_from_slice(checksum.as_bytes());
        }
        self.out.write_all(&tail)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Returns an error if a part is larger than readers accept.
fn check_size(part: &str, size: usize, limit: usize) -> std::io::Result<()> {
    match size <= limit {
        true => Ok(()),
        false => Err(std::io::Error::other(format!(
            "the size of {part} would be {size}, above the maximum of {limit}: select fewer counters"
        ))),
    }
}

/// Formats the offset at which the bytes of the last checksum begin, and the checksum, in hexadecimal.
fn checksum_text(offset: u64, crc: u32) -> String {
    format!("{offset:016x} {crc:08x}")
}

/// An error that names the part of the file.
fn corrupt(offset: u64, part: &str, damage: Damage) -> LogError {
    LogError::corrupt(Problem::new(offset, format!("{part}: {}", damage.0)))
}

/// An open file whose footer has been verified.
pub(super) struct ArchiveFile<R> {
    bytes: R,
    pub(super) facts: ArchiveFacts,
    pub(super) sets: Vec<Arc<CounterSet>>,
    pub(super) row_groups: Vec<RowGroupFacts>,
    /// The number of bytes that were read.
    pub(super) bytes_read: u64,
    pages: PageIndexes,
    chunks: ChunkReader,
    decompressor: zstd::bulk::Decompressor<'static>,
    buffer: Vec<u8>,
}

impl<R: ReadRanges> ArchiveFile<R> {
    pub(super) fn open(mut bytes: R) -> Result<Self, LogError> {
        let len = bytes.size().map_err(LogError::io)?;
        let magic_end = (MAGIC.len() as u64).min(len);
        let usual_tail = len.saturating_sub(USUAL_TAIL_BYTES).max(magic_end)..len;
        bytes.prepare(&[0..magic_end, usual_tail]).map_err(LogError::io)?;
        let tail = read_tail(&mut bytes, len)?;
        let tail_at = len - tail.len() as u64;
        let broken = |damage: Damage| corrupt(tail_at, "footer", damage);
        let text = find_text(&tail, METADATA_KEY).map_err(broken)?;
        let (facts, row_groups, descriptions) = read_metadata(text).map_err(broken)?;
        let tail_bytes = tail.len() as u64;
        let pages = PageIndexes::find(tail, tail_at, row_groups.len(), COLUMNS.len()).map_err(broken)?;
        let mut file = Self {
            bytes,
            facts,
            sets: Vec::new(),
            row_groups,
            bytes_read: tail_bytes,
            pages,
            chunks: ChunkReader::new().map_err(LogError::io)?,
            decompressor: zstd::bulk::Decompressor::new().map_err(LogError::io)?,
            buffer: Vec::new(),
        };
        let text = file.part(descriptions, "descriptions")?;
        let text = std::str::from_utf8(&text).map_err(|_| Damage("the descriptions are not UTF-8"));
        let sets = text.and_then(description::decode);
        let sets = sets.map_err(|damage| corrupt(descriptions.offset, "descriptions", damage))?;
        file.sets = sets.into_iter().map(Arc::new).collect();
        file.check_layout(descriptions, tail_at)?;
        Ok(file)
    }

    /// Checks that the parts are contiguous, so that checksums cover every byte.
    fn check_layout(&mut self, descriptions: Part, tail_at: u64) -> Result<(), LogError> {
        if read_range(&mut self.bytes, 0, MAGIC.len() as u64)? != MAGIC {
            return Err(corrupt(0, "header", Damage("the first bytes are not PAR1")));
        }
        let mut end = MAGIC.len() as u64;
        for group in &self.row_groups {
            if group.table.offset < end {
                return Err(corrupt(end, "footer", Damage("row groups overlap")));
            }
            end = group.table.offset.saturating_add(group.table.bytes as u64);
        }
        let descriptions_end = descriptions.offset.saturating_add(descriptions.bytes as u64);
        if descriptions.offset != end || descriptions_end != tail_at {
            return Err(corrupt(end, "footer", Damage("the parts of the file are not contiguous")));
        }
        Ok(())
    }

    /// Reads a range of the file into the buffer, and verifies its checksum.
    fn read(&mut self, offset: u64, bytes: usize, crc: u32) -> Result<(), LogError> {
        self.read_ranges(std::slice::from_ref(&(offset..offset.saturating_add(bytes as u64))))?;
        if !has_checksum(&self.buffer, crc) {
            return Err(corrupt(offset, "file", Damage("the checksum is wrong")));
        }
        Ok(())
    }

    /// Reads ranges into the buffer, one after another.
    fn read_ranges(&mut self, ranges: &[Range<u64>]) -> Result<(), LogError> {
        self.buffer.clear();
        self.bytes.read_ranges(ranges, &mut self.buffer).map_err(LogError::io)?;
        self.bytes_read += self.buffer.len() as u64;
        let mut read = self.buffer.len() as u64;
        for range in ranges {
            let Some(rest) = read.checked_sub(range.end - range.start) else {
                return Err(corrupt(range.start, "file", Damage("the file ends too early")));
            };
            read = rest;
        }
        Ok(())
    }

    /// The times of the first and the last sample.
    pub(super) fn times(&self) -> TimeSpan {
        let first = self.row_groups.iter().map(|group| group.first.utc).min();
        let last = self.row_groups.iter().map(|group| group.last).max();
        TimeSpan { first: first.unwrap_or(FileTime(0)), last: last.unwrap_or(FileTime(0)) }
    }

    /// Reads and decompresses a part.
    fn part(&mut self, part: Part, name: &str) -> Result<Vec<u8>, LogError> {
        self.read(part.offset, part.bytes, part.crc).map_err(|error| in_part(error, part.offset, name))?;
        let bytes = self.decompressor.decompress(&self.buffer, part.size);
        let bytes = bytes.ok().filter(|bytes| bytes.len() == part.size);
        bytes.ok_or_else(|| corrupt(part.offset, name, Damage("the part cannot be decompressed")))
    }

    /// Reads the sample table of a row group.
    pub(super) fn table(&mut self, index: usize) -> Result<SampleTable, LogError> {
        let group = self.row_groups[index];
        let name = format!("row group {index}, sample table");
        let bytes = self.part(group.table, &name)?;
        let columns: Vec<usize> = self.sets.iter().map(|set| set.counters.len()).collect();
        let table = SampleTable::decode(&bytes, &columns, COLUMNS.len(), group.rows);
        let table = table.and_then(|table| self.check_table(index, table));
        table.map_err(|damage| corrupt(group.table.offset, &name, damage))
    }

    fn check_table(&self, index: usize, table: SampleTable) -> Result<SampleTable, Damage> {
        let group = self.row_groups[index];
        let mut end = match index {
            0 => MAGIC.len() as u64,
            _ => self.row_groups[index - 1].table.offset + self.row_groups[index - 1].table.bytes as u64,
        };
        for chunk in &table.chunks {
            if chunk.offset != end {
                return Err(Damage("column chunks are not contiguous"));
            }
            end = end.saturating_add(chunk.bytes as u64);
        }
        let (first, last) = (table.samples.first(), table.samples.last());
        let are_times_equal = first.is_some_and(|first| first.at == group.first)
            && last.is_some_and(|last| last.at.utc == group.last);
        if end != group.table.offset || !are_times_equal || table.samples.len() != group.samples {
            return Err(Damage("the sample table does not belong to its row group"));
        }
        Ok(table)
    }

    /// Reads and decodes a column of numbers of a row group.
    pub(super) fn numbers(
        &mut self,
        index: usize,
        table: &SampleTable,
        column: usize,
    ) -> Result<Numbers, LogError> {
        let rows = self.row_groups[index].rows;
        self.some_numbers(index, table, column, std::slice::from_ref(&(0..rows)))
    }

    /// Reads a column of numbers of a row group, and decodes the rows in the ascending ranges `wanted`.
    pub(super) fn some_numbers(
        &mut self,
        index: usize,
        table: &SampleTable,
        column: usize,
        wanted: &[Range<usize>],
    ) -> Result<Numbers, LogError> {
        let rows = self.row_groups[index].rows;
        let broken = |damage: Damage| corrupt(table.chunks[column].offset, &name_of(index, column), damage);
        if wanted.iter().all(Range::is_empty) {
            return Ok(Numbers { values: Vec::new(), present: Present::None });
        }
        if let Some(pages) = self.wanted_pages(index, table, column, wanted)? {
            self.read_ranges(&ranges_of(&pages))?;
            let numbers = self.chunks.numbers_of_pages(COLUMNS[column], &self.buffer, &pages, wanted);
            return numbers.map_err(broken);
        }
        self.chunk(index, table, column)?;
        self.chunks.numbers(COLUMNS[column], &self.buffer, rows, wanted).map_err(broken)
    }

    /// The pages of a column that have a wanted row; `None` if all pages do, so that the whole column is read.
    fn wanted_pages(
        &self,
        index: usize,
        table: &SampleTable,
        column: usize,
        wanted: &[Range<usize>],
    ) -> Result<Option<ChunkPages>, LogError> {
        let rows = self.row_groups[index].rows;
        if wanted.iter().map(ExactSizeIterator::len).sum::<usize>() >= rows {
            return Ok(None);
        }
        let Chunk { offset, bytes, .. } = table.chunks[column];
        let pages = self.pages.pages(index, column, rows, offset..offset.saturating_add(bytes as u64));
        let mut pages = pages.map_err(|damage| corrupt(offset, &name_of(index, column), damage))?;
        let all = pages.pages.len();
        pages.pages.retain(|page| has_common_row(wanted, &page.rows));
        Ok((pages.pages.len() < all).then_some(pages))
    }

    /// Announces columns of a row group that are read next. Of some columns, only pages with a wanted row are read.
    pub(super) fn prepare(
        &mut self,
        index: usize,
        table: &SampleTable,
        columns: impl Iterator<Item = (usize, bool)>,
        wanted: &[Range<usize>],
    ) -> Result<(), LogError> {
        let mut ranges = Vec::new();
        for (column, has_pages) in columns {
            let pages = if has_pages { self.wanted_pages(index, table, column, wanted)? } else { None };
            let Chunk { offset, bytes, .. } = table.chunks[column];
            match pages {
                Some(pages) => ranges.extend(ranges_of(&pages)),
                None => ranges.push(offset..offset.saturating_add(bytes as u64)),
            }
        }
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup();
        self.bytes.prepare(&ranges).map_err(LogError::io)
    }

    /// Reads and decodes a column of texts of a row group.
    pub(super) fn texts(
        &mut self,
        index: usize,
        table: &SampleTable,
        column: usize,
    ) -> Result<Texts, LogError> {
        let rows = self.row_groups[index].rows;
        self.chunk(index, table, column)?;
        let texts = self.chunks.texts(COLUMNS[column], &self.buffer, rows);
        texts.map_err(|damage| corrupt(table.chunks[column].offset, &name_of(index, column), damage))
    }

    /// Reads and decodes a dictionary-encoded column of doubles.
    pub(super) fn doubles(
        &mut self,
        index: usize,
        table: &SampleTable,
        column: usize,
    ) -> Result<Runs<f64>, LogError> {
        let rows = self.row_groups[index].rows;
        self.chunk(index, table, column)?;
        let doubles = self.chunks.doubles(COLUMNS[column], &self.buffer, rows);
        doubles.map_err(|damage| corrupt(table.chunks[column].offset, &name_of(index, column), damage))
    }

    /// Reads the bytes of a column of a row group, and verifies them.
    pub(super) fn chunk(&mut self, index: usize, table: &SampleTable, column: usize) -> Result<(), LogError> {
        let Chunk { offset, bytes, crc } = table.chunks[column];
        self.read(offset, bytes, crc).map_err(|error| in_part(error, offset, &name_of(index, column)))
    }
}

/// The ranges of pages, the dictionary first. Adjacent pages are read at once.
fn ranges_of(ChunkPages { dictionary, pages }: &ChunkPages) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for PagePlace { offset, bytes, .. } in dictionary.iter().chain(pages) {
        let end = offset.saturating_add(*bytes as u64);
        match ranges.last_mut() {
            Some(last) if last.end == *offset => last.end = end,
            _ => ranges.push(*offset..end),
        }
    }
    ranges
}

/// Whether a range of rows has one of the rows in ascending ranges.
fn has_common_row(ranges: &[Range<usize>], rows: &Range<usize>) -> bool {
    let next = ranges.partition_point(|range| range.end <= rows.start);
    ranges.get(next).is_some_and(|range| range.start < rows.end)
}

fn name_of(row_group: usize, column: usize) -> String {
    format!("row group {row_group}, column '{}'", COLUMNS[column].name)
}

/// Replaces an error of damage with a checksum error that names the part. Other errors are unchanged.
fn in_part(error: LogError, offset: u64, part: &str) -> LogError {
    if error.is_corrupt() { corrupt(offset, part, Damage("the checksum is wrong")) } else { error }
}

/// Reads everything that the last checksum covers, and verifies it.
fn read_tail<R: ReadRanges>(file: &mut R, len: u64) -> Result<Vec<u8>, LogError> {
    let broken = |damage: Damage| corrupt(len.saturating_sub(8), "footer", damage);
    if len < 12 {
        return Err(broken(Damage("the file is too short")));
    }
    let end = read_range(file, len - 8, 8)?;
    let (footer_bytes, magic) = end.split_at(4);
    if magic != MAGIC {
        return Err(broken(Damage(
            "the last bytes are not PAR1: the file was cut short, or is still being written",
        )));
    }
    let footer_bytes = u64::from(footer_bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)));
    if footer_bytes > MAX_TAIL_BYTES || footer_bytes > len - 12 {
        return Err(broken(Damage("the length of the footer is wrong")));
    }
    let footer = read_range(file, len - 8 - footer_bytes, footer_bytes)?;
    let text = find_text(&footer, CHECKSUM_KEY).map_err(broken)?;
    let (offset, _) = parse_checksum(text).ok_or(broken(Damage("the footer has no checksum")))?;
    if offset < MAGIC.len() as u64 || offset > len - 8 - footer_bytes || len - offset > MAX_TAIL_BYTES {
        return Err(broken(Damage("the checksum of the footer is wrong")));
    }
    let mut tail = read_range(file, offset, len - offset)?;
    // The text is at another offset in the tail, which ends with the footer.
    let text = text.to_owned();
    let at = tail.windows(text.len()).rposition(|window| window == text.as_bytes());
    let found = parse_checksum(&text).map(|(_, crc)| crc);
    if let Some(at) = at {
        tail[at..at + text.len()].copy_from_slice(checksum_text(offset, 0).as_bytes());
    }
    if !found.is_some_and(|crc| has_checksum(&tail, crc)) {
        return Err(broken(Damage("the checksum of the footer is wrong")));
    }
    Ok(tail)
}

fn read_range<R: ReadRanges>(file: &mut R, offset: u64, bytes: u64) -> Result<Vec<u8>, LogError> {
    let (range, mut found) = (offset..offset.saturating_add(bytes), Vec::new());
    file.read_ranges(std::slice::from_ref(&range), &mut found).map_err(LogError::io)?;
    match found.len() as u64 == bytes {
        true => Ok(found),
        false => Err(corrupt(offset, "file", Damage("the file ends too early"))),
    }
}

/// Parses the text of [`checksum_text`]; only that exact form is accepted.
fn parse_checksum(text: &str) -> Option<(u64, u32)> {
    let (offset, crc) = text.split_once(' ')?;
    let parsed = (u64::from_str_radix(offset, 16).ok()?, u32::from_str_radix(crc, 16).ok()?);
    (checksum_text(parsed.0, parsed.1) == text).then_some(parsed)
}

fn read_metadata(text: &str) -> Result<(ArchiveFacts, Vec<RowGroupFacts>, Part), Damage> {
    let wrong = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Data => Damage("a field of the metadata is missing or invalid"),
        _ => Damage("the metadata is not JSON"),
    };
    let EncodedVersion { version } = serde_json::from_str(text).map_err(wrong)?;
    if !(FIRST_VERSION..=ARCHIVE_VERSION).contains(&version) {
        return Err(Damage("the version of the layout is unknown: a newer Tachograph wrote the file"));
    }
    let metadata: EncodedMetadata = serde_json::from_str(text).map_err(wrong)?;
    let facts = ArchiveFacts {
        machine: metadata.machine,
        zone: metadata.time_zone.into(),
        boot_time: metadata.boot_time.map(FileTime),
        performance_frequency: metadata.performance_frequency,
        windows_build: metadata.windows_build,
        recording: metadata.recording,
    };
    let group = |group: EncodedRowGroup| {
        (group.rows <= MAX_ROWS && is_possible_bias(group.first_bias)).then_some(RowGroupFacts {
            rows: group.rows,
            samples: group.samples,
            first: Moment { utc: FileTime(group.first), bias_minutes: group.first_bias },
            last: FileTime(group.last),
            table: Part::from_numbers(group.table)?,
        })
    };
    let groups = metadata.row_groups.into_iter().map(group).collect::<Option<_>>();
    let groups = groups.ok_or(Damage("the metadata of a row group is invalid"))?;
    let descriptions = Part::from_numbers(metadata.descriptions);
    Ok((facts, groups, descriptions.ok_or(Damage("the descriptions are too large"))?))
}
