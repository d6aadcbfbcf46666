//! Errors of invalid counter paths.

use std::fmt;

use super::CounterPath;

/// A part of a counter path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathPart {
    /// The whole path.
    Path,
    /// The machine's name.
    Machine,
    /// The counter set's name.
    Set,
    /// The instance's name: the text inside the parentheses.
    Instance,
    /// The counter's name.
    Counter,
}

impl PathPart {
    fn name(self) -> &'static str {
        match self {
            Self::Path => "counter path",
            Self::Machine => "machine's name",
            Self::Set => "counter set's name",
            Self::Instance => "instance's name",
            Self::Counter => "counter's name",
        }
    }
}

/// The error of an invalid counter path. Offsets are in bytes from the start of the text.
///
/// The message shows what to write. If a shell has probably removed backslashes or parentheses from the path, the
/// message shows the path that was probably meant, in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// The text is empty.
    Empty,
    /// The path or a name in it is longer than Windows allows.
    TooLong {
        /// The part that is too long.
        part: PathPart,
        /// Its length in UTF-16 units.
        length: usize,
        /// The maximum length in UTF-16 units.
        limit: usize,
    },
    /// The text does not begin with `\` or `/`.
    NoLeadingSeparator {
        /// The path that was probably meant, if it can be guessed.
        meant: Option<String>,
    },
    /// A required name is empty.
    EmptyName {
        /// The part with the empty name.
        part: PathPart,
        /// The offset of the empty name.
        offset: usize,
    },
    /// The separator and the counter are missing.
    MissingCounter {
        /// The offset of the end of the text.
        offset: usize,
        /// The path that was probably meant, if it can be guessed.
        meant: Option<String>,
    },
    /// A parenthesis is unbalanced.
    Unbalanced {
        /// The offset of the parenthesis.
        offset: usize,
        /// The path that was probably meant, if it can be guessed.
        meant: Option<String>,
    },
    /// There is a backslash in the counter, outside parentheses.
    StrayBackslash {
        /// The offset of the backslash.
        offset: usize,
    },
}

impl PathError {
    /// Guesses the path that was probably meant, if the variant has a field for it.
    pub(super) fn with_guess(mut self, text: &str) -> Self {
        if let Self::NoLeadingSeparator { meant }
        | Self::MissingCounter { meant, .. }
        | Self::Unbalanced { meant, .. } = &mut self
        {
            *meant = guess(text);
        }
        self
    }

    /// The offset of the error in the text.
    #[must_use]
    pub fn offset(&self) -> usize {
        match *self {
            Self::Empty | Self::TooLong { .. } | Self::NoLeadingSeparator { .. } => 0,
            Self::EmptyName { offset, .. }
            | Self::MissingCounter { offset, .. }
            | Self::Unbalanced { offset, .. }
            | Self::StrayBackslash { offset } => offset,
        }
    }
}

/// Guesses the valid path that was probably meant, by adding a backslash at the start, a backslash after a `)`, or a
/// `)` before the last separator.
fn guess(text: &str) -> Option<String> {
    let separators = ['\\', '/'];
    let start = text.trim_start_matches(separators);
    let is_path = |candidate: &String| CounterPath::parse_without_guess(candidate).is_ok();

    let with_backslash = format!(r"\{start}");
    if !text.starts_with(separators) && is_path(&with_backslash) {
        return Some(with_backslash);
    }
    // Names with more than 8 groups in parentheses are rare.
    for (close, _) in start.match_indices(')').take(8) {
        let (set, counter) = start.split_at(close + 1);
        let with_separator = format!(r"\{set}\{}", counter.trim_start_matches(separators));
        if is_path(&with_separator) {
            return Some(with_separator);
        }
    }
    let separator = if text.starts_with('/') && !start.contains('\\') { '/' } else { '\\' };
    let (set, counter) = start.rsplit_once(separator)?;
    let with_parenthesis = format!(r"\{set})\{counter}");
    is_path(&with_parenthesis).then_some(with_parenthesis)
}

/// Displays a string in single quotes for a shell. Control characters are replaced, so that they do not reach the
/// terminal.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("'")?;
        for character in self.0.chars() {
            match character {
                '\'' => f.write_str(r"'\''")?,
                _ if character.is_control() => f.write_str("\u{fffd}")?,
                _ => write!(f, "{character}")?,
            }
        }
        f.write_str("'")
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write_advice = |f: &mut fmt::Formatter<'_>, meant: &Option<String>| {
            let meant = meant.as_deref().unwrap_or(r"\Set(Instance)\Counter");
            write!(f, "quote it: {}", Quoted(meant))
        };
        match self {
            Self::Empty => f.write_str(r"the counter path is empty; write one as '\Set(Instance)\Counter'"),
            Self::TooLong { part, length, limit } => {
                write!(f, "the {} has {length} characters; the maximum is {limit}", part.name())
            }
            Self::NoLeadingSeparator { meant } => {
                f.write_str(
                    r"a counter path begins with '\'; a shell removes the backslashes of unquoted text; ",
                )?;
                write_advice(f, meant)
            }
            Self::EmptyName { part, offset } => {
                write!(
                    f,
                    r"the {} is missing at offset {offset}; write the path as '\Set(Instance)\Counter'",
                    part.name()
                )
            }
            Self::MissingCounter { offset, meant } => {
                write!(
                    f,
                    r"the counter path ends at offset {offset} before a '\' and the counter's name; a shell removes the backslashes of unquoted text; "
                )?;
                write_advice(f, meant)
            }
            Self::Unbalanced { offset, meant } => {
                write!(f, "the parenthesis at offset {offset} is not matched; ")?;
                write_advice(f, meant)
            }
            Self::StrayBackslash { offset } => {
                write!(
                    f,
                    r"unexpected backslash at offset {offset}; write the path as '\Set(Instance)\Counter', with a machine as '\\Machine\Set(Instance)\Counter'"
                )
            }
        }
    }
}

impl std::error::Error for PathError {}
