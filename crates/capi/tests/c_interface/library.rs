//! Finds the libraries that cargo has built: the one for programs, and one with the fake machine.

use std::path::{Path, PathBuf};

/// The folder of this crate.
pub(crate) fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The library that cargo built with these tests: the shared one (`so`) or the static one (`a`).
///
/// Depending on the build command, it is in the folder of the test or in the parent folder; the newer one is used.
pub(crate) fn built_library(extension: &str) -> PathBuf {
    find_built_file(&format!("libtachograph.{extension}"), "`cargo build -p tachograph-capi`")
}

fn find_built_file(name: &str, build_command: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test program");
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(name)).filter_map(|path| {
        let modified = path.metadata().and_then(|metadata| metadata.modified()).ok()?;
        Some((modified, path))
    });
    found.max_by_key(|(modified, _)| *modified).map(|(_, path)| path).unwrap_or_else(|| {
        panic!(
            "{name} is neither in the folder of {} nor in its parent folder: run {build_command}",
            test.display()
        )
    })
}

/// The static library with the fake machine, which cargo builds with all tests of this crate.
pub(crate) fn library_with_fake_machine() -> PathBuf {
    find_built_file("examples/libfake_machine.a", "`cargo test -p tachograph-capi --no-run`")
}
