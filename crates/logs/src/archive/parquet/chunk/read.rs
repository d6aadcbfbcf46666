//! Decodes column chunks.

use std::ops::Range;

use super::super::super::Damage;
use super::super::super::varint::Cursor;
use super::super::page::{
    self, BYTE_STREAM_SPLIT, CompressedPage, Content, PLAIN, PageFacts, RLE_DICTIONARY,
};
use super::super::page_index::ChunkPages;
use super::super::runs;
use super::{Column, NumberEncoding, OptionalNumbers, Runs, Texts};

/// Maximum number of bytes of a row in a page, including its share of the definition levels.
const MAX_BYTES_PER_ROW: usize = 32;

/// Decodes column chunks.
pub(in super::super::super) struct ChunkReader {
    decompressor: zstd::bulk::Decompressor<'static>,
    /// The decompressed page.
    body: Vec<u8>,
}

impl ChunkReader {
    pub(in super::super::super) fn new() -> std::io::Result<Self> {
        Ok(Self { decompressor: zstd::bulk::Decompressor::new()?, body: Vec::new() })
    }

    /// Decodes the numbers in the wanted rows of a chunk. `wanted` contains ascending ranges; `rows` is the chunk's number
    /// of rows. Pages without wanted rows are not decompressed. The memory of `reused` is reused for the result.
    pub(in super::super::super) fn numbers(
        &mut self,
        column: Column,
        bytes: &[u8],
        rows: usize,
        wanted: &[Range<usize>],
        reused: OptionalNumbers,
    ) -> Result<OptionalNumbers, Damage> {
        let mut cursor = Cursor::new(bytes);
        let mut decoded = reused.cleared();
        let mut rows_read = 0;
        let mut wanted = wanted;
        let mut dictionary = None;
        while cursor.len() > 0 {
            let page = page::read(&mut cursor)?;
            let facts = page.facts;
            if facts.content == Content::Dictionary && dictionary.is_none() && rows_read == 0 {
                dictionary = Some(self.number_dictionary(column, &page)?);
                continue;
            }
            if facts.content != Content::Data || facts.values == 0 || facts.values > rows - rows_read {
                return Err(Damage("a column has a page without rows, or too many rows"));
            }
            let page_rows = rows_read..rows_read + facts.values;
            rows_read = page_rows.end;
            wanted = wanted_from(wanted, page_rows.start);
            if wanted.first().is_some_and(|first| first.start < page_rows.end) {
                self.decode_page(column, &page, dictionary.as_deref(), &page_rows, wanted, &mut decoded)?;
            }
        }
        if rows_read != rows {
            return Err(Damage("a column has too few rows"));
        }
        Ok(decoded)
    }

    /// Like [`numbers`](Self::numbers), but from single pages: `bytes` has only the dictionary and these pages, which have all
    /// wanted rows.
    pub(in super::super::super) fn numbers_of_pages(
        &mut self,
        column: Column,
        bytes: &[u8],
        ChunkPages { dictionary, pages }: &ChunkPages,
        wanted: &[Range<usize>],
        reused: OptionalNumbers,
    ) -> Result<OptionalNumbers, Damage> {
        let mut cursor = Cursor::new(bytes);
        let mut decoded = reused.cleared();
        let mut wanted = wanted;
        let dictionary = match dictionary {
            Some(location) => {
                let facts = |bytes: usize| PageFacts {
                    content: Content::Dictionary,
                    values: bytes / column.physical_type.width().max(1),
                    encoding: PLAIN,
                };
                let page = page::read_single(cursor.take(location.bytes)?, facts)?;
                Some(self.number_dictionary(column, &page)?)
            }
            None => None,
        };
        let encoding = column.encoding_of_numbers(dictionary.is_some());
        for location in pages {
            let facts = PageFacts { content: Content::Data, values: location.rows.len(), encoding };
            let page = page::read_single(cursor.take(location.bytes)?, |_| facts)?;
            wanted = wanted_from(wanted, location.rows.start);
            self.decode_page(column, &page, dictionary.as_deref(), &location.rows, wanted, &mut decoded)?;
        }
        Ok(decoded)
    }

    /// Decodes a dictionary of numbers.
    fn number_dictionary(&mut self, column: Column, page: &CompressedPage<'_>) -> Result<Vec<i64>, Damage> {
        page.decompress(&mut self.decompressor, &mut self.body)?;
        let mut numbers = Vec::new();
        match column.numbers == NumberEncoding::Dictionary && page.facts.encoding == PLAIN {
            true => read_numbers(
                &mut Cursor::new(&self.body),
                column,
                PLAIN,
                None,
                page.facts.values,
                &mut numbers,
            )?,
            false => return Err(Damage("a column has an unexpected dictionary")),
        }
        Ok(numbers)
    }

    /// Decodes the wanted rows of a page of numbers. `wanted` begins with the first range that ends after its first row.
    fn decode_page(
        &mut self,
        column: Column,
        page: &CompressedPage<'_>,
        dictionary: Option<&[i64]>,
        rows: &Range<usize>,
        wanted: &[Range<usize>],
        decoded: &mut OptionalNumbers,
    ) -> Result<(), Damage> {
        let facts = page.facts;
        page.decompress(&mut self.decompressor, &mut self.body)?;
        check_page(facts, self.body.len())?;
        let mut body = Cursor::new(&self.body);
        if wanted.first().is_some_and(|first| first.start <= rows.start && rows.end <= first.end) {
            let value_count = read_levels(&mut body, column, facts.values, decoded)?;
            return read_numbers(
                &mut body,
                column,
                facts.encoding,
                dictionary,
                value_count,
                &mut decoded.values,
            );
        }
        let mut of_page = OptionalNumbers::default();
        let value_count = read_levels(&mut body, column, facts.values, &mut of_page)?;
        read_numbers(&mut body, column, facts.encoding, dictionary, value_count, &mut of_page.values)?;
        push_wanted(rows, wanted, &of_page, decoded);
        Ok(())
    }

    /// Decodes a chunk of texts.
    pub(in super::super::super) fn texts(
        &mut self,
        column: Column,
        bytes: &[u8],
        rows: usize,
    ) -> Result<Texts, Damage> {
        self.decode_runs(column, bytes, rows, read_texts)
    }

    /// Decodes a dictionary-encoded chunk of doubles.
    pub(in super::super::super) fn doubles(
        &mut self,
        column: Column,
        bytes: &[u8],
        rows: usize,
    ) -> Result<Runs<f64>, Damage> {
        self.decode_runs(column, bytes, rows, |body, count| {
            let doubles = body.take(count.checked_mul(8).ok_or(Damage("a dictionary is too large"))?)?;
            let double = |bytes: &[u8]| f64::from_le_bytes(*bytes.first_chunk().unwrap_or(&[0; 8]));
            Ok(doubles.chunks_exact(8).map(double).collect())
        })
    }

    /// Decodes a dictionary-encoded chunk.
    fn decode_runs<T>(
        &mut self,
        column: Column,
        bytes: &[u8],
        rows: usize,
        read_dictionary: fn(&mut Cursor<'_>, usize) -> Result<Vec<T>, Damage>,
    ) -> Result<Runs<T>, Damage> {
        let mut cursor = Cursor::new(bytes);
        let mut dictionary = None;
        let mut runs: Vec<(Option<u32>, usize)> = Vec::new();
        let mut rows_read = 0;
        while cursor.len() > 0 {
            let page = page::read(&mut cursor)?;
            let facts = page.facts;
            page.decompress(&mut self.decompressor, &mut self.body)?;
            let page_bytes = self.body.len();
            let mut body = Cursor::new(&self.body);
            let Some(dictionary_values) = &dictionary else {
                if facts.content != Content::Dictionary || facts.encoding != PLAIN {
                    return Err(Damage("a dictionary-encoded column does not begin with its dictionary"));
                }
                dictionary = Some(read_dictionary(&mut body, facts.values)?);
                body.end()?;
                continue;
            };
            if facts.content != Content::Data
                || facts.encoding != RLE_DICTIONARY
                || facts.values > rows - rows_read
            {
                return Err(Damage("a dictionary-encoded column has an unknown page"));
            }
            check_page(facts, page_bytes)?;
            rows_read += facts.values;
            let mut levels = OptionalNumbers::default();
            let value_count = read_levels(&mut body, column, facts.values, &mut levels)?;
            let bits = u32::from(body.byte()?);
            let mut indexes = Vec::new();
            runs::decode(&mut body, bits, value_count, |index, len| {
                if index as usize >= dictionary_values.len() {
                    return Err(Damage("an index is not in its dictionary"));
                }
                indexes.push((index, len));
                Ok(())
            })?;
            body.end()?;
            interleave(&levels.present, &indexes, &mut runs);
        }
        if rows_read != rows {
            return Err(Damage("a column has too few rows"));
        }
        Ok(Runs { dictionary: dictionary.unwrap_or_default(), runs })
    }
}

/// The ranges that end after a row.
fn wanted_from(mut wanted: &[Range<usize>], row: usize) -> &[Range<usize>] {
    while wanted.first().is_some_and(|range| range.end <= row) {
        wanted = &wanted[1..];
    }
    wanted
}

/// Checks that a data page has rows, and no more bytes than its rows need. A hostile chunk is refused at its first page
/// that violates this; otherwise, decompressing all pages could take hours.
fn check_page(facts: PageFacts, bytes: usize) -> Result<(), Damage> {
    // A run of one row has up to 15 bytes (length and index), and its run of definition levels up to 15 more.
    if facts.values == 0 || bytes / MAX_BYTES_PER_ROW > facts.values + 1 {
        return Err(Damage("a page has no rows, or more bytes than its rows need"));
    }
    Ok(())
}

/// Reads the definition levels of a page; returns the number of rows with a value.
fn read_levels(
    body: &mut Cursor<'_>,
    column: Column,
    rows: usize,
    decoded: &mut OptionalNumbers,
) -> Result<usize, Damage> {
    if !column.is_optional {
        decoded.push_presence(true, rows);
        return Ok(rows);
    }
    let bytes = body.take(4)?.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let levels = body.take(bytes as usize)?;
    let mut levels = Cursor::new(levels);
    let mut value_count = 0;
    runs::decode(&mut levels, 1, rows, |level, len| {
        let is_present = level == 1;
        value_count += if is_present { len } else { 0 };
        decoded.push_presence(is_present, len);
        Ok(())
    })?;
    levels.end()?;
    Ok(value_count)
}

fn read_numbers(
    body: &mut Cursor<'_>,
    column: Column,
    encoding: i32,
    dictionary: Option<&[i64]>,
    count: usize,
    values: &mut Vec<i64>,
) -> Result<(), Damage> {
    if encoding == RLE_DICTIONARY {
        let dictionary = dictionary.ok_or(Damage("a column has indexes without a dictionary"))?;
        let bits = u32::from(body.byte()?);
        values.reserve(count);
        runs::decode(body, bits, count, |index, len| {
            let number = dictionary.get(index as usize).ok_or(Damage("an index is not in its dictionary"))?;
            values.resize(values.len() + len, *number);
            Ok(())
        })?;
        return body.end();
    }
    let width = column.physical_type.width();
    let bytes = body.take(count.checked_mul(width).ok_or(Damage("a page is too large"))?)?;
    body.end()?;
    match (encoding, width) {
        (PLAIN, 8) => {
            values.extend(
                bytes
                    .chunks_exact(8)
                    .map(|number| i64::from_le_bytes(*number.first_chunk().unwrap_or(&[0; 8]))),
            );
        }
        (PLAIN, 4) => {
            let number =
                |number: &[u8]| i64::from(i32::from_le_bytes(*number.first_chunk().unwrap_or(&[0; 4])));
            values.extend(bytes.chunks_exact(4).map(number));
        }
        (BYTE_STREAM_SPLIT, 8) => {
            // With slices of one known length, the compiler omits the checks of the index.
            let stream = |byte: usize| &bytes[byte * count..][..count];
            let [a, b, c, d, e, f, g, h] = std::array::from_fn(stream);
            values.extend(
                (0..count)
                    .map(|at| i64::from_le_bytes([a[at], b[at], c[at], d[at], e[at], f[at], g[at], h[at]])),
            );
        }
        _ => return Err(Damage("a page has an unknown encoding")),
    }
    Ok(())
}

/// Appends the wanted rows of a page.
fn push_wanted(
    rows: &Range<usize>,
    wanted: &[Range<usize>],
    page: &OptionalNumbers,
    decoded: &mut OptionalNumbers,
) {
    let (mut row, mut value) = (rows.start, 0);
    let mut wanted = wanted;
    for &(is_present, len) in &page.present {
        let run = row..row + len;
        for range in wanted.iter().take_while(|range| range.start < run.end) {
            let taken = range.start.max(run.start)..range.end.min(run.end);
            decoded.push_presence(is_present, taken.len());
            if is_present {
                let start = value + (taken.start - run.start);
                let values = page.values.get(start..start + taken.len());
                decoded.values.extend_from_slice(values.unwrap_or_default());
            }
        }
        while wanted.first().is_some_and(|range| range.end <= run.end) {
            wanted = &wanted[1..];
        }
        row = run.end;
        value += if is_present { len } else { 0 };
    }
}

fn read_texts(body: &mut Cursor<'_>, count: usize) -> Result<Vec<String>, Damage> {
    let mut dictionary = Vec::new();
    for _ in 0..count {
        let len = body.take(4)?.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        let text = std::str::from_utf8(body.take(len as usize)?);
        dictionary.push(text.map_err(|_| Damage("a text is not UTF-8"))?.to_owned());
    }
    Ok(dictionary)
}

/// Inserts rows without a value between the runs of indexes.
fn interleave(present: &[(bool, usize)], indexes: &[(u32, usize)], runs: &mut Vec<(Option<u32>, usize)>) {
    let mut push = |index: Option<u32>, len: usize| match runs.last_mut() {
        Some((last, run_len)) if *last == index => *run_len += len,
        _ => runs.push((index, len)),
    };
    let mut indexes = indexes.iter().copied();
    let mut current = (0, 0);
    for &(is_present, mut len) in present {
        if !is_present {
            push(None, len);
            continue;
        }
        while len > 0 {
            if current.1 == 0 {
                let Some(next) = indexes.next() else { return };
                current = next;
            }
            let taken = len.min(current.1);
            push(Some(current.0), taken);
            current.1 -= taken;
            len -= taken;
        }
    }
}
