//! The functions of perflib.h: counter sets of this machine and of its programs, for consumers and for providers.
//!
//! What they do is [`tachograph_perflib`]'s and [`tachograph_publish`]'s. Here are the codes of Windows, its protocol of
//! sizes, its texts and handles. `unsafe` is in `boundary.rs`, `provider_boundary.rs` and `memory.rs`.

mod boundary;
mod consumer;
mod control;
mod instance_block;
pub(crate) mod machine;
mod memory;
mod provider;
mod provider_boundary;
mod refusal;
mod template;
mod text;

pub use boundary::*;
pub use provider_boundary::*;

pub(crate) use refusal::{Refusal, call};
