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

/// The counter ids of a result: at least one, all different, in the order of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ids<'a> {
    ids: &'a [U32],
}

impl<'a> Ids<'a> {
    /// Splits off the ids in front, and what fills them up to a multiple of 8; the ids are not looked at yet.
    pub(super) fn take(rest: &mut Section<'a>) -> Result<Self, BlockError> {
        let offset = rest.offset;
        let header: &MultiCounters = rest.head(Rule::M1)?;
        let taken = rest.take(header.bytes.get(), &SIZE)?;
        // What follows begins at a multiple of 8, whether the size says so or not.
        rest.skip(round_up_8(taken.bytes.len()) - taken.bytes.len());

        let body = taken.after(HEADER);
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

    /// Checks that the ids, which begin at an offset, name different counters.
    pub(super) fn check(self, offset: usize) -> Result<(), BlockError> {
        let at = |place| offset + place * size_of::<U32>();
        // Two wildcards are wildcards first.
        if let Some(place) = self.position(WILDCARD_ID) {
            return Err(BlockError::number(Rule::M9, at(place), WILDCARD_ID, Expected::Words("one counter")));
        }
        if let Some(place) = repeated(self.iter()) {
            let expected = Expected::Words("an id that does not stand before it");
            return Err(BlockError::number(Rule::M8, at(place), self.ids[place].get(), expected));
        }
        Ok(())
    }

    /// How many ids there are.
    pub fn len(self) -> usize {
        self.ids.len()
    }

    /// Whether there are none; never so in a block that was decoded.
    pub fn is_empty(self) -> bool {
        self.ids.is_empty()
    }

    /// The ids, in the order of the values.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u32> + Clone + use<'a> {
        self.ids.iter().map(|id| id.get())
    }

    /// The place of an id, and so of its value in each row.
    pub fn position(self, id: u32) -> Option<usize> {
        self.ids.iter().position(|other| *other == id)
    }
}
