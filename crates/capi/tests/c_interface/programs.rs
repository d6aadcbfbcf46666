//! C programs that check the interface: they print each failed check, and exit with 1.

use std::ptr::null_mut;

use tachograph::boundary::IsCpiSupported;
use tachograph::code::{self, Code};

use crate::compiler::{Link, Program, succeed};
use crate::library::{crate_folder, library_with_fake_machine};
use crate::pdh::log_for;

/// The code that `CpiInit` returns on this machine.
#[allow(unsafe_code, reason = "the call takes a pointer")]
fn init_code() -> i32 {
    let mut handle = null_mut();
    // SAFETY: `handle` has room for a pointer.
    let code = unsafe { tachograph::boundary::CpiInit(3, &mut handle) };
    if code == 0 {
        assert_eq!(tachograph::boundary::CpiTerminate(handle), 0);
    }
    assert!(code == 0 || Code(code).name().is_some());
    code
}

#[test]
fn errors_are_returned_on_every_machine() {
    let code = init_code();
    assert!(code == 0 || IsCpiSupported() == 0, "a machine without counters is not supported");
    for link in [Link::Static, Link::Shared] {
        for standard in ["c99", "c++11"] {
            let program = Program::compile("errors.c", standard, link, &[]);
            let folder = program.folder().to_str().expect("UTF-8").to_owned();
            succeed(&mut program.command(&[folder, code.to_string()]));
        }
    }
}

#[test]
fn processors_are_measured_with_the_thread_if_permitted() {
    let program = Program::compile("thread_alone.c", "c99", Link::Static, &[]);
    let printed = succeed(&mut program.command(&[""; 0]));
    let is_code = code::ALL.iter().any(|(_, name)| name.to_str() == Ok(printed.trim()));
    let expected = ["processors and the thread", "the thread alone"];
    assert!(if init_code() == 0 {
        printed.trim() == expected[0]
    } else {
        is_code || printed.trim() == expected[1]
    });
}

#[test]
fn open_handles_work_on_the_fake_machine() {
    let program =
        Program::compile("fake_machine.c", "gnu11", Link::StaticAt(&library_with_fake_machine()), &[]);
    succeed(&mut program.command(&[program.folder()]));
}

#[test]
fn a_trace_that_cannot_be_created_is_an_error() {
    let program = Program::compile("environment.c", "c99", Link::StaticAt(&library_with_fake_machine()), &[]);
    succeed(
        program.command(&[""; 0]).env("TACHO_CPI_TRACE", program.folder().join("no such folder/trace.nrm2")),
    );
}

#[test]
fn many_threads_use_the_library_concurrently() {
    let program = Program::compile("threads.c", "c11", Link::Shared, &[]);
    let folder = program.folder().to_str().expect("UTF-8").to_owned();
    succeed(&mut program.command(&[folder, init_code().to_string()]));
}

#[test]
fn many_threads_use_the_fake_machine_concurrently() {
    let program = Program::compile(
        "threads.c",
        "c11",
        Link::StaticAt(&library_with_fake_machine()),
        &["-DFAKE_MACHINE"],
    );
    let folder = program.folder().to_str().expect("UTF-8").to_owned();
    succeed(&mut program.command(&[folder, "0".to_owned()]));
}

#[test]
fn a_forked_child_measures_itself() {
    let program = Program::compile(
        "fork.c",
        "gnu11",
        Link::StaticAt(&library_with_fake_machine()),
        &["-DFAKE_MACHINE"],
    );
    let trace = program.folder().join("trace-%p.nrm2");
    succeed(program.command(&[program.folder()]).env("TACHO_CPI_TRACE", trace));
}

#[test]
fn the_compatibility_header_behaves_as_documented() {
    for standard in ["c99", "c17", "c++11", "c++20"] {
        let program = Program::compile("shims.c", standard, Link::Shared, &[]);
        let folder = crate_folder().canonicalize().expect("this crate's folder");
        succeed(
            program
                .command(&[&folder])
                .current_dir(&folder)
                .env("TACHO_SHIM", "four")
                .env_remove("TACHO_NO_SHIM"),
        );
    }
}

#[test]
fn a_handle_of_one_kind_is_an_error_for_functions_of_another() {
    for (standard, options) in [("c17", &[][..]), ("c++17", &["-fshort-wchar"])] {
        let program = Program::compile(
            "handle_kinds.c",
            standard,
            Link::StaticAt(&library_with_fake_machine()),
            options,
        );
        succeed(&mut program.command(&[log_for(&program)]));
    }
}
