//! The counter types that a field can have.
//!
//! Sources: winperf.h (words); "Performance Counters Schema", Microsoft (names); \[MS-PCQ\] 2.2.4.2 (companions).

/// What a type's formula needs beside the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// A base of this type.
    Base(&'static str),
    /// A time and its frequency, both `perf_counter_large_rawcount`.
    Time,
    /// A multiplier, `perf_counter_rawcount`.
    Multiplier,
}

/// What a counter of the type is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// A number that is shown as it is, or by one sample: it goes up and down.
    Value,
    /// A number of which the growth is shown.
    Growth,
    /// A denominator, which is not shown.
    Base,
    /// It has no number that could be published.
    Unusable,
}

pub(crate) struct Type {
    /// The name in manifests.
    pub(crate) name: &'static str,
    pub(crate) word: u32,
    pub(crate) class: Class,
    pub(crate) needs: Needs,
}

const fn of(name: &'static str, word: u32, class: Class, needs: Needs) -> Type {
    Type { name, word, class, needs }
}

use Class::{Base, Growth, Unusable, Value};
use Needs::{Base as WithBase, Multiplier, Nothing, Time};

pub(crate) const AVERAGE_BASE: &str = "perf_average_base";
pub(crate) const SAMPLE_BASE: &str = "perf_sample_base";
pub(crate) const RAW_BASE: &str = "perf_raw_base";
pub(crate) const LARGE_RAW_BASE: &str = "perf_large_raw_base";

#[rustfmt::skip]
static TYPES: &[Type] = &[
    of("perf_counter_counter",               0x1041_0400, Growth, Nothing),
    of("perf_counter_bulk_count",            0x1041_0500, Growth, Nothing),
    of("perf_counter_delta",                 0x0040_0400, Growth, Nothing),
    of("perf_counter_large_delta",           0x0040_0500, Growth, Nothing),
    of("perf_sample_counter",                0x0041_0400, Growth, Nothing),
    of("perf_counter_queuelen_type",         0x0045_0400, Growth, Nothing),
    of("perf_counter_large_queuelen_type",   0x0045_0500, Growth, Nothing),
    of("perf_counter_100ns_queuelen_type",   0x0055_0500, Growth, Nothing),
    of("perf_counter_obj_time_queuelen_type", 0x0065_0500, Growth, Time),
    of("perf_counter_timer",                 0x2041_0500, Growth, Nothing),
    of("perf_counter_timer_inv",             0x2141_0500, Growth, Nothing),
    of("perf_100nsec_timer",                 0x2051_0500, Growth, Nothing),
    of("perf_100nsec_timer_inv",             0x2151_0500, Growth, Nothing),
    of("perf_obj_time_timer",                0x2061_0500, Growth, Time),
    of("perf_precision_system_timer",        0x2047_0500, Growth, WithBase(LARGE_RAW_BASE)),
    of("perf_precision_100ns_timer",         0x2057_0500, Growth, WithBase(LARGE_RAW_BASE)),
    of("perf_precision_object_timer",        0x2067_0500, Growth, Time),
    of("perf_counter_multi_timer",           0x2241_0500, Growth, Multiplier),
    of("perf_counter_multi_timer_inv",       0x2341_0500, Growth, Multiplier),
    of("perf_100nsec_multi_timer",           0x2251_0500, Growth, Multiplier),
    of("perf_100nsec_multi_timer_inv",       0x2351_0500, Growth, Multiplier),
    of("perf_average_timer",                 0x3002_0400, Growth, WithBase(AVERAGE_BASE)),
    of("perf_average_bulk",                  0x4002_0500, Growth, WithBase(AVERAGE_BASE)),
    of("perf_sample_fraction",               0x20C2_0400, Growth, WithBase(SAMPLE_BASE)),
    of("perf_raw_fraction",                  0x2002_0400, Value, WithBase(RAW_BASE)),
    of("perf_large_raw_fraction",            0x2002_0500, Value, WithBase(LARGE_RAW_BASE)),
    of("perf_counter_rawcount",              0x0001_0000, Value, Nothing),
    of("perf_counter_large_rawcount",        0x0001_0100, Value, Nothing),
    of("perf_counter_rawcount_hex",          0x0000_0000, Value, Nothing),
    of("perf_counter_large_rawcount_hex",    0x0000_0100, Value, Nothing),
    of("perf_elapsed_time",                  0x3024_0500, Value, Time),
    of(SAMPLE_BASE,                          0x4003_0401, Base, Nothing),
    of(AVERAGE_BASE,                         0x4003_0402, Base, Nothing),
    of(RAW_BASE,                             0x4003_0403, Base, Nothing),
    of(LARGE_RAW_BASE,                       0x4003_0500, Base, Nothing),
    of("perf_counter_multi_base",            0x4203_0500, Base, Nothing),
    of("perf_counter_text",                  0x0000_0B00, Unusable, Nothing),
    of("perf_counter_composite",             0, Unusable, Nothing),
];

/// The type of a name, with or without `perf_`.
pub(crate) fn find(name: &str) -> Option<&'static Type> {
    TYPES.iter().find(|known| known.name == name || known.name.strip_prefix("perf_") == Some(name))
}

/// The types whose names are the most like this one.
pub(crate) fn alike(name: &str) -> Vec<&'static str> {
    let words: Vec<&str> = name.split('_').filter(|word| *word != "perf" && *word != "counter").collect();
    let score =
        |known: &Type| words.iter().filter(|word| known.name.split('_').any(|other| other == **word)).count();
    let best = TYPES.iter().map(score).max().unwrap_or(0);
    if best == 0 {
        return Vec::new();
    }
    TYPES
        .iter()
        .filter(|known| score(known) == best && known.class != Unusable)
        .map(|known| known.name)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_with_and_without_their_start() {
        assert_eq!(find("perf_counter_bulk_count").map(|found| found.word), Some(0x1041_0500));
        assert_eq!(find("counter_bulk_count").map(|found| found.word), Some(0x1041_0500));
        assert!(find("bulk_count").is_none() && find("").is_none());
        assert_eq!(alike("bulk_count"), ["perf_counter_bulk_count"]);
        assert!(alike("gauge").is_empty());
    }

    #[test]
    fn what_a_type_needs_exists() {
        for known in TYPES {
            if let WithBase(base) = known.needs {
                assert!(find(base).is_some_and(|base| base.class == Base), "{}", known.name);
            }
        }
    }
}
