//! What a result holds.

/// What a result of a raw data block holds (`PERF_COUNTER_HEADER::dwType`). Bit 2 says many counters, bit 4 many
/// instances.
///
/// Source: perflib.h.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Kind {
    /// No data: a Win32 code.
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
    /// The kind of this number, if there is one.
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

    /// The kind of the results of a query that asks for one counter or all, of one instance or all.
    pub const fn of_query(all_counters: bool, all_instances: bool) -> Self {
        match (all_counters, all_instances) {
            (false, false) => Self::SingleCounter,
            (true, false) => Self::MultipleCounters,
            (false, true) => Self::MultipleInstances,
            (true, true) => Self::CounterSet,
        }
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self as u32
    }
}
