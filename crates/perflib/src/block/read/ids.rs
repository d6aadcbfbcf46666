//! The counter ids of a result.

use zerocopy::FromBytes;
use zerocopy::little_endian::U32;

use crate::block::error::{BlockError, Expected, Rule, count};
use crate::block::raw::{MultiCounters, round_up_8};
use crate::block::section::{Section, SizeRules};
use crate::block::unique::first_duplicate;
use crate::block::{MAX_COUNTERS, WILDCARD_ID};

pub(super) const HEADER_BYTES: usize = size_of::<MultiCounters>();
const SIZE_RULES: SizeRules = SizeRules {
    field: 0,
    min: (Rule::IdsSizeTooSmall, HEADER_BYTES),
    max: Rule::IdsSizeTooLarge,
    alignment: (Rule::IdsSizeUnaligned, 4),
};

/// The counter ids of a result: at least one, without duplicates, in the order of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids<'a> {
    ids: &'a [U32],
}

impl<'a> Ids<'a> {
    /// Splits off the ids and their padding to a multiple of 8. Does not check for wildcards and duplicates.
    pub(super) fn split_off(rest: &mut Section<'a>) -> Result<Self, BlockError> {
        let offset = rest.offset;
        let header: &MultiCounters = rest.peek(Rule::IdsHeaderMissing)?;
        let first = rest.split_off(header.bytes.get(), &SIZE_RULES)?;
        // The next structure starts at a multiple of 8, even if this size is not a multiple of 8.
        rest.skip(round_up_8(first.bytes.len()) - first.bytes.len());

        let body = first.skip_bytes(HEADER_BYTES);
        let number = header.counter_count.get();
        let violation = |rule, expected| BlockError::number(rule, offset + 4, number, expected);
        let ids = usize::try_from(number)
            .ok()
            .and_then(|number| <[U32]>::ref_from_prefix_with_elems(body.bytes, number).ok());
        let Some((ids, _)) = ids else {
            let max = body.bytes.len() / size_of::<U32>();
            return Err(violation(Rule::IdCount, Expected::AtMost(count(max))));
        };
        if ids.is_empty() {
            return Err(violation(Rule::NoIds, Expected::AtLeast(1)));
        }
        if ids.len() > MAX_COUNTERS {
            return Err(violation(Rule::TooManyIds, Expected::AtMost(count(MAX_COUNTERS))));
        }
        Ok(Self { ids })
    }

    /// Checks that the ids differ and that none is the wildcard. `offset` is the offset of the first id in the block.
    pub(super) fn check(self, offset: usize) -> Result<(), BlockError> {
        let offset_of = |index| offset + index * size_of::<U32>();
        // Checked first, so that two wildcards violate `WildcardId`, not `DuplicateId`.
        if let Some(index) = self.position(WILDCARD_ID) {
            return Err(BlockError::number(
                Rule::WildcardId,
                offset_of(index),
                WILDCARD_ID,
                Expected::Words("the id of one counter"),
            ));
        }
        if let Some(index) = first_duplicate(self.iter()) {
            let expected = Expected::Words("an id that is not a duplicate");
            return Err(BlockError::number(
                Rule::DuplicateId,
                offset_of(index),
                self.ids[index].get(),
                expected,
            ));
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
