//! Pages: the header with its checksum, and compression.

use super::super::varint::Cursor;
use super::super::{Damage, matches_checksum};
use super::thrift::{Fields, push_struct};

/// Maximum number of bytes of an uncompressed page.
pub(super) const MAX_PAGE_BYTES: usize = 16 << 20;

/// Values of Parquet's enum `Encoding`.
pub(super) const PLAIN: i32 = 0;
pub(super) const RLE: i32 = 3;
pub(super) const RLE_DICTIONARY: i32 = 8;
pub(super) const BYTE_STREAM_SPLIT: i32 = 9;

/// The contents of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Values of rows, preceded by definition levels if the column is optional.
    Data,
    /// The values of the dictionary.
    Dictionary,
}

/// The description of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageFacts {
    pub(super) content: Content,
    /// The number of rows, or of dictionary values.
    pub(super) values: usize,
    pub(super) encoding: i32,
}

/// Compresses a page and appends it with its header. Returns the total size of the header and the uncompressed body.
pub(super) fn write(
    out: &mut Vec<u8>,
    compressor: &mut zstd::bulk::Compressor<'_>,
    facts: PageFacts,
    body: &[u8],
) -> std::io::Result<usize> {
    let compressed = compressor.compress(body)?;
    let start = out.len();
    push_header(out, facts, body.len(), compressed.len(), crc32fast::hash(&compressed));
    let header = out.len() - start;
    out.extend_from_slice(&compressed);
    Ok(header + body.len())
}

fn push_header(
    out: &mut Vec<u8>,
    facts: PageFacts,
    uncompressed_bytes: usize,
    compressed_bytes: usize,
    crc: u32,
) {
    push_struct(out, |header| {
        header
            .i32(1, if facts.content == Content::Data { 0 } else { 2 })
            .i32(2, uncompressed_bytes as i32)
            .i32(3, compressed_bytes as i32)
            .i32(4, crc.cast_signed());
        match facts.content {
            Content::Data => header.structure(5, |data| {
                data.i32(1, facts.values as i32).i32(2, facts.encoding).i32(3, RLE).i32(4, RLE);
            }),
            Content::Dictionary => header.structure(7, |dictionary| {
                dictionary.i32(1, facts.values as i32).i32(2, facts.encoding);
            }),
        };
    });
}

/// A page whose header is read, but whose bytes are still compressed.
pub(super) struct CompressedPage<'a> {
    pub(super) facts: PageFacts,
    compressed: &'a [u8],
    /// The number of bytes before compression.
    uncompressed_bytes: usize,
    /// `None` if the number in the header is not a 32-bit checksum.
    crc: Option<u32>,
}

impl CompressedPage<'_> {
    /// Checks the checksum and decompresses the page into `body`.
    pub(super) fn decompress(
        &self,
        decompressor: &mut zstd::bulk::Decompressor<'_>,
        body: &mut Vec<u8>,
    ) -> Result<(), Damage> {
        if !self.crc.is_some_and(|crc| matches_checksum(self.compressed, crc)) {
            return Err(Damage("the checksum of a page is wrong"));
        }
        body.clear();
        body.reserve(self.uncompressed_bytes);
        let bytes = decompressor.decompress_to_buffer(self.compressed, body);
        // The buffer can have room for more bytes than the header states.
        match bytes.map_err(|_| Damage("a page cannot be decompressed"))? == self.uncompressed_bytes {
            true => Ok(()),
            false => Err(Damage("a page has the wrong size")),
        }
    }
}

/// Reads a page whose location and description are known. Only the checksum of the whole chunk covers the header of the page,
/// and the rest of the chunk is not read. Therefore, the header must equal the one that [`write`] writes for this page.
/// `facts_of` returns the description of a page with a given number of bytes before compression.
pub(super) fn read_single(
    bytes: &[u8],
    facts_of: impl FnOnce(usize) -> PageFacts,
) -> Result<CompressedPage<'_>, Damage> {
    let mut cursor = Cursor::new(bytes);
    let page = read(&mut cursor)?;
    let facts = facts_of(page.uncompressed_bytes);
    let mut header = Vec::new();
    push_header(
        &mut header,
        facts,
        page.uncompressed_bytes,
        page.compressed.len(),
        page.crc.unwrap_or_default(),
    );
    match cursor.len() == 0 && bytes.strip_suffix(page.compressed) == Some(&header[..]) {
        true => Ok(page),
        false => Err(Damage("a page does not have the header that belongs to it")),
    }
}

/// Reads the header of the next page of a column chunk.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>) -> Result<CompressedPage<'a>, Damage> {
    let fields = Fields::read(cursor)?;
    let size = |id: i16| {
        let size = fields.get(id).and_then(|size| usize::try_from(size).ok());
        size.ok_or(Damage("a page header lacks a size"))
    };
    let (content, outer_field) = match fields.get(1) {
        Some(0) => (Content::Data, 500),
        Some(2) => (Content::Dictionary, 700),
        _ => return Err(Damage("a page has an unknown type")),
    };
    let (uncompressed_bytes, compressed_bytes) = (size(2)?, size(3)?);
    if uncompressed_bytes > MAX_PAGE_BYTES {
        return Err(Damage("a page is larger than 16 MiB"));
    }
    let compressed = cursor.take(compressed_bytes)?;
    let crc = fields.get(4).ok_or(Damage("a page has no checksum"))?;
    let crc = i32::try_from(crc).ok().map(i32::cast_unsigned);
    let encoding = fields.get(outer_field + 2).and_then(|encoding| i32::try_from(encoding).ok());
    let facts = PageFacts {
        content,
        values: size(outer_field + 1)?,
        encoding: encoding.ok_or(Damage("a page has no encoding"))?,
    };
    if content == Content::Data
        && [3, 4].iter().any(|level| fields.get(outer_field + level) != Some(i64::from(RLE)))
    {
        return Err(Damage("definition levels have an unknown encoding"));
    }
    Ok(CompressedPage { facts, compressed, uncompressed_bytes, crc })
}
