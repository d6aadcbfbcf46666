//! Violations: errors and warnings with their positions.

use std::fmt;
use std::path::Path;

/// Maximum number of violations that are listed. Further violations are only counted.
pub const MAX_LISTED: usize = 1000;

/// A position in a manifest. Lines and columns start at 1; columns are counted in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// The start of the file.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A value and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// The position of the attribute or element.
    pub at: Position,
}

/// The severity of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The manifest can be used, but a part of it has no effect or is not portable, or its validity is unclear because
    /// the documentation of the schema is inconsistent.
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

/// An error or warning in a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The severity.
    pub severity: Severity,
    /// The position.
    pub at: Position,
    /// The invalid element or attribute, such as `counter 'Orders', type`.
    pub subject: Box<str>,
    /// A description of what was found.
    pub found: Box<str>,
    /// A description of what was expected.
    pub expected: Box<str>,
}

impl Violation {
    /// Displays the violation after the name of the manifest's file: `shop.man:3:5: error: ...`.
    pub fn with_file(&self, file: &Path) -> impl fmt::Display {
        format!("{}:{self}", file.display())
    }
}

/// Writes one line: `3:5: error: counter 'Orders', type: found 'perf_foo', expected ...`.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { severity, at, subject, found, expected } = self;
        write!(f, "{at}: {severity}: {subject}: found {found}, expected {expected}")
    }
}

/// The violations of a manifest, ordered by position.
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

    /// The number of errors.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// The number of warnings.
    pub fn warnings(&self) -> u64 {
        self.warnings
    }

    /// The number of violations that are not listed.
    pub fn unlisted(&self) -> u64 {
        self.errors + self.warnings - self.list.len() as u64
    }

    /// Whether there are no errors and no warnings.
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
            // If the list is full, an error replaces a warning.
            *warning = violation;
        }
    }

    pub(super) fn sort(&mut self) {
        self.list.sort_by_key(|violation| violation.at);
    }
}

/// Quotes a string for use in messages: at most a hundred characters, with control characters escaped.
pub(super) fn quote_for_message(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    let mut quoted = String::from("'");
    for c in text.chars().take(MAX_CHARS) {
        match c {
            '\'' | '"' | '\\' => quoted.push(c),
            c => quoted.extend(c.escape_debug()),
        }
    }
    quoted.push_str(if text.chars().nth(MAX_CHARS).is_some() { "...'" } else { "'" });
    quoted
}
