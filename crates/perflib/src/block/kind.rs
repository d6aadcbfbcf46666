//! The kind of a result.

/// The kind of a result in a raw data block (`PERF_COUNTER_HEADER::dwType`): bit 1 is set for several counters, bit 2
/// for several instances.
///
/// Source: perflib.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Kind {
    /// A Win32 code instead of data.
    #[doc(alias = "PERF_ERROR_RETURN")]
    Error = 0,
    /// One counter of one instance.
    #[doc(alias = "PERF_SINGLE_COUNTER")]
    SingleCounter = 1,
    /// Several counters of one instance.
    #[doc(alias = "PERF_MULTIPLE_COUNTERS")]
    MultipleCounters = 2,
    /// One counter of several instances.
    #[doc(alias = "PERF_MULTIPLE_INSTANCES")]
    MultipleInstances = 4,
    /// Several counters of several instances.
    #[doc(alias = "PERF_COUNTERSET")]
    CounterSet = 6,
}

impl Kind {
    /// The kind with this numeric value (`dwType`).
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Error,
            1 => Self::SingleCounter,
            2 => Self::MultipleCounters,
            4 => Self::MultipleInstances,
            6 => Self::CounterSet,
            _ => return None,
        })
    }

    /// The kind of the result of a query for one or all counters, and one or all instances.
    pub const fn for_query(all_counters: bool, all_instances: bool) -> Self {
        match (all_counters, all_instances) {
            (false, false) => Self::SingleCounter,
            (true, false) => Self::MultipleCounters,
            (false, true) => Self::MultipleInstances,
            (true, true) => Self::CounterSet,
        }
    }

    /// The numeric value (`dwType`).
    pub const fn number(self) -> u32 {
        self as u32
    }
}
