//! A counter set that an application publishes, as a file in shared memory: its layout, the cells that are updated
//! without a lock, the writer, and a reader that trusts nothing of it. docs/shared-memory.md is the page of the layout.
//!
//! ```text
//! header | description | slot | slot | ...          slot = life, id, birth, name | a cache line or more per counter
//! ```
//!
//! - A file is one counter set of one process. Its owner is who publishes; nobody else writes to it.
//! - The writer holds a lock on the file (`F_OFD_SETLK`, to write) as long as it lives, so a file without a lock is one that
//!   its writer left behind.
//! - Every value is an atomic word. What belongs together, a sum with its count, is read together ([`cell::Pair`]).
//!
//! `unsafe` is in `map.rs` and `bus_error.rs` alone.

pub mod cell;
pub mod stripe;

mod sync;

#[cfg(not(loom))]
mod bus_error;
#[cfg(not(loom))]
pub mod control;
#[cfg(not(loom))]
mod encoding;
#[cfg(not(loom))]
pub mod folder;
#[cfg(not(loom))]
mod instance;
#[cfg(not(loom))]
mod layout;
#[cfg(not(loom))]
mod map;
#[cfg(not(loom))]
mod problem;
#[cfg(not(loom))]
mod reader;
#[cfg(not(loom))]
mod slots;
#[cfg(not(loom))]
mod writer;

#[cfg(not(loom))]
pub use instance::{CellPlace, Instance, Reading};
#[cfg(not(loom))]
pub use problem::{OpenError, Problem, WriteError};
#[cfg(not(loom))]
pub use reader::SetReader;
#[cfg(not(loom))]
pub use slots::{Line, Lines, Slot};
#[cfg(not(loom))]
pub use tachograph_schema::{
    Aggregate, Attributes, CellKind, CounterInfo, CounterSetInfo, CounterType, Guid, GuidError, InstanceType,
    naming,
};
#[cfg(not(loom))]
pub use tachograph_schema::{
    CounterInfo as CounterDescription, CounterSetInfo as Description, InstanceType as InstanceKind,
};
#[cfg(not(loom))]
pub use writer::{Options, Readers, SetFile};
