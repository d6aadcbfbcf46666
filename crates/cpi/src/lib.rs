//! Cycles per instruction (CPI) of regions of a program, threads, commands, processors and the system.
//!
//! A [`Cpi`] measures an interval with counters that all instances of the process share. The counters run until the last
//! instance is dropped; instances only read them and subtract readings, so instances can be nested and overlap. [`ProcessCpi`]
//! counts a command or a running process. docs/cpi.md describes what is measured, and from which sources.
//!
//! ```no_run
//! use tachograph_cpi::{Cpi, Mode};
//!
//! let mut cpi = Cpi::new(Mode::ON_THREAD)?;
//! cpi.start()?;
//! // ... the region ...
//! let data = cpi.get()?;
//! if let Some(cycles) = data.thread.and_then(|counts| counts.core_cpi()) {
//!     println!("{cycles:.3} cycles per instruction");
//! }
//! # Ok::<(), tachograph_cpi::Error>(())
//! ```
//!
//! Only two files contain `unsafe`: `perf_event.rs` for the system call, and `user_read.rs` for reading counters
//! without the kernel.

pub mod counters;
mod data;
mod describe;
mod error;
mod event;
#[cfg(any(test, feature = "fake-machine"))]
mod fake_machine;
mod group;
mod instance;
mod interval;
mod kernel;
mod mode;
mod perf_event;
mod plan;
mod process;
mod processors;
mod thread;
pub mod trace;
mod user_read;

pub use data::{Counts, CpiData, Measured, ProcessorData, ProcessorState};
pub use error::{Error, ErrorKind};
#[cfg(feature = "fake-machine")]
pub use fake_machine::install_fake_machine;
pub use instance::{Cpi, Events, Options};
pub use mode::Mode;
pub use process::ProcessCpi;

/// The clock of intervals and of the trace: ticks of the time stamp counter on x86-64, of the generic timer's virtual count
/// on arm64, nanoseconds of CLOCK_MONOTONIC elsewhere.
pub fn clock_ticks() -> u64 {
    #[cfg(any(test, feature = "fake-machine"))]
    return kernel::clock_ticks(&*kernel::machine());
    #[cfg(not(any(test, feature = "fake-machine")))]
    user_read::clock_ticks()
}
