//! Reads a file.

use std::ops::Range;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::set::CounterSet;

use super::super::columns::COLUMNS;
use super::super::description;
use super::super::folder::TimeSpan;
use super::super::parquet::{
    ChunkPages, ChunkReader, MAGIC, OptionalNumbers, PageIndexes, PageLocation, Runs, Texts, find_text,
};
use super::super::ranges::ReadRanges;
use super::super::table::{Chunk, SampleTable};
use super::super::{Damage, matches_checksum};
use super::metadata::read_metadata;
use super::tail::{read_range, read_tail};
use super::{ArchiveFacts, METADATA_KEY, Part, RowGroupFacts, corrupt};
use crate::LogError;

/// The descriptions, the indexes and the footer usually fit into this number of bytes. They are announced together.
const USUAL_TAIL_BYTES: u64 = 32 << 10;

/// An open file whose footer has been verified.
pub(in super::super) struct ArchiveFile<R> {
    source: R,
    pub(in super::super) facts: ArchiveFacts,
    pub(in super::super) sets: Vec<Arc<CounterSet>>,
    pub(in super::super) row_groups: Vec<RowGroupFacts>,
    /// The number of bytes that were read.
    pub(in super::super) bytes_read: u64,
    page_indexes: PageIndexes,
    chunk_reader: ChunkReader,
    decompressor: zstd::bulk::Decompressor<'static>,
    buffer: Vec<u8>,
}

impl<R: ReadRanges> ArchiveFile<R> {
    pub(in super::super) fn open(mut source: R) -> Result<Self, LogError> {
        let len = source.size().map_err(LogError::io)?;
        let magic_end = (MAGIC.len() as u64).min(len);
        let usual_tail = len.saturating_sub(USUAL_TAIL_BYTES).max(magic_end)..len;
        source.prepare(&[0..magic_end, usual_tail]).map_err(LogError::io)?;
        let tail = read_tail(&mut source, len)?;
        let tail_at = len - tail.len() as u64;
        let footer_error = |damage: Damage| corrupt(tail_at, "footer", damage);
        let text = find_text(&tail, METADATA_KEY).map_err(footer_error)?;
        let (facts, row_groups, descriptions) = read_metadata(text).map_err(footer_error)?;
        let tail_bytes = tail.len() as u64;
        let page_indexes =
            PageIndexes::find(tail, tail_at, row_groups.len(), COLUMNS.len()).map_err(footer_error)?;
        let mut file = Self {
            source,
            facts,
            sets: Vec::new(),
            row_groups,
            bytes_read: tail_bytes,
            page_indexes,
            chunk_reader: ChunkReader::new().map_err(LogError::io)?,
            decompressor: zstd::bulk::Decompressor::new().map_err(LogError::io)?,
            buffer: Vec::new(),
        };
        let text = file.read_part(descriptions, "descriptions")?;
        let text = std::str::from_utf8(&text).map_err(|_| Damage("the descriptions are not UTF-8"));
        let sets = text.and_then(description::decode);
        let sets = sets.map_err(|damage| corrupt(descriptions.offset, "descriptions", damage))?;
        file.sets = sets.into_iter().map(Arc::new).collect();
        file.check_layout(descriptions, tail_at)?;
        Ok(file)
    }

    /// Checks that the parts are contiguous, so that checksums cover every byte.
    fn check_layout(&mut self, descriptions: Part, tail_at: u64) -> Result<(), LogError> {
        if read_range(&mut self.source, 0, MAGIC.len() as u64)? != MAGIC {
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
        if !matches_checksum(&self.buffer, crc) {
            return Err(corrupt(offset, "file", Damage("the checksum is wrong")));
        }
        Ok(())
    }

    /// Reads ranges into the buffer, one after another.
    fn read_ranges(&mut self, ranges: &[Range<u64>]) -> Result<(), LogError> {
        self.buffer.clear();
        self.source.read_ranges(ranges, &mut self.buffer).map_err(LogError::io)?;
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
    pub(in super::super) fn times(&self) -> TimeSpan {
        let first = self.row_groups.iter().map(|group| group.first.utc).min();
        let last = self.row_groups.iter().map(|group| group.last).max();
        TimeSpan { first: first.unwrap_or(FileTime(0)), last: last.unwrap_or(FileTime(0)) }
    }

    /// Reads and decompresses a part.
    fn read_part(&mut self, part: Part, name: &str) -> Result<Vec<u8>, LogError> {
        self.read(part.offset, part.bytes, part.crc).map_err(|error| name_part(error, part.offset, name))?;
        let bytes = self.decompressor.decompress(&self.buffer, part.uncompressed_bytes);
        let bytes = bytes.ok().filter(|bytes| bytes.len() == part.uncompressed_bytes);
        bytes.ok_or_else(|| corrupt(part.offset, name, Damage("the part cannot be decompressed")))
    }

    /// Reads the sample table of a row group.
    pub(in super::super) fn table(&mut self, index: usize) -> Result<SampleTable, LogError> {
        let group = self.row_groups[index];
        let name = format!("row group {index}, sample table");
        let bytes = self.read_part(group.table, &name)?;
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
    pub(in super::super) fn numbers(
        &mut self,
        index: usize,
        table: &SampleTable,
        column: usize,
    ) -> Result<OptionalNumbers, LogError> {
        let rows = self.row_groups[index].rows;
        let all = 0..rows;
        self.numbers_in_rows(index, table, column, std::slice::from_ref(&all), OptionalNumbers::default())
    }

    /// Reads a column of numbers of a row group, and decodes the rows in the ascending ranges `wanted`. The memory of
    /// `reused` is reused for the result.
    pub(in super::super) fn numbers_in_rows(
        &mut self,
        index: usize,
        table: &SampleTable,
        column: usize,
        wanted: &[Range<usize>],
        reused: OptionalNumbers,
    ) -> Result<OptionalNumbers, LogError> {
        let rows = self.row_groups[index].rows;
        let column_error =
            |damage: Damage| corrupt(table.chunks[column].offset, &describe_column(index, column), damage);
        if wanted.iter().all(Range::is_empty) {
            return Ok(reused.cleared());
        }
        if let Some(pages) = self.wanted_pages(index, table, column, wanted)? {
            self.read_ranges(&ranges_of(&pages))?;
            let (reader, bytes) = (&mut self.chunk_reader, &self.buffer);
            let numbers = reader.numbers_of_pages(COLUMNS[column], bytes, &pages, wanted, reused);
            return numbers.map_err(column_error);
        }
        self.chunk(index, table, column)?;
        self.chunk_reader.numbers(COLUMNS[column], &self.buffer, rows, wanted, reused).map_err(column_error)
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
        let pages = self.page_indexes.pages(index, column, rows, offset..offset.saturating_add(bytes as u64));
        let mut pages = pages.map_err(|damage| corrupt(offset, &describe_column(index, column), damage))?;
        let all = pages.pages.len();
        pages.pages.retain(|page| has_common_row(wanted, &page.rows));
        Ok((pages.pages.len() < all).then_some(pages))
    }

    /// Announces columns of a row group that are read next. Of some columns, only pages with a wanted row are read.
    pub(in super::super) fn prepare(
        &mut self,
        index: usize,
        table: &SampleTable,
        columns: impl Iterator<Item = (usize, bool)>,
        wanted: &[Range<usize>],
    ) -> Result<(), LogError> {
        let mut ranges = Vec::new();
        for (column, is_read_by_page) in columns {
            let pages = if is_read_by_page { self.wanted_pages(index, table, column, wanted)? } else { None };
            let Chunk { offset, bytes, .. } = table.chunks[column];
            match pages {
                Some(pages) => ranges.extend(ranges_of(&pages)),
                None => ranges.push(offset..offset.saturating_add(bytes as u64)),
            }
        }
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup();
        self.source.prepare(&ranges).map_err(LogError::io)
    }

    /// Reads and decodes a column of texts of a row group.
    pub(in super::super) fn texts(
        &mut self,
        index: usize,
        table: &SampleTable,
        column: usize,
    ) -> Result<Texts, LogError> {
        let rows = self.row_groups[index].rows;
        self.chunk(index, table, column)?;
        let texts = self.chunk_reader.texts(COLUMNS[column], &self.buffer, rows);
        texts.map_err(|damage| corrupt(table.chunks[column].offset, &describe_column(index, column), damage))
    }

    /// Reads and decodes a dictionary-encoded column of doubles.
    pub(in super::super) fn doubles(
        &mut self,
        index: usize,
        table: &SampleTable,
        column: usize,
    ) -> Result<Runs<f64>, LogError> {
        let rows = self.row_groups[index].rows;
        self.chunk(index, table, column)?;
        let doubles = self.chunk_reader.doubles(COLUMNS[column], &self.buffer, rows);
        doubles
            .map_err(|damage| corrupt(table.chunks[column].offset, &describe_column(index, column), damage))
    }

    /// Reads the bytes of a column of a row group, and verifies them.
    pub(in super::super) fn chunk(
        &mut self,
        index: usize,
        table: &SampleTable,
        column: usize,
    ) -> Result<(), LogError> {
        let Chunk { offset, bytes, crc } = table.chunks[column];
        self.read(offset, bytes, crc)
            .map_err(|error| name_part(error, offset, &describe_column(index, column)))
    }
}

/// The ranges of pages, the dictionary first. Adjacent pages are read at once.
fn ranges_of(ChunkPages { dictionary, pages }: &ChunkPages) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for PageLocation { offset, bytes, .. } in dictionary.iter().chain(pages) {
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

fn describe_column(row_group: usize, column: usize) -> String {
    format!("row group {row_group}, column '{}'", COLUMNS[column].name)
}

/// Replaces an error of damage with a checksum error that names the part. Other errors are unchanged.
fn name_part(error: LogError, offset: u64, part: &str) -> LogError {
    if error.is_corrupt() { corrupt(offset, part, Damage("the checksum is wrong")) } else { error }
}
