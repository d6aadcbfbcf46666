//! What is wrong with a manifest, and where.

use std::fmt;
use std::path::Path;

/// How many violations are kept in words; more are counted.
pub const MAX_LISTED: usize = 1000;

/// A place in a manifest: line and column, both counted from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character of the line.
    pub column: u32,
}

impl Position {
    /// The first character.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Something that was read, with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located<T> {
    /// What was read.
    pub value: T,
    /// Where it stands: an attribute's name, or the beginning of an element.
    pub at: Position,
}

/// How bad a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The manifest can be used; something in it has no effect, or sources disagree about it.
    Warning,
    /// The manifest cannot be used.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One thing that is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub at: Position,
    /// What it is about: `counter 'Orders', type`.
    pub subject: Box<str>,
    /// What is there.
    pub found: Box<str>,
    /// What should be there.
    pub expected: Box<str>,
}

impl Violation {
    /// The violation with the name of its file: `shop.man:3:5: error: ...`.
    pub fn of_file(&self, file: &Path) -> impl fmt::Display {
        format!("{}:{self}", file.display())
    }
}

/// `3:5: error: counter 'Orders', type: found 'perf_foo', expected ...`.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, at, subject, found, expected } = self;
        write!(f, "{at}: {severity}: {subject}: found {found}, expected {expected}")
    }
}

/// All that is wrong with a manifest, in the order of the places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Violations {
    list: Vec<Violation>,
    errors: u64,
    warnings: u64,
}

impl Violations {
    /// The violations; at most [`MAX_LISTED`].
    pub fn list(&self) -> &[Violation] {
        &self.list
    }

    /// How many errors there are.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// How many warnings there are.
    pub fn warnings(&self) -> u64 {
        self.warnings
    }

    /// How many are not in the list.
    pub fn unlisted(&self) -> u64 {
        self.errors + self.warnings - self.list.len() as u64
    }

    /// Whether there is neither error nor warning.
    pub fn is_empty(&self) -> bool {
        self.errors + self.warnings == 0
    }

    pub(super) fn push(
        &mut self,
        severity: Severity,
        at: Position,
        subject: impl Into<Box<str>>,
        found: impl Into<Box<str>>,
        expected: impl Into<Box<str>>,
    ) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        let (subject, found, expected) = (subject.into(), found.into(), expected.into());
        let violation = Violation { severity, at, subject, found, expected };
        if self.list.len() < MAX_LISTED {
            self.list.push(violation);
        } else if severity == Severity::Error
            && let Some(warning) = self.list.iter_mut().find(|known| known.severity == Severity::Warning)
        {
            // Warnings may not hide an error.
            *warning = violation;
        }
    }

    pub(super) fn sort(&mut self) {
        self.list.sort_by_key(|violation| violation.at);
    }
}

/// A text as messages show it: in quotes, at most a hundred characters, nothing that moves the cursor.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 100;
    let mut shown = String::from("'");
    for c in text.chars().take(SHOWN) {
        match c {
            '\'' | '"' | '\\' => shown.push(c),
            c => shown.extend(c.escape_debug()),
        }
    }
    shown.push_str(if text.chars().nth(SHOWN).is_some() { "...'" } else { "'" });
    shown
}
