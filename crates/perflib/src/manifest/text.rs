//! Decodes the text of a manifest: UTF-8 with or without a byte order mark, or UTF-16 with one.

use super::violation::{Position, Severity, Violations, quote_for_message};

/// Converts byte offsets to lines and columns.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// The offset and position of the first character at or after every `CHECKPOINT_INTERVAL`-th byte.
    checkpoints: Vec<(usize, Position)>,
}

/// The distance between checkpoints in bytes: large enough for a small table, and small enough to find positions
/// quickly if the manifest is one long line.
const CHECKPOINT_INTERVAL: usize = 512;

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut checkpoints = vec![(0, Position::START)];
        let mut at = Position::START;
        for (offset, c) in text.char_indices() {
            if offset >= checkpoints.len() * CHECKPOINT_INTERVAL {
                checkpoints.push((offset, at));
            }
            at = advance(at, c);
        }
        Self { text, checkpoints }
    }

    /// The position of the first character at or after this byte offset.
    pub(super) fn position(&self, offset: usize) -> Position {
        let index = self.checkpoints.partition_point(|(start, _)| *start <= offset).saturating_sub(1);
        let Some(&(start, mut at)) = self.checkpoints.get(index) else { return Position::START };
        for (distance, c) in self.text.get(start..).unwrap_or_default().char_indices() {
            if start + distance >= offset {
                break;
            }
            at = advance(at, c);
        }
        at
    }
}

fn advance(at: Position, c: char) -> Position {
    match c {
        '\n' => Position { line: at.line.saturating_add(1), column: 1 },
        _ => Position { line: at.line, column: at.column.saturating_add(1) },
    }
}

fn end_position(text: &str) -> Position {
    text.chars().fold(Position::START, advance)
}

/// Decodes the text of a file. If it is invalid, reports a violation and returns `None`.
pub(super) fn decode(bytes: &[u8], violations: &mut Violations) -> Option<String> {
    let (encoding, decoded) = match bytes {
        [0xFF, 0xFE, rest @ ..] => ("UTF-16", utf16(rest, u16::from_le_bytes)),
        [0xFE, 0xFF, rest @ ..] => ("UTF-16", utf16(rest, u16::from_be_bytes)),
        [b'<', 0, ..] | [0, b'<', ..] => {
            ("UTF-16", Err(decode_error(Position::START, "UTF-16 without a byte order mark")))
        }
        [0xEF, 0xBB, 0xBF, rest @ ..] => ("UTF-8", utf8(rest)),
        _ => ("UTF-8", utf8(bytes)),
    };
    match decoded {
        Ok(text) => {
            check_declaration(&text, encoding, violations);
            Some(text)
        }
        Err((at, found)) => {
            let expected = "UTF-8, or UTF-16 with a byte order mark";
            violations.push(Severity::Error, at, "characters", found, expected);
            None
        }
    }
}

/// A position, and a description of what was found there.
type DecodeError = (Position, String);

fn decode_error(at: Position, found: impl Into<String>) -> DecodeError {
    (at, found.into())
}

fn utf8(bytes: &[u8]) -> Result<String, DecodeError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|error| {
        let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        decode_error(end_position(&String::from_utf8_lossy(before)), format!("the byte {byte:#04x}"))
    })
}

fn utf16(bytes: &[u8], unit_of: fn([u8; 2]) -> u16) -> Result<String, DecodeError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    for c in char::decode_utf16(pairs.iter().map(|pair| unit_of(*pair))) {
        match c {
            Ok(c) => text.push(c),
            Err(error) => {
                let found = format!("an unpaired surrogate, {:#06x}", error.unpaired_surrogate());
                return Err(decode_error(end_position(&text), found));
            }
        }
    }
    match rest {
        [] => Ok(text),
        [..] => Err(decode_error(end_position(&text), "half of a UTF-16 unit at the end")),
    }
}

/// Checks the encoding in the XML declaration, because the XML parser of Windows rejects a wrong encoding.
fn check_declaration(text: &str, encoding: &str, violations: &mut Violations) {
    let Some(declaration) = text.strip_prefix("<?xml").and_then(|rest| rest.split("?>").next()) else {
        return;
    };
    let Some((before, value)) = declaration.split_once("encoding") else { return };
    let value = value.trim_start().strip_prefix('=').unwrap_or(value).trim_start();
    let quote = if value.starts_with('\'') { '\'' } else { '"' };
    let Some(declared) = value.strip_prefix(quote).and_then(|value| value.split(quote).next()) else {
        return;
    };
    let is_ascii = text.is_ascii() && encoding == "UTF-8";
    if declared.eq_ignore_ascii_case(encoding) || (is_ascii && declared.eq_ignore_ascii_case("US-ASCII")) {
        return;
    }
    let severity = if is_ascii { Severity::Warning } else { Severity::Error };
    let at = end_position(&text[..("<?xml".len() + before.len()).min(text.len())]);
    violations.push(
        severity,
        at,
        "XML declaration, encoding",
        quote_for_message(declared),
        format!("{encoding}, the encoding of the file"),
    );
}
