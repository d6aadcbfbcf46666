//! Checks that the manifest reader must pass for any bytes. They also run on the checked-in seeds as a plain test
//! (crates/perflib/tests/manifest/seeds.rs).

#![allow(unreachable_pub, reason = "a module of a target, and of a test")]

use std::path::Path;

use tachograph_perflib::manifest::generate::{consumer_header, provider_header, rust};
use tachograph_perflib::manifest::{MAX_LISTED, parse};

/// Input: bytes that may be a manifest. If there are no errors, there is a manifest, its sets can be registered, and
/// code can be generated from it.
pub fn manifest(data: &[u8]) {
    let checked = parse(Path::new("fuzz.man"), data);
    let violations = &checked.violations;
    assert_eq!(checked.manifest.is_none(), violations.errors() > 0);
    assert!(violations.list().len() <= MAX_LISTED && violations.list().is_sorted_by_key(|found| found.at));
    for violation in violations.list() {
        assert!(!violation.to_string().contains(char::is_control), "one line");
    }
    let Some(manifest) = checked.manifest else { return };
    for set in manifest.counter_sets() {
        set.check().unwrap_or_else(|error| panic!("{error}"));
    }
    for code in [rust(&manifest), provider_header(&manifest, "My"), Ok(consumer_header(&manifest))]
        .into_iter()
        .flatten()
    {
        assert!(code.ends_with('\n') && code.is_char_boundary(code.len()));
        assert!(!code.contains(|c: char| c.is_control() && c != '\n'), "{code}");
    }
}
