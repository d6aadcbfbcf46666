//! Chunks are read as they were written; damaged ones are refused.

use std::ops::Range;

use proptest::prelude::*;

use super::super::super::varint::Cursor;
use super::super::super::{Damage, PAGE_ROWS};
use super::super::page::{self, Content, PLAIN, PageFacts, RLE_DICTIONARY};
use super::super::page_index::{ChunkPages, PageLocation};
use super::*;

const NUMBERS: Column = Column {
    name: "num",
    physical_type: PhysicalType::Int64,
    is_optional: true,
    has_statistics: true,
    numbers: NumberEncoding::Plain,
};
const ENCODINGS: [NumberEncoding; 3] =
    [NumberEncoding::Plain, NumberEncoding::Split, NumberEncoding::Dictionary];
const INDEXES: Column = Column { numbers: NumberEncoding::Dictionary, ..NUMBERS };
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

fn read_all(reader: &mut ChunkReader, column: Column, bytes: &[u8], rows: usize) -> Result<Numbers, Damage> {
    let numbers = reader.numbers(column, bytes, rows, std::slice::from_ref(&(0..rows)), reused())?;
    Ok(numbers.spread_over_rows())
}

/// The memory of an earlier column, whose numbers must not remain.
fn reused() -> OptionalNumbers {
    OptionalNumbers { values: vec![42; 3], present: vec![(true, 3)] }
}

fn encode(column: Column, values: &[Option<i64>]) -> Vec<u8> {
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
        for numbers in ENCODINGS {
            let column = Column { numbers, ..NUMBERS };
            let bytes = encode(column, &values);
            let mut reader = ChunkReader::new().expect("a decompressor");
            let numbers = read_all(&mut reader, column, &bytes, values.len()).expect("the chunk was just written");
            let found: Vec<_> = (0..values.len()).map(|row| numbers.get(row)).collect();
            prop_assert_eq!(&found, &values);
            prop_assert!(read_all(&mut reader, column, &bytes, values.len() + 1).is_err());
            prop_assert!(read_all(&mut reader, column, &bytes, values.len() - 1).is_err());
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
    fn arbitrary_pages_are_rejected_or_have_the_right_number_of_rows(
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
            prop_assert!(read_all(&mut reader, NUMBERS, &alone, 50).is_err() || values == 50);
        }
    }
}

proptest! {
    /// Rows of a column, read in ascending order, singly and as ranges.
    #[test]
    fn a_cursor_reads_rows_and_ranges(
        runs in prop::collection::vec((any::<bool>(), 1..5usize), 0..12),
        cuts in prop::collection::btree_set(0..40usize, 0..12),
    ) {
        let presence = runs.iter().flat_map(|&(has_value, len)| std::iter::repeat_n(has_value, len));
        let values: Vec<_> = presence.enumerate().map(|(row, has_value)| has_value.then_some(row as i64)).collect();
        let mut numbers = OptionalNumbers::default();
        values.iter().for_each(|value| numbers.push(*value));
        let mut cursor = numbers.cursor();
        let cuts: Vec<_> = cuts.into_iter().filter(|&cut| cut <= values.len()).collect();
        for cut in cuts.windows(2) {
            let rows = &values[cut[0]..cut[1]];
            prop_assert_eq!(cursor.has_none(cut[0]..cut[1]), rows.iter().all(Option::is_none));
            let all: Option<Vec<i64>> = rows.iter().copied().collect();
            prop_assert_eq!(cursor.all(cut[0]..cut[1]).map(<[i64]>::to_vec), all);
            for (row, value) in (cut[0]..).zip(rows) {
                prop_assert_eq!(cursor.get(row), *value);
            }
        }
        prop_assert_eq!(cursor.get(values.len()), None);
        prop_assert!(cursor.has_none(values.len()..values.len() + 3));
    }
}

/// A number of which few are distinct.
fn repeated(value: &Option<i64>) -> Option<i64> {
    value.map(|number| number % 700 * 1_000_003)
}

proptest! {
    // Each case has several large pages.
    #![proptest_config(ProptestConfig::with_cases(32))]
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
        for (column, values) in [(NUMBERS, values.clone()), (INDEXES, values.iter().map(repeated).collect())] {
            let numbers = reader.numbers(column, &encode(column, &values), rows, &wanted, reused()).expect("a chunk");
            let mut cursor = numbers.cursor();
            let found: Vec<_> = (0..expected.len()).map(|row| cursor.get(row)).collect();
            let expected: Vec<_> = wanted.iter().flat_map(|range| &values[range.clone()]).copied().collect();
            prop_assert_eq!(&found, &expected);
            let spread = numbers.spread_over_rows();
            let found: Vec<_> = (0..expected.len()).map(|row| spread.get(row)).collect();
            prop_assert_eq!(found, expected);
        }
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
    let bytes = encode(NUMBERS, &values);
    let mut reader = ChunkReader::new().expect("a decompressor");
    let numbers = read_all(&mut reader, NUMBERS, &bytes, values.len()).expect("the chunk was just written");
    assert!((0..values.len()).all(|row| numbers.get(row) == values[row]));
}

/// Otherwise the reader would decompress much from a small file, only to ignore it.
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
    let one = encode(NUMBERS, &[Some(7)]);
    assert!(read_all(&mut reader, NUMBERS, &one, 1).is_ok());
    let empty = page(Content::Data, 0, PLAIN, &[0, 0, 0, 0]);
    assert!(read_all(&mut reader, NUMBERS, &[empty, one].concat(), 1).is_err(), "no rows");
    // One row without a value, and levels that are not read.
    let levels = [4, 0, 0, 0, 2, 0, 0, 0];
    assert!(read_all(&mut reader, NUMBERS, &page(Content::Data, 1, PLAIN, &levels), 1).is_err(), "levels");
    let levels = [&1000u32.to_le_bytes()[..], &[2, 0], &[0; 998]].concat();
    assert!(
        read_all(&mut reader, NUMBERS, &page(Content::Data, 1, PLAIN, &levels), 1).is_err(),
        "many bytes"
    );
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
    let refused = read_all(&mut reader, NUMBERS, &out, 1).map(|numbers| numbers.values.len());
    assert_eq!(refused, Err(Damage("a page is larger than 16 MiB")));
}

/// Each bit of a page that is read without the rest of its chunk is verified, also those of its header and its dictionary.
#[test]
fn damage_of_a_single_page_is_detected() {
    const ROWS: usize = PAGE_ROWS + 100;
    let all_distinct: Vec<Option<i64>> =
        (0..ROWS as i64).map(|row| (row % 3 > 0).then_some(row * row)).collect();
    let few_distinct: Vec<Option<i64>> = all_distinct.iter().map(repeated).collect();
    for numbers in ENCODINGS {
        let column = Column { numbers, ..NUMBERS };
        for (values, has_dictionary) in [(&all_distinct, false), (&few_distinct, column == INDEXES)] {
            let bytes = encode(column, values);
            let mut cursor = Cursor::new(&bytes);
            let mut end_of_page = || {
                page::read(&mut cursor).expect("a page");
                bytes.len() - cursor.len()
            };
            let dictionary = 0..if has_dictionary { end_of_page() } else { 0 };
            let start = end_of_page();
            let location = |bytes: Range<usize>, rows: Range<usize>| PageLocation {
                offset: bytes.start as u64,
                bytes: bytes.len(),
                rows,
            };
            let pages = ChunkPages {
                dictionary: has_dictionary.then(|| location(dictionary.clone(), 0..0)),
                pages: vec![location(start..bytes.len(), PAGE_ROWS..ROWS)],
            };
            let wanted = PAGE_ROWS + 10..PAGE_ROWS + 20;
            let mut reader = ChunkReader::new().expect("a decompressor");
            let mut read = |bytes: &[u8]| {
                reader.numbers_of_pages(column, bytes, &pages, std::slice::from_ref(&wanted), reused())
            };
            let mut page = [&bytes[dictionary], &bytes[start..]].concat();
            let found = read(&page).expect("the page was just written");
            let mut found = found.cursor();
            let found: Vec<_> = (0..10).map(|row| found.get(row)).collect();
            assert_eq!(found, values[wanted.clone()]);
            for bit in 0..page.len() * 8 {
                page[bit / 8] ^= 1 << (bit % 8);
                assert!(read(&page).is_err(), "bit {bit} is not detected");
                page[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }
}

/// A column with few distinct numbers takes a byte or two per row before compression.
#[test]
fn numbers_have_a_dictionary_if_few_are_distinct() {
    for (distinct, rows, encoding, bytes) in [
        (256, 1024, RLE_DICTIONARY, 1),
        (257, 1028, RLE_DICTIONARY, 2),
        (257, 1027, PLAIN, 8),
        (70_000, 280_000, PLAIN, 8),
    ] {
        let values: Vec<_> = (0..rows).map(|row| Some(row % distinct)).collect();
        let bytes_written = encode(INDEXES, &values);
        let mut cursor = Cursor::new(&bytes_written);
        let mut first = page::read(&mut cursor).expect("a page");
        assert_eq!(first.facts.content == Content::Dictionary, encoding == RLE_DICTIONARY);
        if first.facts.content == Content::Dictionary {
            assert_eq!(first.facts.values as i64, distinct);
            first = page::read(&mut cursor).expect("a page");
        }
        assert_eq!(first.facts.encoding, encoding);
        let mut body = Vec::new();
        let mut decompressor = zstd::bulk::Decompressor::new().expect("a decompressor");
        first.decompress(&mut decompressor, &mut body).expect("the page was just written");
        let of_rows = body.len() - bytes * first.facts.values;
        assert!(of_rows < 32, "{distinct} distinct of {rows}: {} bytes", body.len());
    }
}

#[test]
fn wrong_dictionaries_of_numbers_are_rejected() {
    let mut compressor = zstd::bulk::Compressor::new(3).expect("a compressor");
    let mut reader = ChunkReader::new().expect("a decompressor");
    let mut page = |content: Content, values: usize, encoding: i32, body: &[u8]| {
        let mut out = Vec::new();
        page::write(&mut out, &mut compressor, PageFacts { content, values, encoding }, body)
            .expect("memory");
        out
    };
    let dictionary = page(Content::Dictionary, 1, PLAIN, &7i64.to_le_bytes());
    // One level: a row with a value. 8 bits, a run of one row, an index.
    let row = |index: u8| [2, 0, 0, 0, 2, 1, 8, 2, index];
    let data = page(Content::Data, 1, RLE_DICTIONARY, &row(0));
    let good = [&dictionary[..], &data].concat();
    assert_eq!(read_all(&mut reader, INDEXES, &good, 1).expect("a chunk").get(0), Some(7));
    let beyond = page(Content::Data, 1, RLE_DICTIONARY, &row(1));
    let trailing = page(Content::Data, 1, RLE_DICTIONARY, &[&row(0)[..], &[0]].concat());
    let short = page(Content::Dictionary, 2, PLAIN, &7i64.to_le_bytes());
    let long = page(Content::Dictionary, 1, PLAIN, &[0; 9]);
    let other = page(Content::Dictionary, 1, RLE_DICTIONARY, &7i64.to_le_bytes());
    let huge = page(Content::Dictionary, usize::MAX >> 33, PLAIN, &7i64.to_le_bytes());
    for (reason, pages) in [
        ("an index beyond the dictionary", vec![&dictionary, &beyond]),
        ("bytes after the indexes", vec![&dictionary, &trailing]),
        ("no dictionary", vec![&data]),
        ("a dictionary that is too short", vec![&short, &data]),
        ("a dictionary that is too long", vec![&long, &data]),
        ("an encoded dictionary", vec![&other, &data]),
        ("more numbers than bytes", vec![&huge, &data]),
        ("two dictionaries", vec![&dictionary, &dictionary, &data]),
        ("a dictionary after the first rows", vec![&dictionary, &data, &dictionary]),
    ] {
        let bytes: Vec<u8> = pages.into_iter().flatten().copied().collect();
        assert!(read_all(&mut reader, INDEXES, &bytes, 1).is_err(), "{reason}");
    }
    assert!(read_all(&mut reader, NUMBERS, &good, 1).is_err(), "a column without dictionary");
}
