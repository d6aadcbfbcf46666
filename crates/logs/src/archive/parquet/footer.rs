//! The end of a file: indexes of pages, and the footer.

use super::chunk::{Column, PhysicalType, WrittenChunk};
use super::thrift::{StructWriter, Type, push_binary, push_struct};

/// Metadata of a row group that was written.
#[derive(Clone, Debug)]
pub(in super::super) struct RowGroup {
    pub(in super::super) rows: usize,
    pub(in super::super) chunks: Vec<WrittenChunk>,
}

/// The contents of the footer.
pub(in super::super) struct FileFooter<'a> {
    pub(in super::super) columns: &'a [Column],
    pub(in super::super) row_groups: &'a [RowGroup],
    /// Keys and values of the metadata.
    pub(in super::super) metadata: &'a [(&'a str, String)],
    pub(in super::super) created_by: &'a str,
}

/// The position of an index in the file.
#[derive(Clone, Copy, Default)]
struct IndexLocation {
    offset: u64,
    bytes: usize,
}

/// `CompressionCodec.ZSTD`.
const ZSTD: i32 = 6;

impl FileFooter<'_> {
    /// The bytes from `offset` to the end of the file: the indexes, the footer, its length and the magic.
    pub(in super::super) fn encode(&self, offset: u64) -> Vec<u8> {
        let mut out = Vec::new();
        let mut locations: Vec<Vec<[IndexLocation; 2]>> = Vec::new();
        for group in self.row_groups {
            let mut group_locations = Vec::new();
            for chunk in &group.chunks {
                let mut write_index = |write: &dyn Fn(&mut Vec<u8>)| {
                    let start = out.len();
                    write(&mut out);
                    IndexLocation { offset: offset + start as u64, bytes: out.len() - start }
                };
                let column_index = match has_bounds(chunk) {
                    true => write_index(&|out| push_column_index(out, chunk)),
                    false => IndexLocation::default(),
                };
                // A single page needs no index.
                let offset_index = match chunk.pages.len() > 1 || has_bounds(chunk) {
                    true => write_index(&|out| push_offset_index(out, chunk)),
                    false => IndexLocation::default(),
                };
                group_locations.push([column_index, offset_index]);
            }
            locations.push(group_locations);
        }
        let start = out.len();
        self.push_metadata(&mut out, &locations);
        let bytes = (out.len() - start) as u32;
        out.extend_from_slice(&bytes.to_le_bytes());
        out.extend_from_slice(&super::MAGIC);
        out
    }

    fn push_metadata(&self, out: &mut Vec<u8>, locations: &[Vec<[IndexLocation; 2]>]) {
        let rows: usize = self.row_groups.iter().map(|group| group.rows).sum();
        let groups: Vec<_> = self.row_groups.iter().zip(locations).enumerate().collect();
        push_struct(out, |file| {
            let root = [None];
            let schema: Vec<Option<&Column>> =
                root.into_iter().chain(self.columns.iter().map(Some)).collect();
            file.i32(1, 2);
            file.list(2, Type::Struct, &schema, |out, column| match column {
                None => push_struct(out, |element| {
                    element.binary(4, b"schema").i32(5, self.columns.len() as i32);
                }),
                Some(column) => push_column(out, column),
            });
            file.i64(3, rows as i64);
            file.list(4, Type::Struct, &groups, |out, (ordinal, (group, locations))| {
                push_row_group(out, *ordinal, group, locations);
            });
            file.list(5, Type::Struct, self.metadata, |out, (key, value)| {
                push_struct(out, |pair| {
                    pair.binary(1, key.as_bytes()).binary(2, value.as_bytes());
                });
            });
            file.binary(6, self.created_by.as_bytes());
            // `column_orders`: minima and maxima use the order of the type.
            file.list(7, Type::Struct, self.columns, |out, _| {
                push_struct(out, |order| {
                    order.structure(1, |_| {});
                });
            });
        });
    }
}

fn has_bounds(chunk: &WrittenChunk) -> bool {
    chunk.column.has_statistics
}

fn physical_type_id(physical_type: PhysicalType) -> i32 {
    match physical_type {
        PhysicalType::Int32 => 1,
        PhysicalType::Int64 | PhysicalType::Timestamp => 2,
        PhysicalType::Double => 5,
        PhysicalType::Text => 6,
    }
}

fn push_column(out: &mut Vec<u8>, column: &Column) {
    push_struct(out, |element| {
        element.i32(1, physical_type_id(column.physical_type));
        element.i32(3, i32::from(column.is_optional));
        element.binary(4, column.name.as_bytes());
        match column.physical_type {
            PhysicalType::Text => {
                element.i32(6, 0).structure(10, |logical| {
                    logical.structure(1, |_| {});
                });
            }
            PhysicalType::Timestamp => {
                element.i32(6, 10).structure(10, |logical| {
                    logical.structure(8, |timestamp| {
                        timestamp.bool(1, true).structure(2, |unit| {
                            unit.structure(2, |_| {});
                        });
                    });
                });
            }
            _ => {}
        }
    });
}

fn push_row_group(out: &mut Vec<u8>, ordinal: usize, group: &RowGroup, locations: &[[IndexLocation; 2]]) {
    let sum = |of: fn(&WrittenChunk) -> usize| group.chunks.iter().map(of).sum::<usize>() as i64;
    let chunks: Vec<_> = group.chunks.iter().zip(locations).collect();
    push_struct(out, |row_group| {
        row_group
            .list(1, Type::Struct, &chunks, |out, (chunk, locations)| push_chunk(out, chunk, locations))
            .i64(2, sum(|chunk| chunk.uncompressed_bytes))
            .i64(3, group.rows as i64)
            .i64(5, group.chunks.first().map_or(0, |chunk| chunk.offset) as i64)
            .i64(6, sum(|chunk| chunk.bytes))
            .i16(7, ordinal as i16);
    });
}

fn push_chunk(out: &mut Vec<u8>, chunk: &WrittenChunk, [column_index, offset_index]: &[IndexLocation; 2]) {
    push_struct(out, |written| {
        written.i64(2, 0).structure(3, |metadata| push_chunk_metadata(metadata, chunk));
        if offset_index.bytes > 0 {
            written.i64(4, offset_index.offset as i64).i32(5, offset_index.bytes as i32);
        }
        if column_index.bytes > 0 {
            written.i64(6, column_index.offset as i64).i32(7, column_index.bytes as i32);
        }
    });
}

fn push_chunk_metadata(metadata: &mut StructWriter<'_>, chunk: &WrittenChunk) {
    metadata
        .i32(1, physical_type_id(chunk.column.physical_type))
        .list(2, Type::I32, &chunk.encodings, |out, &encoding| {
            super::super::varint::push_signed(out, i64::from(encoding));
        })
        .list(3, Type::Binary, &[chunk.column.name], |out, name| push_binary(out, name.as_bytes()))
        .i32(4, ZSTD)
        .i64(5, chunk.rows as i64)
        .i64(6, chunk.uncompressed_bytes as i64)
        .i64(7, chunk.bytes as i64)
        .i64(9, (chunk.offset + chunk.dictionary_bytes.unwrap_or(0) as u64) as i64);
    if chunk.dictionary_bytes.is_some() {
        metadata.i64(11, chunk.offset as i64);
    }
    let nulls: usize = chunk.pages.iter().map(|page| page.nulls).sum();
    let bounds = || chunk.pages.iter().filter_map(|page| page.bounds.as_ref());
    let min = bounds().map(|[min, _]| min).min_by(|one, other| compare(chunk, one, other));
    let max = bounds().map(|[_, max]| max).max_by(|one, other| compare(chunk, one, other));
    metadata.structure(12, |statistics| {
        statistics.i64(3, nulls as i64);
        if let (Some(min), Some(max)) = (min, max) {
            statistics.binary(5, max).binary(6, min);
        }
    });
}

fn compare(chunk: &WrittenChunk, one: &[u8], other: &[u8]) -> std::cmp::Ordering {
    let number = |bytes: &[u8]| bytes.first_chunk().map(|bytes| i64::from_le_bytes(*bytes));
    match chunk.column.physical_type {
        PhysicalType::Text => one.cmp(other),
        _ => number(one).cmp(&number(other)),
    }
}

fn push_column_index(out: &mut Vec<u8>, chunk: &WrittenChunk) {
    let nulls: Vec<i64> = chunk.pages.iter().map(|page| page.nulls as i64).collect();
    let empty: Vec<bool> = chunk.pages.iter().map(|page| page.bounds.is_none()).collect();
    let bound = |of: usize| -> Vec<&[u8]> {
        chunk.pages.iter().map(|page| page.bounds.as_ref().map_or(&[][..], |bounds| &bounds[of])).collect()
    };
    push_struct(out, |index| {
        index
            .bools(1, &empty)
            .list(2, Type::Binary, &bound(0), |out, bound| push_binary(out, bound))
            .list(3, Type::Binary, &bound(1), |out, bound| push_binary(out, bound))
            // `boundary_order`: unordered.
            .i32(4, 0)
            .list(5, Type::I64, &nulls, |out, &nulls| super::super::varint::push_signed(out, nulls));
    });
}

fn push_offset_index(out: &mut Vec<u8>, chunk: &WrittenChunk) {
    push_struct(out, |index| {
        index.list(1, Type::Struct, &chunk.pages, |out, page| {
            push_struct(out, |location| {
                location
                    .i64(1, (chunk.offset + page.bytes.start as u64) as i64)
                    .i32(2, page.bytes.len() as i32)
                    .i64(3, page.first_row as i64);
            });
        });
    });
}
