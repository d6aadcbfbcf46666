//! The pipeline: sources yield samples, stages pass them on, sinks take them.
//!
//! Every command is this pipeline with other ends. Samples stay raw up to the sink: only a sink that shows something to a
//! person or writes a text formats values. A stage is a [`Source`] over another source; the pull is synchronous.
//!
//! ```text
//! logs -> merge -> window -> thin -> identity -> select -> union -> log, text, JSON
//!                                                       -> statistics
//! ```

#![forbid(unsafe_code)]

mod baselines;
mod cadence;
mod chain;
mod error;
mod identity;
mod in_zone;
mod joined;
pub mod live;
pub mod logs;
mod machines;
mod merge;
pub mod query;
mod readahead;
pub mod record;
mod select;
mod selection;
pub mod sinks;
mod small_file;
mod stretch;
mod thin;
mod union;
mod window;

use tachograph_counters::sample::Sample;

pub use baselines::Baselines;
pub use cadence::Cadence;
pub use chain::Chain;
pub use error::FlowError;
pub use identity::Identity;
pub use in_zone::InZone;
pub use joined::Joined;
pub use machines::{InTurn, SideBySide};
pub use merge::{Merge, machines_overlap};
pub use readahead::Readahead;
pub use select::Select;
pub use selection::Selection;
pub use small_file::read_at_most;
pub use stretch::Stretch;
pub use thin::Thin;
pub use union::{ScannedGroup, Union, UnionScan};
pub use window::{Window, WindowBounds};

/// What yields samples: a log, or a stage over other sources.
pub trait Source: Send {
    /// Overwrites `sample` with the next one; false at the end.
    ///
    /// # Errors
    ///
    /// When reading fails, or the source cannot be put in order.
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        (**self).next(sample)
    }
}

/// What takes samples, and is done when there are no more.
pub trait Sink {
    /// Takes one sample.
    ///
    /// # Errors
    ///
    /// When it cannot be written; nothing is dropped silently.
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError>;

    /// Completes what was written.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    fn finish(&mut self) -> Result<(), FlowError> {
        Ok(())
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn take(&mut self, sample: &Sample) -> Result<(), FlowError> {
        (**self).take(sample)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        (**self).finish()
    }
}

/// Runs a pipeline to its end, calling `each` after every sample (for a progress bar).
///
/// # Errors
///
/// The first error of the source or of the sink.
pub fn run(source: &mut dyn Source, sink: &mut dyn Sink, each: impl FnMut()) -> Result<(), FlowError> {
    feed(source, sink, each)?;
    sink.finish()
}

/// As [`run`], without completing the sink: another source may follow.
///
/// # Errors
///
/// The first error of the source or of the sink.
pub fn feed(source: &mut dyn Source, sink: &mut dyn Sink, mut each: impl FnMut()) -> Result<(), FlowError> {
    let mut sample = Sample::default();
    while source.next(&mut sample)? {
        sink.take(&sample)?;
        each();
    }
    Ok(())
}
