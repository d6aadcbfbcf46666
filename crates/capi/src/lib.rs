//! The C interface of Tachograph, declared by `perfutil.h`, `perflib.h` and `pdh.h`; docs/c-interface.md describes it for
//! C programmers.
//!
//! This crate only translates: handles to objects, data to [`CPI_DATA`](data::CpiDataBlock) and to the bytes of PerfLib,
//! errors to return codes. Measuring is in [`tachograph_cpi`]; counter sets are in [`tachograph_perflib`] and
//! [`tachograph_publish`]. It is a Rust library only so that it can be tested.
//!
//! - A handle is a number, never an address: it is looked up, and never dereferenced.
//! - A panic becomes a return code. While a callback of the program runs, no lock is held that a C function takes.
//! - Only the files named `*boundary*.rs`, `environment.rs` and `perflib/memory.rs` contain `unsafe`.

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
