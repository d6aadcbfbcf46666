//! Decodes the names or help texts of a set's counters.

use zerocopy::FromBytes;

use crate::block::raw::{StringBuffer, StringHeader};
use crate::block::section::{Section, SizeRules};
use crate::block::text::Text;
use crate::block::{BlockError, Expected, Rule, WILDCARD_ID, count};

const HEAD: usize = size_of::<StringBuffer>();
const HEADER: usize = size_of::<StringHeader>();
/// The size of a string block can be any number, so the last rule never applies.
const SIZE: SizeRules =
    SizeRules { field: 0, least: (Rule::S1, HEAD), most: Rule::S2, multiple: (Rule::S2, 1) };

/// The names or help texts of a set's counters, borrowed from a checked string block.
///
/// Texts can overlap, so their total length can be far larger than the block. Callers that copy texts must limit the
/// total.
#[derive(Clone, Copy, Debug)]
pub struct Strings<'a> {
    headers: &'a [StringHeader],
    /// The bytes that offsets are relative to.
    bytes: &'a [u8],
}

/// Decodes a string block (requests 5, 6 and 10).
///
/// Offsets are relative to the start of the block (perflib.h) or to the end of the headers (\[MS-PCQ\]). The latter is
/// assumed if an offset would otherwise point into the headers.
///
/// # Errors
///
/// The first violated rule, one of [`Rule::S1`] to [`Rule::S6`]; the code is
/// [`ErrorCode::INVALID_DATA`](crate::ErrorCode::INVALID_DATA).
pub fn decode_strings(bytes: &[u8]) -> Result<Strings<'_>, BlockError> {
    let mut rest = Section::all(bytes);
    let head: &StringBuffer = rest.head(Rule::S1)?;
    let block = rest.split_off(head.bytes.get(), &SIZE)?;
    let number = head.counter_count.get();
    let headers = usize::try_from(number)
        .ok()
        .and_then(|number| <[StringHeader]>::ref_from_prefix_with_elems(&block.bytes[HEAD..], number).ok());
    let Some((headers, _)) = headers else {
        let most = (block.bytes.len() - HEAD) / HEADER;
        return Err(BlockError::number(Rule::S3, 4, number, Expected::AtMost(count(most))));
    };

    let area = HEAD + headers.len() * HEADER;
    let offsets = || headers.iter().map(|header| header.offset.get()).enumerate();
    let is_text = |offset: u32| offset != WILDCARD_ID;
    let from_area = offsets().any(|(_, offset)| is_text(offset) && (offset as usize) < area);
    let strings = Strings { headers, bytes: &block.bytes[if from_area { area } else { 0 }..] };
    let first = if from_area { 0 } else { area };
    // A text is terminated if and only if it starts at or before the last NUL.
    let (units, _) = strings.bytes[first..].as_chunks::<2>();
    let last_nul = units.iter().rposition(|unit| *unit == [0, 0]).map(|index| first + 2 * index);
    for (index, offset) in offsets().filter(|(_, offset)| is_text(*offset)) {
        let at = HEAD + index * HEADER + 4;
        if offset % 2 != 0 {
            return Err(BlockError::number(Rule::S4, at, offset, Expected::MultipleOf(2)));
        }
        let offset_bytes = usize::try_from(offset).unwrap_or(usize::MAX);
        if offset_bytes < first || offset_bytes >= strings.bytes.len() {
            let expected = Expected::Between(count(first), count(strings.bytes.len()) - 1);
            return Err(BlockError::number(Rule::S5, at, offset, expected));
        }
        if last_nul.is_none_or(|last_nul| offset_bytes > last_nul) {
            return Err(BlockError::number(Rule::S6, at, offset, Expected::Words("a NUL after this offset")));
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

    /// The text of a counter; `None` if it has none. If the id occurs several times, the first one counts.
    pub fn get(&self, id: u32) -> Option<Text<'a>> {
        let header = self.headers.iter().find(|header| header.counter_id == id)?;
        text(self.bytes, header)
    }
}

/// The text of a header whose offset was checked.
fn text<'a>(bytes: &'a [u8], header: &StringHeader) -> Option<Text<'a>> {
    if header.offset == WILDCARD_ID {
        return None;
    }
    Text::until_nul(bytes.get(header.offset.get() as usize..)?)
}
