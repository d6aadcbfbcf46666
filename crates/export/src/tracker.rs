//! Tracks which series exist, when each began and when it ends.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_metrics::{Family, Kind, Point};
use tachograph_perflib::InstanceKey;

/// Tracks the series of an export across samples. A series is a metric with a set of labels. An encoder keeps its own
/// data of metrics and series in lists that have the same indexes as those of its tracker.
#[derive(Debug)]
pub(crate) struct Tracker {
    metrics: Vec<TrackedMetric>,
    /// The index of each metric, by its name in samples.
    by_name: HashMap<Box<str>, usize>,
    /// The metric of the last point, because consecutive points usually have the same metric.
    current: Option<(Arc<Family>, usize)>,
    /// The start time of counters that exist in the first sample.
    origin: FileTime,
    /// The time of the previous sample.
    previous: Option<FileTime>,
}

#[derive(Debug, Default)]
struct TrackedMetric {
    by_labels: HashMap<Box<str>, usize>,
    series: Vec<TrackedSeries>,
}

#[derive(Debug)]
struct TrackedSeries {
    labels: Box<str>,
    instance: Arc<InstanceKey>,
    start: FileTime,
    /// The last value.
    last: f64,
    /// Whether the current sample has a point of the series.
    is_present: bool,
}

/// The series of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeriesIndex {
    /// The index of the metric.
    pub(crate) metric: usize,
    /// Whether the metric is new. A new metric has the highest index.
    pub(crate) is_new_metric: bool,
    /// The index of the series within its metric.
    pub(crate) series: usize,
    /// Whether the series is new. A new series has the highest index of its metric.
    pub(crate) is_new: bool,
    /// The start time of the series; encoders use it only for counters.
    pub(crate) start: FileTime,
}

impl Tracker {
    /// `origin` is the start time of counters that exist in the first sample: the time of boot.
    pub(crate) fn new(origin: FileTime) -> Self {
        Self { metrics: Vec::new(), by_name: HashMap::new(), current: None, origin, previous: None }
    }

    /// Adds a point, and returns its series.
    pub(crate) fn observe(&mut self, point: &Point<'_>) -> SeriesIndex {
        let (metric, is_new_metric) = self.metric(point.family);
        let value = point.number.as_double();
        // A series that was absent from the previous sample began after that sample.
        let began = self.previous.unwrap_or(self.origin);
        let tracked = &mut self.metrics[metric];
        if let Some(&series) = tracked.by_labels.get(point.label_text) {
            let known = &mut tracked.series[series];
            let is_same = Arc::ptr_eq(&known.instance, point.instance) || known.instance == *point.instance;
            // Another process with the same labels, or a counter that was reset, gets a new start time.
            if !is_same || (value < known.last && point.family.kind() == Kind::Counter) {
                known.start = began;
                known.instance = Arc::clone(point.instance);
            }
            (known.last, known.is_present) = (value, true);
            return SeriesIndex { metric, is_new_metric, series, is_new: false, start: known.start };
        }
        let series = tracked.series.len();
        tracked.by_labels.insert(point.label_text.into(), series);
        tracked.series.push(TrackedSeries {
            labels: point.label_text.into(),
            instance: Arc::clone(point.instance),
            start: began,
            last: value,
            is_present: true,
        });
        SeriesIndex { metric, is_new_metric, series, is_new: true, start: began }
    }

    fn metric(&mut self, family: &Arc<Family>) -> (usize, bool) {
        if let Some((current, index)) = &self.current
            && Arc::ptr_eq(current, family)
        {
            return (*index, false);
        }
        let known = self.by_name.get(family.sample_name()).copied();
        let index = known.unwrap_or_else(|| {
            self.by_name.insert(family.sample_name().into(), self.metrics.len());
            self.metrics.push(TrackedMetric::default());
            self.metrics.len() - 1
        });
        self.current = Some((Arc::clone(family), index));
        (index, known.is_none())
    }

    /// Ends the sample taken at `at`, and removes the series that were absent from it. Calls `remove` with the metric's
    /// index and the series' index for each removed series; the caller must remove it from its own list with
    /// [`Vec::swap_remove`].
    pub(crate) fn end_sample(&mut self, at: FileTime, mut remove: impl FnMut(usize, usize)) {
        for (index, metric) in self.metrics.iter_mut().enumerate() {
            for series in (0..metric.series.len()).rev() {
                if std::mem::take(&mut metric.series[series].is_present) {
                    continue;
                }
                let ended = metric.series.swap_remove(series);
                metric.by_labels.remove(&ended.labels);
                if let Some(moved) = metric.series.get(series) {
                    metric.by_labels.insert(moved.labels.clone(), series);
                }
                remove(index, series);
            }
        }
        self.current = None;
        self.previous = Some(at);
    }
}
