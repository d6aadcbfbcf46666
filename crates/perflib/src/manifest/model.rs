//! What a manifest says, once it is known to be right.

use std::path::Path;
use std::sync::Arc;

use super::violation::{Located, Position};
use crate::Guid;
use crate::registration::{CounterInfo, CounterSetInfo, counter_of};

/// The version of the schema that a manifest follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemaVersion {
    /// 1.0.
    V1_0,
    /// 1.1.
    V1_1,
    /// 2.0: strings have ids of their own.
    V2_0,
}

/// Where a provider runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProviderType {
    /// In a process.
    #[default]
    UserMode,
    /// In the kernel.
    KernelMode,
}

/// Who answers the requests of consumers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Callback {
    /// The library alone.
    #[default]
    Default,
    /// A function of the provider, too.
    Custom,
}

/// A manifest: one provider with its counter sets.
///
/// Source: "Performance Counters Schema".
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The file, as it was named.
    pub file: Arc<Path>,
    /// The version of the schema.
    pub schema_version: SchemaVersion,
    /// The provider.
    pub provider: Provider,
}

/// The provider of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// The provider's GUID.
    pub guid: Located<Guid>,
    /// Its name; `Counters` where the manifest does not say.
    pub name: Arc<str>,
    /// The file that holds its strings on Windows, without a path.
    pub application_identity: Arc<str>,
    /// The C identifier of its handle; user mode providers have one.
    pub symbol: Option<Located<Arc<str>>>,
    /// Who answers requests.
    pub callback: Callback,
    /// Where it runs.
    pub provider_type: ProviderType,
    /// The first string id, before version 2.0.
    pub resource_base: Option<u32>,
    /// Its counter sets.
    pub counter_sets: Vec<CounterSet>,
}

/// A counter set of a manifest: its description, and what only manifests say.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSet {
    /// The description without provider and counters ([`Manifest::counter_sets`] adds them).
    pub info: CounterSetInfo,
    /// Where the GUID is.
    pub at: Position,
    /// A name that never changes, of any form.
    pub uri: Arc<str>,
    /// The C identifier that generated names begin with.
    pub symbol: Arc<str>,
    /// String id of the name, from version 2.0 on.
    pub name_id: Option<u32>,
    /// String id of the description, from version 2.0 on.
    pub description_id: Option<u32>,
    /// C structures that hold the values of a kernel mode provider.
    pub structs: Vec<Struct>,
    /// The counters; at least one.
    pub counters: Vec<Counter>,
}

/// A C structure of a kernel mode provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// What counters call it.
    pub name: Arc<str>,
    /// Its C type.
    pub c_type: Arc<str>,
}

/// A counter of a manifest: its description, and what only manifests say.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The description without unit and source ([`Manifest::counter_sets`] adds them); counters that are not displayed may
    /// have no name.
    pub info: CounterInfo,
    /// A name that never changes, of any form.
    pub uri: Arc<str>,
    /// String id of the name, from version 2.0 on.
    pub name_id: Option<u32>,
    /// String id of the description, from version 2.0 on.
    pub description_id: Option<u32>,
    /// The C identifier of the id.
    pub symbol: Option<Arc<str>>,
    /// The structure that holds the value, in the kernel.
    pub structure: Option<Arc<str>>,
    /// The member of the structure.
    pub field: Option<Arc<str>>,
}

impl Manifest {
    /// The counter sets as consumers read them: with provider, sources and units, which follow from type and name.
    pub fn counter_sets(&self) -> impl Iterator<Item = CounterSetInfo> {
        self.provider.counter_sets.iter().map(|set| self.provider.described(set))
    }
}

impl Provider {
    fn described(&self, set: &CounterSet) -> CounterSetInfo {
        let mut info = set.info.clone();
        info.provider_guid = self.guid.value;
        info.provider_name = self.name.to_string().into();
        info.counters = set.counters.iter().map(|counter| counter.info.clone()).collect();
        for counter in &mut info.counters {
            counter.unit = counter_of(counter).unit();
            counter.source = self.application_identity.to_string().into();
        }
        info
    }
}
