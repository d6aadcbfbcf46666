//! Cycles per instruction (CPI) of regions of a program, threads, commands, processors and the system.
//!
//! A [`Cpi`] is an interval over counters that all instances of the process share: they run from the first instance to the
//! last, and are only read and subtracted, so that instances may be nested and overlap. [`ProcessCpi`] counts a command or a
//! running process. What is measured, and from what, is told in docs/cpi.md.
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
//! `unsafe` is in two files only: the system call, and what is read without the kernel.

pub mod counters;
mod data;
mod describe;
mod error;
mod event;
mod group;
mod instance;
mod interval;
mod kernel;
#[cfg(any(test, feature = "made-machine"))]
mod made_machine;
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
pub use instance::{Cpi, Events, Options};
pub use mode::Mode;
pub use process::ProcessCpi;

/// A made machine in place of this one, for tests of those who use this crate.
#[cfg(feature = "made-machine")]
pub mod made {
    /// Puts a made machine with this many processors in the place of this one, for the whole process and all instances made
    /// from now on.
    ///
    /// Every reading (of [`Cpi::new`](crate::Cpi::new), `start`, `get`) is one step of its time. In each step the clock goes
    /// on by 1,000,000 ticks and 1 ms; processor `c` executes 400,000 + 1,000 c instructions in 600,000 + 1,000 c core
    /// cycles and 1,000,000 elapsed cycles, and is busy for 50 + c mod 50 of 100 ticks; the thread, whose number is 4242, executes
    /// 300,000 instructions in 450,000 cycles (reference and core).
    pub fn install(processors: u32) {
        crate::made_machine::install(processors);
    }
}

/// The clock of intervals and of the trace: ticks of the time stamp counter on x86-64, of the virtual count of the generic
/// timer on arm64, elsewhere nanoseconds of CLOCK_MONOTONIC.
pub fn clock_ticks() -> u64 {
    #[cfg(any(test, feature = "made-machine"))]
    return kernel::clock_ticks(&*kernel::machine());
    #[cfg(not(any(test, feature = "made-machine")))]
    user_read::clock_ticks()
}
