//! OTLP: the body of a request (`ExportMetricsServiceRequest`), before compression.

use prost::encoding::{self, WireType};
use tachograph_counters::civil::FileTime;
use tachograph_metrics::{Family, Kind, Point};

use crate::encoder::{MAX_POINTS, SampleOrigin};
use crate::tracker::SeriesTracker;
use crate::wire::{
    CUMULATIVE, Gauge, InstrumentationScope, KeyValue, Metric, NO_RECORDED_VALUE, NumberDataPoint,
    PointValue, Resource, Sum,
};

/// The field number of `ExportMetricsServiceRequest.resource_metrics`.
const RESOURCE_METRICS_FIELD: u32 = 1;
/// The field numbers of `ResourceMetrics.resource` and `.scope_metrics`.
const RESOURCE_FIELD: u32 = 1;
const SCOPE_METRICS_FIELD: u32 = 2;
/// The field numbers of `ScopeMetrics.scope` and `.metrics`.
const SCOPE_FIELD: u32 = 1;
const METRICS_FIELD: u32 = 2;

#[derive(Debug)]
pub(crate) struct OtlpEncoder {
    tracker: SeriesTracker,
    /// The encoded field [`RESOURCE_FIELD`].
    resource: Vec<u8>,
    /// The encoded field [`SCOPE_FIELD`].
    scope: Vec<u8>,
    metrics: Vec<Metric>,
    /// Encoded fields [`METRICS_FIELD`].
    encoded_metrics: Vec<u8>,
    body: Vec<u8>,
}

impl OtlpEncoder {
    pub(crate) fn new(origin: &SampleOrigin) -> Self {
        let attributes =
            vec![KeyValue::text("host.name", &origin.host), KeyValue::text("service.name", &origin.service)];
        let scope = InstrumentationScope {
            name: "tachograph".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let (mut resource_field, mut scope_field) = (Vec::new(), Vec::new());
        encoding::message::encode(RESOURCE_FIELD, &Resource { attributes }, &mut resource_field);
        encoding::message::encode(SCOPE_FIELD, &scope, &mut scope_field);
        Self {
            tracker: SeriesTracker::new(origin.boot_time),
            resource: resource_field,
            scope: scope_field,
            metrics: Vec::new(),
            encoded_metrics: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, point: &Point<'_>, at: FileTime) {
        let observed = self.tracker.observe(point);
        if observed.is_new_metric {
            self.metrics.push(new_metric(point.family));
        }
        let points = points_of(&mut self.metrics[observed.metric]);
        if observed.is_new_series {
            let attributes = point.labels.iter().map(|(name, value)| KeyValue::text(name, value)).collect();
            points.push(NumberDataPoint { attributes, ..NumberDataPoint::default() });
        }
        let data_point = &mut points[observed.series];
        if point.family.kind() == Kind::Counter {
            data_point.start_time_unix_nano = nanoseconds(observed.start);
        }
        data_point.time_unix_nano = nanoseconds(at);
        data_point.value = Some(match point.number.as_integer() {
            Some(integer) => PointValue::Integer(integer),
            None => PointValue::Double(point.number.as_double()),
        });
    }

    pub(crate) fn end_sample(&mut self, at: FileTime, mut write: impl FnMut(&[u8])) {
        let Self { tracker, resource, scope, metrics, encoded_metrics, body } = self;
        // Points of ended series are moved to the end of their metric, without a value, for this sample only.
        let mut ended: Vec<(usize, NumberDataPoint)> = Vec::new();
        tracker.end_sample(at, |metric, series| {
            let mut point = points_of(&mut metrics[metric]).swap_remove(series);
            (point.value, point.flags) = (None, NO_RECORDED_VALUE);
            point.time_unix_nano = nanoseconds(at);
            ended.push((metric, point));
        });
        let ended_metrics: Vec<usize> = ended.iter().map(|(metric, _)| *metric).collect();
        for (metric, point) in ended {
            points_of(&mut metrics[metric]).push(point);
        }
        let mut body_points = 0;
        for metric in metrics.iter_mut() {
            let metric_points = points_of(metric).len();
            if metric_points == 0 {
                continue;
            }
            if body_points > 0 && body_points + metric_points > MAX_POINTS {
                write(build_body(body, resource, scope, encoded_metrics));
                body_points = 0;
            }
            encoding::message::encode(METRICS_FIELD, &*metric, encoded_metrics);
            body_points += metric_points;
        }
        if body_points > 0 {
            write(build_body(body, resource, scope, encoded_metrics));
        }
        for metric in ended_metrics {
            points_of(&mut metrics[metric]).pop();
        }
    }
}

/// Builds a body from the encoded metrics, and clears them.
fn build_body<'a>(body: &'a mut Vec<u8>, resource: &[u8], scope: &[u8], metrics: &mut Vec<u8>) -> &'a [u8] {
    let scope_metrics = scope.len() + metrics.len();
    let field_length = |length: usize| {
        encoding::key_len(SCOPE_METRICS_FIELD) + encoding::encoded_len_varint(length as u64) + length
    };
    body.clear();
    encoding::encode_key(RESOURCE_METRICS_FIELD, WireType::LengthDelimited, body);
    encoding::encode_varint((resource.len() + field_length(scope_metrics)) as u64, body);
    body.extend_from_slice(resource);
    encoding::encode_key(SCOPE_METRICS_FIELD, WireType::LengthDelimited, body);
    encoding::encode_varint(scope_metrics as u64, body);
    body.extend_from_slice(scope);
    body.append(metrics);
    body
}

fn new_metric(family: &Family) -> Metric {
    let (gauge, sum) = match family.kind() {
        Kind::Gauge => (Some(Gauge::default()), None),
        Kind::Counter => {
            let sum = Sum { aggregation_temporality: CUMULATIVE, is_monotonic: true, ..Sum::default() };
            (None, Some(sum))
        }
    };
    Metric {
        name: family.name().to_owned(),
        description: family.help().to_owned(),
        unit: ucum_code(family.unit()),
        gauge,
        sum,
    }
}

fn points_of(metric: &mut Metric) -> &mut Vec<NumberDataPoint> {
    match (&mut metric.sum, &mut metric.gauge) {
        (Some(sum), _) => &mut sum.data_points,
        (None, gauge) => &mut gauge.get_or_insert_default().data_points,
    }
}

/// Converts a unit of `/metrics` to its UCUM code. A unit that UCUM lacks becomes an annotation, such as `{request}`.
fn ucum_code(unit: &str) -> String {
    let code = match unit {
        "" | "ratio" => "1",
        "amperes" => "A",
        "bytes" => "By",
        "bytes_per_second" => "By/s",
        "celsius" => "Cel",
        "hertz" => "Hz",
        "joules" => "J",
        "seconds" => "s",
        "volts" => "V",
        "watts" => "W",
        "rpm" => "{revolution}/min",
        other => return format!("{{{}}}", other.strip_suffix('s').unwrap_or(other)),
    };
    code.to_owned()
}

fn nanoseconds(time: FileTime) -> u64 {
    let since_1970 = time.0.saturating_sub(FileTime::UNIX_EPOCH.0);
    u64::try_from(since_1970).unwrap_or_default().saturating_mul(100)
}
