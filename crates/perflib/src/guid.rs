//! GUIDs of counter sets and providers.

use std::fmt;
use std::str::FromStr;

/// A GUID, as Windows keeps it: 16 bytes, the first three fields little-endian.
///
/// ```
/// use tachograph_perflib::Guid;
///
/// let guid: Guid = "{b4fc721a-0378-476f-89ba-a5a79f810b36}".parse()?;
/// assert_eq!(guid.to_bytes()[..4], [0x1A, 0x72, 0xFC, 0xB4]);
/// assert_eq!(guid.to_string(), "{b4fc721a-0378-476f-89ba-a5a79f810b36}");
/// # Ok::<(), tachograph_perflib::GuidError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guid(uuid::Uuid);

/// The text is no GUID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuidError {
    text: Box<str>,
}

impl Guid {
    /// The GUID of these 16 bytes as they stand in a block.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(uuid::Uuid::from_bytes_le(bytes))
    }

    /// The GUID whose text, read as one hexadecimal number, is this one.
    pub const fn from_u128(number: u128) -> Self {
        Self(uuid::Uuid::from_u128(number))
    }

    /// The 16 bytes as they stand in a block.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes_le()
    }
}

/// `{b4fc721a-0378-476f-89ba-a5a79f810b36}`.
impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.braced())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// With or without braces.
impl FromStr for Guid {
    type Err = GuidError;

    fn from_str(text: &str) -> Result<Self, GuidError> {
        uuid::Uuid::parse_str(text).map(Self).map_err(|_| GuidError { text: text.into() })
    }
}

impl fmt::Display for GuidError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no GUID such as {{b4fc721a-0378-476f-89ba-a5a79f810b36}}", self.text)
    }
}

impl std::error::Error for GuidError {}
