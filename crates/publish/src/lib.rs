//! Counters of an application that are read from outside by name, at the price of one atomic addition an update.
//!
//! An application describes its counters as a struct, starts it, and updates the fields. No agent runs in between: the
//! values lie in a file in memory that readers map (crate `tachograph-shm`). What readers show, a rate, an average or a
//! percentage, follows from the type of each counter.
//!
//! ```
//! use tachograph_publish::{Counter, CounterSet, Gauge, Publisher, Timer};
//!
//! /// What the shop did.
//! #[derive(CounterSet)]
//! #[counter_set(name = "Shop")]
//! struct Shop {
//!     /// Requests that were answered.
//!     #[counter(name = "Requests/sec")]
//!     requests: Counter,
//!     /// Orders that are not paid yet.
//!     #[counter(name = "Open Orders")]
//!     open: Gauge,
//!     /// How long a request takes.
//!     #[counter(name = "Avg. sec/Request", base = "Requests Base")]
//!     time: Timer,
//! }
//!
//! # let folder = tempfile::tempdir()?;
//! # let publisher = Publisher::new().folder(folder.path());
//! # let _ = stringify!(
//! let publisher = Publisher::new();
//! # );
//! let shop = publisher.start::<Shop>()?;
//! let _time = shop.time.start(); // until the end of the block
//! shop.requests.increment();
//! shop.open.add(1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `tacho query '\Shop\Requests/sec'` shows it. docs/publishing.md is the guide.
//!
//! - Updates take no lock, allocate nothing and do no system call. All types can be shared by threads.
//! - Sets that are only known at run time are published by [`dynamic`], the provider functions of perflib.h in Rust form.
//! - What goes wrong in the runtime folder is an error of the call that starts a set, and never hurts the application.
//!
//! `unsafe` is in `tsc/counter.rs` and `signals.rs` alone.

mod cells;
mod control;
pub mod dynamic;
mod error;
mod pairs;
mod plain;
mod published;
mod publisher;
mod signals;
mod tsc;

pub use cells::{Cell, Cells};
pub use control::{ControlCallback, Request, RequestKind};
pub use error::PublishError;
pub use pairs::{Average, Fraction, Ratio, Timer, TimerGuard};
pub use plain::{Counter, Gauge, StripedCounter};
pub use published::{Instance, Published, PublishedSet};
pub use publisher::Publisher;
pub use tachograph_publish_derive::CounterSet;
pub use tachograph_shm::cell::Sum;
pub use tachograph_shm::{
    Aggregate, Attributes, CellKind, CounterInfo, CounterSetInfo, CounterType, Guid, GuidError, InstanceType,
    WriteError,
};
pub use tachograph_shm::{CounterDescription, Description, InstanceKind};

#[doc = include_str!("../derive.md")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no counter set",
    note = "add #[derive(CounterSet)] and #[counter_set(name = \"...\")] to it"
)]
pub trait CounterSet: Sized {
    /// What the set is called, and its counters.
    fn description() -> CounterSetInfo;

    /// The fields over the cells of an instance; `None` where they do not fit the description.
    fn bind(cells: &Cells<'_>) -> Option<Self>;
}

/// A counter set with one instance: what [`Publisher::start`] publishes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no counter set with one instance",
    note = "a set with `instances = \"multiple\"` or an aggregate is started with `start_set`, and has `.instance(name)`"
)]
pub trait SingleInstance: CounterSet {}

/// A counter set that may have many instances: what [`Publisher::start_set`] publishes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no counter set with many instances",
    note = "add `instances = \"multiple\"` to its #[counter_set(...)], or start it with `start`"
)]
pub trait MultipleInstances: CounterSet {}

/// The examples of the guide compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/publishing.md")]
mod guide {}
