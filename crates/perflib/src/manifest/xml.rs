//! Parses the XML of a manifest. The numbers of tags, attributes and namespaces are checked first, to limit the time
//! and memory that the parser can use.

use roxmltree::{Document, Error, ParsingOptions};

use super::text::Lines;
use super::violation::{Position, Severity, Violations};

/// Maximum size of a manifest, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// Maximum number of `<`, and of `=`. The parser allocates one node or attribute for each in advance.
const MAX_MARKUP: usize = 1_000_000;
/// Maximum number of attributes of an element, because the parser compares all pairs of them. A counter needs fewer
/// than 20.
const MAX_ATTRIBUTES: usize = 64;
/// Maximum number of namespace declarations, because the parser copies all visible namespaces into each element that
/// declares a namespace.
const MAX_NAMESPACES: usize = 256;

/// Parses a text. If it is not XML, reports a violation and returns `None`.
pub(super) fn parse<'a>(
    text: &'a str,
    lines: &Lines<'_>,
    violations: &mut Violations,
) -> Option<Document<'a>> {
    let reject = |at: Position, found: String, expected: String, violations: &mut Violations| {
        violations.push(Severity::Error, at, "XML", found, expected);
    };
    if let Err((offset, found, expected)) = check_limits(text) {
        reject(lines.position(offset), found, expected, violations);
        return None;
    }
    // Document types are not allowed, because their entities can expand without bound and manifests do not need them.
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: 2 * MAX_MARKUP as u32, entity_resolver: None };
    match Document::parse_with_options(text, options) {
        Ok(document) => Some(document),
        Err(error) => {
            let at = match error {
                // The parser does not provide the position of these errors.
                Error::UnclosedRootNode | Error::UnexpectedEndOfStream => lines.position(text.len()),
                _ => Position { line: error.pos().row, column: error.pos().col },
            };
            let words = error.to_string();
            let words = words.replace(&format!(" at {}", error.pos()), "");
            // The message can contain names from the file.
            let words = words.replace(char::is_control, "?");
            reject(
                at,
                format!("broken XML ({words})"),
                "well-formed XML without a document type".to_owned(),
                violations,
            );
            None
        }
    }
}

/// The offset of the violation, and descriptions of what was found and what was expected.
type LimitExceeded = (usize, String, String);

fn check_limits(text: &str) -> Result<(), LimitExceeded> {
    for (byte, what) in [(b'<', "tags"), (b'=', "equals signs")] {
        let mut indexes = text.bytes().enumerate().filter(|(_, found)| *found == byte);
        if let Some((offset, _)) = indexes.nth(MAX_MARKUP) {
            return Err((offset, format!("more {what}"), format!("at most {MAX_MARKUP} {what}")));
        }
    }
    let mut namespaces = 0;
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find('<')).map(|index| at + index) {
        let rest = &text[offset..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
            .into_iter()
            .find_map(|(open, close)| rest.strip_prefix(open).map(|inner| (open, inner.find(close), close)));
        at = match skipped {
            Some((open, Some(end), close)) => offset + open.len() + end + close.len(),
            // The parser will report that this is not closed.
            Some((_, None, _)) => return Ok(()),
            None => offset + check_tag(rest, offset, &mut namespaces)?,
        };
    }
    Ok(())
}

/// Checks the number of attributes of a tag, and returns the tag's length.
fn check_tag(rest: &str, offset: usize, namespaces: &mut usize) -> Result<usize, LimitExceeded> {
    let mut quote = None;
    let (mut attributes, mut name_start) = (0, 1);
    for (index, byte) in rest.bytes().enumerate().skip(1) {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'=') => {
                attributes += 1;
                *namespaces += usize::from(rest.as_bytes()[name_start..index].starts_with(b"xmlns"));
            }
            (None, b' ' | b'\t' | b'\r' | b'\n') => name_start = index + 1,
            (None, b'>') => return Ok(index + 1),
            // This is not a valid tag; the parser will report it.
            (None, b'<') => return Ok(index),
            (None, _) => {}
        }
        if attributes > MAX_ATTRIBUTES {
            return Err((
                offset,
                "more attributes".into(),
                format!("at most {MAX_ATTRIBUTES} in an element"),
            ));
        }
        if *namespaces > MAX_NAMESPACES {
            return Err((offset, "more namespaces".into(), format!("at most {MAX_NAMESPACES} declared")));
        }
    }
    Ok(rest.len())
}
