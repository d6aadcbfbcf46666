//! The protobuf messages of remote-write 1.0 and of OTLP, with only the fields that this crate uses.
//!
//! Sources: the Prometheus remote-write specification 1.0 (`remote.proto`, `types.proto`), and OpenTelemetry's
//! `metrics/v1/metrics.proto`, `common/v1/common.proto` and `resource/v1/resource.proto`.

use prost::Message;

/// The values of one series, in remote-write.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TimeSeries {
    /// The labels, sorted by name. The metric's name is the label `__name__`.
    #[prost(message, repeated, tag = "1")]
    pub(crate) labels: Vec<Label>,
    /// The values, in chronological order.
    #[prost(message, repeated, tag = "2")]
    pub(crate) samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Message)]
pub(crate) struct Label {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) value: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Sample {
    #[prost(double, tag = "1")]
    pub(crate) value: f64,
    /// Milliseconds since 1970.
    #[prost(int64, tag = "2")]
    pub(crate) timestamp: i64,
}

/// All values of a metric, in OTLP.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Metric {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) description: String,
    /// The unit, in the notation of UCUM.
    #[prost(string, tag = "3")]
    pub(crate) unit: String,
    #[prost(message, optional, tag = "5")]
    pub(crate) gauge: Option<Gauge>,
    #[prost(message, optional, tag = "7")]
    pub(crate) sum: Option<Sum>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Gauge {
    #[prost(message, repeated, tag = "1")]
    pub(crate) data_points: Vec<NumberDataPoint>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sum {
    #[prost(message, repeated, tag = "1")]
    pub(crate) data_points: Vec<NumberDataPoint>,
    /// Always [`CUMULATIVE`].
    #[prost(int32, tag = "2")]
    pub(crate) aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    pub(crate) is_monotonic: bool,
}

/// Each value is a sum since the start time.
pub(crate) const CUMULATIVE: i32 = 2;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct NumberDataPoint {
    /// Nanoseconds since 1970; 0 for gauges.
    #[prost(fixed64, tag = "2")]
    pub(crate) start_time_unix_nano: u64,
    /// Nanoseconds since 1970.
    #[prost(fixed64, tag = "3")]
    pub(crate) time_unix_nano: u64,
    /// `None` if the series has ended.
    #[prost(oneof = "PointValue", tags = "4, 6")]
    pub(crate) value: Option<PointValue>,
    #[prost(message, repeated, tag = "7")]
    pub(crate) attributes: Vec<KeyValue>,
    /// 0, or [`NO_RECORDED_VALUE`].
    #[prost(uint32, tag = "8")]
    pub(crate) flags: u32,
}

/// The flag of a point without a value. Such a point marks the end of its series.
pub(crate) const NO_RECORDED_VALUE: u32 = 1;

#[derive(Clone, Copy, PartialEq, prost::Oneof)]
pub(crate) enum PointValue {
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(sfixed64, tag = "6")]
    Integer(i64),
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(crate) key: String,
    #[prost(message, optional, tag = "2")]
    pub(crate) value: Option<AnyValue>,
}

/// The value of an attribute. OTLP's other kinds of values are not sent.
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct AnyValue {
    #[prost(string, optional, tag = "1")]
    pub(crate) string_value: Option<String>,
}

impl KeyValue {
    pub(crate) fn text(key: &str, value: &str) -> Self {
        Self { key: key.to_owned(), value: Some(AnyValue { string_value: Some(value.to_owned()) }) }
    }
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(crate) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct InstrumentationScope {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, tag = "2")]
    pub(crate) version: String,
}

/// The answer of a collector (`ExportMetricsServiceResponse`).
#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    pub(crate) partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub(crate) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(crate) rejected_data_points: i64,
    #[prost(string, tag = "2")]
    pub(crate) error_message: String,
}
