//! The values of an instance.

use zerocopy::FromBytes;
use zerocopy::little_endian::{U32, U64};

use super::DecodeOptions;
use crate::block::error::{BlockError, Expected, Rule};
use crate::block::raw::CounterData;
use crate::block::section::{Section, SizeRules};

const HEADER_BYTES: usize = size_of::<CounterData>();
/// Minimum size of a value: the header and 4 or 8 bytes, padded to a multiple of 8.
const MIN_BYTES: usize = HEADER_BYTES + 8;
const SIZE_RULES: SizeRules = SizeRules {
    field: 4,
    min: (Rule::ValueSizeTooSmall, MIN_BYTES),
    max: Rule::ValueSizeTooLarge,
    alignment: (Rule::ValueSizeUnaligned, 8),
};

/// The values of an instance, in the order of the result's counter ids.
///
/// Values of 4 bytes are zero-extended, regardless of the counter type. `None` is a value that cannot be read now.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    /// The number of values that have not been returned yet.
    remaining: usize,
    /// The bytes of these values.
    rest: Section<'a>,
    options: DecodeOptions,
}

impl<'a> Values<'a> {
    pub(super) fn new(remaining: usize, rest: Section<'a>, options: DecodeOptions) -> Self {
        Self { remaining, rest, options }
    }

    /// Checks all values; returns the remaining bytes.
    pub(super) fn check(mut self) -> Result<Section<'a>, BlockError> {
        for _ in 0..self.remaining {
            Self::value(&mut self.rest, self.options)?;
        }
        Ok(self.rest)
    }

    /// Splits off the first value.
    pub(super) fn value(rest: &mut Section<'a>, options: DecodeOptions) -> Result<Option<u64>, BlockError> {
        let offset = rest.offset;
        let header: &CounterData = rest.peek(Rule::ValueHeaderMissing)?;
        let data = rest.split_off(header.bytes.get(), &SIZE_RULES)?.skip_bytes(HEADER_BYTES).bytes;
        let width = header.data_bytes.get();
        match width {
            // `ValueSizeTooSmall` guarantees at least 8 bytes of data, so neither read can fail, and
            // `ValueWiderThanSize` cannot be violated.
            4 => Ok(U32::read_from_prefix(data).ok().map(|(value, _)| value.get().into())),
            8 => Ok(U64::read_from_prefix(data).ok().map(|(value, _)| value.get())),
            0 if options.allow_missing_values && data.len() == MIN_BYTES - HEADER_BYTES => Ok(None),
            _ => Err(BlockError::number(Rule::ValueWidth, offset, width, Expected::Words("4 or 8"))),
        }
    }
}

impl Iterator for Values<'_> {
    type Item = Option<u64>;

    fn next(&mut self) -> Option<Option<u64>> {
        self.remaining = self.remaining.checked_sub(1)?;
        // The block was checked up front, so this does not fail.
        Self::value(&mut self.rest, self.options).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for Values<'_> {}
