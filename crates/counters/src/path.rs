//! Counter paths: `\\machine\set(parent/instance#index)\counter`.
//!
//! A path has an optional machine, a counter set, an instance if the set has instances, and a counter. Names can
//! contain separators, and there is no escape character. Paths are parsed by these rules:
//!
//! 1. `\\` begins the machine, and the next `\` ends it. A single `\` begins the set.
//! 2. A `\` outside parentheses ends the set. If a balanced group in parentheses directly precedes this `\`, the group is
//!    the instance; any other group is part of the set's name.
//! 3. An instance can therefore contain `\`, `:`, `,` and balanced parentheses.
//! 4. The rest is the counter. It can contain `\` only inside balanced parentheses.
//! 5. If parentheses do not balance, the path is parsed from both ends: the set ends at the first `(`, and the counter
//!    begins after the last `)\` that is not inside parentheses of the counter. The text between these two places is
//!    the instance. This way, a process named `(abc` has a path: `\Process((abc)\ID Process`.
//! 6. The text of the instance is not interpreted. Only the set determines whether `a/b#2` has a parent or an index
//!    ([`InstanceName::split`]).
//!
//! Every instance without a `\` has a path, with one exception: if the instance has as many `(` as `)`, but a `)` has no
//! `(` before it, as in `a)b(c`, the path is parsed as one of the set `Set(a)b`. Such an instance can be
//! selected with a `?` in place of each parenthesis.
//!
//! For convenience in shells, a path can begin with `/` or `//` instead. Its machine ends at the next `/` or `\`. If
//! there is a `\` outside parentheses after that, `\` is the separator and `/` is text (`/PhysicalDisk(0 C:)\Disk
//! Reads/sec`). Otherwise `/` is the separator, and the first one outside parentheses ends the set
//! (`/Memory/Pages/sec`). Paths are always printed with `\`. In a path that begins with `\`, `\` is the only separator.
//!
//! Source: "Specifying a Counter Path" (Windows SDK). The order in which the parts are parsed is based on the tests of
//! public parsers (reference: "Paths, logs and tools of the PDH world", 1.1 to 1.3).

use std::fmt;
use std::str::FromStr;

use crate::wildcard::eq_ignore_case;

mod error;
mod pattern;

pub use error::{PathError, PathPart};
pub use pattern::PathPattern;

/// Maximum number of UTF-16 units in a path.
pub const MAX_PATH_LENGTH: usize = 2048;

/// Maximum number of UTF-16 units in the name of a machine, a set, an instance or a counter.
pub const MAX_NAME_LENGTH: usize = 1024;

/// The path of a counter, or of several counters if it has wildcards ([`PathPattern`]).
///
/// Names keep their case; [`CounterPath::eq_ignore_case`] ignores it. The fields can have any content, so that the
/// names in any log can be displayed. A path that the grammar does not allow, such as one with a counter whose
/// parentheses do not balance, can be printed but not parsed.
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
    /// The machine's name without its two backslashes.
    pub machine: Option<String>,
    /// The counter set's name.
    pub set: String,
    /// The text inside the parentheses.
    pub instance: Option<InstanceName>,
    /// The counter's name.
    pub counter: String,
}

impl CounterPath {
    /// Parses a path in one of the two forms that [the module](self) describes. Wildcards are ordinary characters.
    ///
    /// # Errors
    ///
    /// [`PathError`] if the text is not a path or a name is longer than Windows allows.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Self::parse_without_guess(text).map_err(|error| error.with_guess(text))
    }

    /// Like `parse`, but the error does not suggest a path.
    fn parse_without_guess(text: &str) -> Result<Self, PathError> {
        check_length(PathPart::Path, text)?;
        let leading = match text.as_bytes().first() {
            None => return Err(PathError::Empty),
            Some(&separator @ (b'\\' | b'/')) => separator,
            Some(_) => return Err(PathError::NoLeadingSeparator { meant: None }),
        };
        let (machine, set_from) = read_machine(text, leading)?;
        let separator = if has_outer_backslash(&text[set_from..]) { b'\\' } else { leading };
        let reader = Reader { text, separator };
        let (set_to, instance, counter_from) = reader.split(set_from).or_else(|error| match error {
            error @ PathError::Unbalanced { .. } => {
                reader.split_from_both_ends(set_from, leading).ok_or(error)
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

    /// Whether two paths name the same counter, that is, all parts are equal, ignoring case. A path without a machine
    /// is not equal to one with a machine.
    #[must_use]
    pub fn eq_ignore_case(&self, other: &Self) -> bool {
        let equal_ignore_case = |a: Option<&str>, b: Option<&str>| match (a, b) {
            (Some(a), Some(b)) => eq_ignore_case(a, b),
            (None, None) => true,
            _ => false,
        };
        eq_ignore_case(&self.counter, &other.counter)
            && eq_ignore_case(&self.set, &other.set)
            && equal_ignore_case(
                self.instance.as_ref().map(InstanceName::as_str),
                other.instance.as_ref().map(InstanceName::as_str),
            )
            && equal_ignore_case(self.machine.as_deref(), other.machine.as_deref())
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

/// Checks the length of the path or of a name in it, in UTF-16 units.
fn check_length(part: PathPart, name: &str) -> Result<(), PathError> {
    let limit = if part == PathPart::Path { MAX_PATH_LENGTH } else { MAX_NAME_LENGTH };
    // A string never has fewer bytes in UTF-8 than units in UTF-16.
    if name.len() <= limit {
        return Ok(());
    }
    let length = name.encode_utf16().count();
    if length <= limit { Ok(()) } else { Err(PathError::TooLong { part, length, limit }) }
}

fn unbalanced_parenthesis(offset: usize) -> PathError {
    PathError::Unbalanced { offset, meant: None }
}

fn missing_counter(offset: usize) -> PathError {
    PathError::MissingCounter { offset, meant: None }
}

/// The machine, if any, and the offset of the set. `leading` is the first character of the path.
fn read_machine(text: &str, leading: u8) -> Result<(Option<&str>, usize), PathError> {
    if text.as_bytes().get(1) != Some(&leading) {
        return Ok((None, 1));
    }
    let is_end = |character| character == '\\' || (character == '/' && leading == b'/');
    match text[2..].find(is_end) {
        None => Err(missing_counter(text.len())),
        Some(0) => Err(PathError::EmptyName { part: PathPart::Machine, offset: 2 }),
        Some(length) => Ok((Some(&text[2..2 + length]), 2 + length + 1)),
    }
}

/// Whether there is a `\` outside parentheses.
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

/// The end of the set, the instance, and the start of the counter.
type Parts<'a> = (usize, Option<&'a str>, usize);

/// Parses a path after its machine. Offsets are in bytes from the start of the path. Separators and parentheses are
/// ASCII, so their offsets are character boundaries.
struct Reader<'a> {
    text: &'a str,
    separator: u8,
}

impl<'a> Reader<'a> {
    fn is_separator(&self, offset: usize) -> bool {
        self.text.as_bytes().get(offset) == Some(&self.separator)
    }

    /// Splits a path whose parentheses balance.
    fn split(&self, from: usize) -> Result<Parts<'a>, PathError> {
        let parts = self.split_set_and_instance(from)?;
        let (_, _, counter_from) = parts;
        self.check_counter(counter_from)?;
        Ok(parts)
    }

    /// Splits a path whose instance has unbalanced parentheses. The instance ends at the last `)\` that is outside a
    /// group in parentheses: if it ended earlier, the counter would contain a `\` outside parentheses.
    fn split_from_both_ends(&self, from: usize, leading: u8) -> Option<Parts<'a>> {
        let open = from + self.text[from..].find('(')?;
        if self.text[from..open].contains([')', '\\']) {
            return None;
        }
        // `self.separator` may be wrong, since it was chosen as if parentheses were balanced.
        let counter_from = [b'\\', leading]
            .into_iter()
            .find_map(|separator| Reader { text: self.text, separator }.find_counter_backwards(open + 1))?;
        Some((open, Some(&self.text[open + 1..counter_from - 2]), counter_from))
    }

    /// Searches backwards from the end of the text, skipping groups in parentheses, for a `)` that is at or after
    /// `from` and directly precedes a separator. Returns the offset after the separator, where the counter starts.
    fn find_counter_backwards(&self, from: usize) -> Option<usize> {
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

    /// Splits off the set and the instance, which end at the first separator outside parentheses.
    fn split_set_and_instance(&self, from: usize) -> Result<Parts<'a>, PathError> {
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
                b')' => return Err(unbalanced_parenthesis(at)),
                _ => at += 1,
            }
        }
        Err(missing_counter(bytes.len()))
    }

    /// Checks that parentheses balance in the counter, and that there is no `\` outside them.
    fn check_counter(&self, from: usize) -> Result<(), PathError> {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < bytes.len() {
            match bytes[at] {
                b'(' => at = self.group_end(at)?,
                b')' => return Err(unbalanced_parenthesis(at)),
                b'\\' => return Err(PathError::StrayBackslash { offset: at }),
                _ => at += 1,
            }
        }
        Ok(())
    }

    /// The offset after the `)` that balances the `(` at `open`.
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
        Err(unbalanced_parenthesis(open))
    }
}

/// The name of an instance in a path: `name`, `name#index`, `parent/name`, `parent/name#index`.
///
/// The text is stored verbatim, since it is ambiguous: on Linux, names without a parent can contain `/`, and a name can
/// end in `#2`. Callers should look up the whole text first, and then the result of [`InstanceName::split`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceName(String);

impl InstanceName {
    /// The text for the `index`-th instance (from 0) with this name. `#0` is omitted.
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

    /// Splits the text into parent, name and index (from 0).
    ///
    /// With `has_parent`, the parent ends at the first `/`. The rest is split by [`split_index`].
    /// [`InstanceName::from_parts`] joins the parts to the same text again.
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

/// Splits the name of an instance, without its parent, into name and index (from 0): `svchost#3` has index 3.
///
/// The whole text is the name, with index 0, if no recorder writes such an index: nothing or a blank precedes the `#`
/// (Windows names a second network adapter `Adapter #2`), or the index has leading zeros or does not fit into 32 bits.
///
/// ```
/// use tachograph_counters::path::split_index;
/// assert_eq!(split_index("svchost#3"), ("svchost", 3));
/// assert_eq!(split_index("Adapter #2"), ("Adapter #2", 0));
/// ```
#[must_use]
pub fn split_index(text: &str) -> (&str, u32) {
    let Some((name, digits)) = text.rsplit_once('#') else { return (text, 0) };
    let is_index = !name.is_empty()
        && !name.ends_with(' ')
        && !digits.starts_with('0')
        // Needed because `parse` accepts a leading plus sign.
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    match digits.parse() {
        Ok(index) if is_index => (name, index),
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
