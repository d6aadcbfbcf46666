//! Writes strings, GUIDs and comments in C.

use std::fmt::Write as _;

use crate::Guid;

/// A GUID as a C initializer: `{ 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, ... } }`.
pub(super) fn guid(guid: Guid) -> String {
    let bytes = guid.to_bytes();
    let [a0, a1, a2, a3, b0, b1, c0, c1, rest @ ..] = bytes;
    let rest: Vec<_> = rest.iter().map(|byte| format!("{byte:#04x}")).collect();
    format!(
        "{{ {:#010x}, {:#06x}, {:#06x}, {{ {} }} }}",
        u32::from_le_bytes([a0, a1, a2, a3]),
        u16::from_le_bytes([b0, b1]),
        u16::from_le_bytes([c0, c1]),
        rest.join(", ")
    )
}

/// The contents of a C string literal for a string, in ASCII.
pub(super) fn string_literal(text: &str) -> String {
    let mut literal = String::new();
    for c in text.chars() {
        let code = u32::from(c);
        // Writing to a string cannot fail.
        let _ = match c {
            // The question mark is escaped to avoid trigraphs.
            '"' | '\\' | '?' => write!(literal, "\\{c}"),
            ' '..='~' => write!(literal, "{c}"),
            _ if code < 0xA0 => write!(literal, "\\{code:03o}"),
            _ if code < 0x1_0000 => write!(literal, "\\u{code:04x}"),
            _ => write!(literal, "\\U{code:08x}"),
        };
    }
    literal
}

/// A string in a form that is safe in a C comment: one line, without comment delimiters and invisible characters.
pub(super) fn comment_text(text: &str) -> String {
    let is_visible = |c: char| c.escape_debug().len() == 1 || matches!(c, '\'' | '"' | '\\');
    let visible: String = text
        .chars()
        .map(|c| {
            if c.is_whitespace() {
                ' '
            } else if is_visible(c) {
                c
            } else {
                '?'
            }
        })
        .collect();
    let words: Vec<_> = visible.split_ascii_whitespace().collect();
    words.join(" ").replace("*/", "* /").replace("/*", "/ *")
}

/// The name of the include guard for a file.
pub(super) fn include_guard(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    format!("TACHO_MANIFEST_{}_H", letters.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_and_comments_are_escaped() {
        assert_eq!(
            string_literal("\"a\\??/\n\u{85}é€🛒"),
            r#"\"a\\\?\?/\012\205\u00e9\u20ac\U0001f6cd"#.replace("cd", "d2")
        );
        assert_eq!(comment_text("a */ b /* c\n\t\u{202e}d 'x' \\ é"), "a * / b / * c ?d 'x' \\ é");
        assert_eq!(comment_text("*//*/"), "* // * /");
        assert_eq!(include_guard("a-b.man"), "TACHO_MANIFEST_A_B_MAN_H");
        let literal = guid(Guid::from_u128(0x6a1f5d0c_3b2e_4c57_9d3a_0f2c8d1e7a40));
        assert_eq!(
            literal,
            "{ 0x6a1f5d0c, 0x3b2e, 0x4c57, { 0x9d, 0x3a, 0x0f, 0x2c, 0x8d, 0x1e, 0x7a, 0x40 } }"
        );
    }
}
