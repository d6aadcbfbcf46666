//! Generates Rust code from a manifest in a build script.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Severity, generate, read};

/// An error in a build script. If `main` returns it, it is printed with `Debug`, which therefore writes readable lines.
pub struct BuildError {
    lines: Vec<String>,
}

impl BuildError {
    fn new(line: impl fmt::Display) -> Self {
        Self { lines: vec![line.to_string()] }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for BuildError {}

/// Checks a manifest and writes Rust code to a file in `OUT_DIR`, with the manifest's name and the extension `rs`.
/// Cargo reruns the build script when the manifest changes, and shows warnings and errors with file, line and column.
/// Only build scripts can call this function.
///
/// ```no_run
/// // build.rs
/// use tachograph_perflib::manifest::build;
///
/// fn main() -> Result<(), build::BuildError> {
///     build::rust("shop.man")
/// }
/// ```
///
/// The program includes the code with `include!(concat!(env!("OUT_DIR"), "/shop.rs"));`.
///
/// # Errors
///
/// The manifest cannot be read or has errors, code cannot be generated, or `OUT_DIR` cannot be written.
pub fn rust(manifest: impl AsRef<Path>) -> Result<(), BuildError> {
    let Some(folder) = std::env::var_os("OUT_DIR") else {
        return Err(BuildError::new("OUT_DIR is not set: call this function from a build script"));
    };
    rust_into(manifest.as_ref(), &PathBuf::from(folder), &mut io::stdout().lock())
}

/// Like [`rust`], but writes the code to `folder`, and the instructions for Cargo to `cargo`.
///
/// # Errors
///
/// Same as [`rust`].
pub fn rust_into(manifest: &Path, folder: &Path, cargo: &mut impl Write) -> Result<(), BuildError> {
    let path = manifest.display();
    let mut instruct = |line: &dyn fmt::Display| writeln!(cargo, "cargo::{line}").map_err(BuildError::new);
    instruct(&format_args!("rerun-if-changed={path}"))?;
    let checked = read(manifest).map_err(|error| BuildError::new(format_args!("{path}: {error}")))?;
    for violation in checked.violations.list() {
        let key = match violation.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        instruct(&format_args!("{key}={}", violation.with_file(manifest)))?;
    }
    let Some(parsed) = checked.manifest else {
        let list = checked.violations.list().iter().filter(|violation| violation.severity == Severity::Error);
        let mut lines: Vec<_> = list.map(|violation| violation.with_file(manifest).to_string()).collect();
        if checked.violations.unlisted() > 0 {
            lines.push(format!("{path}: and {} more", checked.violations.unlisted()));
        }
        return Err(BuildError { lines });
    };
    let code = generate::rust(&parsed).map_err(|error| BuildError::new(format_args!("{path}: {error}")))?;
    let mut name = manifest.file_stem().unwrap_or_default().to_os_string();
    name.push(".rs");
    let file = folder.join(name);
    std::fs::write(&file, code).map_err(|error| BuildError::new(format_args!("{}: {error}", file.display())))
}
