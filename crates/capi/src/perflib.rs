//! The functions of perflib.h: counter sets of this machine and of its programs, for consumers and for providers.
//!
//! [`tachograph_perflib`] and [`tachograph_publish`] do the work. This module handles Windows' error codes, buffer
//! sizes, strings and handles. Only `boundary.rs`, `provider_boundary.rs` and `memory.rs` contain `unsafe`.

mod api_error;
mod boundary;
mod consumer;
mod control;
mod encoding;
mod instance_block;
pub(crate) mod machine;
mod memory;
mod provider;
mod provider_boundary;
mod template;

pub use boundary::*;
pub use provider_boundary::*;

pub(crate) use api_error::{ApiError, call};
