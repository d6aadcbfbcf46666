//! Averages of a stream whose events cover several collections.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_monitor::Span;

use super::ring::reduce;
use super::stream_selection::StreamSelection;
use crate::series::unix_seconds;

/// The average of each series over the intervals since the previous event.
#[derive(Default)]
pub(super) struct Averages {
    /// When the first interval begins, in Unix seconds.
    pub(super) begin: Option<f64>,
    /// In the order of the series; `None` if an event covers only one interval, whose values need no average.
    pub(super) values: Option<Vec<Option<f64>>>,
}

/// Averages of the selected series over the last `every` intervals.
pub(super) fn averages(samples: &[Arc<Sample>], every: usize, selection: &StreamSelection) -> Averages {
    let recent = &samples[samples.len().saturating_sub(every + 1)..];
    let ([first, _, ..], Some(last)) = (recent, recent.last()) else { return Averages::default() };
    let begin = Some(unix_seconds(first.at.utc));
    if every == 1 {
        return Averages { begin, values: None };
    }
    let span = Span::of_samples(first.at.utc.saturating_add(1), last.at.utc);
    let bounds = (Some(span.begin()), None);
    let reduced = reduce(recent, &selection.paths, bounds, span, selection.sums_names()).ok();
    let by_path: HashMap<&str, _> = reduced
        .iter()
        .flat_map(|reduced| &reduced.series)
        .map(|series| (&*series.info.path, series.summary.average))
        .collect();
    let average = |path: &str| by_path.get(path).copied().flatten();
    Averages { begin, values: Some(selection.layout.series.iter().map(|one| average(&one.path)).collect()) }
}
