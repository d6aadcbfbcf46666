//! The C interface as C programs see it: compiled with the compilers of this machine, linked both ways, run.

mod compiler;
mod golden;
mod header;
mod install;
mod library;
mod page;
mod programs;
mod sample;
