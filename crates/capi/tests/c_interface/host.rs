//! What the library leaves alone in the process that uses it.

use crate::compiler::{Link, Program, succeed};
use crate::perflib::private_folder;

#[test]
fn limits_handlers_and_low_numbers_of_the_host_stay() {
    for link in [Link::Shared, Link::Static] {
        let program = Program::compile("host_process.c", "c17", link, &[]);
        succeed(&mut program.command(&[""; 0]));
    }
}

#[test]
fn handlers_of_sigbus_get_what_is_theirs() {
    for link in [Link::Shared, Link::Static] {
        let program = Program::compile("host_signals.c", "c17", link, &[]);
        let folder = private_folder();
        succeed(program.command(&[""; 0]).env("TACHO_RUNTIME_DIR", folder.path()));
    }
}
