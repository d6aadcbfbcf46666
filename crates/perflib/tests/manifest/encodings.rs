//! UTF-8 and UTF-16, with and without byte order marks.

use std::path::Path;

use tachograph_perflib::manifest::{CheckedManifest, parse};

use crate::{SHOP, good, lines};

fn check(bytes: &[u8]) -> CheckedManifest {
    parse(Path::new("x.man"), bytes)
}

fn utf16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes_of).collect()
}

#[test]
fn a_manifest_is_the_same_in_every_encoding() {
    let text = SHOP.replace("A cart", "Größe 🛒 eines Wagens");
    let manifest = good(&text);
    let with_mark = check(format!("\u{feff}{text}").as_bytes());
    assert_eq!(with_mark.manifest.as_ref(), Some(&manifest));
    let text = text.replace("UTF-8", "utf-16");
    for bytes_of in [u16::to_le_bytes, u16::to_be_bytes] {
        let checked = check(&utf16(&text, bytes_of));
        assert_eq!(lines(&checked), [""; 0]);
        assert_eq!(checked.manifest.as_ref(), Some(&manifest));
    }
}

#[track_caller]
fn rejected(bytes: &[u8], line: &str) {
    let checked = check(bytes);
    assert_eq!(lines(&checked), [line]);
    assert!(checked.manifest.is_none());
}

#[test]
fn invalid_text_is_rejected() {
    let expected = "expected UTF-8, or UTF-16 with a byte order mark";
    rejected(b"<a>\n  \xFF</a>", &format!("2:3: error: characters: found the byte 0xff, {expected}"));
    let mut odd = utf16("<a/>\n", u16::to_le_bytes);
    odd.push(0);
    rejected(&odd, &format!("2:1: error: characters: found half of a UTF-16 unit at the end, {expected}"));
    let unpaired = [&[0xFE, 0xFF, 0, b'<'][..], &[0xD8, 0x00, 0, b'a']].concat();
    rejected(&unpaired, &format!("1:2: error: characters: found an unpaired surrogate, 0xd800, {expected}"));
    let unmarked: Vec<u8> = SHOP.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let line = format!("1:1: error: characters: found UTF-16 without a byte order mark, {expected}");
    rejected(&unmarked, &line);
}

#[test]
fn a_wrong_declared_encoding_is_rejected() {
    let with_encoding = |word: &str| SHOP.replace("\"UTF-8\"", word);
    let checked = crate::check(&with_encoding("'UTF-16'"));
    let line =
        "1:21: warning: XML declaration, encoding: found 'UTF-16', expected UTF-8, the encoding of the file";
    assert_eq!(lines(&checked), [line]);
    assert!(checked.manifest.is_some());
    let checked = crate::check(
        &with_encoding("'windows-1252'").replace("A pump", "A pümp").replace("Carts.", "Wägen."),
    );
    assert_eq!(checked.violations.errors(), 1);
    assert!(checked.manifest.is_none());
    good(&with_encoding("'us-ascii'"));
    good(&SHOP.replace(" encoding=\"UTF-8\"", ""));
    // UTF-16 that declares UTF-8.
    assert_eq!(check(&utf16(SHOP, u16::to_le_bytes)).violations.errors(), 1);
}
