//! C strings: 16-bit characters in the W functions, bytes in the A functions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A character of a C string, which ends at the first NUL.
pub(super) trait Character: Copy + Default + PartialEq + 'static {
    /// Encodes a string without a terminating NUL. NUL characters within the string, which would end it, are removed.
    fn encode(text: &str) -> Vec<Self>;

    /// Decodes a string; invalid characters become U+FFFD.
    fn decode(characters: &[Self]) -> String;

    /// Decodes a file name.
    fn path(characters: &[Self]) -> PathBuf;

    /// Appends the character's bytes, in native byte order.
    fn append(self, bytes: &mut Vec<u8>);

    /// Whether this is NUL.
    fn is_nul(self) -> bool {
        self == Self::default()
    }
}

/// UTF-16.
impl Character for u16 {
    fn encode(text: &str) -> Vec<Self> {
        text.encode_utf16().filter(|unit| *unit != 0).collect()
    }

    fn decode(characters: &[Self]) -> String {
        String::from_utf16_lossy(characters)
    }

    fn path(characters: &[Self]) -> PathBuf {
        Self::decode(characters).into()
    }

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_ne_bytes());
    }
}

/// UTF-8. File names are used unchanged.
impl Character for u8 {
    fn encode(text: &str) -> Vec<Self> {
        text.bytes().filter(|byte| *byte != 0).collect()
    }

    fn decode(characters: &[Self]) -> String {
        String::from_utf8_lossy(characters).into_owned()
    }

    fn path(characters: &[Self]) -> PathBuf {
        Path::new(OsStr::from_bytes(characters)).to_owned()
    }

    fn append(self, bytes: &mut Vec<u8>) {
        bytes.push(self);
    }
}

/// Encodes a string with a terminating NUL.
pub(super) fn terminated<C: Character>(text: &str) -> Vec<C> {
    let mut characters = C::encode(text);
    characters.push(C::default());
    characters
}

/// Encodes a list: NUL-terminated strings, followed by one more NUL; an empty list is two NULs. Empty strings, which would end
/// the list, are removed.
pub(super) fn list<C: Character>(texts: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<C> {
    let mut characters = Vec::new();
    for text in texts {
        let text = C::encode(text.as_ref());
        if !text.is_empty() {
            characters.extend(text);
            characters.push(C::default());
        }
    }
    if characters.is_empty() {
        characters.push(C::default());
    }
    characters.push(C::default());
    characters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_round_trip() {
        for text in ["", "a", "Grüße, \u{1F600}", r"\\host\Set(instance#1)\% Counter"] {
            assert_eq!(u16::decode(&u16::encode(text)), text);
            assert_eq!(u8::decode(&u8::encode(text)), text);
            assert_eq!(terminated::<u16>(text).last(), Some(&0));
        }
        assert_eq!(u16::encode("\u{1F600}"), [0xD83D, 0xDE00]);
    }

    #[test]
    fn invalid_characters_are_replaced() {
        assert_eq!(u16::decode(&[0x61, 0xD83D, 0x62]), "a\u{FFFD}b");
        assert_eq!(u8::decode(b"a\xFFb"), "a\u{FFFD}b");
        assert_eq!(<u8 as Character>::path(b"/\xFF").as_os_str().as_bytes(), b"/\xFF");
    }

    #[test]
    fn nuls_and_empty_strings_are_removed_from_lists() {
        assert_eq!(terminated::<u8>("a\0b"), b"ab\0");
        assert_eq!(list::<u8>(["a\0b", "", "\0", "c"]), b"ab\0c\0\0");
        assert_eq!(list::<u16>([""; 0]), [0, 0]);
        assert_eq!(list::<u8>([""]), [0, 0]);
    }
}
