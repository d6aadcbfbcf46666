//! Excerpts of files for messages, safe to print on a terminal.

use std::fmt::Write as _;

const MAX_CHARACTERS: usize = 48;

/// Maximum bytes of a hexadecimal excerpt.
const MAX_BYTES: usize = 16;

/// The start of a text in `'...'`, on one line. Control and direction characters are escaped.
pub(super) fn of_text(text: &str) -> String {
    let mut excerpt = String::from("'");
    let mut characters = text.chars();
    for character in characters.by_ref().take(MAX_CHARACTERS) {
        match character {
            '\t' => excerpt.push_str(r"\t"),
            '\r' => excerpt.push_str(r"\r"),
            '\n' => excerpt.push_str(r"\n"),
            _ if is_unprintable(character) => excerpt.extend(character.escape_unicode()),
            _ => excerpt.push(character),
        }
    }
    if characters.next().is_some() {
        excerpt.push_str("...");
    }
    excerpt.push('\'');
    excerpt
}

/// The start of a cell, with invalid UTF-8 replaced and without the CR of a CR LF.
pub(super) fn of_cell(cell: &[u8]) -> String {
    let cell = cell.strip_suffix(b"\r").unwrap_or(cell);
    // A character has at most four bytes, so this prefix is long enough.
    of_text(&String::from_utf8_lossy(&cell[..cell.len().min(4 * MAX_CHARACTERS + 4)]))
}

/// The start of a binary file: `the bytes d0 cf 11 e0 ...`.
pub(super) fn of_bytes(bytes: &[u8]) -> String {
    let mut excerpt = String::from("the bytes");
    for byte in bytes.iter().take(MAX_BYTES) {
        // Writing into a String cannot fail.
        let _ = write!(excerpt, " {byte:02x}");
    }
    if bytes.len() > MAX_BYTES {
        excerpt.push_str(" ...");
    }
    excerpt
}

/// Whether a decoded text has no control characters and no replacement characters.
pub(super) fn is_readable(text: &str) -> bool {
    !text.chars().any(|character| {
        (character.is_control() && !matches!(character, '\t' | '\r' | '\n')) || character == '\u{fffd}'
    })
}

fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

#[cfg(test)]
mod tests {
    use super::{is_readable, of_bytes, of_cell, of_text};

    #[test]
    fn excerpts_are_escaped_and_truncated() {
        assert_eq!(of_text("a\tb\r\n\u{1b}[2J\u{202e}ü\\"), r"'a\tb\r\n\u{1b}[2J\u{202e}ü\'");
        assert_eq!(of_cell(b"12\xff\r"), "'12\u{fffd}'");
        assert_eq!(of_text(&"x".repeat(49)), format!("'{}...'", "x".repeat(48)));
        assert_eq!(of_bytes(&[0, 255]), "the bytes 00 ff");
        assert!(of_bytes(&[7; 17]).ends_with("07 ..."));
        assert!(is_readable("a\tb\r\n") && !is_readable("a\0"));
    }
}
