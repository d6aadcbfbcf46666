//! The programs under valgrind: no memory errors, no leaks.

use std::process::Command;

use super::programs::log_for;
use crate::compiler::{Link, Program, output};

/// Whether valgrind is installed.
fn is_installed() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn no_error_and_no_leak() {
    if !is_installed() {
        eprintln!("skipped: valgrind is not installed");
        return;
    }
    for name in ["pdh_arguments.c", "pdh_read.c", "pdh_sizes.c"] {
        let program = Program::compile(name, "c17", Link::Shared, &["-g"]);
        let log = log_for(&program);
        let run = output(
            Command::new("valgrind")
                .args([
                    "--quiet",
                    "--error-exitcode=99",
                    "--leak-check=full",
                    "--errors-for-leak-kinds=definite,indirect",
                ])
                .arg(program.folder().join("program"))
                .arg(log),
        );
        let text = String::from_utf8_lossy(&run.stderr);
        assert!(
            run.status.success(),
            "{name}: {}\n{}{text}",
            run.status,
            String::from_utf8_lossy(&run.stdout)
        );
    }
}
