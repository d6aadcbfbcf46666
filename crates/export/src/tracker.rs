//! Tracks which series exist, when each began and when it ends.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_metrics::{Family, Kind, Point};
use tachograph_perflib::InstanceKey;

/// Tracks the series of an export across samples. A series is a metric with a set of labels. An encoder keeps its own
/// data of metrics and series in lists that have the same indexes as those of its tracker.
#[derive(Debug)]
pub(crate) struct SeriesTracker {
    metrics: Vec<TrackedMetric>,
    /// The index of each metric, by its name in samples.
    indexes_by_name: HashMap<Box<str>, usize>,
    /// The metric of the previous point, because consecutive points usually have the same metric.
    last_metric: Option<(Arc<Family>, usize)>,
    /// The start time of counters that exist in the first sample.
    boot_time: FileTime,
    /// The time of the previous sample.
    previous_sample: Option<FileTime>,
}

#[derive(Debug, Default)]
struct TrackedMetric {
    indexes_by_labels: HashMap<Box<str>, usize>,
    series: Vec<TrackedSeries>,
}

#[derive(Debug)]
struct TrackedSeries {
    labels: Box<str>,
    instance: Arc<InstanceKey>,
    start: FileTime,
    last_value: f64,
    /// Whether the current sample has a point of the series.
    is_present: bool,
}

/// Where the series of a point is in the lists of an encoder, and whether it is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Observation {
    /// The index of the metric.
    pub(crate) metric: usize,
    /// Whether the metric is new. A new metric has the highest index.
    pub(crate) is_new_metric: bool,
    /// The index of the series within its metric.
    pub(crate) series: usize,
    /// Whether the series is new. A new series has the highest index of its metric.
    pub(crate) is_new_series: bool,
    /// The start time of the series; encoders use it only for counters.
    pub(crate) start: FileTime,
}

impl SeriesTracker {
    /// `boot_time` is the start time of counters that exist in the first sample.
    pub(crate) fn new(boot_time: FileTime) -> Self {
        Self {
            metrics: Vec::new(),
            indexes_by_name: HashMap::new(),
            last_metric: None,
            boot_time,
            previous_sample: None,
        }
    }

    /// Adds a point, and returns its series.
    pub(crate) fn observe(&mut self, point: &Point<'_>) -> Observation {
        let (metric, is_new_metric) = self.metric_index(point.family);
        let value = point.number.as_double();
        // A series that was absent from the previous sample began after that sample.
        let start = self.previous_sample.unwrap_or(self.boot_time);
        let tracked = &mut self.metrics[metric];
        if let Some(&series) = tracked.indexes_by_labels.get(point.label_text) {
            let known = &mut tracked.series[series];
            let is_same = Arc::ptr_eq(&known.instance, point.instance) || known.instance == *point.instance;
            // Another process with the same labels, or a counter that was reset, gets a new start time.
            if !is_same || (value < known.last_value && point.family.kind() == Kind::Counter) {
                known.start = start;
                known.instance = Arc::clone(point.instance);
            }
            (known.last_value, known.is_present) = (value, true);
            return Observation { metric, is_new_metric, series, is_new_series: false, start: known.start };
        }
        let series = tracked.series.len();
        tracked.indexes_by_labels.insert(point.label_text.into(), series);
        tracked.series.push(TrackedSeries {
            labels: point.label_text.into(),
            instance: Arc::clone(point.instance),
            start,
            last_value: value,
            is_present: true,
        });
        Observation { metric, is_new_metric, series, is_new_series: true, start }
    }

    fn metric_index(&mut self, family: &Arc<Family>) -> (usize, bool) {
        if let Some((last, index)) = &self.last_metric
            && Arc::ptr_eq(last, family)
        {
            return (*index, false);
        }
        let known = self.indexes_by_name.get(family.sample_name()).copied();
        let index = known.unwrap_or_else(|| {
            self.indexes_by_name.insert(family.sample_name().into(), self.metrics.len());
            self.metrics.push(TrackedMetric::default());
            self.metrics.len() - 1
        });
        self.last_metric = Some((Arc::clone(family), index));
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
                metric.indexes_by_labels.remove(&ended.labels);
                if let Some(moved) = metric.series.get(series) {
                    metric.indexes_by_labels.insert(moved.labels.clone(), series);
                }
                remove(index, series);
            }
        }
        self.last_metric = None;
        self.previous_sample = Some(at);
    }
}
