//! Column chunks: the values of one column in a row group, as pages.

mod column;
mod dictionary;
mod read;
#[cfg(test)]
mod tests;
mod values;
mod write;

pub(in super::super) use column::{Column, NumberEncoding, PhysicalType};
pub(in super::super) use read::ChunkReader;
pub(in super::super) use values::{NumberCursor, OptionalNumbers, Texts};
pub use values::{Numbers, Present, Runs};
pub(in super::super) use write::{ChunkWriter, WrittenChunk};
