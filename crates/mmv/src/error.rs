//! Errors in the layout of an MMV file.

use std::fmt;

/// A field of an MMV file that breaks the format: its offset, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutError {
    offset: u64,
    field: &'static str,
    found: Box<str>,
    expected: Box<str>,
}

impl LayoutError {
    pub(super) fn new(
        offset: u64,
        field: &'static str,
        found: impl Into<Box<str>>,
        expected: impl Into<Box<str>>,
    ) -> Self {
        Self { offset, field, found: found.into(), expected: expected.into() }
    }

    /// The error for an unexpected number.
    pub(super) fn number(
        offset: u64,
        field: &'static str,
        found: impl fmt::Display,
        expected: impl Into<Box<str>>,
    ) -> Self {
        Self::new(offset, field, found.to_string(), expected)
    }

    /// The offset of the field from the start of the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The name of the field.
    pub fn field(&self) -> &'static str {
        self.field
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, field, found, expected } = self;
        write!(f, "offset {offset}: {field}: found {found}, expected {expected}")
    }
}

impl std::error::Error for LayoutError {}
