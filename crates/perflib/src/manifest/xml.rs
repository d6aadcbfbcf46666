//! The XML of a manifest as a tree, after a look that keeps the parser from work or memory beyond a bound.

use roxmltree::{Document, Error, ParsingOptions};

use super::text::Lines;
use super::violation::{Position, Severity, Violations};

/// The largest manifest, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// How many tags, comments and the like, and how many `=` a manifest has at most: the parser makes room for that many
/// nodes and attributes before it reads.
const MAX_MARKUP: usize = 1_000_000;
/// The parser compares each attribute of an element with each other. A counter has sixteen.
const MAX_ATTRIBUTES: usize = 64;
/// The parser copies the namespaces in force into each element that declares one.
const MAX_NAMESPACES: usize = 256;

/// The tree of a text. Violations, and nothing where it is no XML.
pub(super) fn parse<'a>(
    text: &'a str,
    lines: &Lines<'_>,
    violations: &mut Violations,
) -> Option<Document<'a>> {
    let wrong = |at: Position, found: String, expected: String, violations: &mut Violations| {
        violations.push(Severity::Error, at, "XML", found, expected);
    };
    if let Err((offset, found, expected)) = check_bounds(text) {
        wrong(lines.position(offset), found, expected, violations);
        return None;
    }
    // Definitions of entities can make much of little; no manifest has any.
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: 2 * MAX_MARKUP as u32, entity_resolver: None };
    match Document::parse_with_options(text, options) {
        Ok(document) => Some(document),
        Err(error) => {
            let at = match error {
                // The parser has no place for these.
                Error::UnclosedRootNode | Error::UnexpectedEndOfStream => lines.position(text.len()),
                _ => Position { line: error.pos().row, column: error.pos().col },
            };
            let words = error.to_string();
            let words = words.replace(&format!(" at {}", error.pos()), "");
            // Names in it are as they stand in the file.
            let words = words.replace(char::is_control, "?");
            wrong(
                at,
                format!("broken XML ({words})"),
                "well-formed XML without a document type".to_owned(),
                violations,
            );
            None
        }
    }
}

type TooMuch = (usize, String, String);

fn check_bounds(text: &str) -> Result<(), TooMuch> {
    for (byte, what) in [(b'<', "tags"), (b'=', "equals signs")] {
        let mut places = text.bytes().enumerate().filter(|(_, found)| *found == byte);
        if let Some((offset, _)) = places.nth(MAX_MARKUP) {
            return Err((offset, format!("more {what}"), format!("at most {MAX_MARKUP} {what}")));
        }
    }
    let mut namespaces = 0;
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find('<')).map(|place| at + place) {
        let rest = &text[offset..];
        let skipped = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")]
            .into_iter()
            .find_map(|(open, close)| rest.strip_prefix(open).map(|inner| (open, inner.find(close), close)));
        at = match skipped {
            Some((open, Some(end), close)) => offset + open.len() + end + close.len(),
            // Not closed: the parser says so.
            Some((_, None, _)) => return Ok(()),
            None => offset + check_tag(rest, offset, &mut namespaces)?,
        };
    }
    Ok(())
}

/// Counts the attributes of a tag; gives its length.
fn check_tag(rest: &str, offset: usize, namespaces: &mut usize) -> Result<usize, TooMuch> {
    let mut quote = None;
    let (mut attributes, mut name_start) = (0, 1);
    for (place, byte) in rest.bytes().enumerate().skip(1) {
        match (quote, byte) {
            (Some(open), _) if open == byte => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'=') => {
                attributes += 1;
                *namespaces += usize::from(rest.as_bytes()[name_start..place].starts_with(b"xmlns"));
            }
            (None, b' ' | b'\t' | b'\r' | b'\n') => name_start = place + 1,
            (None, b'>') => return Ok(place + 1),
            // No tag after all: the parser says so.
            (None, b'<') => return Ok(place),
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
