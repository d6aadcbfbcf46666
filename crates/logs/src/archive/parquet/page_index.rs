//! The locations of the pages of column chunks, from the page indexes at the end of a file.

use std::ops::Range;

use super::super::Damage;
use super::thrift::Value;

// The ids of fields in `FileMetaData`, `RowGroup`, `ColumnChunk` and `OffsetIndex`.
const ROW_GROUPS: i16 = 4;
const COLUMNS: i16 = 1;
const OFFSET_INDEX_OFFSET: i16 = 4;
const OFFSET_INDEX_LENGTH: i16 = 5;
const PAGE_LOCATIONS: i16 = 1;

/// The position of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct PageLocation {
    /// The offset in the file.
    pub(in super::super) offset: u64,
    /// The size with the header.
    pub(in super::super) bytes: usize,
    /// The rows of the row group.
    pub(in super::super) rows: Range<usize>,
}

/// The positions of the pages of a column chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct ChunkPages {
    pub(in super::super) dictionary: Option<PageLocation>,
    /// The pages of data.
    pub(in super::super) pages: Vec<PageLocation>,
}

/// Maximum number of pages of a column chunk: many times that of the largest row group.
const MAX_PAGES: usize = 1024;

/// The offset indexes of a file.
#[derive(Debug)]
pub(in super::super) struct PageIndexes {
    /// The start and the length of each index in `tail`, for the columns of one row group after another. The length is 0 for a
    /// column without an index.
    index_locations: Vec<(u32, u32)>,
    /// The number of columns.
    columns: usize,
    /// The bytes from the indexes to the end of the file.
    tail: Vec<u8>,
}

impl PageIndexes {
    /// Finds the indexes of a file with this number of row groups and columns. `tail` has its bytes from `tail_at` on, and ends
    /// with the footer, its length and the magic.
    pub(in super::super) fn find(
        tail: Vec<u8>,
        tail_at: u64,
        groups: usize,
        columns: usize,
    ) -> Result<Self, Damage> {
        let end = tail.len().checked_sub(8).ok_or(WRONG_FOOTER)?;
        let length = tail[end..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
        let start = end.checked_sub(length).ok_or(WRONG_FOOTER)?;
        let mut index_locations = Vec::new();
        Value::of_struct(&tail[start..end]).for_each_field(|id, list| {
            if id != ROW_GROUPS {
                return Ok(());
            }
            list.for_each_element(|group| {
                group.for_each_field(|id, list| {
                    if id != COLUMNS {
                        return Ok(());
                    }
                    list.for_each_element(|chunk| {
                        // Also bounds the memory for the locations.
                        if index_locations.len() >= groups.saturating_mul(columns) {
                            return Err(WRONG_FOOTER);
                        }
                        index_locations.push(index_location(chunk, tail_at)?);
                        Ok(())
                    })
                })
            })
        })?;
        match index_locations.len() == groups.saturating_mul(columns) {
            true => Ok(Self { index_locations, columns, tail }),
            false => Err(WRONG_FOOTER),
        }
    }

    /// The pages of a column of a row group with `rows` rows, whose bytes in the file are `chunk`; empty if the column has no
    /// index. The pages have all rows of the chunk, and all of its bytes except its dictionary, which comes first.
    pub(in super::super) fn pages(
        &self,
        group: usize,
        column: usize,
        rows: usize,
        chunk: Range<u64>,
    ) -> Result<ChunkPages, Damage> {
        const WRONG_INDEX: Damage = Damage("the page index does not belong to the column");
        let Some(&(start, length)) =
            self.index_locations.get(group * self.columns + column).filter(|location| location.1 > 0)
        else {
            return Ok(ChunkPages::default());
        };
        let (start, length) = (start as usize, length as usize);
        let index = self.tail.get(start..).and_then(|rest| rest.get(..length)).ok_or(WRONG_INDEX)?;
        let mut pages: Vec<PageLocation> = Vec::new();
        Value::of_struct(index).for_each_field(|id, locations| {
            if id != PAGE_LOCATIONS {
                return Ok(());
            }
            locations.for_each_element(|location| {
                // The offset, the size, the first row.
                let mut numbers = [None; 3];
                location.for_each_field(|id, field| {
                    let index = usize::try_from(id - 1).unwrap_or(usize::MAX);
                    if let Some(number) = numbers.get_mut(index) {
                        *number = Some(field.number()?);
                    }
                    Ok(())
                })?;
                let [Some(offset), Some(bytes), Some(first)] = numbers else { return Err(WRONG_INDEX) };
                if pages.len() >= MAX_PAGES {
                    return Err(WRONG_INDEX);
                }
                let offset = u64::try_from(offset).map_err(|_| WRONG_INDEX)?;
                let (bytes, first) = (usize::try_from(bytes), usize::try_from(first));
                let (bytes, first) = (bytes.map_err(|_| WRONG_INDEX)?, first.map_err(|_| WRONG_INDEX)?);
                if let Some(last) = pages.last_mut() {
                    last.rows.end = first;
                }
                pages.push(PageLocation { offset, bytes, rows: first..rows });
                Ok(())
            })
        })?;
        let first = pages.first().map_or(chunk.end, |page| page.offset);
        let dictionary = first.checked_sub(chunk.start).and_then(|bytes| usize::try_from(bytes).ok());
        let dictionary = match dictionary.ok_or(WRONG_INDEX)? {
            0 => None,
            bytes => Some(PageLocation { offset: chunk.start, bytes, rows: 0..0 }),
        };
        let (mut at, mut row) = (first, 0);
        for page in &pages {
            if page.offset != at || page.rows.start != row || page.rows.is_empty() {
                return Err(WRONG_INDEX);
            }
            at = at.saturating_add(page.bytes as u64);
            row = page.rows.end;
        }
        if at != chunk.end || row != rows {
            return Err(WRONG_INDEX);
        }
        Ok(ChunkPages { dictionary, pages })
    }
}

const WRONG_FOOTER: Damage = Damage("the footer does not list the columns of the row groups");

/// The start and the length of a column chunk's offset index, in the bytes from `tail_at` on. The length is 0 without an index.
fn index_location(chunk: Value<'_>, tail_at: u64) -> Result<(u32, u32), Damage> {
    let (mut offset, mut length) = (None, None);
    chunk.for_each_field(|id, field| {
        match id {
            OFFSET_INDEX_OFFSET => offset = Some(field.number()?),
            OFFSET_INDEX_LENGTH => length = Some(field.number()?),
            _ => {}
        }
        Ok(())
    })?;
    let Some((offset, length)) = offset.zip(length) else { return Ok((0, 0)) };
    let start = u64::try_from(offset).ok().and_then(|offset| offset.checked_sub(tail_at));
    let start = start.and_then(|start| u32::try_from(start).ok());
    start.zip(u32::try_from(length).ok()).ok_or(WRONG_FOOTER)
}

#[cfg(test)]
mod tests {
    use super::super::super::columns::COLUMNS;
    use super::super::{ChunkWriter, FileFooter, NumberEncoding, PhysicalType, RowGroup};
    use super::*;

    /// A footer of two row groups with these numbers of rows, at this offset, and the ranges of the columns' bytes.
    fn footer(rows: [usize; 2], offset: u64) -> (Vec<u8>, Vec<Vec<Range<u64>>>) {
        let mut writer = ChunkWriter::new(1).expect("a compressor");
        let mut at = 4;
        let (mut groups, mut ranges) = (Vec::new(), Vec::new());
        for rows in rows {
            let (mut chunks, mut of_group) = (Vec::new(), Vec::new());
            for column in COLUMNS {
                let mut out = Vec::new();
                let mut chunk = match column.physical_type {
                    PhysicalType::Text => writer.runs(column, &[b"a".to_vec()], &[(Some(0), rows)], &mut out),
                    _ => writer.numbers(column, &vec![7; rows], &[(true, rows)], &mut out),
                }
                .expect("bytes in memory");
                chunk.offset = at;
                of_group.push(at..at + out.len() as u64);
                at += out.len() as u64;
                chunks.push(chunk);
            }
            groups.push(RowGroup { rows, chunks });
            ranges.push(of_group);
        }
        let footer = FileFooter { columns: &COLUMNS, row_groups: &groups, metadata: &[], created_by: "test" };
        (footer.encode(offset), ranges)
    }

    #[test]
    fn the_pages_of_each_column_are_found() {
        const ROWS: [usize; 2] = [300_000, 10];
        let (tail, ranges) = footer(ROWS, 1 << 20);
        let indexes = PageIndexes::find(tail, 1 << 20, 2, COLUMNS.len()).expect("a footer");
        for (group, rows) in ROWS.into_iter().enumerate() {
            for (index, column) in COLUMNS.into_iter().enumerate() {
                // Texts begin with a dictionary, which is not a page of the index.
                if column.physical_type == PhysicalType::Text {
                    continue;
                }
                let range = ranges[group][index].clone();
                let ChunkPages { dictionary, pages } =
                    indexes.pages(group, index, rows, range.clone()).expect("pages");
                let found: Vec<_> = pages.iter().map(|page| page.rows.clone()).collect();
                let has_dictionary = column.numbers == NumberEncoding::Dictionary && !pages.is_empty();
                assert_eq!(dictionary.is_some(), has_dictionary);
                if let Some(dictionary) = dictionary {
                    assert_eq!((dictionary.offset, dictionary.rows), (range.start, 0..0));
                    assert_eq!(range.start + dictionary.bytes as u64, pages[0].offset);
                }
                match (rows, column.has_statistics) {
                    (10, false) => assert_eq!(found, Vec::<Range<usize>>::new()),
                    (10, true) => assert_eq!(found, std::slice::from_ref(&(0..10))),
                    _ => assert_eq!(found, [0..131_072, 131_072..262_144, 262_144..300_000]),
                }
                if let Some(last) = pages.last() {
                    // With so few rows, the last page would be empty.
                    for (rows, range) in [
                        (last.rows.start, range.clone()),
                        (rows, if has_dictionary { pages[0].offset + 1 } else { range.start + 1 }..range.end),
                        (rows, range.start..range.end + 1),
                    ] {
                        assert!(indexes.pages(group, index, rows, range).is_err());
                    }
                }
            }
        }
        assert_eq!(indexes.pages(2, 0, 10, 0..1), Ok(ChunkPages::default()));
    }

    #[test]
    fn damaged_footers_are_refused_or_have_no_pages() {
        let (tail, ranges) = footer([140_000, 10], 1 << 20);
        for (groups, columns) in [(1, COLUMNS.len()), (3, COLUMNS.len()), (2, 15), (2, usize::MAX)] {
            assert!(PageIndexes::find(tail.clone(), 1 << 20, groups, columns).is_err());
        }
        let read_all_pages = |tail: Vec<u8>| {
            let Ok(indexes) = PageIndexes::find(tail, 1 << 20, 2, COLUMNS.len()) else { return };
            for (index, range) in ranges[0].iter().enumerate() {
                let _ = indexes.pages(0, index, 140_000, range.clone());
            }
        };
        for length in 0..tail.len() {
            read_all_pages(tail[length..].to_vec());
        }
        for bit in 0..tail.len() * 8 {
            let mut damaged = tail.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            read_all_pages(damaged);
        }
    }
}
