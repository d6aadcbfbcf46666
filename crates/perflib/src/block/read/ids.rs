//! The counter ids of a result.

use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use crate::block::error::{BlockError, Expected, Rule, count};
use crate::block::raw::{MultiCounters, round_up_8};
use crate::block::section::{Section, SizeRules};
use crate::block::unique::repeated;
use crate::block::{MAX_COUNTERS, WILDCARD_ID};

pub(super) const HEADER: usize = size_of::<MultiCounters>();
const SIZE: SizeRules =
    SizeRules { field: 0, least: (Rule::M2, HEADER), most: Rule::M3, multiple: (Rule::M4, 4) };

/// The counter ids of a result: at least one, without duplicates, in the order of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids<'a> {
    ids: &'a [U32],
}

impl<'a> Ids<'a> {
    /// Splits off the ids and their padding to a multiple of 8. Does not check for wildcards and duplicates.
    pub(super) fn split_off(rest: &mut Section<'a>) -> Result<Self, BlockError> {
        let offset = rest.offset;
        let header: &MultiCounters = rest.head(Rule::M1)?;
        let first = rest.split_off(header.bytes.get(), &SIZE)?;
        // The next structure starts at a multiple of 8, even if the size is not one.
        rest.skip(round_up_8(first.bytes.len()) - first.bytes.len());

        let body = first.after(HEADER);
        let number = header.counter_count.get();
        let broken = |rule, expected| BlockError::number(rule, offset + 4, number, expected);
        let ids = usize::try_from(number)
            .ok()
            .and_then(|number| <[U32]>::ref_from_prefix_with_elems(body.bytes, number).ok());
        let Some((ids, _)) = ids else {
            let most = body.bytes.len() / size_of::<U32>();
            return Err(broken(Rule::M5, Expected::AtMost(count(most))));
        };
        if ids.is_empty() {
            return Err(broken(Rule::M6, Expected::AtLeast(1)));
        }
        if ids.len() > MAX_COUNTERS {
            return Err(broken(Rule::M7, Expected::AtMost(count(MAX_COUNTERS))));
        }
        Ok(Self { ids })
    }

    /// Checks that the ids differ and that none is the wildcard. `offset` is the offset of the first id in the block.
    pub(super) fn check(self, offset: usize) -> Result<(), BlockError> {
        let at = |index| offset + index * size_of::<U32>();
        // Checked first, so that two wildcards violate M9, not M8.
        if let Some(index) = self.position(WILDCARD_ID) {
            return Err(BlockError::number(Rule::M9, at(index), WILDCARD_ID, Expected::Words("one counter")));
        }
        if let Some(index) = repeated(self.iter()) {
            let expected = Expected::Words("an id that is not a duplicate");
            return Err(BlockError::number(Rule::M8, at(index), self.ids[index].get(), expected));
        }
        Ok(())
    }

    /// The number of ids.
    pub fn len(self) -> usize {
        self.ids.len()
    }

    /// Always false: a result has at least one id.
    pub fn is_empty(self) -> bool {
        self.ids.is_empty()
    }

    /// The ids, in the order of the values.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u32> + Clone + use<'a> {
        self.ids.iter().map(|id| id.get())
    }

    /// The index of an id, which is also the index of its value in each instance.
    pub fn position(self, id: u32) -> Option<usize> {
        self.ids.iter().position(|other| *other == id)
    }
}
