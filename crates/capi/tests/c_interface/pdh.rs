//! pdh.h as C programs see it: compiled with the compilers of this machine, linked both ways, run over logs that are
//! made here and over this machine.

mod examples;
mod header;
mod logs;
mod page;
mod programs;
mod valgrind;

pub(crate) use programs::log_for;
