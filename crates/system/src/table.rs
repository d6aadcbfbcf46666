//! The tables of counter sets: one row per counter.
//!
//! Public for crates that tell of this machine what this one does not: their sets are described, frozen and listed in the
//! same way.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::Guid;
use tachograph_perflib::registration::{Aggregate, Attributes, CounterInfo, CounterSetInfo, InstanceType};

/// The provider of all sets of this crate.
const PROVIDER: Guid = Guid::from_u128(0x7993e3b6ed165ec796fd8282c5c66496);

/// A counter set of this machine. GUID and ids are frozen (`frozen.tsv`).
pub struct SetTable {
    /// The name, as paths have it.
    pub name: &'static str,
    /// Windows' GUID of a set that Windows has; of others the version 5 UUID of the name in the name space of this project.
    pub guid: u128,
    /// How its instances come and go.
    pub instance_type: InstanceType,
    /// What the set is about, in a sentence.
    pub help: &'static str,
    /// What its instances are, how they are named and in which order they come; empty for a set without instances.
    pub instances: &'static str,
    /// How `_Total` is made; empty where there is none.
    pub total: &'static str,
    /// The counters in order, companions after the counters that they belong to or at the end.
    pub counters: &'static [CounterRow],
}

/// A counter of a set.
pub struct CounterRow {
    /// The id, never changed.
    pub id: u32,
    /// The name, as paths have it.
    pub name: &'static str,
    /// What is computed of its raw values.
    pub counter_type: CounterType,
    /// The unit of the formatted value: `%`, `seconds`, `bytes/s`, `1/s`, ...; empty for plain counts.
    pub unit: &'static str,
    /// Exponent of ten for charts.
    pub scale: i32,
    /// Where the value comes from, such as `/proc/stat: cpu`.
    pub source: &'static str,
    /// What the value means, in whole sentences.
    pub help: &'static str,
    base: Option<u32>,
    time: Option<u32>,
    frequency: Option<u32>,
    is_companion: bool,
}

impl CounterRow {
    /// A row without companions.
    pub const fn new(
        id: u32,
        name: &'static str,
        counter_type: CounterType,
        unit: &'static str,
        scale: i32,
        source: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            id,
            name,
            counter_type,
            unit,
            scale,
            source,
            help,
            base: None,
            time: None,
            frequency: None,
            is_companion: false,
        }
    }

    /// The base of another counter: its value is given with that counter's, and it is not shown by itself.
    pub const fn companion(id: u32, name: &'static str, counter_type: CounterType) -> Self {
        let mut row = Self::new(id, name, counter_type, "", 0, "", "Not for display.");
        row.is_companion = true;
        row
    }

    /// The counter whose value divides this one's.
    pub const fn base(mut self, id: u32) -> Self {
        self.base = Some(id);
        self
    }

    /// The counters that hold the clock of an elapsed time: its time, and its frequency.
    pub const fn clock(mut self, time: u32, frequency: u32) -> Self {
        self.time = Some(time);
        self.frequency = Some(frequency);
        self
    }

    fn info(&self) -> CounterInfo {
        let mut info = CounterInfo::new(self.id, self.name, self.counter_type);
        info.help = self.help.into();
        info.unit = self.unit.into();
        info.source = self.source.into();
        info.default_scale = self.scale;
        info.base_id = self.base;
        info.time_id = self.time;
        info.frequency_id = self.frequency;
        if self.is_companion {
            info.attributes = Attributes::NO_DISPLAYABLE;
        }
        info.aggregate = Aggregate::Undefined;
        info
    }
}

impl SetTable {
    /// The set with those of its counters that `has` says this machine can give. A companion is there with its counter.
    pub fn info_of(&self, has: impl Fn(u32) -> bool) -> Arc<CounterSetInfo> {
        let mut info = CounterSetInfo::new(self.name, Guid::from_u128(self.guid), self.instance_type);
        info.provider_guid = PROVIDER;
        info.provider_name = "Tachograph system counters".into();
        info.help = self.help.into();
        info.instances_help = match self.total {
            "" => self.instances.into(),
            total => format!("{} `_Total`: {total}", self.instances).into(),
        };
        let is_here = |row: &CounterRow| {
            if !row.is_companion {
                return has(row.id);
            }
            self.counters.iter().any(|owner| {
                [owner.base, owner.time, owner.frequency].contains(&Some(row.id)) && has(owner.id)
            })
        };
        info.counters = self.counters.iter().filter(|row| is_here(row)).map(CounterRow::info).collect();
        Arc::new(info)
    }

    /// The set with all of its counters.
    pub fn info(&self) -> Arc<CounterSetInfo> {
        self.info_of(|_| true)
    }
}
