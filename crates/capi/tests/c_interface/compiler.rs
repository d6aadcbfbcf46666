//! Compiles and runs C and C++ programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::library::{built_library, crate_folder};

/// Compiler options that enable warnings and treat them as errors.
pub(crate) const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-pedantic", "-Werror"];

/// The system libraries that a static Rust library requires, as in tachograph.pc for `--static`.
const SYSTEM_LIBRARIES: [&str; 7] = ["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

/// The C and C++ standards that the header supports.
pub(crate) const STANDARDS: [&str; 7] = ["c99", "c11", "c17", "c++11", "c++14", "c++17", "c++20"];

/// The library that a program is linked with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Link<'a> {
    /// The shared library of these tests.
    Shared,
    /// The static library of these tests.
    Static,
    /// The static library at this path.
    StaticAt(&'a Path),
}

/// The compiler for a standard, with the folder of the header in its include path.
pub(crate) fn compiler(standard: &str) -> Command {
    let program = if standard.contains("++") { "c++" } else { "cc" };
    let mut command = Command::new(program);
    command.arg(format!("-std={standard}")).args(STRICT).arg("-I").arg(crate_folder().join("include"));
    if standard.contains("++") {
        command.args(["-x", "c++"]);
    }
    command
}

/// A C source of these tests.
pub(crate) fn source(name: &str) -> PathBuf {
    crate_folder().join("tests/c").join(name)
}

/// Runs a command and returns its output, even if it fails.
pub(crate) fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| {
        panic!(
            "Cannot run {}: {error}. Install gcc, g++, binutils, make and pkg-config for these tests.",
            command.get_program().to_string_lossy()
        )
    })
}

/// Whether a tool is installed that a test requires; if not, prints that the test is skipped.
pub(crate) fn is_installed(tool: &str) -> bool {
    let is_installed =
        Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !is_installed {
        eprintln!("skipped: {tool} is not installed");
    }
    is_installed
}

/// Runs a command that must succeed, and returns its output.
pub(crate) fn succeed(command: &mut Command) -> String {
    let output = output(command);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A compiled program in a folder of its own.
#[derive(Debug)]
pub(crate) struct Program {
    folder: TempDir,
}

impl Program {
    /// Compiles a source for a standard, with the compat folder in the include path too. A warning is an error.
    pub(crate) fn compile(name: &str, standard: &str, link: Link<'_>, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = compiler(standard);
        command.arg("-I").arg(crate_folder().join("compat")).args(options).arg(source(name));
        // "-x none": the extensions of the following files determine their language.
        command.args(["-x", "none", "-o"]).arg(folder.path().join("program"));
        match link {
            Link::Shared => {
                let shared = folder.path().join("libtachograph.so.0");
                std::os::unix::fs::symlink(built_library("so"), &shared).expect("a link");
                command.arg(shared).arg("-Wl,-rpath,$ORIGIN").arg("-lpthread");
            }
            Link::Static => {
                command.arg(built_library("a")).args(SYSTEM_LIBRARIES);
            }
            Link::StaticAt(library) => {
                command.arg(library).args(SYSTEM_LIBRARIES);
            }
        }
        succeed(&mut command);
        Self { folder }
    }

    /// A folder that the program may write to.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program, run without Tachograph's environment variables.
    pub(crate) fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(self.folder.path().join("program"));
        command.args(arguments).env_remove("TACHO_CPI_TRACE").env_remove("TACHO_RUNTIME_DIR");
        command
    }
}
