//! The built libraries: with these tests, and one with the fake machine.

use std::path::{Path, PathBuf};

/// The folder of this crate.
pub(crate) fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The shared library, or with `.a` the static one, that cargo built with these tests.
///
/// It is in the folder of the test or one above, depending on the last build: the newer one is used.
pub(crate) fn built(extension: &str) -> PathBuf {
    built_as(&format!("libtachograph.{extension}"), "`cargo build -p tachograph-capi`")
}

fn built_as(name: &str, by: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test knows where it is");
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).filter_map(|path| {
        let changed = path.metadata().and_then(|metadata| metadata.modified()).ok()?;
        Some((changed, path))
    });
    found
        .max_by_key(|(changed, _)| *changed)
        .map(|(_, path)| path)
        .unwrap_or_else(|| panic!("{name} is neither beside {} nor a folder above: run {by}", test.display()))
}

/// The static library with the fake machine, which cargo builds with all tests of this crate.
pub(crate) fn with_made_machine() -> PathBuf {
    built_as("examples/libmade_machine.a", "`cargo test -p tachograph-capi --no-run`")
}
