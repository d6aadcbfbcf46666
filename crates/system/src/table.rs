//! The tables of counter sets: one row per counter.
//!
//! Public, so that other crates with sets of this machine can describe, freeze and list them in the same way.

use std::sync::Arc;

use tachograph_perflib::Guid;
use tachograph_perflib::registration::{Attributes, CounterSetInfo, InstanceType};

pub use tachograph_perflib::registration::CounterInfo;

/// The GUID of the provider of all sets in this crate.
const PROVIDER: Guid = Guid::from_u128(0x7993e3b6ed165ec796fd8282c5c66496);

/// A counter set of this machine. GUID and ids are frozen (`frozen.tsv`).
pub struct SetTable {
    /// The name, as used in counter paths.
    pub name: &'static str,
    /// The GUID that Windows uses, if Windows has the set; otherwise the version 5 UUID of the name in this project's
    /// namespace.
    pub guid: u128,
    /// Whether the set has instances, and of what type.
    pub instance_type: InstanceType,
    /// The purpose of the set, in a sentence.
    pub help: &'static str,
    /// The meaning, names and order of the instances; empty for a set without instances.
    pub instances: &'static str,
    /// How `_Total` is computed; empty if the set has none.
    pub total: &'static str,
    /// The set that counts the same objects, or the objects whose parts this set counts. A reader that shows everything
    /// can leave out this set.
    pub repeats: Option<&'static str>,
    /// The counters in order. Companions follow the counters that use them, or come at the end.
    pub counters: &'static [CounterInfo],
}

impl SetTable {
    /// The set with the counters for which `has` returns true, and their companions.
    pub fn info_of(&self, has_counter: impl Fn(u32) -> bool) -> Arc<CounterSetInfo> {
        let mut info = CounterSetInfo::new(self.name, Guid::from_u128(self.guid), self.instance_type);
        info.provider_guid = PROVIDER;
        info.provider_name = "Tachograph system counters".into();
        info.help = self.help.into();
        info.instances_help = match self.total {
            "" => self.instances.into(),
            total => format!("{} `_Total`: {total}", self.instances).into(),
        };
        let is_included = |row: &&CounterInfo| {
            if !row.attributes.has(Attributes::NO_DISPLAYABLE) {
                return has_counter(row.id);
            }
            let mut owners = self.counters.iter();
            owners.any(|owner| owner.companion_ids().contains(&Some(row.id)) && has_counter(owner.id))
        };
        info.counters = self.counters.iter().filter(is_included).cloned().collect();
        Arc::new(info)
    }

    /// The set with all of its counters.
    pub fn info(&self) -> Arc<CounterSetInfo> {
        self.info_of(|_| true)
    }
}
