//! Publishes an application's counters to other programs, which read them by name; most updates are a single
//! atomic addition.
//!
//! An application describes its counters as a struct, publishes it, and updates the fields. The values are in a file in
//! shared memory that *consumers*, the programs that read counters, map (crate `tachograph-shm`); no daemon is
//! involved. The type of each counter determines what consumers display: a rate, an average or a percentage.
//!
//! ```
//! use tachograph_publish::{Counter, CounterSet, Gauge, Publisher, Timer};
//!
//! /// Activity of the shop.
//! #[derive(CounterSet)]
//! #[counter_set(name = "Shop")]
//! struct Shop {
//!     /// Answered requests.
//!     #[counter(name = "Requests/sec")]
//!     requests: Counter,
//!     /// Orders that are not paid yet.
//!     #[counter(name = "Open Orders")]
//!     open: Gauge,
//!     /// Average duration of a request.
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
//! let _time = shop.time.start(); // measures until the end of the block
//! shop.requests.increment();
//! shop.open.add(1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `tacho query '\Shop\Requests/sec'` displays the rate of requests. docs/publishing.md is the guide.
//!
//! - Updates take no lock, allocate nothing and make no system call. All types can be shared between threads.
//! - [`dynamic`] publishes sets that are described at run time: the provider functions of perflib.h in Rust form.
//! - A problem with the runtime folder is reported by the call that starts a set, and never harms the application.
//!
//! Only `tsc/counter.rs` and `signals.rs` contain `unsafe`.

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
    message = "`{Self}` is not a counter set",
    note = "add #[derive(CounterSet)] and #[counter_set(name = \"...\")] to it"
)]
pub trait CounterSet: Sized {
    /// The description of the set and of its counters.
    fn description() -> CounterSetInfo;

    /// Binds the fields to the cells of an instance; `None` if they do not match the description.
    fn bind(cells: &Cells<'_>) -> Option<Self>;
}

/// A counter set with one instance, which [`Publisher::start`] publishes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a counter set with one instance",
    note = "`start` is for sets with `instances = \"single\"`: start others with `start_set`, and add instances with `.instance(name)`"
)]
pub trait SingleInstance: CounterSet {}

/// A counter set that can have many instances, which [`Publisher::start_set`] publishes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a counter set with many instances",
    note = "add `instances = \"multiple\"` to its #[counter_set(...)], or start it with `start`"
)]
pub trait MultipleInstances: CounterSet {}

/// Tests the examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/publishing.md")]
mod guide {}
