//! pdh.h as C programs see it: compiled with the compilers of this machine, linked both ways, run over logs that are
//! made here and over this machine.

#[allow(dead_code, reason = "the tests of the other headers use more of it")]
#[path = "../c_interface/compiler.rs"]
mod compiler;
#[allow(dead_code, reason = "the tests of the other headers use more of it")]
#[path = "../c_interface/library.rs"]
mod library;

mod examples;
mod header;
mod logs;
mod page;
mod programs;
mod valgrind;
