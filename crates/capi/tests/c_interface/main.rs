//! The C interface as C programs use it: compiled with this machine's compilers, linked both ways, run.

mod compiler;
mod examples;
mod golden;
mod header;
mod host;
mod install;
mod library;
mod other_machine;
mod page;
mod pdh;
mod perflib;
mod programs;
mod sample;
mod sets;
mod windows;
