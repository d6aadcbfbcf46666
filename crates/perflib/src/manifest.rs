//! Manifests: the XML in which a provider describes its counter sets, checked, registered, and turned into code.
//!
//! [`parse`] and [`read`] check one by every rule and tell all violations with line and column; [`generate`] makes Rust
//! and C of it; [`register`] keeps a copy in a folder, so that [`registered`] knows the sets and their texts also while
//! no provider runs. [`build`] is for the build scripts of programs that publish counters.
//!
//! Described in docs/manifests.md. Source: "Performance Counters Schema", "CTRPP".
//!
//! ```
//! use std::path::Path;
//! use tachograph_perflib::manifest;
//!
//! let text = br#"<instrumentationManifest><instrumentation>
//! <counters xmlns="http://schemas.microsoft.com/win/2005/12/counters" schemaVersion="1.1">
//! <provider providerGuid="{00000000-0000-0000-0000-000000000001}" applicationIdentity="shop" symbol="Shop"/>
//! </counters></instrumentation></instrumentationManifest>"#;
//! let checked = manifest::parse(Path::new("shop.man"), text);
//! assert!(checked.violations.is_empty());
//! let text = String::from_utf8_lossy(text).replace(" symbol=\"Shop\"", "");
//! let checked = manifest::parse(Path::new("shop.man"), text.as_bytes());
//! assert_eq!(
//!     checked.violations.list()[0].of_file(Path::new("shop.man")).to_string(),
//!     "shop.man:3:1: error: provider: found no symbol, expected the attribute symbol, which user mode providers need",
//! );
//! ```

pub mod build;
mod draft;
mod element;
mod folders;
pub mod generate;
mod model;
mod read;
mod register;
mod registered;
mod reserved;
mod rules;
mod text;
mod types;
mod values;
mod violation;
mod xml;

use std::io::{self, Read as _};
use std::path::Path;

pub use folders::Folders;
pub use model::{Callback, Counter, CounterSet, Manifest, Provider, ProviderType, SchemaVersion, Struct};
pub use register::{RegisterError, Registration, Unregister, register, unregister};
pub use registered::{
    MAX_MANIFESTS, MAX_REGISTERED_BYTES, Registered, RegisteredManifestSet, RegistrationProblem, registered,
    registered_in,
};
pub use violation::{Located, MAX_LISTED, Position, Severity, Violation, Violations};
pub use xml::MAX_BYTES;

/// A manifest that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The manifest; `None` where there are errors.
    pub manifest: Option<Manifest>,
    /// What is wrong with it.
    pub violations: Violations,
}

/// Reads a manifest file and checks it.
///
/// # Errors
///
/// The file cannot be read. What is wrong with its content is among the violations.
pub fn read(file: &Path) -> io::Result<Checked> {
    let mut bytes = Vec::new();
    // One byte more tells that there is more.
    std::fs::File::open(file)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(parse(file, &bytes))
}

/// Checks a manifest of these bytes: UTF-8 with or without byte order mark, or UTF-16 with one; at most [`MAX_BYTES`].
/// `file` is what the manifest is called; it is not opened.
pub fn parse(file: &Path, bytes: &[u8]) -> Checked {
    let mut violations = Violations::default();
    let manifest = parse_into(file, bytes, &mut violations);
    violations.sort();
    let manifest = manifest.filter(|_| violations.errors() == 0);
    Checked { manifest, violations }
}

fn parse_into(file: &Path, bytes: &[u8], violations: &mut Violations) -> Option<Manifest> {
    if bytes.len() > MAX_BYTES {
        let (found, expected) = ("more bytes".to_owned(), format!("at most {MAX_BYTES} bytes"));
        violations.push(Severity::Error, Position::START, "file", found, expected);
        return None;
    }
    let text = text::decode(bytes, violations)?;
    if text.is_empty() {
        let (found, expected) = ("an empty file".to_owned(), "a manifest".to_owned());
        violations.push(Severity::Error, Position::START, "file", found, expected);
        return None;
    }
    let lines = text::Lines::new(&text);
    let document = xml::parse(&text, &lines, violations)?;
    let mut reader = element::Reader { lines: &lines, violations };
    let draft = read::read(&document, &mut reader)?;
    rules::check(&draft, &mut reader);
    if reader.violations.errors() > 0 {
        return None;
    }
    let manifest = draft.finish(file.into())?;
    // The rules of the registry are the last word.
    for (set, info) in manifest.provider.counter_sets.iter().zip(manifest.counter_sets()) {
        if let Err(error) = info.check() {
            violations.push(
                Severity::Error,
                set.at,
                "counterSet",
                error.to_string(),
                "what can be registered",
            );
        }
    }
    Some(manifest)
}
