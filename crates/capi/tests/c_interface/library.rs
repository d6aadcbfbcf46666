//! Finds the libraries that cargo has built: the one for programs, and one with the fake machine.

use std::path::{Path, PathBuf};

/// The folder of this crate.
pub(crate) fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The library that cargo built with these tests: the shared one (`so`) or the static one (`a`).
///
/// Depending on the build command, it is in the folder of the test or in the parent folder; the newer one is used.
pub(crate) fn built(extension: &str) -> PathBuf {
    built_as(&format!("libtachograph.{extension}"), "`cargo build -p tachograph-capi`")
}

fn built_as(name: &str, build_command: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test program");
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).filter_map(|path| {
        let changed = path.metadata().and_then(|metadata| metadata.modified()).ok()?;
        Some((changed, path))
    });
    found.max_by_key(|(changed, _)| *changed).map(|(_, path)| path).unwrap_or_else(|| {
        panic!(
            "{name} is neither in the folder of {} nor in its parent folder: run {build_command}",
            test.display()
        )
    })
}

/// The static library with the fake machine, which cargo builds with all tests of this crate.
pub(crate) fn with_made_machine() -> PathBuf {
    built_as("examples/libmade_machine.a", "`cargo test -p tachograph-capi --no-run`")
}
