//! Encodes column chunks.

use std::ops::Range;

use super::super::super::PAGE_ROWS;
use super::super::page::{self, Content, PLAIN, PageFacts, RLE, RLE_DICTIONARY};
use super::super::runs;
use super::dictionary::NumberDictionary;
use super::{Column, NumberEncoding, PhysicalType};

/// Metadata of a page that was written.
#[derive(Clone, Debug)]
pub(in super::super::super) struct WrittenPage {
    /// The range of the page's bytes within the chunk.
    pub(in super::super) bytes: Range<usize>,
    pub(in super::super) first_row: usize,
    pub(in super::super) nulls: usize,
    /// Smallest and largest value, as in statistics.
    pub(in super::super) bounds: Option<[Vec<u8>; 2]>,
}

/// Metadata of a chunk that was written.
#[derive(Clone, Debug)]
pub(in super::super::super) struct WrittenChunk {
    pub(in super::super) column: Column,
    pub(in super::super::super) offset: u64,
    pub(in super::super::super) bytes: usize,
    pub(in super::super) uncompressed_bytes: usize,
    pub(in super::super) dictionary_bytes: Option<usize>,
    pub(in super::super) encodings: Vec<i32>,
    pub(in super::super) pages: Vec<WrittenPage>,
    pub(in super::super) rows: usize,
    /// The start of the last page.
    page_start: usize,
}

/// Encodes column chunks.
pub(in super::super::super) struct ChunkWriter {
    compressor: zstd::bulk::Compressor<'static>,
    body: Vec<u8>,
}

impl ChunkWriter {
    pub(in super::super::super) fn new(level: i32) -> std::io::Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(level)?;
        compressor.include_checksum(false)?;
        Ok(Self { compressor, body: Vec::new() })
    }

    /// Appends a chunk of numbers. `present` has alternating runs of rows with a number and rows without one.
    pub(in super::super::super) fn numbers(
        &mut self,
        column: Column,
        numbers: &[i64],
        present: &[(bool, usize)],
        out: &mut Vec<u8>,
    ) -> std::io::Result<WrittenChunk> {
        let rows = present.iter().map(|(_, len)| len).sum();
        let width = column.physical_type.width();
        let dictionary = match column.numbers {
            NumberEncoding::Dictionary => NumberDictionary::new(numbers),
            NumberEncoding::Plain | NumberEncoding::Split => None,
        };
        let encoding = column.encoding_of_numbers(dictionary.is_some());
        let mut chunk = WrittenChunk::new(column, rows, out.len(), vec![RLE, encoding]);
        if let Some(dictionary) = &dictionary {
            chunk.encodings.push(PLAIN);
            self.body.clear();
            push_plain(&mut self.body, &dictionary.numbers, width);
            self.write_dictionary_page(&mut chunk, dictionary.numbers.len(), out)?;
        }
        let mut first = 0;
        for (first_row, present) in pages_of(present) {
            self.body.clear();
            let nulls: usize = present.iter().filter(|(is, _)| !is).map(|(_, len)| len).sum();
            if column.is_optional {
                push_levels(&mut self.body, &present);
            }
            let rows: usize = present.iter().map(|(_, len)| len).sum();
            let range = first..(first + rows - nulls).min(numbers.len());
            first = range.end;
            let numbers = &numbers[range.clone()];
            match &dictionary {
                Some(dictionary) => dictionary.push_indexes(&mut self.body, range),
                None if column.numbers == NumberEncoding::Split => {
                    push_split(&mut self.body, numbers, width);
                }
                None => push_plain(&mut self.body, numbers, width),
            }
            let bounds = if column.has_statistics { bounds_of(numbers) } else { None };
            self.write_page(&mut chunk, PageFacts { content: Content::Data, values: rows, encoding }, out)?;
            chunk.end_page(out, first_row, nulls, bounds);
        }
        chunk.bytes = out.len() - chunk.offset as usize;
        Ok(chunk)
    }

    /// Appends a chunk of dictionary-encoded values. `dictionary` has the bytes of each value. Each run in `rows` has
    /// the index of its value, or `None` for rows without a value, and its length.
    pub(in super::super::super) fn runs(
        &mut self,
        column: Column,
        dictionary: &[Vec<u8>],
        rows: &[(Option<u32>, usize)],
        out: &mut Vec<u8>,
    ) -> std::io::Result<WrittenChunk> {
        let count = rows.iter().map(|(_, len)| len).sum();
        let mut chunk = WrittenChunk::new(column, count, out.len(), vec![PLAIN, RLE, RLE_DICTIONARY]);
        self.body.clear();
        for value in dictionary {
            if column.physical_type == PhysicalType::Text {
                self.body.extend_from_slice(&(value.len() as u32).to_le_bytes());
            }
            self.body.extend_from_slice(value);
        }
        self.write_dictionary_page(&mut chunk, dictionary.len(), out)?;
        let bits = runs::bits_for(dictionary.len());
        for (first_row, rows) in pages_of(rows) {
            self.body.clear();
            let nulls = rows.iter().filter(|(index, _)| index.is_none()).map(|(_, len)| len).sum();
            if column.is_optional {
                let present: Vec<_> = rows.iter().map(|&(index, len)| (index.is_some(), len)).collect();
                push_levels(&mut self.body, &present);
            }
            self.body.push(bits as u8);
            let indexes = || rows.iter().filter_map(|&(index, len)| Some((index?, len)));
            runs::encode(&mut self.body, bits, indexes());
            let values: usize = rows.iter().map(|(_, len)| len).sum();
            let facts = PageFacts { content: Content::Data, values, encoding: RLE_DICTIONARY };
            self.write_page(&mut chunk, facts, out)?;
            let used = || indexes().map(|(index, _)| &dictionary[index as usize]);
            let bounds = match column.physical_type {
                _ if !column.has_statistics => None,
                PhysicalType::Text => {
                    used().min().zip(used().max()).map(|(min, max)| [min.clone(), max.clone()])
                }
                _ => bounds_of(
                    &used()
                        .filter_map(|value| Some(i64::from_le_bytes(*value.first_chunk()?)))
                        .collect::<Vec<_>>(),
                ),
            };
            chunk.end_page(out, first_row, nulls, bounds);
        }
        chunk.bytes = out.len() - chunk.offset as usize;
        Ok(chunk)
    }

    fn write_dictionary_page(
        &mut self,
        chunk: &mut WrittenChunk,
        values: usize,
        out: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        self.write_page(chunk, PageFacts { content: Content::Dictionary, values, encoding: PLAIN }, out)?;
        chunk.dictionary_bytes = Some(out.len() - chunk.offset as usize);
        Ok(())
    }

    fn write_page(
        &mut self,
        chunk: &mut WrittenChunk,
        facts: PageFacts,
        out: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        chunk.page_start = out.len();
        chunk.uncompressed_bytes += page::write(out, &mut self.compressor, facts, &self.body)?;
        Ok(())
    }
}

impl WrittenChunk {
    fn new(column: Column, rows: usize, start: usize, encodings: Vec<i32>) -> Self {
        Self {
            column,
            offset: start as u64,
            bytes: 0,
            uncompressed_bytes: 0,
            dictionary_bytes: None,
            encodings,
            pages: Vec::new(),
            rows,
            page_start: start,
        }
    }

    fn end_page(&mut self, out: &[u8], first_row: usize, nulls: usize, bounds: Option<[Vec<u8>; 2]>) {
        let start = self.offset as usize;
        let bytes = self.page_start - start..out.len() - start;
        self.pages.push(WrittenPage { bytes, first_row, nulls, bounds });
    }
}

fn push_plain(out: &mut Vec<u8>, numbers: &[i64], width: usize) {
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()[..width]));
}

/// Appends first the lowest bytes of all numbers, then the next ones, and so on.
fn push_split(out: &mut Vec<u8>, numbers: &[i64], width: usize) {
    let start = out.len();
    out.resize(start + numbers.len() * width, 0);
    // The lengths of both slices are known, so the compiler can vectorise the inner loop.
    for (byte, stream) in out[start..].chunks_exact_mut(numbers.len().max(1)).enumerate() {
        for (out, number) in stream.iter_mut().zip(numbers) {
            *out = (number >> (8 * byte)) as u8;
        }
    }
}

/// The encoded smallest and largest number; `None` without numbers.
fn bounds_of(numbers: &[i64]) -> Option<[Vec<u8>; 2]> {
    let first = *numbers.first()?;
    let (min, max) = numbers.iter().fold((first, first), |(min, max), &next| (min.min(next), max.max(next)));
    Some([min, max].map(|number| number.to_le_bytes().to_vec()))
}

/// Splits runs into pages, each with its first row.
fn pages_of<T: Copy>(runs: &[(T, usize)]) -> Vec<(usize, Vec<(T, usize)>)> {
    let mut pages = Vec::new();
    let (mut page, mut rows, mut first_row) = (Vec::new(), 0, 0);
    for &(value, mut len) in runs {
        while len > 0 {
            let taken = len.min(PAGE_ROWS - rows);
            page.push((value, taken));
            rows += taken;
            len -= taken;
            if rows == PAGE_ROWS {
                pages.push((first_row, std::mem::take(&mut page)));
                first_row += std::mem::take(&mut rows);
            }
        }
    }
    if rows > 0 {
        pages.push((first_row, page));
    }
    pages
}

/// Appends definition levels: 1 for each row that has a value, else 0.
fn push_levels(out: &mut Vec<u8>, present: &[(bool, usize)]) {
    let mut levels = Vec::new();
    let mut merged: Vec<(u32, usize)> = Vec::new();
    for &(is_present, len) in present {
        match merged.last_mut() {
            Some((level, run_len)) if *level == u32::from(is_present) => *run_len += len,
            _ => merged.push((u32::from(is_present), len)),
        }
    }
    runs::encode(&mut levels, 1, merged.into_iter());
    out.extend_from_slice(&(levels.len() as u32).to_le_bytes());
    out.extend_from_slice(&levels);
}
