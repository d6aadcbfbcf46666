//! What is wrong with a damaged trace file.

use std::borrow::Cow;
use std::fmt;

/// One damaged place of a trace file, and what that costs the reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceProblem {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// What is damaged, and what is left out.
    pub what: Cow<'static, str>,
    /// The number or text found there, where there is one.
    pub found: Option<String>,
    /// What should have stood there.
    pub expected: Option<Cow<'static, str>>,
}

impl TraceProblem {
    /// A problem at `offset` without further numbers.
    pub(super) fn new(offset: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self { offset, what: what.into(), found: None, expected: None }
    }

    /// Adds what was found and what was expected.
    pub(super) fn found(mut self, found: impl fmt::Display, expected: impl Into<Cow<'static, str>>) -> Self {
        self.found = Some(found.to_string());
        self.expected = Some(expected.into());
        self
    }
}

/// One line: offset, what, found, expected.
impl fmt::Display for TraceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {:#x}: {}", self.offset, self.what)?;
        match (&self.found, &self.expected) {
            (Some(found), Some(expected)) => write!(f, " (found {found}, expected {expected})"),
            (Some(found), None) => write!(f, " (found {found})"),
            (None, Some(expected)) => write!(f, " (expected {expected})"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for TraceProblem {}
