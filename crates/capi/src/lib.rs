//! The C interface of Tachograph: what `perfutil.h`, `perflib.h` and `pdh.h` declare. docs/c-interface.md is the
//! page for C programmers.
//!
//! This crate only translates: handles to instances, data to [`CPI_DATA`](data::CpiDataBlock) and to the bytes of
//! PerfLib, errors to return codes. What is measured and how is [`tachograph_cpi`]'s; counter sets are
//! [`tachograph_perflib`]'s and [`tachograph_publish`]'s. It is a Rust library only so that its tests see the same
//! numbers as C programs.
//!
//! - A handle is a number, never an address: what a program passes is looked up and never followed.
//! - A panic ends in a return code. No lock is held while a program's code runs.
//! - `unsafe` is in files that are called `boundary`, in `environment.rs`, `perflib/memory.rs` and, for tests,
//!   `made.rs`.

pub mod boundary;
pub mod code;
pub mod data;
mod environment;
mod failure;
mod handles;
mod instance;
mod pdh;
pub mod perflib;
mod trace_file;
