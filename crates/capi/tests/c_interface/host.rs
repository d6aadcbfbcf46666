//! The library does not change limits, signal handlers or low descriptors of its process.

use crate::compiler::{Link, Program, succeed};
use crate::perflib::private_folder;

#[test]
fn limits_handlers_and_low_descriptors_are_unchanged() {
    for link in [Link::Shared, Link::Static] {
        let program = Program::compile("host_process.c", "c17", link, &[]);
        succeed(&mut program.command(&[""; 0]));
    }
}

#[test]
fn sigbus_handlers_of_the_program_receive_its_own_signals() {
    for link in [Link::Shared, Link::Static] {
        let program = Program::compile("host_signals.c", "c17", link, &[]);
        let folder = private_folder();
        succeed(program.command(&[""; 0]).env("TACHO_RUNTIME_DIR", folder.path()));
    }
}
