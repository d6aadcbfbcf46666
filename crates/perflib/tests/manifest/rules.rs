//! For every rule, a change to a valid manifest and the expected violations. The cases are in rules.txt.

use crate::{KERNEL, SHOP, check, lines};

const CASES: &str = include_str!("rules.txt");

/// A case: its title, the changed manifest, the expected violations.
struct Case<'a> {
    title: &'a str,
    text: String,
    expected: Vec<&'a str>,
}

fn cases() -> Vec<Case<'static>> {
    let blocks =
        CASES.split("\n\n").map(str::trim).filter(|block| !block.is_empty() && !block.starts_with('#'));
    blocks.map(case).collect()
}

fn case(block: &'static str) -> Case<'static> {
    let mut lines = block.lines().peekable();
    let title = lines.next().and_then(|line| line.strip_prefix("== ")).expect("a title");
    let mut text = if title.starts_with("kernel: ") { KERNEL } else { SHOP }.to_owned();
    while let Some(from) = lines.next_if(|line| line.starts_with("- ")) {
        let to = lines.next().and_then(|line| line.strip_prefix('+')).expect(block);
        let (from, to) = (&from[2..], to.strip_prefix(' ').unwrap_or(to));
        assert!(text.contains(from), "{title}: {from}");
        text = text.replacen(from, to, 1);
    }
    Case { title, text, expected: lines.collect() }
}

#[test]
fn manifests_that_violate_a_rule_are_rejected() {
    if std::env::var_os("TACHO_UPDATE").is_some() {
        return update();
    }
    let cases = cases();
    assert!(cases.len() > 80);
    for Case { title, text, expected } in cases {
        let checked = check(&text);
        assert_eq!(lines(&checked), expected, "{title}");
        let has_error = expected.iter().any(|line| line.contains(": error: "));
        assert_eq!(checked.manifest.is_none(), has_error, "{title}");
        assert!(!expected.is_empty(), "{title}: no violation is expected");
    }
}

/// Replaces the expected violations with the current ones. Review the difference.
fn update() {
    let head = CASES.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n"));
    let mut updated: String = head.collect();
    for block in CASES.split("\n\n").map(str::trim).filter(|block| block.starts_with("== ")) {
        let changes =
            block.lines().take_while(|line| ["== ", "- ", "+"].iter().any(|start| line.starts_with(start)));
        let found = lines(&check(&case(block).text));
        let lines: Vec<_> = changes.map(str::to_owned).chain(found).collect();
        updated += &format!("\n{}\n", lines.join("\n"));
    }
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/manifest/rules.txt"), updated)
        .expect("writable");
}
