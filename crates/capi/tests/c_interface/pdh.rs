//! pdh.h as C programs use it: compiled with this machine's compilers, linked both ways, run over generated logs and over
//! this machine.

mod examples;
mod header;
mod logs;
mod page;
mod programs;
mod valgrind;

pub(crate) use programs::log_for;
