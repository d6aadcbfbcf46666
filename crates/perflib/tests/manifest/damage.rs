//! Hostile manifests: truncated, huge, or with flipped bits.

use std::path::Path;
use std::time::{Duration, Instant};

use tachograph_perflib::manifest::{MAX_BYTES, MAX_LISTED, Position, parse};

use crate::{KERNEL, SHOP, check, lines};

/// A manifest is complete without its trailing white space; every shorter prefix is rejected.
#[test]
fn truncated_manifests_are_rejected() {
    for text in [SHOP, KERNEL] {
        let end = text.trim_end().len();
        for cut in 0..end {
            let checked = parse(Path::new("x.man"), &text.as_bytes()[..cut]);
            assert!(checked.manifest.is_none() && checked.violations.errors() > 0, "cut at {cut}");
        }
    }
}

#[test]
fn flipped_bits_cause_no_panic() {
    flip(KERNEL, |_| 0..8);
    // To save time, only two bits of each byte are flipped, in turn, so that every bit of repeated words is flipped somewhere.
    flip(SHOP, |index| index as u32 % 7..index as u32 % 7 + 2);
}

fn flip(text: &str, bits: fn(usize) -> std::ops::Range<u32>) {
    let mut bytes = text.as_bytes().to_vec();
    let (mut rejected, mut count) = (0, 0);
    for index in 0..bytes.len() {
        for bit in bits(index) {
            count += 1;
            bytes[index] ^= 1 << bit;
            let checked = parse(Path::new("x.man"), &bytes);
            assert_eq!(checked.manifest.is_none(), checked.violations.errors() > 0, "{index}, bit {bit}");
            rejected += usize::from(checked.manifest.is_none());
            if let Some(manifest) = checked.manifest {
                manifest.counter_sets().for_each(|set| set.check().expect("valid set"));
            }
            bytes[index] ^= 1 << bit;
        }
    }
    // Most bytes of a manifest belong to names of elements and attributes, where a flipped bit is an error.
    assert!(rejected * 2 > count, "{rejected} of {count}");
}

#[test]
fn entities_are_rejected() {
    let bomb = "<!DOCTYPE a [<!ENTITY a \"xxxxxxxxxx\"><!ENTITY b \"&a;&a;&a;\">]>";
    let checked = check(&SHOP.replacen("<!--", &format!("{bomb}<!--"), 1));
    assert_eq!(checked.violations.errors(), 1);
    assert!(lines(&checked)[0].ends_with("expected well-formed XML without a document type"), "{checked:?}");
    let outside = SHOP.replace("Carts by kind.", "&xxe;");
    assert!(lines(&check(&outside))[0].contains("unknown entity reference 'xxe'"));
}

/// Documents for which the parser would need more than linear time or memory.
#[test]
fn documents_with_too_much_markup_are_rejected() {
    let wrap = |inside: String| {
        format!(
            "<instrumentationManifest><instrumentation>{inside}</instrumentation></instrumentationManifest>"
        )
    };
    let attributes: String = (0..65).map(|n| format!(" a{n}='<'")).collect();
    let namespaces: String = (0..257).map(|n| format!("<a xmlns:n{n}='u{n}'/>")).collect();
    for (text, found) in [
        ("<".repeat(1_000_001), "more tags"),
        ("=".repeat(1_000_001), "more equals signs"),
        (wrap(format!("<a{attributes}/>")), "more attributes"),
        (wrap(namespaces), "more namespaces"),
    ] {
        let checked = check(&text);
        assert!(checked.violations.errors() == 1, "{found}");
        assert!(
            lines(&checked)[0].contains(&format!("error: XML: found {found}, ")),
            "{:?}",
            lines(&checked)
        );
    }
    let huge = vec![b' '; MAX_BYTES + 1];
    assert_eq!(
        lines(&parse(Path::new("x.man"), &huge)),
        ["1:1: error: file: found more bytes, expected at most 16777216 bytes"]
    );
    // Deep, wide and long documents are parsed quickly.
    let start = Instant::now();
    for text in [
        "<a>".repeat(300_000),
        wrap("<a><![CDATA[x]]>".repeat(300_000)),
        wrap("&#13;".repeat(1_000_000)),
        wrap(" ".repeat(1 << 22)),
    ] {
        assert!(check(&text).manifest.is_none());
    }
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

/// Many errors in one line: finding positions takes linear time.
#[test]
fn many_violations_are_counted() {
    let counter = "<counter id='1' uri='u' type='no' detailLevel='standard' name='n' description='' x='1'/>";
    let text = SHOP.lines().collect::<Vec<_>>().join(" ");
    let all = counter.repeat(20_000);
    let start = Instant::now();
    let checked = check(&text.replacen("<counter ", &format!("{all}<counter "), 1));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(checked.violations.list().len(), MAX_LISTED);
    // Each counter has errors for type, attribute x, nameID and descriptionID; all but the first also for id, name and uri.
    assert_eq!(checked.violations.errors(), 20_000 * 7 - 3 + 1);
    assert_eq!(checked.violations.unlisted(), checked.violations.errors() - MAX_LISTED as u64);
    assert!(checked.violations.list().is_sorted_by_key(|violation| violation.at));
    assert_eq!(checked.violations.list()[0].at.line, 1);
    assert!(checked.violations.list()[0].at > Position::START);
}
