//! The tables of counter sets: one row per counter.
//!
//! Public for crates that tell of this machine what this one does not: their sets are described, frozen and listed in the
//! same way.

use std::sync::Arc;

use tachograph_perflib::Guid;
use tachograph_perflib::registration::{Attributes, CounterSetInfo, InstanceType};

pub use tachograph_perflib::registration::CounterInfo;

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
    pub counters: &'static [CounterInfo],
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
        let is_here = |row: &&CounterInfo| {
            if !row.attributes.has(Attributes::NO_DISPLAYABLE) {
                return has(row.id);
            }
            let mut owners = self.counters.iter();
            owners.any(|owner| owner.companion_ids().contains(&Some(row.id)) && has(owner.id))
        };
        info.counters = self.counters.iter().filter(is_here).cloned().collect();
        Arc::new(info)
    }

    /// The set with all of its counters.
    pub fn info(&self) -> Arc<CounterSetInfo> {
        self.info_of(|_| true)
    }
}
