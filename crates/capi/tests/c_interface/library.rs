//! The libraries that were built: with these tests, and one with the made machine.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The folder of this crate.
pub(crate) fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The shared library, or with `.a` the static one, that cargo built with these tests.
///
/// It is beside the test or a folder above, depending on what was built last: the newer one is taken.
pub(crate) fn built(extension: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test knows where it is");
    let name = format!("libtachograph.{extension}");
    let folders = test.ancestors().skip(1).take(2);
    let found = folders.map(|folder| folder.join(&name)).filter_map(|path| {
        let changed = path.metadata().and_then(|metadata| metadata.modified()).ok()?;
        Some((changed, path))
    });
    found.max_by_key(|(changed, _)| *changed).map(|(_, path)| path).unwrap_or_else(|| {
        panic!(
            "{name} is neither beside {} nor a folder above: run `cargo build -p tachograph-capi`",
            test.display()
        )
    })
}

/// The static library with the made machine, built on first use.
pub(crate) fn with_made_machine() -> &'static Path {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("made-machine");
        let output = Command::new(env!("CARGO"))
            .args(["rustc", "--lib", "--crate-type", "staticlib", "--features", "made-machine", "--offline"])
            .arg("--manifest-path")
            .arg(crate_folder().join("Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            // For this machine, whatever the tests were built for.
            .env_remove("CARGO_BUILD_TARGET")
            // Quick to build: it is for a few small programs.
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "none")
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let library = target.join("debug/libtachograph.a");
        assert!(library.exists(), "cargo made no {}", library.display());
        library
    });
    &BUILT
}
