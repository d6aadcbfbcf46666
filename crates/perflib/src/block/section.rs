//! A slice that is decoded from front to back.

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::error::{BlockError, Expected, Rule, count};

/// Consecutive bytes of a block that have not been decoded yet, and their offset in the block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: usize,
}

/// The rules for the size field of a structure.
pub(crate) struct SizeRules {
    /// The offset of the size field in the structure.
    pub(crate) field: usize,
    /// The rule for the minimum size, and this size.
    pub(crate) min: (Rule, usize),
    /// The rule that the size is within the remaining bytes.
    pub(crate) max: Rule,
    /// The rule for the alignment of the size, and this alignment.
    pub(crate) alignment: (Rule, u32),
}

impl<'a> Section<'a> {
    /// A section with all bytes of a slice, starting at offset 0.
    pub(crate) fn all(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// The first structure, which remains in the section. `rule` is violated if too few bytes remain.
    pub(crate) fn peek<T>(&self, rule: Rule) -> Result<&'a T, BlockError>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        match T::ref_from_prefix(self.bytes) {
            Ok((structure, _)) => Ok(structure),
            Err(_) => {
                let expected = Expected::AtLeast(count(size_of::<T>()));
                Err(BlockError::count(rule, self.offset, self.bytes.len(), expected))
            }
        }
    }

    /// Splits off the first structure, whose size field is `size`.
    pub(crate) fn split_off(&mut self, size: u32, rules: &SizeRules) -> Result<Self, BlockError> {
        let violation =
            |rule, expected| Err(BlockError::number(rule, self.offset + rules.field, size, expected));
        // A size that does not fit in `usize` exceeds the remaining bytes too.
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        if bytes < rules.min.1 {
            return violation(rules.min.0, Expected::AtLeast(count(rules.min.1)));
        }
        if bytes > self.bytes.len() {
            return violation(rules.max, Expected::AtMost(count(self.bytes.len())));
        }
        if !size.is_multiple_of(rules.alignment.1) {
            return violation(rules.alignment.0, Expected::MultipleOf(rules.alignment.1.into()));
        }
        let first = Self { bytes: &self.bytes[..bytes], offset: self.offset };
        self.skip(bytes);
        Ok(first)
    }

    /// Skips `bytes` bytes, or all if fewer remain.
    pub(crate) fn skip(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes.len());
        self.bytes = &self.bytes[bytes..];
        self.offset += bytes;
    }

    /// The section without its first `bytes` bytes; empty if it has fewer.
    pub(crate) fn skip_bytes(mut self, bytes: usize) -> Self {
        self.skip(bytes);
        self
    }

    /// Checks that no bytes remain.
    pub(crate) fn expect_end(&self, rule: Rule) -> Result<(), BlockError> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(BlockError::count(rule, self.offset, left, Expected::Exactly(0))),
        }
    }
}
