//! Manifests: what is read of them, every rule, hostile input, registrations, and what is generated.

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

use tachograph_perflib::manifest::{Checked, Manifest, parse};

/// A manifest with every attribute that a user mode provider can have.
pub(crate) const SHOP: &str = include_str!("shop.man");
/// One of a kernel mode provider, of the old version, with prefixes.
pub(crate) const KERNEL: &str = include_str!("kernel.man");

pub(crate) fn check(text: &str) -> Checked {
    parse(Path::new("x.man"), text.as_bytes())
}

/// The violations as lines.
pub(crate) fn lines(checked: &Checked) -> Vec<String> {
    checked.violations.list().iter().map(ToString::to_string).collect()
}

/// The manifest of a text without errors and warnings.
#[track_caller]
pub(crate) fn good(text: &str) -> Manifest {
    let checked = check(text);
    assert_eq!(lines(&checked), [""; 0]);
    checked.manifest.expect("no error")
}
