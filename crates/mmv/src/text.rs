//! Sanitizes text from MMV files for display and for counter paths.

/// Trims the text, and replaces invalid UTF-8 and control characters with U+FFFD.
pub(super) fn to_readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().replace(char::is_control, "\u{fffd}")
}

/// Replaces the special characters of counter paths with `_`.
pub(super) fn for_path(name: &str) -> String {
    name.replace(['\\', '(', ')', '*', '?'], "_")
}

/// Joins PCP's short and long help text into one line.
pub(super) fn help(short: &[u8], long: &[u8]) -> String {
    let line = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").replace(char::is_control, "\u{fffd}")
    };
    let (short, long) = (line(short), line(long));
    if long.is_empty() || short == long {
        return short;
    }
    if short.is_empty() {
        return long;
    }
    match short.ends_with(['.', '!', '?', ':']) {
        true => format!("{short} {long}"),
        false => format!("{short}. {long}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(to_readable(b" a\x1b[1mb\xff "), "a\u{fffd}[1mb\u{fffd}");
        assert_eq!(for_path(r"a\b(c)*"), "a_b_c__");
    }

    #[test]
    fn help_is_one_line() {
        assert_eq!(help(b"", b""), "");
        assert_eq!(help(b"Short", b""), "Short");
        assert_eq!(help(b"", b"Long\ntext."), "Long text.");
        assert_eq!(help(b"Short", b"Long\ntext."), "Short. Long text.");
        assert_eq!(help(b"Short.", b"Long."), "Short. Long.");
        assert_eq!(help(b"Same.", b"Same.\n"), "Same.");
    }
}
