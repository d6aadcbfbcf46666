//! Texts of C: 16-bit characters of the W functions, bytes of the A functions.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A character of a text of C. A text ends at the first one that is 0.
pub(super) trait Character: Copy + Default + PartialEq + 'static {
    /// The characters of a text without its end. A zero within, which would end it early, is left out.
    fn encode(text: &str) -> Vec<Self>;

    /// The text of these characters; what is no character is replaced by U+FFFD.
    fn decode(characters: &[Self]) -> String;

    /// The same as the name of a file.
    fn path(characters: &[Self]) -> PathBuf;

    /// Adds the character to bytes as they lie in memory.
    fn append(self, bytes: &mut Vec<u8>);

    /// Whether the text ends here.
    fn is_end(self) -> bool {
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

/// UTF-8. Names of files are passed on as they are.
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

/// A text with its final zero.
pub(super) fn ended<C: Character>(text: &str) -> Vec<C> {
    let mut characters = C::encode(text);
    characters.push(C::default());
    characters
}

/// A list as C has it: texts that each end in a zero, and a zero more; an empty list is two zeros. An empty
/// text would end the list, so it is left out.
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
    fn texts_go_and_come_back() {
        for text in ["", "a", "Grüße, \u{1F600}", r"\\host\Set(instance#1)\% Counter"] {
            assert_eq!(u16::decode(&u16::encode(text)), text);
            assert_eq!(u8::decode(&u8::encode(text)), text);
            assert_eq!(ended::<u16>(text).last(), Some(&0));
        }
        assert_eq!(u16::encode("\u{1F600}"), [0xD83D, 0xDE00]);
    }

    #[test]
    fn what_is_no_character_is_replaced() {
        assert_eq!(u16::decode(&[0x61, 0xD83D, 0x62]), "a\u{FFFD}b");
        assert_eq!(u8::decode(b"a\xFFb"), "a\u{FFFD}b");
        assert_eq!(<u8 as Character>::path(b"/\xFF").as_os_str().as_bytes(), b"/\xFF");
    }

    #[test]
    fn zeros_neither_end_a_text_nor_a_list_early() {
        assert_eq!(ended::<u8>("a\0b"), b"ab\0");
        assert_eq!(list::<u8>(["a\0b", "", "\0", "c"]), b"ab\0c\0\0");
        assert_eq!(list::<u16>([""; 0]), [0, 0]);
        assert_eq!(list::<u8>([""]), [0, 0]);
    }
}
