//! The table of all named counter types, in numerical order.
//!
//! Sources: winperf.h; "Performance Counters Schema", counter (manifest words); .NET's `PerformanceCounterType`.
//! `PERF_DOUBLE_RAW` is not in winperf.h. It is a private type for values that are already formatted, as in text logs.

use super::CounterType;
use crate::Formula;

/// A row of the table.
pub(super) struct NamedType {
    /// The counter type as a 32-bit number.
    pub(super) word: u32,
    /// The name of the constant in winperf.h.
    pub(super) name: &'static str,
    pub(super) manifest_word: Option<&'static str>,
    pub(super) dot_net_name: Option<&'static str>,
    pub(super) formula: Option<Formula>,
}

/// `constant = word, winperf.h, manifest, .NET, formula;` defines a constant of [`CounterType`] and a row of the table.
/// `-` means that there is no such name or formula. `#[derive(CounterSet)]` accepts the manifest word, with or without
/// `perf_`.
macro_rules! counter_types {
    (@text -) => { None };
    (@text $text:literal) => { Some($text) };
    (@formula -) => { None };
    (@formula $formula:ident) => { Some(Formula::$formula) };
    ($($constant:ident = $word:literal, $name:literal, $manifest:tt, $dot_net:tt, $formula:tt;)*) => {
        /// The named types, sorted by word. If a word has two names, the first one is displayed.
        pub(super) static NAMED_TYPES: &[NamedType] = &[$(
            NamedType {
                word: $word,
                name: $name,
                manifest_word: counter_types!(@text $manifest),
                dot_net_name: counter_types!(@text $dot_net),
                formula: counter_types!(@formula $formula),
            },
        )*];

        /// Constants of the named types.
        impl CounterType {$(
            #[doc = concat!("`", $name, "`.")]
            #[doc(alias = $name)]
            pub const $constant: Self = Self($word);
        )*}
    };
}

#[rustfmt::skip]
counter_types! {
    RAWCOUNT_HEX = 0x0000_0000, "PERF_COUNTER_RAWCOUNT_HEX", "perf_counter_rawcount_hex", "NumberOfItemsHEX32", Value;
    LARGE_RAWCOUNT_HEX = 0x0000_0100, "PERF_COUNTER_LARGE_RAWCOUNT_HEX", "perf_counter_large_rawcount_hex", "NumberOfItemsHEX64", Value;
    TEXT = 0x0000_0B00, "PERF_COUNTER_TEXT", "perf_counter_text", -, -;
    RAWCOUNT = 0x0001_0000, "PERF_COUNTER_RAWCOUNT", "perf_counter_rawcount", "NumberOfItems32", Value;
    LARGE_RAWCOUNT = 0x0001_0100, "PERF_COUNTER_LARGE_RAWCOUNT", "perf_counter_large_rawcount", "NumberOfItems64", Value;
    DOUBLE_RAW = 0x0001_2000, "PERF_DOUBLE_RAW", -, -, Double;
    DELTA = 0x0040_0400, "PERF_COUNTER_DELTA", "perf_counter_delta", "CounterDelta32", Delta;
    LARGE_DELTA = 0x0040_0500, "PERF_COUNTER_LARGE_DELTA", "perf_counter_large_delta", "CounterDelta64", Delta;
    SAMPLE_COUNTER = 0x0041_0400, "PERF_SAMPLE_COUNTER", "perf_sample_counter", "SampleCounter", Rate;
    QUEUELEN = 0x0045_0400, "PERF_COUNTER_QUEUELEN_TYPE", "perf_counter_queuelen_type", "CountPerTimeInterval32", Ratio;
    LARGE_QUEUELEN = 0x0045_0500, "PERF_COUNTER_LARGE_QUEUELEN_TYPE", "perf_counter_large_queuelen_type", "CountPerTimeInterval64", Ratio;
    QUEUELEN_100NS = 0x0055_0500, "PERF_COUNTER_100NS_QUEUELEN_TYPE", "perf_counter_100ns_queuelen_type", -, Ratio;
    OBJ_TIME_QUEUELEN = 0x0065_0500, "PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE", "perf_counter_obj_time_queuelen_type", -, Ratio;
    COUNTER_COUNTER = 0x1041_0400, "PERF_COUNTER_COUNTER", "perf_counter_counter", "RateOfCountsPerSecond32", Rate;
    BULK_COUNT = 0x1041_0500, "PERF_COUNTER_BULK_COUNT", "perf_counter_bulk_count", "RateOfCountsPerSecond64", Rate;
    RAW_FRACTION = 0x2002_0400, "PERF_RAW_FRACTION", "perf_raw_fraction", "RawFraction", Fraction;
    LARGE_RAW_FRACTION = 0x2002_0500, "PERF_LARGE_RAW_FRACTION", "perf_large_raw_fraction", -, Fraction;
    COUNTER_TIMER = 0x2041_0500, "PERF_COUNTER_TIMER", "perf_counter_timer", "CounterTimer", Percent;
    PRECISION_SYSTEM_TIMER = 0x2047_0500, "PERF_PRECISION_SYSTEM_TIMER", "perf_precision_system_timer", -, Percent;
    TIMER_100NS = 0x2051_0500, "PERF_100NSEC_TIMER", "perf_100nsec_timer", "Timer100Ns", Percent;
    PRECISION_100NS_TIMER = 0x2057_0500, "PERF_PRECISION_100NS_TIMER", "perf_precision_100ns_timer", -, Percent;
    OBJ_TIME_TIMER = 0x2061_0500, "PERF_OBJ_TIME_TIMER", "perf_obj_time_timer", -, Percent;
    PRECISION_OBJECT_TIMER = 0x2067_0500, "PERF_PRECISION_OBJECT_TIMER", "perf_precision_object_timer", -, Percent;
    SAMPLE_FRACTION = 0x20C2_0400, "PERF_SAMPLE_FRACTION", "perf_sample_fraction", "SampleFraction", Percent;
    COUNTER_TIMER_INV = 0x2141_0500, "PERF_COUNTER_TIMER_INV", "perf_counter_timer_inv", "CounterTimerInverse", InversePercent;
    TIMER_INV_100NS = 0x2151_0500, "PERF_100NSEC_TIMER_INV", "perf_100nsec_timer_inv", "Timer100NsInverse", InversePercent;
    COUNTER_MULTI_TIMER = 0x2241_0500, "PERF_COUNTER_MULTI_TIMER", "perf_counter_multi_timer", "CounterMultiTimer", MultiPercent;
    MULTI_TIMER_100NS = 0x2251_0500, "PERF_100NSEC_MULTI_TIMER", "perf_100nsec_multi_timer", "CounterMultiTimer100Ns", MultiPercent;
    COUNTER_MULTI_TIMER_INV = 0x2341_0500, "PERF_COUNTER_MULTI_TIMER_INV", "perf_counter_multi_timer_inv", "CounterMultiTimerInverse", MultiInversePercent;
    MULTI_TIMER_INV_100NS = 0x2351_0500, "PERF_100NSEC_MULTI_TIMER_INV", "perf_100nsec_multi_timer_inv", "CounterMultiTimer100NsInverse", MultiInversePercent;
    AVERAGE_TIMER = 0x3002_0400, "PERF_AVERAGE_TIMER", "perf_average_timer", "AverageTimer32", AverageTime;
    ELAPSED_TIME = 0x3024_0500, "PERF_ELAPSED_TIME", "perf_elapsed_time", "ElapsedTime", Elapsed;
    NO_DATA = 0x4000_0200, "PERF_COUNTER_NODATA", -, -, -;
    AVERAGE_BULK = 0x4002_0500, "PERF_AVERAGE_BULK", "perf_average_bulk", "AverageCount64", Ratio;
    SAMPLE_BASE = 0x4003_0401, "PERF_SAMPLE_BASE", "perf_sample_base", "SampleBase", -;
    AVERAGE_BASE = 0x4003_0402, "PERF_AVERAGE_BASE", "perf_average_base", "AverageBase", -;
    RAW_BASE = 0x4003_0403, "PERF_RAW_BASE", "perf_raw_base", "RawBase", -;
    LARGE_RAW_BASE = 0x4003_0500, "PERF_LARGE_RAW_BASE", "perf_large_raw_base", -, -;
    PRECISION_TIMESTAMP = 0x4003_0500, "PERF_PRECISION_TIMESTAMP", -, -, -;
    MULTI_BASE = 0x4203_0500, "PERF_COUNTER_MULTI_BASE", "perf_counter_multi_base", "CounterMultiBase", -;
    HISTOGRAM = 0x8000_0000, "PERF_COUNTER_HISTOGRAM_TYPE", -, -, -;
}
