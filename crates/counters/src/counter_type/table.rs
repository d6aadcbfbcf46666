//! The table of all counter types that Windows names, in the order of their words.
//!
//! Sources: winperf.h; .NET's `PerformanceCounterType`. `PERF_DOUBLE_RAW` is not in winperf.h: it is the private type of
//! values that arrive already formatted (text logs), and never leaves the program.

use super::CounterType;
use crate::formula::Formula;

pub(super) struct NamedType {
    pub(super) word: u32,
    pub(super) name: &'static str,
    pub(super) dot_net_name: Option<&'static str>,
    pub(super) formula: Option<Formula>,
}

const fn named(
    kind: CounterType,
    name: &'static str,
    dot_net_name: Option<&'static str>,
    formula: Option<Formula>,
) -> NamedType {
    NamedType { word: kind.0, name, dot_net_name, formula }
}

/// Sorted by word; of two names for one word the first is printed.
#[rustfmt::skip]
pub(super) static NAMED_TYPES: &[NamedType] = &[
    named(CounterType::RAWCOUNT_HEX, "PERF_COUNTER_RAWCOUNT_HEX", Some("NumberOfItemsHEX32"), Some(Formula::Value)),
    named(CounterType::LARGE_RAWCOUNT_HEX, "PERF_COUNTER_LARGE_RAWCOUNT_HEX", Some("NumberOfItemsHEX64"), Some(Formula::Value)),
    named(CounterType::TEXT, "PERF_COUNTER_TEXT", None, None),
    named(CounterType::RAWCOUNT, "PERF_COUNTER_RAWCOUNT", Some("NumberOfItems32"), Some(Formula::Value)),
    named(CounterType::LARGE_RAWCOUNT, "PERF_COUNTER_LARGE_RAWCOUNT", Some("NumberOfItems64"), Some(Formula::Value)),
    named(CounterType::DOUBLE_RAW, "PERF_DOUBLE_RAW", None, Some(Formula::Double)),
    named(CounterType::DELTA, "PERF_COUNTER_DELTA", Some("CounterDelta32"), Some(Formula::Delta)),
    named(CounterType::LARGE_DELTA, "PERF_COUNTER_LARGE_DELTA", Some("CounterDelta64"), Some(Formula::Delta)),
    named(CounterType::SAMPLE_COUNTER, "PERF_SAMPLE_COUNTER", Some("SampleCounter"), Some(Formula::Rate)),
    named(CounterType::QUEUELEN, "PERF_COUNTER_QUEUELEN_TYPE", Some("CountPerTimeInterval32"), Some(Formula::Ratio)),
    named(CounterType::LARGE_QUEUELEN, "PERF_COUNTER_LARGE_QUEUELEN_TYPE", Some("CountPerTimeInterval64"), Some(Formula::Ratio)),
    named(CounterType::QUEUELEN_100NS, "PERF_COUNTER_100NS_QUEUELEN_TYPE", None, Some(Formula::Ratio)),
    named(CounterType::OBJ_TIME_QUEUELEN, "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE", None, Some(Formula::Ratio)),
    named(CounterType::COUNTER_COUNTER, "PERF_COUNTER_COUNTER", Some("RateOfCountsPerSecond32"), Some(Formula::Rate)),
    named(CounterType::BULK_COUNT, "PERF_COUNTER_BULK_COUNT", Some("RateOfCountsPerSecond64"), Some(Formula::Rate)),
    named(CounterType::RAW_FRACTION, "PERF_RAW_FRACTION", Some("RawFraction"), Some(Formula::Fraction)),
    named(CounterType::LARGE_RAW_FRACTION, "PERF_LARGE_RAW_FRACTION", None, Some(Formula::Fraction)),
    named(CounterType::COUNTER_TIMER, "PERF_COUNTER_TIMER", Some("CounterTimer"), Some(Formula::Percent)),
    named(CounterType::PRECISION_SYSTEM_TIMER, "PERF_PRECISION_SYSTEM_TIMER", None, Some(Formula::Percent)),
    named(CounterType::TIMER_100NS, "PERF_100NSEC_TIMER", Some("Timer100Ns"), Some(Formula::Percent)),
    named(CounterType::PRECISION_100NS_TIMER, "PERF_PRECISION_100NS_TIMER", None, Some(Formula::Percent)),
    named(CounterType::OBJ_TIME_TIMER, "PERF_OBJ_TIME_TIMER", None, Some(Formula::Percent)),
    named(CounterType::PRECISION_OBJECT_TIMER, "PERF_PRECISION_OBJECT_TIMER", None, Some(Formula::Percent)),
    named(CounterType::SAMPLE_FRACTION, "PERF_SAMPLE_FRACTION", Some("SampleFraction"), Some(Formula::Percent)),
    named(CounterType::COUNTER_TIMER_INV, "PERF_COUNTER_TIMER_INV", Some("CounterTimerInverse"), Some(Formula::InversePercent)),
    named(CounterType::TIMER_INV_100NS, "PERF_100NSEC_TIMER_INV", Some("Timer100NsInverse"), Some(Formula::InversePercent)),
    named(CounterType::COUNTER_MULTI_TIMER, "PERF_COUNTER_MULTI_TIMER", Some("CounterMultiTimer"), Some(Formula::MultiPercent)),
    named(CounterType::MULTI_TIMER_100NS, "PERF_100NSEC_MULTI_TIMER", Some("CounterMultiTimer100Ns"), Some(Formula::MultiPercent)),
    named(CounterType::COUNTER_MULTI_TIMER_INV, "PERF_COUNTER_MULTI_TIMER_INV", Some("CounterMultiTimerInverse"), Some(Formula::MultiInversePercent)),
    named(CounterType::MULTI_TIMER_INV_100NS, "PERF_100NSEC_MULTI_TIMER_INV", Some("CounterMultiTimer100NsInverse"), Some(Formula::MultiInversePercent)),
    named(CounterType::AVERAGE_TIMER, "PERF_AVERAGE_TIMER", Some("AverageTimer32"), Some(Formula::AverageTime)),
    named(CounterType::ELAPSED_TIME, "PERF_ELAPSED_TIME", Some("ElapsedTime"), Some(Formula::Elapsed)),
    named(CounterType::NO_DATA, "PERF_COUNTER_NODATA", None, None),
    named(CounterType::AVERAGE_BULK, "PERF_AVERAGE_BULK", Some("AverageCount64"), Some(Formula::Ratio)),
    named(CounterType::SAMPLE_BASE, "PERF_SAMPLE_BASE", Some("SampleBase"), None),
    named(CounterType::AVERAGE_BASE, "PERF_AVERAGE_BASE", Some("AverageBase"), None),
    named(CounterType::RAW_BASE, "PERF_RAW_BASE", Some("RawBase"), None),
    named(CounterType::LARGE_RAW_BASE, "PERF_LARGE_RAW_BASE", None, None),
    named(CounterType::PRECISION_TIMESTAMP, "PERF_PRECISION_TIMESTAMP", None, None),
    named(CounterType::MULTI_BASE, "PERF_COUNTER_MULTI_BASE", Some("CounterMultiBase"), None),
    named(CounterType::HISTOGRAM, "PERF_COUNTER_HISTOGRAM_TYPE", None, None),
];

/// The words by name.
impl CounterType {
    /// `PERF_COUNTER_RAWCOUNT_HEX`.
    #[doc(alias = "PERF_COUNTER_RAWCOUNT_HEX")]
    pub const RAWCOUNT_HEX: Self = Self(0x0000_0000);
    /// `PERF_COUNTER_LARGE_RAWCOUNT_HEX`.
    #[doc(alias = "PERF_COUNTER_LARGE_RAWCOUNT_HEX")]
    pub const LARGE_RAWCOUNT_HEX: Self = Self(0x0000_0100);
    /// `PERF_COUNTER_TEXT`.
    #[doc(alias = "PERF_COUNTER_TEXT")]
    pub const TEXT: Self = Self(0x0000_0B00);
    /// `PERF_COUNTER_RAWCOUNT`.
    #[doc(alias = "PERF_COUNTER_RAWCOUNT")]
    pub const RAWCOUNT: Self = Self(0x0001_0000);
    /// `PERF_COUNTER_LARGE_RAWCOUNT`.
    #[doc(alias = "PERF_COUNTER_LARGE_RAWCOUNT")]
    pub const LARGE_RAWCOUNT: Self = Self(0x0001_0100);
    /// `PERF_DOUBLE_RAW`.
    #[doc(alias = "PERF_DOUBLE_RAW")]
    pub const DOUBLE_RAW: Self = Self(0x0001_2000);
    /// `PERF_COUNTER_DELTA`.
    #[doc(alias = "PERF_COUNTER_DELTA")]
    pub const DELTA: Self = Self(0x0040_0400);
    /// `PERF_COUNTER_LARGE_DELTA`.
    #[doc(alias = "PERF_COUNTER_LARGE_DELTA")]
    pub const LARGE_DELTA: Self = Self(0x0040_0500);
    /// `PERF_SAMPLE_COUNTER`.
    #[doc(alias = "PERF_SAMPLE_COUNTER")]
    pub const SAMPLE_COUNTER: Self = Self(0x0041_0400);
    /// `PERF_COUNTER_QUEUELEN_TYPE`.
    #[doc(alias = "PERF_COUNTER_QUEUELEN_TYPE")]
    pub const QUEUELEN: Self = Self(0x0045_0400);
    /// `PERF_COUNTER_LARGE_QUEUELEN_TYPE`.
    #[doc(alias = "PERF_COUNTER_LARGE_QUEUELEN_TYPE")]
    pub const LARGE_QUEUELEN: Self = Self(0x0045_0500);
    /// `PERF_COUNTER_100NS_QUEUELEN_TYPE`.
    #[doc(alias = "PERF_COUNTER_100NS_QUEUELEN_TYPE")]
    pub const QUEUELEN_100NS: Self = Self(0x0055_0500);
    /// `PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE`.
    #[doc(alias = "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE")]
    pub const OBJ_TIME_QUEUELEN: Self = Self(0x0065_0500);
    /// `PERF_COUNTER_COUNTER`.
    #[doc(alias = "PERF_COUNTER_COUNTER")]
    pub const COUNTER_COUNTER: Self = Self(0x1041_0400);
    /// `PERF_COUNTER_BULK_COUNT`.
    #[doc(alias = "PERF_COUNTER_BULK_COUNT")]
    pub const BULK_COUNT: Self = Self(0x1041_0500);
    /// `PERF_RAW_FRACTION`.
    #[doc(alias = "PERF_RAW_FRACTION")]
    pub const RAW_FRACTION: Self = Self(0x2002_0400);
    /// `PERF_LARGE_RAW_FRACTION`.
    #[doc(alias = "PERF_LARGE_RAW_FRACTION")]
    pub const LARGE_RAW_FRACTION: Self = Self(0x2002_0500);
    /// `PERF_COUNTER_TIMER`.
    #[doc(alias = "PERF_COUNTER_TIMER")]
    pub const COUNTER_TIMER: Self = Self(0x2041_0500);
    /// `PERF_PRECISION_SYSTEM_TIMER`.
    #[doc(alias = "PERF_PRECISION_SYSTEM_TIMER")]
    pub const PRECISION_SYSTEM_TIMER: Self = Self(0x2047_0500);
    /// `PERF_100NSEC_TIMER`.
    #[doc(alias = "PERF_100NSEC_TIMER")]
    pub const TIMER_100NS: Self = Self(0x2051_0500);
    /// `PERF_PRECISION_100NS_TIMER`.
    #[doc(alias = "PERF_PRECISION_100NS_TIMER")]
    pub const PRECISION_100NS_TIMER: Self = Self(0x2057_0500);
    /// `PERF_OBJ_TIME_TIMER`.
    #[doc(alias = "PERF_OBJ_TIME_TIMER")]
    pub const OBJ_TIME_TIMER: Self = Self(0x2061_0500);
    /// `PERF_PRECISION_OBJECT_TIMER`.
    #[doc(alias = "PERF_PRECISION_OBJECT_TIMER")]
    pub const PRECISION_OBJECT_TIMER: Self = Self(0x2067_0500);
    /// `PERF_SAMPLE_FRACTION`.
    #[doc(alias = "PERF_SAMPLE_FRACTION")]
    pub const SAMPLE_FRACTION: Self = Self(0x20C2_0400);
    /// `PERF_COUNTER_TIMER_INV`.
    #[doc(alias = "PERF_COUNTER_TIMER_INV")]
    pub const COUNTER_TIMER_INV: Self = Self(0x2141_0500);
    /// `PERF_100NSEC_TIMER_INV`.
    #[doc(alias = "PERF_100NSEC_TIMER_INV")]
    pub const TIMER_INV_100NS: Self = Self(0x2151_0500);
    /// `PERF_COUNTER_MULTI_TIMER`.
    #[doc(alias = "PERF_COUNTER_MULTI_TIMER")]
    pub const COUNTER_MULTI_TIMER: Self = Self(0x2241_0500);
    /// `PERF_100NSEC_MULTI_TIMER`.
    #[doc(alias = "PERF_100NSEC_MULTI_TIMER")]
    pub const MULTI_TIMER_100NS: Self = Self(0x2251_0500);
    /// `PERF_COUNTER_MULTI_TIMER_INV`.
    #[doc(alias = "PERF_COUNTER_MULTI_TIMER_INV")]
    pub const COUNTER_MULTI_TIMER_INV: Self = Self(0x2341_0500);
    /// `PERF_100NSEC_MULTI_TIMER_INV`.
    #[doc(alias = "PERF_100NSEC_MULTI_TIMER_INV")]
    pub const MULTI_TIMER_INV_100NS: Self = Self(0x2351_0500);
    /// `PERF_AVERAGE_TIMER`.
    #[doc(alias = "PERF_AVERAGE_TIMER")]
    pub const AVERAGE_TIMER: Self = Self(0x3002_0400);
    /// `PERF_ELAPSED_TIME`.
    #[doc(alias = "PERF_ELAPSED_TIME")]
    pub const ELAPSED_TIME: Self = Self(0x3024_0500);
    /// `PERF_COUNTER_NODATA`.
    #[doc(alias = "PERF_COUNTER_NODATA")]
    pub const NO_DATA: Self = Self(0x4000_0200);
    /// `PERF_AVERAGE_BULK`.
    #[doc(alias = "PERF_AVERAGE_BULK")]
    pub const AVERAGE_BULK: Self = Self(0x4002_0500);
    /// `PERF_SAMPLE_BASE`.
    #[doc(alias = "PERF_SAMPLE_BASE")]
    pub const SAMPLE_BASE: Self = Self(0x4003_0401);
    /// `PERF_AVERAGE_BASE`.
    #[doc(alias = "PERF_AVERAGE_BASE")]
    pub const AVERAGE_BASE: Self = Self(0x4003_0402);
    /// `PERF_RAW_BASE`.
    #[doc(alias = "PERF_RAW_BASE")]
    pub const RAW_BASE: Self = Self(0x4003_0403);
    /// `PERF_LARGE_RAW_BASE`.
    #[doc(alias = "PERF_LARGE_RAW_BASE")]
    pub const LARGE_RAW_BASE: Self = Self(0x4003_0500);
    /// `PERF_PRECISION_TIMESTAMP`.
    #[doc(alias = "PERF_PRECISION_TIMESTAMP")]
    pub const PRECISION_TIMESTAMP: Self = Self(0x4003_0500);
    /// `PERF_COUNTER_MULTI_BASE`.
    #[doc(alias = "PERF_COUNTER_MULTI_BASE")]
    pub const MULTI_BASE: Self = Self(0x4203_0500);
    /// `PERF_COUNTER_HISTOGRAM_TYPE`.
    #[doc(alias = "PERF_COUNTER_HISTOGRAM_TYPE")]
    pub const HISTOGRAM: Self = Self(0x8000_0000);
}
