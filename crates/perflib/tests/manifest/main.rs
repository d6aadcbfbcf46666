//! Manifests: reading, every rule, hostile input, registrations, generated code.

mod damage;
mod derived;
mod documents;
mod encodings;
mod generated;
mod good;
mod registrations;
mod rules;
mod seeds;

use std::path::Path;

use tachograph_perflib::manifest::{CheckedManifest, Manifest, parse};

/// A manifest with every attribute that a user mode provider can have.
pub(crate) const SHOP: &str = include_str!("shop.man");
/// A manifest of a kernel mode provider: schema version 1.1, with prefixes.
pub(crate) const KERNEL: &str = include_str!("kernel.man");

pub(crate) fn check(text: &str) -> CheckedManifest {
    parse(Path::new("x.man"), text.as_bytes())
}

/// The violations as lines.
pub(crate) fn lines(checked: &CheckedManifest) -> Vec<String> {
    checked.violations.list().iter().map(ToString::to_string).collect()
}

/// The manifest in a text that has neither errors nor warnings.
#[track_caller]
pub(crate) fn good(text: &str) -> Manifest {
    let checked = check(text);
    assert_eq!(lines(&checked), [""; 0]);
    checked.manifest.expect("no error")
}
