//! The enumerations of counter sets and counters: instance types, aggregates, attributes, and the kinds of cells in
//! which published counters are stored.
//!
//! Source: perflib.h (numbers); "Performance Counters Schema" (words in manifests).

use crate::words::Words;

/// How many instances a counter set has, and whether they are aggregated (`PERF_COUNTERSET_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum InstanceType {
    /// A single instance without a name.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_INSTANCE")]
    Single = 0,
    /// Any number of instances.
    #[doc(alias = "PERF_COUNTERSET_MULTI_INSTANCES")]
    Multiple = 2,
    /// Several instances; consumers get only the aggregate.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_AGGREGATE")]
    SingleAggregate = 4,
    /// Several instances and their aggregate `_Total`.
    #[doc(alias = "PERF_COUNTERSET_MULTI_AGGREGATE")]
    MultipleAggregate = 6,
    /// Like `SingleAggregate`, but closed instances are still included with their last value.
    #[doc(alias = "PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY")]
    SingleAggregateHistory = 12,
    /// Instances with the same name are aggregated. Neither manifests nor publishing applications can use this type.
    #[doc(alias = "PERF_COUNTERSET_INSTANCE_AGGREGATE")]
    InstanceAggregate = 22,
}

impl InstanceType {
    /// Every type that can be published, with its words in manifests and in `#[derive(CounterSet)]`.
    pub(crate) const WORDS: Words<Self> = Words(&[
        ("single", "single", Self::Single),
        ("multiple", "multiple", Self::Multiple),
        ("globalAggregate", "global_aggregate", Self::SingleAggregate),
        ("multipleAggregate", "multiple_aggregate", Self::MultipleAggregate),
        ("globalAggregateHistory", "global_aggregate_history", Self::SingleAggregateHistory),
    ]);

    /// The type with this number.
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

    /// Whether consumers name instances. True for the types multiple, multiple aggregate and instance aggregate.
    pub const fn has_instances(self) -> bool {
        matches!(self, Self::Multiple | Self::MultipleAggregate | Self::InstanceAggregate)
    }
}

/// How the aggregate of a counter over instances is computed (`PERF_AGGREGATE_*`).
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
    /// The smallest value.
    Minimum = 3,
    /// The largest value.
    Maximum = 4,
}

impl Aggregate {
    /// Every aggregate, with its words in manifests and in the derive macro. In `#[derive(CounterSet)]`, the key is
    /// omitted for `Undefined`.
    pub(crate) const WORDS: Words<Self> = Words(&[
        ("sum", "sum", Self::Total),
        ("avg", "avg", Self::Average),
        ("max", "max", Self::Maximum),
        ("min", "min", Self::Minimum),
        ("undefined", "", Self::Undefined),
    ]);

    /// The aggregate with this number.
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

/// Attributes of a counter (`PERF_ATTRIB_*`), in any combination. If several of `NO_GROUP_SEPARATOR`, `DISPLAY_AS_REAL`
/// and `DISPLAY_AS_HEX` are set, the first one in this order applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Attributes(pub u64);

impl Attributes {
    /// The provider supplies the address of the value.
    pub const BY_REFERENCE: Self = Self(1);
    /// Not displayed, because it is a base, a time, a frequency or a multiplier.
    pub const NO_DISPLAYABLE: Self = Self(2);
    /// Displayed without digit grouping.
    pub const NO_GROUP_SEPARATOR: Self = Self(4);
    /// Displayed as a real number.
    pub const DISPLAY_AS_REAL: Self = Self(8);
    /// Displayed in hexadecimal.
    pub const DISPLAY_AS_HEX: Self = Self(0x10);

    /// Every attribute, with its name in a manifest's `counterAttribute` element and its word in the `display` key of
    /// `#[derive(CounterSet)]`. The `display` key cannot set the first two, so their words are empty.
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

    /// The union of these attributes and those of `other`.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How an application that publishes a counter stores its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum CellKind {
    /// No cell: the counter is a base, whose value is stored in the cell of the counter that it belongs to.
    None = 0,
    /// One 64-bit number.
    Plain = 1,
    /// A sum and its number of summands. The value is the sum; the value of the base is the number of summands.
    Pair = 2,
    /// A pair whose sum is in nanoseconds. The value is the sum in units of 100 ns; the value of
    /// the base is the number of summands.
    Timer = 3,
    /// Two 32-bit numbers in one word: the value, and the value of the base.
    Ratio = 4,
}

impl CellKind {
    /// The kind with this number.
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

    /// Whether the cell also stores the value of the base.
    pub const fn has_base(self) -> bool {
        matches!(self, Self::Pair | Self::Timer | Self::Ratio)
    }
}
