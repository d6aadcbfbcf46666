//! The subset of the Parquet format that archives use: pages and their checksums, column chunks, indexes and the
//! footer.
//!
//! Source: "Apache Parquet File Format", parquet.thrift 2.11.

mod chunk;
mod footer;
mod page;
mod page_index;
mod runs;
mod thrift;

pub(super) use chunk::{
    ChunkReader, ChunkWriter, Column, NumberCursor, NumberEncoding, OptionalNumbers, PhysicalType, Texts,
    WrittenChunk,
};
pub use chunk::{Numbers, Present, Runs};
pub(super) use footer::{FileFooter, RowGroup};
pub(super) use page_index::{ChunkPages, PageIndexes, PageLocation};
pub(super) use thrift::find_text;

/// The first and the last bytes of a file.
pub(super) const MAGIC: [u8; 4] = *b"PAR1";
