//! The values of an instance.

use zerocopy::FromBytes;
use zerocopy::little_endian::{U32, U64};

use super::DecodeOptions;
use crate::block::error::{BlockError, Expected, Rule};
use crate::block::raw::CounterData;
use crate::block::section::{Section, SizeRules};

const HEADER: usize = size_of::<CounterData>();
/// The head and 4 or 8 bytes, filled up to a multiple of 8.
const LEAST: usize = HEADER + 8;
const SIZE: SizeRules =
    SizeRules { field: 4, least: (Rule::C2, LEAST), most: Rule::C3, multiple: (Rule::C4, 8) };

/// The values of an instance, in the order of the result's counter ids.
///
/// Values of 4 bytes are extended with zeros, whatever the counter's type says. `None` is a value that cannot be read now.
#[derive(Clone, Debug)]
pub struct Values<'a> {
    left: usize,
    rest: Section<'a>,
    options: DecodeOptions,
}

impl<'a> Values<'a> {
    pub(super) fn new(left: usize, rest: Section<'a>, options: DecodeOptions) -> Self {
        Self { left, rest, options }
    }

    /// Checks all values; gives what is left after them.
    pub(super) fn check(mut self) -> Result<Section<'a>, BlockError> {
        for _ in 0..self.left {
            Self::value(&mut self.rest, self.options)?;
        }
        Ok(self.rest)
    }

    /// Splits off the value in front.
    pub(super) fn value(rest: &mut Section<'a>, options: DecodeOptions) -> Result<Option<u64>, BlockError> {
        let offset = rest.offset;
        let header: &CounterData = rest.head(Rule::C1)?;
        let data = rest.take(header.bytes.get(), &SIZE)?.after(HEADER).bytes;
        let width = header.data_bytes.get();
        match width {
            // C2 left at least 8 bytes of data: neither reading fails, and after C5 nothing can break rule C6.
            4 => Ok(U32::read_from_prefix(data).ok().map(|(value, _)| value.get().into())),
            8 => Ok(U64::read_from_prefix(data).ok().map(|(value, _)| value.get())),
            0 if options.allow_missing_values && data.len() == LEAST - HEADER => Ok(None),
            _ => Err(BlockError::number(Rule::C5, offset, width, Expected::Words("4 or 8"))),
        }
    }
}

impl Iterator for Values<'_> {
    type Item = Option<u64>;

    fn next(&mut self) -> Option<Option<u64>> {
        self.left = self.left.checked_sub(1)?;
        // The whole block was checked: there is no error to lose.
        Self::value(&mut self.rest, self.options).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Values<'_> {}
