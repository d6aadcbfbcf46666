//! The results of a block, one per query.

use super::{DecodeOptions, Ids, Instances, Values, ids};
use crate::ErrorCode;
use crate::block::error::{BlockError, Expected, Rule};
use crate::block::kind::Kind;
use crate::block::raw::ResultHeader;
use crate::block::section::{Section, SizeRules};

const HEADER: usize = size_of::<ResultHeader>();
const SIZE: SizeRules =
    SizeRules { field: 8, least: (Rule::H2, HEADER), most: Rule::H3, multiple: (Rule::H4, 8) };

/// The result of one query.
#[derive(Clone, Debug)]
pub struct QueryResult<'a> {
    offset: usize,
    kind: Kind,
    content: Content<'a>,
}

/// What a query's result holds.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// Why the query has no data.
    Error(ErrorCode),
    /// The value of one counter of one instance; `None` where it cannot be read now.
    SingleCounter(Option<u64>),
    /// Several counters of one instance: the value of each id, in this order.
    MultipleCounters(Ids<'a>, Values<'a>),
    /// One counter of several instances: one value each.
    MultipleInstances(Instances<'a>),
    /// Several counters of several instances: for each a value per [id](Instances::ids), in this order.
    CounterSet(Instances<'a>),
}

impl<'a> QueryResult<'a> {
    /// Splits off the result in front and checks all of it.
    pub(super) fn check(rest: &mut Section<'a>, options: DecodeOptions) -> Result<(), BlockError> {
        let result = Self::take(rest, options)?;
        let ids = match &result.content {
            Content::MultipleCounters(ids, _) => Some(*ids),
            Content::CounterSet(instances) => instances.ids(),
            _ => None,
        };
        if let Some(ids) = ids {
            ids.check(result.offset + HEADER + ids::HEADER)?;
        }
        match result.content {
            Content::Error(_) | Content::SingleCounter(_) => Ok(()),
            Content::MultipleCounters(_, values) => values.check()?.end(Rule::H8),
            Content::MultipleInstances(instances) | Content::CounterSet(instances) => instances.check(),
        }
    }

    /// Splits off the result in front; the ids, and the values of several counters or instances, are not looked at yet.
    fn take(rest: &mut Section<'a>, options: DecodeOptions) -> Result<Self, BlockError> {
        let offset = rest.offset;
        let header: &ResultHeader = rest.head(Rule::H1)?;
        let mut body = rest.take(header.bytes.get(), &SIZE)?.after(HEADER);
        let number = header.kind.get();
        let Some(kind) = Kind::from_number(number) else {
            return Err(BlockError::number(Rule::H5, offset + 4, number, Expected::Words("0, 1, 2, 4 or 6")));
        };
        let status = header.status.get();
        if kind == Kind::Error && status == 0 {
            return Err(BlockError::number(Rule::H6, offset, status, Expected::Words("an error")));
        }
        if kind != Kind::Error && status != 0 {
            if !options.allow_failed_data {
                return Err(BlockError::number(Rule::H7, offset, status, Expected::Exactly(0)));
            }
            return Ok(Self { offset, kind: Kind::Error, content: Content::Error(ErrorCode(status)) });
        }
        let content = match kind {
            Kind::Error => Content::Error(ErrorCode(status)),
            Kind::SingleCounter => Content::SingleCounter(Values::value(&mut body, options)?),
            Kind::MultipleCounters => {
                let ids = Ids::take(&mut body)?;
                // Where the values end is known when they are checked.
                let values = Values::new(ids.len(), body, options);
                return Ok(Self { offset, kind, content: Content::MultipleCounters(ids, values) });
            }
            Kind::MultipleInstances => Content::MultipleInstances(Instances::take(&mut body, None, options)?),
            Kind::CounterSet => {
                let ids = Ids::take(&mut body)?;
                Content::CounterSet(Instances::take(&mut body, Some(ids), options)?)
            }
        };
        body.end(Rule::H8)?;
        Ok(Self { offset, kind, content })
    }

    /// What the result is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What the result holds.
    pub fn content(&self) -> Content<'a> {
        self.content.clone()
    }

    /// Offset of the result in the block, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Checks that the result is of the kind that its query gives (see [`Kind::of_query`]), or an error.
    ///
    /// # Errors
    ///
    /// [`Rule::H5`].
    pub fn expect_kind(&self, kind: Kind) -> Result<(), BlockError> {
        if self.kind == kind || self.kind == Kind::Error {
            return Ok(());
        }
        let expected = Expected::Exactly(kind.number().into());
        Err(BlockError::number(Rule::H5, self.offset + 4, self.kind.number(), expected))
    }
}

/// The results of a block, in its order.
#[derive(Clone, Debug)]
pub struct Results<'a> {
    pub(super) left: u32,
    pub(super) rest: Section<'a>,
    pub(super) options: DecodeOptions,
}

impl<'a> Iterator for Results<'a> {
    type Item = QueryResult<'a>;

    fn next(&mut self) -> Option<QueryResult<'a>> {
        self.left = self.left.checked_sub(1)?;
        // The whole block was checked: there is no error to lose.
        QueryResult::take(&mut self.rest, self.options).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl ExactSizeIterator for Results<'_> {}
