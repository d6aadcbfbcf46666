//! The source of a chart.

use tachograph_counters::path::PathPattern;
use tachograph_flow::FlowError;

use crate::reduced::Reduced;
use crate::span::Span;

/// Samples that can be charted over any time range.
pub trait Board: Send {
    /// The span of all samples; `None` without samples.
    fn span(&self) -> Option<Span>;

    /// Whether samples are being taken, so that there will be more of them.
    fn is_live(&self) -> bool {
        false
    }

    /// Reduces a span to columns, for the counters that any of the paths selects, or for all counters if `paths` is
    /// empty. With 0 columns, computes only the statistics of the whole span, which is cheaper.
    ///
    /// The statistics equal those of `tacho stats -b BEGIN -e END`: an interval belongs to the span in which it ends, and the
    /// last sample before the span opens the first interval.
    ///
    /// # Errors
    ///
    /// If the samples have to be read again, and reading fails.
    fn reduce(&mut self, span: Span, columns: usize, paths: &[PathPattern]) -> Result<Reduced, FlowError>;
}
