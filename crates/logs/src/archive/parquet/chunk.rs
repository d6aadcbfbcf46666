//! Column chunks: the values of one column in a row group, as pages.

use std::ops::Range;

use super::super::varint::Cursor;
use super::super::{Damage, PAGE_ROWS};
use super::page::{self, BYTE_STREAM_SPLIT, Content, PLAIN, PageFacts, RLE, RLE_DICTIONARY};
use super::runs;

/// Maximum number of bytes of a row in a page, including its share of the definition levels.
const BYTES_PER_ROW: usize = 32;

/// The types of values that archives use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum PhysicalType {
    Int32,
    Int64,
    Double,
    /// UTF-8.
    Text,
    /// Microseconds since 1970, UTC, as `Int64`.
    Timestamp,
}

impl PhysicalType {
    /// The size of a number in bytes; 0 for texts.
    fn width(self) -> usize {
        match self {
            Self::Int32 => 4,
            Self::Int64 | Self::Double | Self::Timestamp => 8,
            Self::Text => 0,
        }
    }
}

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Column {
    pub(in super::super) name: &'static str,
    pub(in super::super) physical_type: PhysicalType,
    pub(in super::super) is_optional: bool,
    /// Whether minima and maxima are stored, by which readers skip rows.
    pub(in super::super) has_statistics: bool,
    /// Whether numbers are stored as byte streams: first the lowest bytes of all numbers, then the next ones.
    pub(in super::super) is_split: bool,
}

/// Metadata of a page that was written.
#[derive(Clone, Debug)]
pub(in super::super) struct WrittenPage {
    /// Its bytes within the chunk.
    pub(super) bytes: Range<usize>,
    pub(super) first_row: usize,
    pub(super) nulls: usize,
    /// Smallest and largest value, as in statistics.
    pub(super) bounds: Option<[Vec<u8>; 2]>,
}

/// Metadata of a chunk that was written.
#[derive(Clone, Debug)]
pub(in super::super) struct WrittenChunk {
    pub(super) column: Column,
    pub(in super::super) offset: u64,
    pub(in super::super) bytes: usize,
    pub(super) uncompressed_bytes: usize,
    pub(super) dictionary_bytes: Option<usize>,
    pub(super) encodings: Vec<i32>,
    pub(super) pages: Vec<WrittenPage>,
    pub(super) rows: usize,
    /// The start of the last page.
    page_start: usize,
}

/// Encodes column chunks.
pub(in super::super) struct ChunkWriter {
    compressor: zstd::bulk::Compressor<'static>,
    body: Vec<u8>,
}

impl ChunkWriter {
    pub(in super::super) fn new(level: i32) -> std::io::Result<Self> {
        let mut compressor = zstd::bulk::Compressor::new(level)?;
        compressor.include_checksum(false)?;
        Ok(Self { compressor, body: Vec::new() })
    }

    /// Appends a chunk of numbers. `present` has alternating runs of rows with a number and rows without one.
    pub(in super::super) fn numbers(
        &mut self,
        column: Column,
        numbers: &[i64],
        present: &[(bool, usize)],
        out: &mut Vec<u8>,
    ) -> std::io::Result<WrittenChunk> {
        let rows = present.iter().map(|(_, len)| len).sum();
        let encoding = if column.is_split { BYTE_STREAM_SPLIT } else { PLAIN };
        let mut chunk = WrittenChunk::new(column, rows, out.len(), vec![RLE, encoding]);
        let mut remaining = numbers;
        for (first_row, present) in pages_of(present) {
            self.body.clear();
            let nulls: usize = present.iter().filter(|(is, _)| !is).map(|(_, len)| len).sum();
            if column.is_optional {
                push_levels(&mut self.body, &present);
            }
            let rows: usize = present.iter().map(|(_, len)| len).sum();
            let (numbers, rest) = remaining.split_at_checked(rows - nulls).unwrap_or((remaining, &[]));
            remaining = rest;
            let width = column.physical_type.width();
            if column.is_split {
                for byte in 0..width {
                    self.body.extend(numbers.iter().map(|number| number.to_le_bytes()[byte]));
                }
            } else {
                numbers.iter().for_each(|number| self.body.extend_from_slice(&number.to_le_bytes()[..width]));
            }
            let bounds = if column.has_statistics { bounds_of(numbers) } else { None };
            self.page(&mut chunk, PageFacts { content: Content::Data, values: rows, encoding }, out)?;
            chunk.end_page(out, first_row, nulls, bounds);
        }
        chunk.bytes = out.len() - chunk.offset as usize;
        Ok(chunk)
    }

    /// Appends a chunk of dictionary-encoded values. `dictionary` has the bytes of each value. Each run in `rows` has
    /// the index of its value, or `None` for rows without a value, and its length.
    pub(in super::super) fn runs(
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
        let facts = PageFacts { content: Content::Dictionary, values: dictionary.len(), encoding: PLAIN };
        self.page(&mut chunk, facts, out)?;
        chunk.dictionary_bytes = Some(out.len() - chunk.offset as usize);
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
            self.page(&mut chunk, facts, out)?;
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

    fn page(&mut self, chunk: &mut WrittenChunk, facts: PageFacts, out: &mut Vec<u8>) -> std::io::Result<()> {
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

/// The smallest and the largest number.
fn bounds_of(numbers: &[i64]) -> Option<[Vec<u8>; 2]> {
    let (min, max) = numbers.iter().min().zip(numbers.iter().max())?;
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
            Some((level, known)) if *level == u32::from(is_present) => *known += len,
            _ => merged.push((u32::from(is_present), len)),
        }
    }
    runs::encode(&mut levels, 1, merged.into_iter());
    out.extend_from_slice(&(levels.len() as u32).to_le_bytes());
    out.extend_from_slice(&levels);
}

/// Which rows have a value.
#[derive(Debug, PartialEq, Eq)]
pub enum Present {
    /// All rows.
    All,
    /// No row.
    None,
    /// The rows with `true`.
    Some(Vec<bool>),
}

/// The decoded numbers of a chunk.
#[derive(Debug)]
pub struct Numbers {
    /// One number per row, 0 for rows without one; empty if no row has a number. Doubles are stored as their bits.
    pub values: Vec<i64>,
    /// Which rows have a number.
    pub present: Present,
}

impl Numbers {
    /// The number of a row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<i64> {
        match &self.present {
            Present::All => Some(self.values[row]),
            Present::None => None,
            Present::Some(present) => present[row].then(|| self.values[row]),
        }
    }
}

/// The values of a column with few distinct values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs<T> {
    /// The distinct values.
    pub dictionary: Vec<T>,
    /// Runs of rows: an index into the dictionary, or `None` for rows without a value, and the length.
    pub runs: Vec<(Option<u32>, usize)>,
}

impl<T> Runs<T> {
    /// Keeps only the rows in these ascending ranges.
    pub(in super::super) fn keep(&mut self, wanted: &[Range<usize>]) {
        let mut kept = Vec::new();
        let (mut end, mut wanted) = (0, wanted);
        for &(index, len) in &self.runs {
            let run = end..end + len;
            end = run.end;
            let mut taken = 0;
            for range in wanted.iter().take_while(|range| range.start < run.end) {
                taken += range.end.min(run.end) - range.start.max(run.start);
            }
            while wanted.first().is_some_and(|range| range.end <= run.end) {
                wanted = &wanted[1..];
            }
            if taken > 0 {
                kept.push((index, taken));
            }
        }
        self.runs = kept;
    }
}

/// The decoded texts of a chunk.
pub(in super::super) type Texts = Runs<String>;

/// Decodes column chunks.
pub(in super::super) struct ChunkReader {
    decompressor: zstd::bulk::Decompressor<'static>,
}

impl ChunkReader {
    pub(in super::super) fn new() -> std::io::Result<Self> {
        Ok(Self { decompressor: zstd::bulk::Decompressor::new()? })
    }

    /// Decodes the numbers of the rows in `wanted`, ascending ranges, of a chunk with `rows` rows. Pages without wanted
    /// rows are not decompressed.
    pub(in super::super) fn numbers(
        &mut self,
        column: Column,
        bytes: &[u8],
        rows: usize,
        wanted: &[Range<usize>],
    ) -> Result<Numbers, Damage> {
        let mut cursor = Cursor::new(bytes);
        let mut values: Vec<i64> = Vec::new();
        let mut present: Vec<(bool, usize)> = Vec::new();
        let mut found = 0;
        let mut wanted = wanted;
        while cursor.len() > 0 {
            let page = page::read(&mut cursor)?;
            let facts = page.facts;
            if facts.content != Content::Data || facts.values == 0 || facts.values > rows - found {
                return Err(Damage("a column has a page without rows, or too many rows"));
            }
            let page_rows = found..found + facts.values;
            found = page_rows.end;
            while wanted.first().is_some_and(|range| range.end <= page_rows.start) {
                wanted = &wanted[1..];
            }
            let Some(first) = wanted.first().filter(|range| range.start < page_rows.end) else { continue };
            let body = page.decompress(&mut self.decompressor)?;
            check_page(facts, body.len())?;
            let mut body = Cursor::new(&body);
            if first.start <= page_rows.start && page_rows.end <= first.end {
                let with_value = read_levels(&mut body, column, facts.values, &mut present)?;
                read_numbers(&mut body, column, facts.encoding, with_value, &mut values)?;
                continue;
            }
            let (mut page_values, mut page_present) = (Vec::new(), Vec::new());
            let with_value = read_levels(&mut body, column, facts.values, &mut page_present)?;
            read_numbers(&mut body, column, facts.encoding, with_value, &mut page_values)?;
            push_wanted(&page_rows, wanted, &page_present, &page_values, &mut present, &mut values);
        }
        if found != rows {
            return Err(Damage("a column has too few rows"));
        }
        let rows = present.iter().map(|(_, len)| len).sum();
        Ok(spread(values, &present, rows))
    }

    /// Decodes a chunk of texts.
    pub(in super::super) fn texts(
        &mut self,
        column: Column,
        bytes: &[u8],
        rows: usize,
    ) -> Result<Texts, Damage> {
        self.runs(column, bytes, rows, read_texts)
    }

    /// Decodes a dictionary-encoded chunk of doubles.
    pub(in super::super) fn doubles(
        &mut self,
        column: Column,
        bytes: &[u8],
        rows: usize,
    ) -> Result<Runs<f64>, Damage> {
        self.runs(column, bytes, rows, |body, count| {
            let doubles = body.take(count.checked_mul(8).ok_or(Damage("a dictionary is too large"))?)?;
            let double = |bytes: &[u8]| f64::from_le_bytes(*bytes.first_chunk().unwrap_or(&[0; 8]));
            Ok(doubles.chunks_exact(8).map(double).collect())
        })
    }

    /// Decodes a dictionary-encoded chunk.
    fn runs<T>(
        &mut self,
        column: Column,
        bytes: &[u8],
        rows: usize,
        read_dictionary: fn(&mut Cursor<'_>, usize) -> Result<Vec<T>, Damage>,
    ) -> Result<Runs<T>, Damage> {
        let mut cursor = Cursor::new(bytes);
        let mut dictionary = None;
        let mut runs: Vec<(Option<u32>, usize)> = Vec::new();
        let mut found = 0;
        while cursor.len() > 0 {
            let page = page::read(&mut cursor)?;
            let facts = page.facts;
            let body = page.decompress(&mut self.decompressor)?;
            let page_bytes = body.len();
            let mut body = Cursor::new(&body);
            let Some(known) = &dictionary else {
                if facts.content != Content::Dictionary || facts.encoding != PLAIN {
                    return Err(Damage("a column of texts does not begin with its dictionary"));
                }
                dictionary = Some(read_dictionary(&mut body, facts.values)?);
                body.end()?;
                continue;
            };
            if facts.content != Content::Data
                || facts.encoding != RLE_DICTIONARY
                || facts.values > rows - found
            {
                return Err(Damage("a column of texts has an unknown page"));
            }
            check_page(facts, page_bytes)?;
            found += facts.values;
            let mut present = Vec::new();
            let with_value = read_levels(&mut body, column, facts.values, &mut present)?;
            let bits = u32::from(body.byte()?);
            let mut indexes = Vec::new();
            runs::decode(&mut body, bits, with_value, |index, len| {
                if index as usize >= known.len() {
                    return Err(Damage("a text is not in its dictionary"));
                }
                indexes.push((index, len));
                Ok(())
            })?;
            body.end()?;
            interleave(&present, &indexes, &mut runs);
        }
        if found != rows {
            return Err(Damage("a column has too few rows"));
        }
        Ok(Runs { dictionary: dictionary.unwrap_or_default(), runs })
    }
}

/// Checks that a data page has rows, and no more bytes than they need. Otherwise, decompressing a hostile chunk could
/// take hours.
fn check_page(facts: PageFacts, bytes: usize) -> Result<(), Damage> {
    // A run of one row has up to 15 bytes (length and number), and so has a run of definition levels.
    if facts.values == 0 || bytes / BYTES_PER_ROW > facts.values + 1 {
        return Err(Damage("a page has too few rows for its bytes"));
    }
    Ok(())
}

/// Reads the definition levels of a page; returns the number of rows with a value.
fn read_levels(
    body: &mut Cursor<'_>,
    column: Column,
    rows: usize,
    present: &mut Vec<(bool, usize)>,
) -> Result<usize, Damage> {
    if !column.is_optional {
        present.push((true, rows));
        return Ok(rows);
    }
    let bytes = body.take(4)?.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    let levels = body.take(bytes as usize)?;
    let mut levels = Cursor::new(levels);
    let mut with_value = 0;
    runs::decode(&mut levels, 1, rows, |level, len| {
        let is_present = level == 1;
        with_value += if is_present { len } else { 0 };
        match present.last_mut() {
            Some((last, known)) if *last == is_present => *known += len,
            _ => present.push((is_present, len)),
        }
        Ok(())
    })?;
    levels.end()?;
    Ok(with_value)
}

fn read_numbers(
    body: &mut Cursor<'_>,
    column: Column,
    encoding: i32,
    count: usize,
    values: &mut Vec<i64>,
) -> Result<(), Damage> {
    let width = column.physical_type.width();
    let bytes = body.take(count * width)?;
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
            let streams: Vec<&[u8]> = bytes.chunks_exact(count.max(1)).collect();
            if let [a, b, c, d, e, f, g, h] = streams[..] {
                values.extend(
                    (0..count).map(|at| {
                        i64::from_le_bytes([a[at], b[at], c[at], d[at], e[at], f[at], g[at], h[at]])
                    }),
                );
            }
        }
        _ => return Err(Damage("a page has an unknown encoding")),
    }
    Ok(())
}

/// Appends the wanted rows of a page.
fn push_wanted(
    rows: &Range<usize>,
    wanted: &[Range<usize>],
    page_present: &[(bool, usize)],
    page_values: &[i64],
    present: &mut Vec<(bool, usize)>,
    values: &mut Vec<i64>,
) {
    let (mut row, mut value) = (rows.start, 0);
    let mut wanted = wanted;
    for &(is_present, len) in page_present {
        let run = row..row + len;
        for range in wanted.iter().take_while(|range| range.start < run.end) {
            let taken = range.start.max(run.start)..range.end.min(run.end);
            present.push((is_present, taken.len()));
            if is_present {
                let start = value + (taken.start - run.start);
                values.extend_from_slice(page_values.get(start..start + taken.len()).unwrap_or_default());
            }
        }
        while wanted.first().is_some_and(|range| range.end <= run.end) {
            wanted = &wanted[1..];
        }
        row = run.end;
        value += if is_present { len } else { 0 };
    }
}

/// Places each number at the index of its row.
pub(in super::super) fn spread(values: Vec<i64>, present: &[(bool, usize)], rows: usize) -> Numbers {
    if values.len() == rows {
        return Numbers { values, present: Present::All };
    }
    if values.is_empty() {
        return Numbers { values, present: Present::None };
    }
    let (mut spread, mut is_present) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let mut left = values.as_slice();
    for &(is, len) in present {
        is_present.resize(is_present.len() + len, is);
        if is {
            let (taken, rest) = left.split_at_checked(len).unwrap_or((left, &[]));
            spread.extend_from_slice(taken);
            left = rest;
        } else {
            spread.resize(spread.len() + len, 0);
        }
    }
    Numbers { values: spread, present: Present::Some(is_present) }
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
        Some((last, known)) if *last == index => *known += len,
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NUMBERS: Column = Column {
        name: "num",
        physical_type: PhysicalType::Int64,
        is_optional: true,
        has_statistics: true,
        is_split: false,
    };
    const TEXTS: Column = Column { physical_type: PhysicalType::Text, ..NUMBERS };

    fn runs_of<T: PartialEq + Copy>(values: impl Iterator<Item = T>) -> Vec<(T, usize)> {
        let mut runs: Vec<(T, usize)> = Vec::new();
        for value in values {
            match runs.last_mut() {
                Some((last, len)) if *last == value => *len += 1,
                _ => runs.push((value, 1)),
            }
        }
        runs
    }

    fn all(reader: &mut ChunkReader, column: Column, bytes: &[u8], rows: usize) -> Result<Numbers, Damage> {
        reader.numbers(column, bytes, rows, std::slice::from_ref(&(0..rows)))
    }

    fn written(column: Column, values: &[Option<i64>]) -> Vec<u8> {
        let mut out = Vec::new();
        let numbers: Vec<i64> = values.iter().copied().flatten().collect();
        let present = runs_of(values.iter().map(Option::is_some));
        let mut writer = ChunkWriter::new(3).expect("a compressor");
        let chunk = writer.numbers(column, &numbers, &present, &mut out).expect("bytes in memory");
        assert_eq!((chunk.bytes, chunk.rows), (out.len(), values.len()));
        out
    }

    proptest! {
        #[test]
        fn numbers_are_read_back(values in prop::collection::vec(prop::option::of(any::<i64>()), 1..300)) {
            for is_split in [false, true] {
                let column = Column { is_split, ..NUMBERS };
                let bytes = written(column, &values);
                let mut reader = ChunkReader::new().expect("a decompressor");
                let numbers = all(&mut reader, column, &bytes, values.len()).expect("the chunk was just written");
                let found: Vec<_> = (0..values.len()).map(|row| numbers.get(row)).collect();
                prop_assert_eq!(&found, &values);
                prop_assert!(all(&mut reader, column, &bytes, values.len() + 1).is_err());
                prop_assert!(all(&mut reader, column, &bytes, values.len() - 1).is_err());
            }
        }

        #[test]
        fn texts_are_read_back(values in prop::collection::vec(prop::option::of(0..5u32), 1..300)) {
            let dictionary: Vec<Vec<u8>> = (0..5).map(|index| format!("text {index}").into_bytes()).collect();
            let runs = runs_of(values.iter().copied());
            let mut out = Vec::new();
            let mut writer = ChunkWriter::new(3).expect("a compressor");
            writer.runs(TEXTS, &dictionary, &runs, &mut out).expect("bytes in memory");
            let mut reader = ChunkReader::new().expect("a decompressor");
            let found = reader.texts(TEXTS, &out, values.len()).expect("the chunk was just written");
            prop_assert_eq!(found.dictionary.len(), 5);
            prop_assert_eq!(&found.dictionary[4], "text 4");
            prop_assert_eq!(found.runs, runs);
        }

        /// A page whose checksum is correct, but whose contents are arbitrary.
        #[test]
        fn hostile_pages_are_rejected(
            body in prop::collection::vec(any::<u8>(), 0..60),
            values in 0..100_000_000usize,
            encoding in 0..10i32,
        ) {
            let mut compressor = zstd::bulk::Compressor::new(3).expect("a compressor");
            for content in [Content::Data, Content::Dictionary] {
                let mut out = Vec::new();
                let dictionary = PageFacts { content: Content::Dictionary, values: 0, encoding: PLAIN };
                page::write(&mut out, &mut compressor, dictionary, &[]).expect("bytes in memory");
                let facts = PageFacts { content, values, encoding };
                page::write(&mut out, &mut compressor, facts, &body).expect("bytes in memory");
                let mut reader = ChunkReader::new().expect("a decompressor");
                let _ = reader.texts(TEXTS, &out, 50);
                let mut alone = Vec::new();
                page::write(&mut alone, &mut compressor, facts, &body).expect("bytes in memory");
                prop_assert!(all(&mut reader, NUMBERS, &alone, 50).is_err() || values == 50);
            }
        }
    }

    proptest! {
        /// Ranges of rows, across several pages, equal the same ranges of the whole column.
        #[test]
        fn ranges_of_rows_are_read(
            cuts in prop::collection::btree_set(0..3 * PAGE_ROWS, 0..12),
            is_sparse in any::<bool>(),
        ) {
            let rows = 2 * PAGE_ROWS + 100;
            let has_value = |row: usize| !is_sparse || row % 1000 < 700;
            let values: Vec<_> = (0..rows).map(|row| has_value(row).then_some(row as i64)).collect();
            let cuts: Vec<usize> = cuts.into_iter().filter(|&cut| cut <= rows).collect();
            let wanted: Vec<Range<usize>> = cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
            let expected: Vec<_> = wanted.iter().flat_map(|range| &values[range.clone()]).copied().collect();
            let mut reader = ChunkReader::new().expect("a decompressor");
            let numbers = reader.numbers(NUMBERS, &written(NUMBERS, &values), rows, &wanted).expect("a chunk");
            let found: Vec<_> = (0..expected.len()).map(|row| numbers.get(row)).collect();
            prop_assert_eq!(found, expected.clone());
            // The same ranges, selected from runs.
            let mut texts = Runs { dictionary: Vec::<String>::new(), runs: runs_of(values.iter().map(|value| value.map(|row| row as u32 / 77))) };
            texts.keep(&wanted);
            let found: Vec<_> = texts.runs.iter().flat_map(|&(index, len)| std::iter::repeat_n(index, len)).collect();
            let expected: Vec<_> = expected.iter().map(|value| value.map(|row| row as u32 / 77)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn pages_of_many_rows_are_split() {
        let values: Vec<_> = (0..3 * PAGE_ROWS as i64 + 5).map(|row| (row % 7 != 0).then_some(row)).collect();
        let bytes = written(NUMBERS, &values);
        let mut reader = ChunkReader::new().expect("a decompressor");
        let numbers = all(&mut reader, NUMBERS, &bytes, values.len()).expect("the chunk was just written");
        assert!((0..values.len()).all(|row| numbers.get(row) == values[row]));
    }

    /// A page of zeros, which would be decompressed and ignored.
    #[test]
    fn pages_with_more_bytes_than_their_rows_need_are_rejected() {
        let mut compressor = zstd::bulk::Compressor::new(3).expect("a compressor");
        let mut reader = ChunkReader::new().expect("a decompressor");
        let mut page = |content, values, encoding, body: &[u8]| {
            let mut out = Vec::new();
            page::write(&mut out, &mut compressor, PageFacts { content, values, encoding }, body)
                .expect("bytes in memory");
            out
        };
        let one = written(NUMBERS, &[Some(7)]);
        assert!(all(&mut reader, NUMBERS, &one, 1).is_ok());
        let empty = page(Content::Data, 0, PLAIN, &[0, 0, 0, 0]);
        assert!(all(&mut reader, NUMBERS, &[empty, one].concat(), 1).is_err(), "no rows");
        // One row without a value, and levels that are not read.
        let levels = [4, 0, 0, 0, 2, 0, 0, 0];
        assert!(all(&mut reader, NUMBERS, &page(Content::Data, 1, PLAIN, &levels), 1).is_err(), "levels");
        let levels = [&1000u32.to_le_bytes()[..], &[2, 0], &[0; 998]].concat();
        assert!(all(&mut reader, NUMBERS, &page(Content::Data, 1, PLAIN, &levels), 1).is_err(), "many bytes");
        let dictionary = page(Content::Dictionary, 1, PLAIN, &[1, 0, 0, 0, b'a']);
        let text = [2, 0, 0, 0, 2, 1, 0, 2];
        let mut texts = |body: &[u8]| {
            let data = page(Content::Data, 1, RLE_DICTIONARY, body);
            reader.texts(TEXTS, &[&dictionary[..], &data].concat(), 1).map(|texts| texts.runs)
        };
        assert_eq!(texts(&text), Ok(vec![(Some(0), 1)]));
        assert!(texts(&[&text[..], &[0]].concat()).is_err(), "bytes after the texts");
        let empty = page(Content::Data, 0, RLE_DICTIONARY, &[0, 0, 0, 0, 0]);
        let data = page(Content::Data, 1, RLE_DICTIONARY, &text);
        assert!(reader.texts(TEXTS, &[dictionary, empty, data].concat(), 1).is_err(), "no rows");
    }

    #[test]
    fn a_page_that_expands_beyond_its_limit_is_rejected() {
        let mut compressor = zstd::bulk::Compressor::new(3).expect("a compressor");
        let mut out = Vec::new();
        let facts = PageFacts { content: Content::Data, values: 1, encoding: PLAIN };
        let bomb = vec![0; page::MAX_PAGE_BYTES + 1];
        page::write(&mut out, &mut compressor, facts, &bomb).expect("bytes in memory");
        assert!(out.len() < 10_000);
        let mut reader = ChunkReader::new().expect("a decompressor");
        let refused = all(&mut reader, NUMBERS, &out, 1).map(|numbers| numbers.values.len());
        assert_eq!(refused, Err(Damage("a page is larger than 16 MiB")));
    }
}
