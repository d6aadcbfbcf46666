//! Strings in blocks: UTF-16LE, terminated by a NUL.

use std::fmt;

/// Maximum length of the name of an instance, set or counter, in UTF-16 units without the terminating NUL.
#[doc(alias = "PERF_MAX_INSTANCE_NAME")]
pub const MAX_NAME_UNITS: usize = tachograph_schema::CounterSetInfo::MAX_NAME;

/// A UTF-16LE string, borrowed from a block, without its terminating NUL.
///
/// Invalid UTF-16 is replaced by U+FFFD when the text is displayed or compared with a `str`. Control characters are
/// kept: callers that write to a terminal must escape them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Text<'a> {
    /// An even number of bytes, in which no unit is 0.
    bytes: &'a [u8],
}

impl<'a> Text<'a> {
    /// The text up to the first NUL; `None` if there is no NUL.
    pub(crate) fn until_nul(bytes: &'a [u8]) -> Option<Self> {
        let (units, _) = bytes.as_chunks::<2>();
        let length = units.iter().position(|unit| *unit == [0, 0])?;
        Some(Self { bytes: &bytes[..2 * length] })
    }

    /// The UTF-16 units.
    pub fn units(self) -> impl ExactSizeIterator<Item = u16> + Clone + use<'a> {
        let (units, _) = self.bytes.as_chunks::<2>();
        units.iter().map(|unit| u16::from_le_bytes(*unit))
    }

    /// The characters.
    pub fn chars(self) -> impl Iterator<Item = char> + Clone + use<'a> {
        char::decode_utf16(self.units()).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// The length in UTF-16 units.
    pub fn len(self) -> usize {
        self.bytes.len() / 2
    }

    /// Whether the text is empty.
    pub fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends the text to a string.
    pub fn push_to(self, out: &mut String) {
        out.extend(self.chars());
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        self.chars().try_for_each(|c| f.write_char(c))
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.chars().eq(other.chars())
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self == *other
    }
}

/// Appends a string in UTF-16LE and a terminating NUL. The string is truncated at a character boundary to at most
/// `max_units` units. NULs inside the string are skipped.
pub(crate) fn push_text(out: &mut Vec<u8>, text: &str, max_units: usize) {
    let mut units = 0;
    for c in text.chars().filter(|&c| c != '\0') {
        units += c.len_utf16();
        if units > max_units {
            break;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            out.extend_from_slice(&unit.to_le_bytes());
        }
    }
    out.extend_from_slice(&[0, 0]);
}

/// An upper bound for the number of bytes that [`push_text`] and the padding to a multiple of 8 append for a name.
pub(crate) fn name_bytes_bound(name: &str) -> usize {
    2 * (name.len().min(MAX_NAME_UNITS) + 1) + 8
}
