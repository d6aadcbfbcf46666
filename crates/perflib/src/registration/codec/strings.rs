//! Decodes the names or help texts of a set's counters.

use zerocopy::FromBytes;

use super::NO_STRING;
use crate::block::raw::{StringBuffer, StringHeader};
use crate::block::section::{Section, SizeRules};
use crate::block::text::Text;
use crate::block::{BlockError, Expected, Rule, count};

const BLOCK_HEADER_BYTES: usize = size_of::<StringBuffer>();
const STRING_HEADER_BYTES: usize = size_of::<StringHeader>();
/// A string block can have any size: a multiple of 1, so the rule for the alignment cannot be violated.
const SIZE_RULES: SizeRules = SizeRules {
    field: 0,
    min: (Rule::StringBlockTooShort, BLOCK_HEADER_BYTES),
    max: Rule::StringBlockSizeTooLarge,
    alignment: (Rule::StringBlockSizeTooLarge, 1),
};

/// The names or help texts of a set's counters, borrowed from a checked string block.
///
/// Strings can overlap, so their total length can be far larger than the block. Callers that copy strings must limit
/// the total.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a> {
    headers: &'a [StringHeader],
    /// The string block, or its bytes after the headers. Offsets are relative to the start of this slice.
    bytes: &'a [u8],
}

/// Decodes a string block: the names or help texts of a set's counters.
///
/// Offsets are relative to the start of the block (perflib.h) or to the end of the headers (\[MS-PCQ\]). The latter is
/// assumed if an offset would otherwise point into the headers.
///
/// # Errors
///
/// The first violated rule for the size, the offsets or the strings of the block ([`Rule`], `S1` to `S6`); the
/// code is [`ErrorCode::INVALID_DATA`](crate::ErrorCode::INVALID_DATA).
pub fn decode_strings(bytes: &[u8]) -> Result<Strings<'_>, BlockError> {
    let mut rest = Section::all(bytes);
    let head: &StringBuffer = rest.peek(Rule::StringBlockTooShort)?;
    let block = rest.split_off(head.bytes.get(), &SIZE_RULES)?;
    let number = head.counter_count.get();
    let headers = usize::try_from(number).ok().and_then(|number| {
        <[StringHeader]>::ref_from_prefix_with_elems(&block.bytes[BLOCK_HEADER_BYTES..], number).ok()
    });
    let Some((headers, _)) = headers else {
        let max = (block.bytes.len() - BLOCK_HEADER_BYTES) / STRING_HEADER_BYTES;
        return Err(BlockError::number(
            Rule::StringBlockSizeTooSmall,
            4,
            number,
            Expected::AtMost(count(max)),
        ));
    };

    let headers_end = BLOCK_HEADER_BYTES + headers.len() * STRING_HEADER_BYTES;
    let offsets = || headers.iter().map(|header| header.offset.get()).enumerate();
    let has_string = |offset: u32| offset != NO_STRING;
    let is_relative_to_headers_end =
        offsets().any(|(_, offset)| has_string(offset) && (offset as usize) < headers_end);
    let strings =
        Strings { headers, bytes: &block.bytes[if is_relative_to_headers_end { headers_end } else { 0 }..] };
    let min_offset = if is_relative_to_headers_end { 0 } else { headers_end };
    // A string is terminated if and only if it starts at or before the last NUL.
    let (units, _) = strings.bytes[min_offset..].as_chunks::<2>();
    let last_nul = units.iter().rposition(|unit| *unit == [0, 0]).map(|index| min_offset + 2 * index);
    for (index, offset) in offsets().filter(|(_, offset)| has_string(*offset)) {
        let field_offset = BLOCK_HEADER_BYTES + index * STRING_HEADER_BYTES + 4;
        if offset % 2 != 0 {
            return Err(BlockError::number(
                Rule::StringOffsetOdd,
                field_offset,
                offset,
                Expected::MultipleOf(2),
            ));
        }
        let offset_bytes = usize::try_from(offset).unwrap_or(usize::MAX);
        if offset_bytes < min_offset || offset_bytes >= strings.bytes.len() {
            let expected = Expected::Between(count(min_offset), count(strings.bytes.len()) - 1);
            return Err(BlockError::number(Rule::StringOffsetOutside, field_offset, offset, expected));
        }
        if last_nul.is_none_or(|last_nul| offset_bytes > last_nul) {
            return Err(BlockError::number(
                Rule::StringUnterminated,
                field_offset,
                offset,
                Expected::Words("a NUL after this offset"),
            ));
        }
    }
    Ok(strings)
}

impl<'a> Strings<'a> {
    /// The number of counters in the block, including those without a text.
    pub fn len(&self) -> usize {
        self.headers.len()
    }

    /// Whether the block has no counters.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// The counter ids with their texts, in the order of the block. The ids need not be unique, nor exist in the set.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (u32, Option<Text<'a>>)> + Clone + use<'a> {
        let Self { headers, bytes } = *self;
        headers.iter().map(move |header| (header.counter_id.get(), text(bytes, header)))
    }

    /// The text of a counter; `None` if the counter has no text. If the id occurs several times, the first text is
    /// returned.
    pub fn get(&self, id: u32) -> Option<Text<'a>> {
        let header = self.headers.iter().find(|header| header.counter_id == id)?;
        text(self.bytes, header)
    }
}

/// The text of a header whose offset was checked.
fn text<'a>(bytes: &'a [u8], header: &StringHeader) -> Option<Text<'a>> {
    if header.offset == NO_STRING {
        return None;
    }
    Text::until_nul(bytes.get(header.offset.get() as usize..)?)
}
