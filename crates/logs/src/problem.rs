//! What is wrong with a damaged log.

use std::borrow::Cow;
use std::fmt;

/// One damaged place of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// What is damaged, and what that costs the reader.
    pub what: Cow<'static, str>,
    /// The number or text found there, where there is one.
    pub found: Option<String>,
    /// What should have stood there.
    pub expected: Option<Cow<'static, str>>,
    /// Whether only a check of the log reports it: everything was read, and an unknown value shows where it is used.
    pub is_note: bool,
}

impl Problem {
    /// A problem at `offset` without further numbers.
    pub fn new(offset: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self { offset, what: what.into(), found: None, expected: None, is_note: false }
    }

    /// Makes it a note, which only a check of the log reports.
    pub fn note(mut self) -> Self {
        self.is_note = true;
        self
    }

    /// Adds what was found and what was expected.
    pub fn found(mut self, found: impl fmt::Display, expected: impl Into<Cow<'static, str>>) -> Self {
        self.found = Some(found.to_string());
        self.expected = Some(expected.into());
        self
    }
}

/// One line: offset, what, found, expected.
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

/// The damaged places of one log, at most [`Problems::KEPT`] of them in words and all of them counted.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    kept: Vec<Problem>,
    count: u64,
    notes: u64,
}

impl Problems {
    /// How many problems are kept in words; a hostile log must not fill the memory with complaints.
    pub const KEPT: usize = 1000;

    /// Notes a problem.
    pub fn push(&mut self, problem: Problem) {
        self.count += 1;
        self.notes += u64::from(problem.is_note);
        if self.kept.len() < Self::KEPT {
            self.kept.push(problem);
        }
    }

    /// Adds the problems of another list.
    pub(crate) fn append(&mut self, other: Self) {
        self.count += other.count;
        self.notes += other.notes;
        let room = Self::KEPT.saturating_sub(self.kept.len());
        self.kept.extend(other.kept.into_iter().take(room));
    }

    /// The problems kept in words, in the order in which they were found.
    pub fn list(&self) -> &[Problem] {
        &self.kept
    }

    /// How many problems there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many of them are no more than [notes](Problem::is_note).
    pub fn notes(&self) -> u64 {
        self.notes
    }

    /// Whether nothing was found damaged.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
