//! A published counter set as a file in shared memory: its layout, the cells that are updated without a lock, the writer,
//! and a reader that does not trust the file. docs/shared-memory.md describes the layout.
//!
//! ```text
//! header | description | slot | slot | ...          slot = serial number, id, creation time, name | a cell per counter
//! ```
//!
//! - A file holds one counter set of one process. Only that process and its forked children write to the file.
//! - The writer holds a write lock on the file (`F_OFD_SETLK`) as long as it is alive: a file without a lock is abandoned.
//! - A cell stores the value of a counter as atomic words. A sum and its count are read together ([`cell::Pair`]).
//!
//! Only `map.rs` and `bus_error.rs` contain `unsafe`.

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
pub use encoding::{decode as decode_description, encode as encode_description};
#[cfg(not(loom))]
pub use instance::{CellLocation, Instance, Reading};
#[cfg(not(loom))]
pub use problem::{OpenError, Problem, WriteError};
#[cfg(not(loom))]
pub use reader::SetReader;
#[cfg(not(loom))]
pub use slots::{Line, Lines, Slot};
#[cfg(not(loom))]
pub use tachograph_schema::{
    Aggregate, Attributes, CellKind, CounterInfo, CounterSetInfo, CounterType, Guid, GuidError, IgnorePoison,
    InstanceType, io_error_text, naming,
};
#[cfg(not(loom))]
pub use tachograph_schema::{
    CounterInfo as CounterDescription, CounterSetInfo as Description, InstanceType as InstanceKind,
};
#[cfg(not(loom))]
pub use writer::{Options, Readers, SetFile};
