//! C programs that check the interface: they print each failed check, and exit with 1.

use std::path::PathBuf;

use super::logs;
use crate::compiler::{Link, Program, succeed};

/// A log in the program's folder.
pub(crate) fn log_for(program: &Program) -> PathBuf {
    let path = program.folder().join("server log.blg");
    logs::write(&path);
    path
}

/// Compiles a program for C and for C++ with 16-bit `wchar_t`, and runs it with a log as its argument.
fn run_over_a_log(name: &str) {
    for (standard, link, options) in
        [("c17", Link::Static, &[][..]), ("c++17", Link::Shared, &["-fshort-wchar", "-DUNICODE"][..])]
    {
        let program = Program::compile(name, standard, link, options);
        succeed(&mut program.command(&[log_for(&program)]));
    }
}

#[test]
fn null_pointers_and_invalid_handles_are_errors() {
    run_over_a_log("pdh_arguments.c");
}

#[test]
fn buffers_are_written_only_if_they_are_large_enough() {
    run_over_a_log("pdh_sizes.c");
}

#[test]
fn logs_are_read() {
    run_over_a_log("pdh_read.c");
}

#[test]
fn logs_are_written_and_read_back() {
    for (standard, link) in [("c17", Link::Static), ("c++17", Link::Shared)] {
        let program = Program::compile("pdh_write.c", standard, link, &[]);
        succeed(&mut program.command(&[program.folder()]));
    }
}

#[test]
fn this_machine_is_read_with_events_and_by_many_threads() {
    for (standard, link, options) in
        [("c17", Link::Shared, &[][..]), ("c++17", Link::Static, &["-fshort-wchar", "-DUNICODE"][..])]
    {
        let program = Program::compile("pdh_live.c", standard, link, options);
        succeed(&mut program.command(&[""; 0]));
    }
}
