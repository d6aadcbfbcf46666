//! Prometheus remote-write 1.0: the body of a request, before compression.

use prost::encoding;
use tachograph_counters::civil::FileTime;
use tachograph_metrics::{Label as MetricLabel, Point};

use crate::encoder::{MAX_POINTS, SampleOrigin};
use crate::tracker::SeriesTracker;
use crate::wire::{Label, Sample, TimeSeries};

/// The bits of the NaN that marks a series as stale. Without this mark, queries would return the last value for another
/// five minutes.
const STALE_NAN: u64 = 0x7ff0_0000_0000_0002;

/// The field number of `WriteRequest.timeseries`.
const TIME_SERIES_FIELD: u32 = 1;

#[derive(Debug)]
pub(crate) struct RemoteWriteEncoder {
    tracker: SeriesTracker,
    /// The labels that are added to each series unless it has a label of the same name.
    common_labels: [Label; 2],
    /// The series of each metric, with the indexes of the tracker.
    metrics: Vec<Vec<TimeSeries>>,
    /// The series that ended with this sample.
    ended_series: Vec<TimeSeries>,
    body: Vec<u8>,
}

impl RemoteWriteEncoder {
    pub(crate) fn new(origin: &SampleOrigin) -> Self {
        let label = |name: &str, value: &str| Label { name: name.to_owned(), value: value.to_owned() };
        Self {
            tracker: SeriesTracker::new(origin.boot_time),
            common_labels: [label("instance", &origin.host), label("job", &origin.service)],
            metrics: Vec::new(),
            ended_series: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, point: &Point<'_>, at: FileTime) {
        let observed = self.tracker.observe(point);
        if observed.is_new_metric {
            self.metrics.push(Vec::new());
        }
        let metric = &mut self.metrics[observed.metric];
        if observed.is_new_series {
            let labels = series_labels(point.family.sample_name(), point.labels, &self.common_labels);
            metric.push(TimeSeries { labels, samples: vec![Sample::default()] });
        }
        let sample = Sample { value: point.number.as_double(), timestamp: milliseconds(at) };
        metric[observed.series].samples[0] = sample;
    }

    pub(crate) fn end_sample(&mut self, at: FileTime, mut write: impl FnMut(&[u8])) {
        let Self { tracker, metrics, ended_series, body, .. } = self;
        tracker.end_sample(at, |metric, series| {
            let mut series = metrics[metric].swap_remove(series);
            let (value, timestamp) = (f64::from_bits(STALE_NAN), milliseconds(at));
            series.samples[0] = Sample { value, timestamp };
            ended_series.push(series);
        });
        let mut points = 0;
        for series in metrics.iter().flatten().chain(&*ended_series) {
            encoding::message::encode(TIME_SERIES_FIELD, series, body);
            points += 1;
            if points % MAX_POINTS == 0 {
                write(body);
                body.clear();
            }
        }
        if !body.is_empty() {
            write(body);
            body.clear();
        }
        ended_series.clear();
    }
}

/// All labels of a series, sorted by name. Empty labels are omitted, because Prometheus treats them as absent.
fn series_labels(name: &str, own: &[MetricLabel], common: &[Label]) -> Vec<Label> {
    let mut labels = vec![Label { name: "__name__".to_owned(), value: name.to_owned() }];
    let with_value = own.iter().filter(|(_, value)| !value.is_empty());
    labels.extend(
        with_value
            .map(|(name, value)| Label { name: (*name).to_owned(), value: value.clone().into_string() }),
    );
    for label in common {
        if !label.value.is_empty() && labels.iter().all(|own| own.name != label.name) {
            labels.push(label.clone());
        }
    }
    labels.sort();
    labels
}

/// Milliseconds since 1970.
fn milliseconds(time: FileTime) -> i64 {
    time.since(FileTime::UNIX_EPOCH).div_euclid(FileTime::PER_MILLISECOND)
}
