//! The instances of a result.

use std::ops::Range;

use super::{DecodeOptions, Ids, Values};
use crate::block::error::{BlockError, Expected, Rule, count};
use crate::block::instance_list::ListedInstance;
use crate::block::raw::{CounterData, InstanceHeader, MultiInstances};
use crate::block::section::{Section, SizeRules};
use crate::block::text::Text;

const HEADER_BYTES: usize = size_of::<MultiInstances>();
const SIZE_RULES: SizeRules = SizeRules {
    field: 0,
    min: (Rule::InstancesSizeTooSmall, HEADER_BYTES),
    max: Rule::InstancesSizeTooLarge,
    alignment: (Rule::InstancesSizeUnaligned, 8),
};
/// Minimum size of an instance's header and name.
const MIN_BYTES: usize = size_of::<InstanceHeader>() + 8;
/// Minimum size of a value with its header.
const MIN_VALUE_BYTES: usize = size_of::<CounterData>() + 8;

/// The instances of a result, in order.
///
/// Names and ids need not be unique. Consumers that match instances across samples append `#n` to equal names
/// ([`Numbering`](crate::Numbering)).
#[derive(Clone, Debug)]
pub struct Instances<'a> {
    /// The number of instances that have not been returned yet.
    remaining: usize,
    /// The bytes of these instances.
    rest: Section<'a>,
    /// The ids of each instance's counters; `None` if the result has only one counter.
    ids: Option<Ids<'a>>,
    options: DecodeOptions,
}

/// An instance with its values.
#[derive(Clone, Debug)]
pub struct Instance<'a> {
    listed: ListedInstance<'a>,
    values: Values<'a>,
    range: Range<usize>,
}

impl<'a> Instances<'a> {
    /// Splits off the instances without checking them. If `ids` is `None`, each instance has one value.
    pub(super) fn split_off(
        rest: &mut Section<'a>,
        ids: Option<Ids<'a>>,
        options: DecodeOptions,
    ) -> Result<Self, BlockError> {
        let offset = rest.offset;
        let header: &MultiInstances = rest.peek(Rule::InstancesHeaderMissing)?;
        let rest = rest.split_off(header.total_bytes.get(), &SIZE_RULES)?.skip_bytes(HEADER_BYTES);
        let number = header.instance_count.get();
        let max = rest.bytes.len() / (MIN_BYTES + MIN_VALUE_BYTES * ids.map_or(1, Ids::len));
        match usize::try_from(number) {
            Ok(remaining) if remaining <= max => Ok(Self { remaining, rest, ids, options }),
            _ => {
                Err(BlockError::number(Rule::InstanceCount, offset + 4, number, Expected::AtMost(count(max))))
            }
        }
    }

    pub(super) fn check(mut self) -> Result<(), BlockError> {
        for _ in 0..self.remaining {
            self.instance()?;
        }
        self.rest.expect_end(Rule::BytesAfterInstances)
    }

    /// Splits off the first instance.
    fn instance(&mut self) -> Result<Instance<'a>, BlockError> {
        let begin = self.rest.offset;
        let listed = ListedInstance::split_off(&mut self.rest)?;
        let values = Values::new(self.ids.map_or(1, Ids::len), self.rest, self.options);
        self.rest = values.clone().check()?;
        Ok(Instance { listed, values, range: begin..self.rest.offset })
    }

    /// The ids of each instance's counters; `None` if the result has only
    /// [one counter](super::Content::MultipleInstances).
    pub fn ids(&self) -> Option<Ids<'a>> {
        self.ids
    }
}

impl<'a> Iterator for Instances<'a> {
    type Item = Instance<'a>;

    fn next(&mut self) -> Option<Instance<'a>> {
        self.remaining = self.remaining.checked_sub(1)?;
        // The block was checked up front, so this does not fail.
        self.instance().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Instances<'_> {}

impl<'a> Instance<'a> {
    /// The name.
    pub fn name(&self) -> Text<'a> {
        self.listed.name
    }

    /// The id.
    pub fn id(&self) -> u32 {
        self.listed.id
    }

    /// Where the instance and its values are in the block.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The values: one per counter id, or a single one if the result has no ids.
    pub fn values(&self) -> Values<'a> {
        self.values.clone()
    }
}
