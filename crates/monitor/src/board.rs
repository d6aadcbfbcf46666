//! What charts are made of.

use tachograph_counters::path::PathPattern;
use tachograph_flow::FlowError;

use crate::reduced::Reduced;
use crate::span::Span;

/// Samples of which any stretch can be charted.
pub trait Board: Send {
    /// The stretch of all samples; `None` while there is none.
    fn span(&self) -> Option<Span>;

    /// Reduces a span to columns, for the counters that one of the paths selects; without paths, for all that the board has.
    ///
    /// The statistics are those that `tacho stats -b BEGIN -e END` gives: an interval counts where it ends, and the sample
    /// before the span opens the first one.
    ///
    /// # Errors
    ///
    /// When the samples have to be read again and cannot be.
    fn reduce(&mut self, span: Span, columns: usize, paths: &[PathPattern]) -> Result<Reduced, FlowError>;
}
