//! Valgrind finds neither memory errors nor leaks in the programs.

use std::process::Command;

use super::programs::log_for;
use crate::compiler::{Link, Program, is_installed, output};

#[test]
fn valgrind_finds_neither_errors_nor_leaks() {
    if !is_installed("valgrind") {
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
