//! The results of a block, one per identifier.

use super::{DecodeOptions, Ids, Instances, Values, ids};
use crate::ErrorCode;
use crate::block::error::{BlockError, Expected, Rule};
use crate::block::kind::Kind;
use crate::block::raw::ResultHeader;
use crate::block::section::{Section, SizeRules};

const HEADER_BYTES: usize = size_of::<ResultHeader>();
const SIZE_RULES: SizeRules = SizeRules {
    field: 8,
    min: (Rule::ResultSizeTooSmall, HEADER_BYTES),
    max: Rule::ResultSizeTooLarge,
    alignment: (Rule::ResultSizeUnaligned, 8),
};

/// The result of one identifier.
#[derive(Clone, Debug)]
pub struct QueryResult<'a> {
    /// The offset of the result in the block.
    offset: usize,
    kind: Kind,
    content: Content<'a>,
}

/// The content of a result.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// An error instead of data.
    Error(ErrorCode),
    /// The value of one counter of one instance; `None` if it could not be read.
    SingleCounter(Option<u64>),
    /// Several counters of one instance: the values are in the order of the ids.
    MultipleCounters(Ids<'a>, Values<'a>),
    /// One counter of several instances: one value each.
    MultipleInstances(Instances<'a>),
    /// Several counters of several instances: each instance has one value per [id](Instances::ids), in the order of the
    /// ids.
    CounterSet(Instances<'a>),
}

impl<'a> QueryResult<'a> {
    /// Splits off the first result and checks it completely.
    pub(super) fn check(rest: &mut Section<'a>, options: DecodeOptions) -> Result<(), BlockError> {
        let result = Self::split_off(rest, options)?;
        let ids = match &result.content {
            Content::MultipleCounters(ids, _) => Some(*ids),
            Content::CounterSet(instances) => instances.ids(),
            _ => None,
        };
        if let Some(ids) = ids {
            ids.check(result.offset + HEADER_BYTES + ids::HEADER_BYTES)?;
        }
        match result.content {
            Content::Error(_) | Content::SingleCounter(_) => Ok(()),
            Content::MultipleCounters(_, values) => values.check()?.expect_end(Rule::BytesAfterContent),
            Content::MultipleInstances(instances) | Content::CounterSet(instances) => instances.check(),
        }
    }

    /// Splits off the first result and checks its header. Does not check counter ids, or the values of
    /// results with several counters or instances.
    fn split_off(rest: &mut Section<'a>, options: DecodeOptions) -> Result<Self, BlockError> {
        let offset = rest.offset;
        let header: &ResultHeader = rest.peek(Rule::ResultHeaderMissing)?;
        let mut body = rest.split_off(header.bytes.get(), &SIZE_RULES)?.skip_bytes(HEADER_BYTES);
        let number = header.kind.get();
        let Some(kind) = Kind::from_number(number) else {
            return Err(BlockError::number(
                Rule::ResultKind,
                offset + 4,
                number,
                Expected::Words("0, 1, 2, 4 or 6"),
            ));
        };
        let status = header.status.get();
        if kind == Kind::Error && status == 0 {
            return Err(BlockError::number(
                Rule::ErrorWithoutCode,
                offset,
                status,
                Expected::Words("an error"),
            ));
        }
        if kind != Kind::Error && status != 0 {
            if !options.allow_failed_data {
                return Err(BlockError::number(
                    Rule::DataWithErrorStatus,
                    offset,
                    status,
                    Expected::Exactly(0),
                ));
            }
            return Ok(Self { offset, kind: Kind::Error, content: Content::Error(ErrorCode(status)) });
        }
        let content = match kind {
            Kind::Error => Content::Error(ErrorCode(status)),
            Kind::SingleCounter => Content::SingleCounter(Values::value(&mut body, options)?),
            Kind::MultipleCounters => {
                let ids = Ids::split_off(&mut body)?;
                // The end of the values is unknown until they are checked, so trailing bytes are not detected here.
                let values = Values::new(ids.len(), body, options);
                return Ok(Self { offset, kind, content: Content::MultipleCounters(ids, values) });
            }
            Kind::MultipleInstances => {
                Content::MultipleInstances(Instances::split_off(&mut body, None, options)?)
            }
            Kind::CounterSet => {
                let ids = Ids::split_off(&mut body)?;
                Content::CounterSet(Instances::split_off(&mut body, Some(ids), options)?)
            }
        };
        body.expect_end(Rule::BytesAfterContent)?;
        Ok(Self { offset, kind, content })
    }

    /// The kind of the result.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The content of the result.
    pub fn content(&self) -> Content<'a> {
        self.content.clone()
    }

    /// Offset of the result in the block, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Checks that the result has the expected kind (see [`Kind::for_query`]) or is an error.
    ///
    /// # Errors
    ///
    /// [`Rule::ResultKind`] if it has another kind.
    pub fn expect_kind(&self, kind: Kind) -> Result<(), BlockError> {
        if self.kind == kind || self.kind == Kind::Error {
            return Ok(());
        }
        let expected = Expected::Exactly(kind.number().into());
        Err(BlockError::number(Rule::ResultKind, self.offset + 4, self.kind.number(), expected))
    }
}

/// The results of a block, in order.
#[derive(Clone, Debug)]
pub struct Results<'a> {
    /// The number of results that have not been returned yet.
    pub(super) remaining: u32,
    /// The bytes of these results.
    pub(super) rest: Section<'a>,
    pub(super) options: DecodeOptions,
}

impl<'a> Iterator for Results<'a> {
    type Item = QueryResult<'a>;

    fn next(&mut self) -> Option<QueryResult<'a>> {
        self.remaining = self.remaining.checked_sub(1)?;
        // The block was checked up front, so this does not fail.
        QueryResult::split_off(&mut self.rest, self.options).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining as usize, Some(self.remaining as usize))
    }
}

impl ExactSizeIterator for Results<'_> {}
