//! Manifests: XML files in which a provider describes its counter sets.
//!
//! [`parse`] and [`read`] check a manifest and report all violations with line and column. [`generate`] generates Rust
//! and C code. [`register()`] copies a manifest to a folder, so that [`registered()`] returns its sets even while no
//! provider is running. [`build`] is for build scripts of programs that publish counters.
//!
//! Manifests are described in docs/manifests.md. Source: "Performance Counters Schema", "CTRPP".
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
//!     checked.violations.list()[0].with_file(Path::new("shop.man")).to_string(),
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

/// A manifest and its violations.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedManifest {
    /// The manifest; `None` if it has errors.
    pub manifest: Option<Manifest>,
    /// The errors and warnings.
    pub violations: Violations,
}

/// Reads and checks a manifest file.
///
/// # Errors
///
/// The file cannot be read. Errors in the manifest are reported as violations instead.
pub fn read(file: &Path) -> io::Result<CheckedManifest> {
    let mut bytes = Vec::new();
    // Read one byte more than the limit, to detect a larger file.
    std::fs::File::open(file)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(parse(file, &bytes))
}

/// Checks a manifest of at most [`MAX_BYTES`]: UTF-8 with or without a byte order mark, or UTF-16 with one. `file` is
/// stored in the manifest as its name, but is not opened.
pub fn parse(file: &Path, bytes: &[u8]) -> CheckedManifest {
    let mut violations = Violations::default();
    let manifest = parse_into(file, bytes, &mut violations);
    violations.sort();
    let manifest = manifest.filter(|_| violations.errors() == 0);
    CheckedManifest { manifest, violations }
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
    // The registrations of the counter sets must be valid too.
    for (set, info) in manifest.provider.counter_sets.iter().zip(manifest.counter_sets()) {
        if let Err(error) = info.check() {
            violations.push(Severity::Error, set.at, "counterSet", error.to_string(), "a valid registration");
        }
    }
    Some(manifest)
}
