//! Counter paths: `\\machine\set(parent/instance#index)\counter`.
//!
//! A path names a machine (or leaves it out), a counter set, an instance where the set has instances, and a counter.
//! Names hold the separating characters themselves and there is no escape, so a path is read from the outside in:
//!
//! 1. `\\` begins the machine, the next `\` ends it. A single `\` begins the set.
//! 2. A `\` outside parentheses ends the set; there is no instance then. A balanced group in parentheses that a `\`
//!    follows directly is the instance; any other group belongs to the set's name.
//! 3. So an instance may hold `\`, `:`, `,` and balanced parentheses.
//! 4. All the rest is the counter. It may hold `\` only inside balanced parentheses.
//! 5. Where parentheses do not balance, the path is read from both ends: the set ends at the first `(`, and the counter
//!    begins after the last `)\` that stands outside the groups of the path's end. What is between them is the instance, so
//!    that a process named `(abc` has a path: `\Process((abc)\ID Process`.
//! 6. What the instance's text says is kept as it is: whether `a/b#2` has a parent or an index is known only to who
//!    knows the set ([`InstanceName::split`]).
//!
//! So a path can name every instance whose name is without `\`, but for those where one `)` comes too early and all others
//! balance: with `a)b(c` in it, a path reads as one of the set `Set(a)b`. A `?` in place of each parenthesis selects it.
//!
//! For shells a path may begin with `/` or `//`. Its machine ends at the next `/` or `\`. After that, `\` separates where
//! one stands outside parentheses, and a `/` is text (`/PhysicalDisk(0 C:)\Disk Reads/sec`); where none does, `/` separates,
//! and the first one outside parentheses ends the set (`/Memory/Pages/sec`). It is printed with `\`. A path that begins
//! with `\` has no other separator.
//!
//! Source: "Specifying a Counter Path" (Windows SDK); the order of reading from the tests of public parsers
//! (reference: "Paths, logs and tools of the PDH world", 1.1 to 1.3).

use std::fmt;
use std::str::FromStr;

use crate::wildcard::eq_ignore_case;

mod error;
mod pattern;

pub use error::{PathError, PathPart};
pub use pattern::PathPattern;

/// The most UTF-16 units in a path.
pub const MAX_PATH_LENGTH: usize = 2048;

/// The most UTF-16 units in the name of a machine, a set, an instance or a counter.
pub const MAX_NAME_LENGTH: usize = 1024;

/// A path to one counter, or with wildcards to several ([`PathPattern`]).
///
/// Names keep the case they were given in; comparing is done without case ([`CounterPath::eq_ignore_case`]). The fields
/// may be set freely, so that what a log holds can always be shown: a path made of names that this grammar cannot
/// express (a counter whose parentheses do not balance) is printed, but does not parse.
///
/// ```
/// use tachograph_counters::path::CounterPath;
/// let path: CounterPath = r"\\WEB1\Process(svchost#2)\% Processor Time".parse()?;
/// assert_eq!(path.machine.as_deref(), Some("WEB1"));
/// assert_eq!(path.set, "Process");
/// assert_eq!(path.instance.as_ref().map(|instance| instance.as_str()), Some("svchost#2"));
/// assert_eq!(path.counter, "% Processor Time");
/// assert_eq!(path.to_string(), r"\\WEB1\Process(svchost#2)\% Processor Time");
/// # Ok::<(), tachograph_counters::path::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterPath {
    /// The machine's name without its two backslashes; `None` where the path leaves it out.
    pub machine: Option<String>,
    /// The counter set's name.
    pub set: String,
    /// The text inside the parentheses; `None` where there are none.
    pub instance: Option<InstanceName>,
    /// The counter's name.
    pub counter: String,
}

impl CounterPath {
    /// Reads a path, in one of the two forms that the module's page describes.
    ///
    /// Wildcards are characters like others here.
    ///
    /// # Errors
    ///
    /// [`PathError`], where the text is no path or one of its names is longer than Windows allows.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Self::read(text).map_err(|error| error.with_guess(text))
    }

    /// As `parse`; the error does not yet say which path was probably meant.
    fn read(text: &str) -> Result<Self, PathError> {
        check_length(PathPart::Path, text)?;
        let leading = match text.as_bytes().first() {
            None => return Err(PathError::Empty),
            Some(&separator @ (b'\\' | b'/')) => separator,
            Some(_) => return Err(PathError::NoLeadingSeparator { meant: None }),
        };
        let (machine, set_from) = read_machine(text, leading)?;
        let separator = if has_outer_backslash(&text[set_from..]) { b'\\' } else { leading };
        let reader = Reader { text, separator };
        let (set_to, instance, counter_from) = reader.parts(set_from).or_else(|error| match error {
            error @ PathError::Unbalanced { .. } => {
                reader.parts_from_both_ends(set_from, leading).ok_or(error)
            }
            error => Err(error),
        })?;

        let set = &text[set_from..set_to];
        let counter = &text[counter_from..];
        for (part, name, offset) in
            [(PathPart::Set, set, set_from), (PathPart::Counter, counter, counter_from)]
        {
            if name.is_empty() {
                return Err(PathError::EmptyName { part, offset });
            }
            check_length(part, name)?;
        }
        if let Some(name) = machine {
            check_length(PathPart::Machine, name)?;
        }
        if let Some(name) = instance {
            check_length(PathPart::Instance, name)?;
        }
        Ok(Self {
            machine: machine.map(str::to_owned),
            set: set.to_owned(),
            instance: instance.map(InstanceName::from),
            counter: counter.to_owned(),
        })
    }

    /// Whether two paths name the same counter: all parts equal without regard to case.
    ///
    /// A path without a machine equals only one without a machine.
    #[must_use]
    pub fn eq_ignore_case(&self, other: &Self) -> bool {
        let same = |a: Option<&str>, b: Option<&str>| match (a, b) {
            (Some(a), Some(b)) => eq_ignore_case(a, b),
            (None, None) => true,
            _ => false,
        };
        eq_ignore_case(&self.counter, &other.counter)
            && eq_ignore_case(&self.set, &other.set)
            && same(
                self.instance.as_ref().map(InstanceName::as_str),
                other.instance.as_ref().map(InstanceName::as_str),
            )
            && same(self.machine.as_deref(), other.machine.as_deref())
    }
}

impl FromStr for CounterPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl fmt::Display for CounterPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(machine) = &self.machine {
            write!(f, r"\\{machine}")?;
        }
        write!(f, r"\{}", self.set)?;
        if let Some(instance) = &self.instance {
            write!(f, "({instance})")?;
        }
        write!(f, r"\{}", self.counter)
    }
}

fn check_length(part: PathPart, name: &str) -> Result<(), PathError> {
    let limit = if part == PathPart::Path { MAX_PATH_LENGTH } else { MAX_NAME_LENGTH };
    // UTF-8 never has fewer bytes than UTF-16 has units.
    if name.len() <= limit {
        return Ok(());
    }
    let length = name.encode_utf16().count();
    if length <= limit { Ok(()) } else { Err(PathError::TooLong { part, length, limit }) }
}

fn unbalanced(offset: usize) -> PathError {
    PathError::Unbalanced { offset, meant: None }
}

fn missing_counter(offset: usize) -> PathError {
    PathError::MissingCounter { offset, meant: None }
}

/// The machine, if there is one, and where the set begins.
fn read_machine(text: &str, leading: u8) -> Result<(Option<&str>, usize), PathError> {
    if text.as_bytes().get(1) != Some(&leading) {
        return Ok((None, 1));
    }
    let ends = |character| character == '\\' || (character == '/' && leading == b'/');
    match text[2..].find(ends) {
        None => Err(missing_counter(text.len())),
        Some(0) => Err(PathError::EmptyName { part: PathPart::Machine, offset: 2 }),
        Some(length) => Ok((Some(&text[2..2 + length]), 2 + length + 1)),
    }
}

/// Whether a `\` stands outside parentheses.
fn has_outer_backslash(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        byte == b'\\' && depth == 0
    })
}

/// Where the set ends, the instance, and where the counter begins.
type Parts<'a> = (usize, Option<&'a str>, usize);

/// A path being read, after its machine. All offsets are bytes from its start; separators and parentheses are ASCII, so that each of them
/// is a border between characters.
struct Reader<'a> {
    text: &'a str,
    separator: u8,
}

impl<'a> Reader<'a> {
    fn is_separator(&self, offset: usize) -> bool {
        self.text.as_bytes().get(offset) == Some(&self.separator)
    }

    /// The parts of a path whose parentheses balance.
    fn parts(&self, from: usize) -> Result<Parts<'a>, PathError> {
        let parts = self.set_and_instance(from)?;
        let (_, _, counter_from) = parts;
        self.check_counter(counter_from)?;
        Ok(parts)
    }

    /// The parts of a path whose instance has parentheses that do not balance.
    ///
    /// At most one `)\` leaves a counter: the text from an earlier one on has that `\` outside parentheses.
    fn parts_from_both_ends(&self, from: usize, leading: u8) -> Option<Parts<'a>> {
        let open = from + self.text[from..].find('(')?;
        if self.text[from..open].contains([')', '\\']) {
            return None;
        }
        // The separator that was found by parentheses that balance tells nothing here.
        let counter_from = [b'\\', leading]
            .into_iter()
            .find_map(|separator| Reader { text: self.text, separator }.counter_from_the_end(open + 1))?;
        Some((open, Some(&self.text[open + 1..counter_from - 2]), counter_from))
    }

    /// Where the counter begins: after the last `)` with a separator that stands outside the groups of the text's end, and
    /// not before an offset.
    fn counter_from_the_end(&self, from: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut depth = 0_usize;
        for at in (from + 1..bytes.len()).rev() {
            match bytes[at] {
                b')' => depth += 1,
                b'(' => depth = depth.checked_sub(1)?,
                _ if depth > 0 => {}
                _ if self.is_separator(at) && bytes[at - 1] == b')' => return Some(at + 1),
                b'\\' => return None,
                _ => {}
            }
        }
        None
    }

    fn set_and_instance(&self, from: usize) -> Result<Parts<'a>, PathError> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < bytes.len() {
            if self.is_separator(at) {
                return Ok((at, None, at + 1));
            }
            match bytes[at] {
                b'(' => {
                    let end = self.group_end(at)?;
                    if self.is_separator(end) {
                        return Ok((at, Some(&self.text[at + 1..end - 1]), end + 1));
                    }
                    at = end;
                }
                b')' => return Err(unbalanced(at)),
                _ => at += 1,
            }
        }
        Err(missing_counter(bytes.len()))
    }

    fn check_counter(&self, from: usize) -> Result<(), PathError> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < bytes.len() {
            match bytes[at] {
                b'(' => at = self.group_end(at)?,
                b')' => return Err(unbalanced(at)),
                b'\\' => return Err(PathError::StrayBackslash { offset: at }),
                _ => at += 1,
            }
        }
        Ok(())
    }

    /// The offset after the `)` that balances the `(` at an offset.
    fn group_end(&self, open: usize) -> Result<usize, PathError> {
        let mut depth = 0_usize;
        for (offset, byte) in self.text.bytes().enumerate().skip(open) {
            match byte {
                b'(' => depth += 1,
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(offset + 1);
                    }
                }
                _ => {}
            }
        }
        Err(unbalanced(open))
    }
}

/// The name of an instance as a path shows it: `name`, `name#index`, `parent/name`, `parent/name#index`.
///
/// The text is kept verbatim, since only the counter set tells what it means: Linux names hold `/` where there is no
/// parent, and a name can itself end in `#2`. So look the whole text up first, and what [`InstanceName::split`] makes
/// of it afterwards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceName(String);

impl InstanceName {
    /// The form in which the `index`-th instance (from 0) of a name is shown: the first has no `#0`.
    ///
    /// ```
    /// use tachograph_counters::path::InstanceName;
    /// assert_eq!(InstanceName::from_parts(None, "svchost", 0).as_str(), "svchost");
    /// assert_eq!(InstanceName::from_parts(Some("explorer"), "7", 2).as_str(), "explorer/7#2");
    /// ```
    #[must_use]
    pub fn from_parts(parent: Option<&str>, name: &str, index: u32) -> Self {
        let mut text = String::with_capacity(parent.map_or(0, |parent| parent.len() + 1) + name.len());
        if let Some(parent) = parent {
            text.push_str(parent);
            text.push('/');
        }
        text.push_str(name);
        if index > 0 {
            text.push('#');
            text.push_str(&index.to_string());
        }
        Self(text)
    }

    /// The whole text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parent, name and index (from 0).
    ///
    /// The first `/` ends the parent, where the set has parents (`has_parent`); what follows is split by
    /// [`split_index`]. Put together again ([`InstanceName::from_parts`]), they are the same text.
    ///
    /// ```
    /// use tachograph_counters::path::InstanceName;
    /// let instance = InstanceName::from("explorer/7#2");
    /// assert_eq!(instance.split(true), (Some("explorer"), "7", 2));
    /// assert_eq!(instance.split(false), (None, "explorer/7", 2));
    /// ```
    #[must_use]
    pub fn split(&self, has_parent: bool) -> (Option<&str>, &str, u32) {
        let (parent, rest) = match self.0.split_once('/') {
            Some((parent, rest)) if has_parent => (Some(parent), rest),
            _ => (None, self.0.as_str()),
        };
        let (name, index) = split_index(rest);
        (parent, name, index)
    }
}

/// The name and the index (from 0) of an instance, given without its parent: `svchost#3` is number 3 of `svchost`.
///
/// A text that no recorder would write for a number is a name of its own, with index 0: where nothing or a blank stands
/// before the `#` (`Adapter #2` is how Windows names its second adapter of a kind), and where zeros lead the number
/// (`#0` is never written) or it does not fit 32 bits.
///
/// ```
/// use tachograph_counters::path::split_index;
/// assert_eq!(split_index("svchost#3"), ("svchost", 3));
/// assert_eq!(split_index("Adapter #2"), ("Adapter #2", 0));
/// ```
#[must_use]
pub fn split_index(text: &str) -> (&str, u32) {
    let Some((name, digits)) = text.rsplit_once('#') else { return (text, 0) };
    let counts = !name.is_empty()
        && !name.ends_with(' ')
        && !digits.starts_with('0')
        // `parse` alone would take a leading plus sign.
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(index) if counts => (name, index),
        _ => (text, 0),
    }
}

impl From<&str> for InstanceName {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for InstanceName {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl AsRef<str> for InstanceName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InstanceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
