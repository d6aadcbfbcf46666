//! Problems in logs, traces and other files.

use std::borrow::Cow;
use std::fmt;

/// A problem at one place in a file, and what the reader skips because of it. Displayed as a single line: the offset,
/// what is damaged, what was found and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// A description of the damage, and of what is skipped.
    pub what: Cow<'static, str>,
    /// The number or text at the offset, if any.
    pub found: Option<String>,
    /// The number or text that the format requires there.
    pub expected: Option<Cow<'static, str>>,
    /// Whether the problem is a warning: no data is lost. Warnings are reported only when a file is checked.
    pub is_warning: bool,
}

impl Problem {
    /// A problem at `offset`.
    pub fn new(offset: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self { offset, what: what.into(), found: None, expected: None, is_warning: false }
    }

    /// Sets what was found and what was expected.
    pub fn found(mut self, found: impl fmt::Display, expected: impl Into<Cow<'static, str>>) -> Self {
        self.found = Some(found.to_string());
        self.expected = Some(expected.into());
        self
    }

    /// Turns the problem into a [warning](Self::is_warning).
    pub fn into_warning(self) -> Self {
        Self { is_warning: true, ..self }
    }
}

impl fmt::Display for Problem {
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

impl std::error::Error for Problem {}
