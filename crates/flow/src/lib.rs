//! The pipeline: sources yield samples, stages transform them, sinks write or display them.
//!
//! Every command is a pipeline. Samples have raw values all the way to the sink; only a sink that displays values or
//! writes text formats them. A stage is a [`Source`] over another source. Samples are pulled synchronously.
//!
//! ```text
//! logs -> merge -> window -> thin -> identity -> select -> union -> log, text, JSON
//!                                                       -> statistics
//! ```

#![forbid(unsafe_code)]

pub mod archive;
mod baselines;
mod cadence;
mod chain;
mod error;
mod id_hasher;
mod identity;
mod in_zone;
mod joined;
pub mod live;
pub mod logs;
mod machines;
mod merge;
mod name_sums;
pub mod query;
mod read_limited;
mod readahead;
pub mod record;
mod seekable_source;
mod select;
mod selection;
pub mod sinks;
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
pub use joined::{Joined, JoinedLogs};
pub use machines::{Interleaved, SideBySide};
pub use merge::{Merge, group_by_machine, have_common_counter, machines_of};
pub use name_sums::{IsTotal, NameSums, NameSumsSink, NameSumsSource};
pub use read_limited::read_limited;
pub use readahead::Readahead;
pub use seekable_source::SeekableSource;
pub use select::Select;
pub use selection::Selection;
pub use thin::Thin;
pub use union::{ScannedGroup, Union, UnionScan};
pub use window::{Window, WindowBounds};

/// Yields samples. A source is a log, this machine, or a stage over other sources.
pub trait Source: Send {
    /// Overwrites `sample` with the next one. Returns false at the end.
    ///
    /// # Errors
    ///
    /// When reading fails, or samples cannot be put in order.
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError>;
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        (**self).next(sample)
    }
}

/// The end of a pipeline: writes or displays samples.
pub trait Sink {
    /// Processes the next sample.
    ///
    /// # Errors
    ///
    /// When the sample cannot be written; no sample is dropped silently.
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError>;

    /// Completes the output after the last sample.
    ///
    /// # Errors
    ///
    /// When the output cannot be written.
    fn finish(&mut self) -> Result<(), FlowError> {
        Ok(())
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        (**self).push(sample)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        (**self).finish()
    }
}

impl<S: Sink + ?Sized> Sink for Box<S> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        (**self).push(sample)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        (**self).finish()
    }
}

/// Runs a pipeline to its end. Calls `on_sample` after every sample, for example to update a progress bar.
///
/// # Errors
///
/// The first error of the source or of the sink.
pub fn run(source: &mut dyn Source, sink: &mut dyn Sink, on_sample: impl FnMut()) -> Result<(), FlowError> {
    feed(source, sink, on_sample)?;
    sink.finish()
}

/// Like [`run`], but does not finish the sink, so that it can be fed from another source next.
///
/// # Errors
///
/// The first error of the source or of the sink.
pub fn feed(
    source: &mut dyn Source,
    sink: &mut dyn Sink,
    mut on_sample: impl FnMut(),
) -> Result<(), FlowError> {
    let mut sample = Sample::default();
    while source.next(&mut sample)? {
        sink.push(&sample)?;
        on_sample();
    }
    Ok(())
}
