//! Encodes the points of a sample into request bodies.

use tachograph_counters::civil::FileTime;
use tachograph_metrics::Point;

use crate::otlp::OtlpEncoder;
use crate::remote_write::RemoteWriteEncoder;
use crate::target::Protocol;

/// The maximum number of values in a request body, because receivers limit the size of a body. Prometheus itself sends
/// at most 2,000 by default. A single OTLP metric with more values is not split.
pub(crate) const MAX_POINTS: usize = 2_000;

/// Where the samples of an export come from; all its series have these attributes.
#[derive(Clone, Debug)]
pub(crate) struct SampleOrigin {
    /// The name of the machine.
    pub(crate) host: String,
    /// The name of the service.
    pub(crate) service: String,
    /// When the machine was booted.
    pub(crate) boot_time: FileTime,
}

/// Encodes samples. Consecutive bodies can be concatenated, because in both protocols a request is a repeated protobuf
/// field.
#[derive(Debug)]
pub(crate) enum Encoder {
    RemoteWrite(RemoteWriteEncoder),
    Otlp(OtlpEncoder),
}

impl Encoder {
    pub(crate) fn new(protocol: Protocol, origin: &SampleOrigin) -> Self {
        match protocol {
            Protocol::RemoteWrite => Self::RemoteWrite(RemoteWriteEncoder::new(origin)),
            Protocol::Otlp => Self::Otlp(OtlpEncoder::new(origin)),
        }
    }

    /// Adds a point of the sample.
    pub(crate) fn push(&mut self, point: &Point<'_>, at: FileTime) {
        match self {
            Self::RemoteWrite(encoder) => encoder.push(point, at),
            Self::Otlp(encoder) => encoder.push(point, at),
        }
    }

    /// Ends a sample: calls `write` with each body. A series without a point in this sample is marked as ended.
    pub(crate) fn end_sample(&mut self, at: FileTime, write: impl FnMut(&[u8])) {
        match self {
            Self::RemoteWrite(encoder) => encoder.end_sample(at, write),
            Self::Otlp(encoder) => encoder.end_sample(at, write),
        }
    }
}
