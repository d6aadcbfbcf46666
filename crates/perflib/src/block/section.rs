//! A stretch of bytes that is taken apart from its front.

use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::error::{BlockError, Expected, Rule, count};

/// Bytes that are left of a block or of a part of it, and where they begin in the whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) offset: usize,
}

/// What holds for the size that a structure says of itself.
pub(crate) struct SizeRules {
    /// Offset of the size in the structure.
    pub(crate) field: usize,
    /// The rule of the least size, and this size.
    pub(crate) least: (Rule, usize),
    /// The rule that the size leads nowhere beyond what is left.
    pub(crate) most: Rule,
    /// The rule of what the size is a multiple of, and this number.
    pub(crate) multiple: (Rule, u32),
}

impl<'a> Section<'a> {
    /// All of some bytes.
    pub(crate) fn all(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Looks at the structure in front.
    pub(crate) fn head<T>(&self, rule: Rule) -> Result<&'a T, BlockError>
    where
        T: FromBytes + KnownLayout + Immutable + Unaligned,
    {
        match T::ref_from_prefix(self.bytes) {
            Ok((head, _)) => Ok(head),
            Err(_) => {
                let expected = Expected::AtLeast(count(size_of::<T>()));
                Err(BlockError::count(rule, self.offset, self.bytes.len(), expected))
            }
        }
    }

    /// Splits off the structure in front, which says that it has `size` bytes.
    pub(crate) fn take(&mut self, size: u32, rules: &SizeRules) -> Result<Self, BlockError> {
        let broken =
            |rule, expected| Err(BlockError::number(rule, self.offset + rules.field, size, expected));
        // What does not fit a usize is beyond what is left, too.
        let bytes = usize::try_from(size).unwrap_or(usize::MAX);
        if bytes < rules.least.1 {
            return broken(rules.least.0, Expected::AtLeast(count(rules.least.1)));
        }
        if bytes > self.bytes.len() {
            return broken(rules.most, Expected::AtMost(count(self.bytes.len())));
        }
        if !size.is_multiple_of(rules.multiple.1) {
            return broken(rules.multiple.0, Expected::MultipleOf(rules.multiple.1.into()));
        }
        let taken = Self { bytes: &self.bytes[..bytes], offset: self.offset };
        self.skip(bytes);
        Ok(taken)
    }

    /// Goes on by some bytes, or to the end where fewer are left.
    pub(crate) fn skip(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes.len());
        self.bytes = &self.bytes[bytes..];
        self.offset += bytes;
    }

    /// What is left after some bytes.
    pub(crate) fn after(mut self, bytes: usize) -> Self {
        self.skip(bytes);
        self
    }

    /// Checks that nothing is left.
    pub(crate) fn end(&self, rule: Rule) -> Result<(), BlockError> {
        match self.bytes.len() {
            0 => Ok(()),
            left => Err(BlockError::count(rule, self.offset, left, Expected::Exactly(0))),
        }
    }
}
