//! The instances of a result.

use super::{DecodeOptions, Ids, Values};
use crate::block::error::{BlockError, Expected, Rule, count};
use crate::block::instance_list::ListedInstance;
use crate::block::raw::{CounterData, InstanceHeader, MultiInstances};
use crate::block::section::{Section, SizeRules};
use crate::block::text::Text;

const HEADER: usize = size_of::<MultiInstances>();
const SIZE: SizeRules =
    SizeRules { field: 0, least: (Rule::I2, HEADER), most: Rule::I3, multiple: (Rule::I4, 8) };
/// The least bytes of an instance's head with its name, and of a value.
const LEAST: usize = size_of::<InstanceHeader>() + 8;
const LEAST_VALUE: usize = size_of::<CounterData>() + 8;

/// The instances of a result, in its order.
///
/// Names and ids can repeat: who pairs two samples counts equal ones within each.
#[derive(Clone, Debug)]
pub struct Instances<'a> {
    left: usize,
    rest: Section<'a>,
    ids: Option<Ids<'a>>,
    options: DecodeOptions,
}

/// An instance with its values.
#[derive(Clone, Debug)]
pub struct Instance<'a> {
    listed: ListedInstance<'a>,
    values: Values<'a>,
}

impl<'a> Instances<'a> {
    /// Splits off the instances in front, without looking at them yet. Without ids there is one value per instance.
    pub(super) fn take(
        rest: &mut Section<'a>,
        ids: Option<Ids<'a>>,
        options: DecodeOptions,
    ) -> Result<Self, BlockError> {
        let offset = rest.offset;
        let header: &MultiInstances = rest.head(Rule::I1)?;
        let rest = rest.take(header.total_bytes.get(), &SIZE)?.after(HEADER);
        let number = header.instance_count.get();
        let most = rest.bytes.len() / (LEAST + LEAST_VALUE * ids.map_or(1, Ids::len));
        match usize::try_from(number) {
            Ok(left) if left <= most => Ok(Self { left, rest, ids, options }),
            _ => Err(BlockError::number(Rule::I5, offset + 4, number, Expected::AtMost(count(most)))),
        }
    }

    /// Checks all instances.
    pub(super) fn check(mut self) -> Result<(), BlockError> {
        for _ in 0..self.left {
            self.instance()?;
        }
        self.rest.end(Rule::I6)
    }

    /// Splits off the instance in front.
    fn instance(&mut self) -> Result<Instance<'a>, BlockError> {
        let listed = ListedInstance::take(&mut self.rest)?;
        let values = Values::new(self.ids.map_or(1, Ids::len), self.rest, self.options);
        self.rest = values.clone().check()?;
        Ok(Instance { listed, values })
    }

    /// The counters that each instance has a value of; `None` for [one counter](super::Content::MultipleInstances).
    pub fn ids(&self) -> Option<Ids<'a>> {
        self.ids
    }
}

impl<'a> Iterator for Instances<'a> {
    type Item = Instance<'a>;

    fn next(&mut self) -> Option<Instance<'a>> {
        self.left = self.left.checked_sub(1)?;
        // The whole block was checked: there is no error to lose.
        self.instance().ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Instances<'_> {}

impl<'a> Instance<'a> {
    /// The name.
    pub fn name(&self) -> Text<'a> {
        self.listed.name
    }

    /// The number.
    pub fn id(&self) -> u32 {
        self.listed.id
    }

    /// The values: one per counter id of the result, or one.
    pub fn values(&self) -> Values<'a> {
        self.values.clone()
    }
}
