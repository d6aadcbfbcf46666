//! Why a text is no counter path, and how to write it instead.

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

/// Why a text is no counter path. Offsets are bytes from the start of the text.
///
/// The message is one sentence and says what to write. Where it can guess what a shell made of the path (an unquoted
/// backslash is eaten, a parenthesis ends a word), it shows the quoted form to use.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// There is no text.
    Empty,
    /// The path or a name in it is longer than Windows allows.
    TooLong {
        /// What is too long.
        part: PathPart,
        /// Its length in UTF-16 units.
        length: usize,
        /// The greatest length, in UTF-16 units.
        limit: usize,
    },
    /// The text begins neither with `\` nor with `/`.
    NoLeadingSeparator {
        /// The path that was probably meant, if it can be guessed.
        meant: Option<String>,
    },
    /// A name that a path cannot do without is empty.
    EmptyName {
        /// Whose name.
        part: PathPart,
        /// Where it should stand.
        offset: usize,
    },
    /// The text ends before a separator and a counter.
    MissingCounter {
        /// Where the text ends.
        offset: usize,
        /// The path that was probably meant, if it can be guessed.
        meant: Option<String>,
    },
    /// A parenthesis has no partner.
    Unbalanced {
        /// Where the parenthesis stands.
        offset: usize,
        /// The path that was probably meant, if it can be guessed.
        meant: Option<String>,
    },
    /// A backslash that separates nothing, outside parentheses.
    StrayBackslash {
        /// Where it stands.
        offset: usize,
    },
}

impl PathError {
    /// Adds the path that was probably meant, where the error has a place for it.
    pub(super) fn with_guess(mut self, text: &str) -> Self {
        if let Self::NoLeadingSeparator { meant }
        | Self::MissingCounter { meant, .. }
        | Self::Unbalanced { meant, .. } = &mut self
        {
            *meant = guess(text);
        }
        self
    }

    /// Where in the text the fault is, in bytes from its start.
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

/// The path that a damaged one was probably made from: backslashes put back at the start and after a `)`, or a `)` put
/// back before the last separator. Nothing is suggested that is no path.
fn guess(text: &str) -> Option<String> {
    let separators = ['\\', '/'];
    let start = text.trim_start_matches(separators);
    let is_path = |candidate: &String| CounterPath::read(candidate).is_ok();

    let led = format!(r"\{start}");
    if !text.starts_with(separators) && is_path(&led) {
        return Some(led);
    }
    // Names with more groups than this are not worth guessing at.
    for (close, _) in start.match_indices(')').take(8) {
        let (set, counter) = start.split_at(close + 1);
        let parted = format!(r"\{set}\{}", counter.trim_start_matches(separators));
        if is_path(&parted) {
            return Some(parted);
        }
    }
    let separator = if text.starts_with('/') && !start.contains('\\') { '/' } else { '\\' };
    let (set, counter) = start.rsplit_once(separator)?;
    let closed = format!(r"\{set})\{counter}");
    is_path(&closed).then_some(closed)
}

/// A text between single quotes as a shell takes it. Control characters are not passed on to a terminal.
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
        let quote_it = |f: &mut fmt::Formatter<'_>, meant: &Option<String>| {
            let meant = meant.as_deref().unwrap_or(r"\Set(Instance)\Counter");
            write!(f, "quote it: {}", Quoted(meant))
        };
        match self {
            Self::Empty => f.write_str(r"the counter path is empty; write one as '\Set(Instance)\Counter'"),
            Self::TooLong { part, length, limit } => {
                write!(f, "the {} has {length} characters, and at most {limit} are allowed", part.name())
            }
            Self::NoLeadingSeparator { meant } => {
                f.write_str(
                    r"a counter path begins with '\', and a shell takes the backslashes out of an unquoted one; ",
                )?;
                quote_it(f, meant)
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
                    r"the counter path ends at offset {offset} before a '\' and the counter's name, and a shell takes the backslashes out of an unquoted one; "
                )?;
                quote_it(f, meant)
            }
            Self::Unbalanced { offset, meant } => {
                write!(f, "the parenthesis at offset {offset} has no partner; ")?;
                quote_it(f, meant)
            }
            Self::StrayBackslash { offset } => {
                write!(
                    f,
                    r"the backslash at offset {offset} is one too many; write the path as '\Set(Instance)\Counter', with a machine as '\\Machine\Set(Instance)\Counter'"
                )
            }
        }
    }
}

impl std::error::Error for PathError {}
