//! The enumerations of counter sets and counters: instance type, aggregate, attributes, kind of cell.
//!
//! Source: perflib.h (numbers); "Performance Counters Schema" (the words of manifests).

use crate::words::Words;

/// How many instances a counter set has, and whether they are aggregated (`PERF_COUNTERSET_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum InstanceType {
    /// One instance without a name.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_INSTANCE")]
    Single = 0,
    /// Any number of instances.
    #[doc(alias = "PERF_COUNTERSET_MULTI_INSTANCES")]
    Multiple = 2,
    /// Several instances, of which consumers get the aggregate only.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_AGGREGATE")]
    SingleAggregate = 4,
    /// Several instances and their aggregate `_Total`.
    #[doc(alias = "PERF_COUNTERSET_MULTI_AGGREGATE")]
    MultipleAggregate = 6,
    /// As `SingleAggregate`; instances that are gone still count with their last value.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY")]
    SingleAggregateHistory = 12,
    /// Aggregated over instances of equal name. Neither manifests nor applications that publish can have it.
    #[doc(alias = "PERF_COUNTERSET_INSTANCE_AGGREGATE")]
    InstanceAggregate = 22,
}

impl InstanceType {
    /// Every type that can be published, by its words.
    pub(crate) const WORDS: Words<Self> = Words(&[
        ("single", "single", Self::Single),
        ("multiple", "multiple", Self::Multiple),
        ("globalAggregate", "global_aggregate", Self::SingleAggregate),
        ("multipleAggregate", "multiple_aggregate", Self::MultipleAggregate),
        ("globalAggregateHistory", "global_aggregate_history", Self::SingleAggregateHistory),
    ]);

    /// The type of this number, if there is one.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Single,
            2 => Self::Multiple,
            4 => Self::SingleAggregate,
            6 => Self::MultipleAggregate,
            12 => Self::SingleAggregateHistory,
            22 => Self::InstanceAggregate,
            _ => return None,
        })
    }

    /// Whether a consumer names instances: all but the single and single-aggregate types.
    pub const fn has_instances(self) -> bool {
        matches!(self, Self::Multiple | Self::MultipleAggregate | Self::InstanceAggregate)
    }
}

/// How the aggregate of a counter is computed (`PERF_AGGREGATE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
pub enum Aggregate {
    /// Not specified.
    #[default]
    Undefined = 0,
    /// The sum.
    Total = 1,
    /// The arithmetic mean.
    Average = 2,
    /// The smallest.
    Minimum = 3,
    /// The largest.
    Maximum = 4,
}

impl Aggregate {
    /// Every function by its words; in `#[derive(CounterSet)]` the key is omitted for `Undefined`.
    pub(crate) const WORDS: Words<Self> = Words(&[
        ("sum", "sum", Self::Total),
        ("avg", "avg", Self::Average),
        ("max", "max", Self::Maximum),
        ("min", "min", Self::Minimum),
        ("undefined", "", Self::Undefined),
    ]);

    /// The function of this number, if there is one.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Undefined,
            1 => Self::Total,
            2 => Self::Average,
            3 => Self::Minimum,
            4 => Self::Maximum,
            _ => return None,
        })
    }
}

/// Attributes of a counter (`PERF_ATTRIB_*`), any combination; where display attributes meet, the first of
/// `NO_GROUP_SEPARATOR`, `DISPLAY_AS_REAL`, `DISPLAY_AS_HEX` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Attributes(pub u64);

impl Attributes {
    /// The provider hands out the address of the value.
    pub const BY_REFERENCE: Self = Self(1);
    /// Not for display: a base, a time, a frequency, a multiplier.
    pub const NO_DISPLAYABLE: Self = Self(2);
    /// Shown without digit grouping.
    pub const NO_GROUP_SEPARATOR: Self = Self(4);
    /// Shown as a real number.
    pub const DISPLAY_AS_REAL: Self = Self(8);
    /// Shown in hexadecimal.
    pub const DISPLAY_AS_HEX: Self = Self(0x10);

    /// Every attribute: its name in a manifest's `counterAttribute`, and its word in the `display` of
    /// `#[derive(CounterSet)]`; the first two have none there.
    pub const WORDS: [(&'static str, &'static str, Self); 5] = [
        ("reference", "", Self::BY_REFERENCE),
        ("noDisplay", "", Self::NO_DISPLAYABLE),
        ("noDigitGrouping", "no_grouping", Self::NO_GROUP_SEPARATOR),
        ("displayAsHex", "hex", Self::DISPLAY_AS_HEX),
        ("displayAsReal", "real", Self::DISPLAY_AS_REAL),
    ];

    /// Whether all attributes of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These attributes and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How an application that publishes a counter stores its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum CellKind {
    /// Nowhere: it is the base of a counter that stores both.
    None = 0,
    /// One word.
    Plain = 1,
    /// A sum with the number of its terms: the value is the sum, the base is the number.
    Pair = 2,
    /// A pair whose sum is in nanoseconds: the value is in units of 100 ns, the base is the number.
    Timer = 3,
    /// Two numbers of 32 bits in one word: the value is the first, the base is the second.
    Ratio = 4,
}

impl CellKind {
    /// The kind of this number, if there is one.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::None,
            1 => Self::Plain,
            2 => Self::Pair,
            3 => Self::Timer,
            4 => Self::Ratio,
            _ => return None,
        })
    }

    /// Whether the value of the base is stored with that of the counter.
    pub const fn has_base(self) -> bool {
        matches!(self, Self::Pair | Self::Timer | Self::Ratio)
    }
}
