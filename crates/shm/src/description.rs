//! What a published counter set is: its texts, its counters, and how the value of each is kept.

use crate::Guid;

/// How the value of a counter is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum CellKind {
    /// Nowhere: it is the base of a counter that keeps both.
    None = 0,
    /// One word.
    Plain = 1,
    /// A sum with the number of what was summed: the value is the sum, the base is the number.
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

    /// Whether the value of the base is kept with that of the counter.
    pub const fn has_base(self) -> bool {
        matches!(self, Self::Pair | Self::Timer | Self::Ratio)
    }
}

/// The instance types of counter sets as numbers of perflib.h: 0, 2, 4, 6 and 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum InstanceKind {
    /// One instance without a name.
    Single = 0,
    /// Any number of instances.
    Multiple = 2,
    /// Several instances, of which consumers get the aggregate only.
    SingleAggregate = 4,
    /// Several instances and their aggregate `_Total`.
    MultipleAggregate = 6,
    /// As `SingleAggregate`; instances that are gone still count with their last value.
    SingleAggregateHistory = 12,
}

impl InstanceKind {
    /// The kind of this number, if there is one.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Single,
            2 => Self::Multiple,
            4 => Self::SingleAggregate,
            6 => Self::MultipleAggregate,
            12 => Self::SingleAggregateHistory,
            _ => return None,
        })
    }
}

/// A counter of a published set (`PERF_COUNTER_REG_INFO` with its texts, and how its value is kept).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterDescription {
    /// Number of the counter, unique in the set.
    pub id: u32,
    /// The name; empty where only a registered manifest tells it.
    pub name: String,
    /// What it counts, in a sentence.
    pub help: String,
    /// The unit of the formatted value; empty for plain counts.
    pub unit: String,
    /// The type word of winperf.h.
    pub counter_type: u32,
    /// `PERF_ATTRIB_*`.
    pub attributes: u64,
    /// 100 or 200.
    pub detail_level: u32,
    /// Exponent of ten for charts, -10 to 10.
    pub default_scale: i32,
    /// The counter that holds the denominator.
    pub base_id: Option<u32>,
    /// The counter that holds the time.
    pub time_id: Option<u32>,
    /// The counter that holds the frequency of that time.
    pub frequency_id: Option<u32>,
    /// The counter that holds the multiplier.
    pub multiplier_id: Option<u32>,
    /// `PERF_AGGREGATE_*`: 0 undefined, 1 total, 2 average, 3 minimum, 4 maximum.
    pub aggregate: u32,
    /// How its value is kept.
    pub cell: CellKind,
    /// 0 where all threads share one cell; else how many threads have one of their own.
    pub stripes: u32,
}

impl CounterDescription {
    /// Attribute bit: the provider hands out the address of the value, and there is none before.
    pub const BY_REFERENCE: u64 = 1;
    /// Attribute bit: not for display.
    pub const NO_DISPLAYABLE: u64 = 2;
    /// Most stripes of a counter.
    pub const MAX_STRIPES: u32 = 64;

    /// A counter with a plain cell, detail level 100, without companions or texts other than its name.
    pub fn new(id: u32, name: impl Into<String>, counter_type: u32) -> Self {
        Self {
            id,
            name: name.into(),
            help: String::new(),
            unit: String::new(),
            counter_type,
            attributes: 0,
            detail_level: 100,
            default_scale: 0,
            base_id: None,
            time_id: None,
            frequency_id: None,
            multiplier_id: None,
            aggregate: 0,
            cell: CellKind::Plain,
            stripes: 0,
        }
    }

    /// How many cache lines its cell takes. A striped plain cell has as many lines again that are shared by the threads
    /// without one of their own.
    pub fn lines(&self) -> usize {
        match (self.cell, self.stripes as usize) {
            (CellKind::None, _) => 0,
            (_, 0) | (CellKind::Ratio, _) => 1,
            (CellKind::Plain, stripes) => 2 * stripes,
            (_, stripes) => stripes,
        }
    }
}

/// A counter set as an application publishes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The GUID of the set.
    pub set: Guid,
    /// The provider's GUID.
    pub provider: Guid,
    /// The provider's name.
    pub provider_name: String,
    /// The set's name; empty where only a registered manifest tells it.
    pub name: String,
    /// What the set is about, in a sentence.
    pub help: String,
    /// What its instances are and how they are named, for people.
    pub instances_help: String,
    /// How many instances it has.
    pub instances: InstanceKind,
    /// 100 or 200.
    pub detail_level: u32,
    /// What the one instance of a single-instance set is called beside those of other processes; the program's name where
    /// it is empty.
    pub label: String,
    /// The counters, companions included.
    pub counters: Vec<CounterDescription>,
}

impl Description {
    /// Most counters of a set (perflib.h).
    pub const MAX_COUNTERS: usize = 65_536;
    /// Most characters of the name of a set, a counter or an instance (UTF-16 units, without the zero).
    pub const MAX_NAME: usize = 1023;

    /// A set without counters; its own GUID stands for that of its provider.
    pub fn new(name: impl Into<String>, set: Guid, instances: InstanceKind) -> Self {
        let name = name.into();
        Self {
            set,
            provider: set,
            provider_name: name.clone(),
            name,
            help: String::new(),
            instances_help: String::new(),
            instances,
            detail_level: 100,
            label: String::new(),
            counters: Vec::new(),
        }
    }

    /// The place of the counter of this id among [`counters`](Self::counters).
    pub fn position(&self, id: u32) -> Option<usize> {
        self.counters.iter().position(|counter| counter.id == id)
    }

    /// How many cache lines a slot takes: one for the instance, the others for its values.
    pub fn slot_lines(&self) -> usize {
        1 + self.counters.iter().map(CounterDescription::lines).sum::<usize>()
    }
}
