//! Averages of a stream whose events cover several collections.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::Source as _;
use tachograph_monitor::{Reducer, Reduction, SeriesTable, Span};

use super::RingSource;
use super::layout::Layout;
use crate::series::unix_seconds;

/// The average of each series over the intervals since the previous event.
#[derive(Default)]
pub(super) struct Averages {
    /// When the first interval begins, in Unix seconds.
    pub(super) begin: Option<f64>,
    /// In the order of the series; `None` for one interval, whose values are used instead.
    pub(super) values: Option<Vec<Option<f64>>>,
}

/// Averages of the series of a layout over the last `every` intervals.
pub(super) fn averages(
    samples: &[Arc<Sample>],
    every: usize,
    paths: &[PathPattern],
    layout: &Layout,
) -> Averages {
    let recent = &samples[samples.len().saturating_sub(every + 1)..];
    let ([first, _, ..], Some(last)) = (recent, recent.last()) else { return Averages::default() };
    let begin = Some(unix_seconds(first.at.utc));
    if every == 1 {
        return Averages { begin, values: None };
    }
    let span = Span::of_samples(first.at.utc.saturating_add(1), last.at.utc);
    let mut source = RingSource::window(recent, paths, (Some(span.begin()), None));
    let (mut reduction, mut table, mut reducer) =
        (Reduction::new(span, 1), SeriesTable::default(), Reducer::default());
    let mut sample = Sample::default();
    while source.next(&mut sample).is_ok_and(|more| more) {
        if reducer.push(&sample, &mut reduction, &mut table).is_err() {
            break;
        }
    }
    reducer.cut(&mut reduction, &mut table);
    let reduced = reduction.finish(&table, paths);
    let by_path: HashMap<&str, _> =
        reduced.series.iter().map(|series| (&*series.info.path, series.summary.average)).collect();
    let average = |path: &str| by_path.get(path).copied().flatten();
    Averages { begin, values: Some(layout.series.iter().map(|one| average(&one.path)).collect()) }
}
