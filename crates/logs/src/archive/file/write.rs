//! Writes a file.

use std::io::Write;

use serde_json::json;
use tachograph_counters::civil::Moment;

use super::super::block::Rows;
use super::super::columns::COLUMNS;
use super::super::description::{self, Descriptions};
use super::super::parquet::{ChunkWriter, FileFooter, MAGIC, RowGroup};
use super::super::table::{Chunk, SampleHead, SampleTable};
use super::super::{ARCHIVE_VERSION, MAX_CHUNK_BYTES, MAX_ROWS};
use super::{
    ArchiveFacts, CHECKSUM_KEY, MAX_TABLE_BYTES, MAX_TAIL_BYTES, METADATA_KEY, Part, RowGroupFacts,
    checksum_text,
};

/// Compression level of sample tables and descriptions, which are small. If the level of the columns is at most
/// [`FAST_LEVEL`], that level is used instead.
const TABLE_LEVEL: i32 = 19;
/// The highest compression level that counts as fast.
const FAST_LEVEL: i32 = 3;
const CREATED_BY: &str = concat!("tachograph ", env!("CARGO_PKG_VERSION"));

/// Writes one file.
pub(in super::super) struct FileWriter<W> {
    out: W,
    offset: u64,
    chunk_writer: ChunkWriter,
    part_compressor: zstd::bulk::Compressor<'static>,
    row_groups: Vec<RowGroup>,
    row_group_facts: Vec<RowGroupFacts>,
    buffer: Vec<u8>,
}

impl<W: Write> FileWriter<W> {
    pub(in super::super) fn new(mut out: W, level: i32) -> std::io::Result<Self> {
        out.write_all(&MAGIC)?;
        Ok(Self {
            out,
            offset: MAGIC.len() as u64,
            chunk_writer: ChunkWriter::new(level)?,
            part_compressor: zstd::bulk::Compressor::new(if level <= FAST_LEVEL {
                level
            } else {
                TABLE_LEVEL
            })?,
            row_groups: Vec::new(),
            row_group_facts: Vec::new(),
            buffer: Vec::new(),
        })
    }

    /// The number of bytes written.
    pub(in super::super) fn bytes(&self) -> u64 {
        self.offset
    }

    pub(in super::super) fn row_groups(&self) -> &[RowGroupFacts] {
        &self.row_group_facts
    }

    /// Writes a block as a row group.
    pub(in super::super) fn push(&mut self, rows: &Rows, mut table: SampleTable) -> std::io::Result<()> {
        check_size("a row group", rows.len(), MAX_ROWS)?;
        self.buffer.clear();
        let mut chunks = rows.write(&mut self.chunk_writer, &mut self.buffer)?;
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
        let time = |sample: Option<&SampleHead>| sample.map_or(Moment::default(), |sample| sample.at);
        let (first, last, samples) = (time(first), time(last).utc, table.samples.len());
        let part = self.write_part(&table.encode())?;
        self.row_group_facts.push(RowGroupFacts { rows: rows.len(), samples, first, last, table: part });
        self.row_groups.push(RowGroup { rows: rows.len(), chunks });
        Ok(())
    }

    /// Compresses and writes a part.
    fn write_part(&mut self, bytes: &[u8]) -> std::io::Result<Part> {
        check_size("a sample table or the descriptions", bytes.len(), MAX_TABLE_BYTES)?;
        let compressed = self.part_compressor.compress(bytes)?;
        check_size("a sample table or the descriptions", compressed.len(), MAX_TABLE_BYTES)?;
        self.out.write_all(&compressed)?;
        let part = Part {
            offset: self.offset,
            bytes: compressed.len(),
            uncompressed_bytes: bytes.len(),
            crc: crc32fast::hash(&compressed),
        };
        self.offset += compressed.len() as u64;
        Ok(part)
    }

    /// Writes the end of the file, and returns the underlying writer.
    pub(in super::super) fn finish(
        mut self,
        facts: &ArchiveFacts,
        descriptions: &Descriptions,
    ) -> std::io::Result<W> {
        let descriptions = self.write_part(descriptions.encode().as_bytes())?;
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
            "row_groups": self.row_group_facts.iter().map(row_group).collect::<Vec<_>>(),
        });
        let footer = FileFooter {
            columns: &COLUMNS,
            row_groups: &self.row_groups,
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
