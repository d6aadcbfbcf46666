//! What a provider registers: counter sets with their counters.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::set::Counter;

use crate::{ErrorCode, FREQUENCY, Guid};

/// How many instances a counter set has, and who adds them up (`PERF_COUNTERSET_*`).
///
/// Source: perflib.h.
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
    /// Aggregated over instances of equal name.
    #[doc(alias = "PERF_COUNTERSET_INSTANCE_AGGREGATE")]
    InstanceAggregate = 22,
}

impl InstanceType {
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

/// How the aggregate of a counter is made (`PERF_AGGREGATE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u32)]
pub enum Aggregate {
    /// Not said.
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

    /// Whether all attributes of `other` are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a counter of a counter set is (`PERF_COUNTER_REG_INFO` with its texts).
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "PERF_COUNTER_REG_INFO")]
pub struct CounterInfo {
    /// Number of the counter, unique in the set.
    pub id: u32,
    /// The name.
    pub name: Arc<str>,
    /// What it counts, in a sentence.
    pub help: Arc<str>,
    /// The unit of the formatted value, such as `%`, `seconds`, `bytes/s`; empty for plain counts.
    pub unit: Arc<str>,
    /// Where the value comes from, for people.
    pub source: Arc<str>,
    /// The type.
    pub counter_type: CounterType,
    /// How it is shown.
    pub attributes: Attributes,
    /// 100 (novice) or 200 (advanced).
    pub detail_level: u32,
    /// Exponent of ten for charts, -10 to 10.
    pub default_scale: i32,
    /// The counter that holds the denominator of averages, fractions and precision timers.
    pub base_id: Option<u32>,
    /// The counter that holds the time of object timers and elapsed times.
    pub time_id: Option<u32>,
    /// The counter that holds the frequency of that time.
    pub frequency_id: Option<u32>,
    /// The counter that holds the multiplier of multi timers.
    pub multiplier_id: Option<u32>,
    /// How the set's aggregate is made.
    pub aggregate: Aggregate,
}

impl CounterInfo {
    /// A counter for display without companions, detail level 100, scale 0.
    pub fn new(id: u32, name: impl Into<Arc<str>>, counter_type: CounterType) -> Self {
        Self {
            id,
            name: name.into(),
            help: "".into(),
            unit: "".into(),
            source: "".into(),
            counter_type,
            attributes: Attributes::default(),
            detail_level: 100,
            default_scale: 0,
            base_id: None,
            time_id: None,
            frequency_id: None,
            multiplier_id: None,
            aggregate: Aggregate::Undefined,
        }
    }

    /// Whether the counter is shown by itself: not a base, time, frequency or multiplier.
    pub fn is_displayable(&self) -> bool {
        !self.attributes.has(Attributes::NO_DISPLAYABLE) && self.counter_type.formula().is_some()
    }

    /// The counters that must be read with this one to format it, in the order base, time, frequency, multiplier.
    pub fn companions(&self) -> impl Iterator<Item = u32> {
        [self.base_id, self.time_id, self.frequency_id, self.multiplier_id].into_iter().flatten()
    }
}

/// A counter set as a provider registers it (`PERF_COUNTERSET_REG_INFO` with its counters and texts).
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "PERF_COUNTERSET_REG_INFO")]
pub struct CounterSetInfo {
    /// The GUID of the set.
    pub guid: Guid,
    /// The provider's GUID.
    pub provider_guid: Guid,
    /// The provider's name.
    pub provider_name: Arc<str>,
    /// The set's name.
    pub name: Arc<str>,
    /// What the set is about, in a sentence.
    pub help: Arc<str>,
    /// What its instances are and how they are named, for people; empty for sets without instances.
    pub instances_help: Arc<str>,
    /// How many instances it has.
    pub instance_type: InstanceType,
    /// 100 (novice) or 200 (advanced).
    pub detail_level: u32,
    /// Whether each process that publishes the set is an instance of it, though its type is
    /// [`Single`](InstanceType::Single): several programs may publish one set at once.
    ///
    /// Counter paths then name the process as an instance ([`has_instances`](Self::has_instances)). In PerfLib's bytes the
    /// set stays one of a single instance: an identifier has an empty name, which means the one process there is; where
    /// there are several, it answers with [`ErrorCode::INVALID_REGISTRATION`].
    pub is_per_process: bool,
    /// The counters; companions included.
    pub counters: Vec<CounterInfo>,
}

impl CounterSetInfo {
    /// A set without counters yet; its own GUID stands for that of its provider.
    pub fn new(name: impl Into<Arc<str>>, guid: Guid, instance_type: InstanceType) -> Self {
        let name = name.into();
        Self {
            guid,
            provider_guid: guid,
            provider_name: Arc::clone(&name),
            name,
            help: "".into(),
            instances_help: "".into(),
            instance_type,
            detail_level: 100,
            is_per_process: false,
            counters: Vec::new(),
        }
    }

    /// The place of the counter of this id among [`counters`](Self::counters).
    pub fn position(&self, id: u32) -> Option<usize> {
        self.counters.iter().position(|counter| counter.id == id)
    }

    /// Whether a counter path names instances: those of the set, or the processes of one that is
    /// [per process](Self::is_per_process).
    pub fn has_instances(&self) -> bool {
        self.is_per_process || self.instance_type.has_instances()
    }

    /// Checks what a registration must hold: at least one counter, ids and names unique, detail levels 100 or 200, scales
    /// -10 to 10, companions that exist, are not the counter itself and have the type that the counter's type needs.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::INVALID_REGISTRATION`].
    pub fn check(&self) -> Result<(), ErrorCode> {
        check::check(self)
    }
}

/// The description of a counter as samples and logs hold it.
pub fn counter_of(info: &CounterInfo) -> Counter {
    let mut counter = Counter::new(Arc::clone(&info.name), info.counter_type, FREQUENCY);
    counter.default_scale = info.default_scale;
    counter.detail_level = info.detail_level;
    counter
}

mod check;
mod codec;

pub use check::RegistrationError;
pub use codec::*;
