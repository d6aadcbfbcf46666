//! The contents of a valid manifest.

use std::path::Path;
use std::sync::Arc;

use super::violation::{Located, Position};
use crate::Guid;
use crate::registration::{CounterInfo, CounterSetInfo, counter_of};

/// The version of a manifest's schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemaVersion {
    /// Version 1.0.
    V1_0,
    /// Version 1.1.
    V1_1,
    /// Version 2.0, in which each string has an id.
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

/// The handler of requests from consumers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Callback {
    /// The library alone.
    #[default]
    Default,
    /// The library, which also calls a function of the provider.
    Custom,
}

/// A manifest, which describes one provider and its counter sets.
///
/// Source: "Performance Counters Schema".
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The name of the file.
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
    /// The provider's name; `Counters` by default.
    pub name: Arc<str>,
    /// The name, without a path, of the file that contains the provider's strings on Windows.
    pub application_identity: Arc<str>,
    /// The C identifier of the provider's handle. Required for user mode providers.
    pub symbol: Option<Located<Arc<str>>>,
    /// The handler of requests from consumers.
    pub callback: Callback,
    /// Where the provider runs.
    pub provider_type: ProviderType,
    /// The first string id, in versions before 2.0.
    pub resource_base: Option<u32>,
    /// The provider's counter sets.
    pub counter_sets: Vec<CounterSet>,
}

/// A counter set of a manifest: the description of the set, and attributes that only manifests have.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSet {
    /// The description, without provider and counters, which [`Manifest::counter_sets`] adds.
    pub info: CounterSetInfo,
    /// The position of the GUID.
    pub at: Position,
    /// A unique and stable identifier, in any syntax.
    pub uri: Arc<str>,
    /// The C identifier that generated names start with.
    pub symbol: Arc<str>,
    /// String id of the name, since version 2.0.
    pub name_id: Option<u32>,
    /// String id of the description, since version 2.0.
    pub description_id: Option<u32>,
    /// C structures with the values of a kernel mode provider.
    pub structs: Vec<Struct>,
    /// The counters; at least one.
    pub counters: Vec<Counter>,
}

/// A C structure of a kernel mode provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// The name by which counters refer to the structure.
    pub name: Arc<str>,
    /// The C type of the structure.
    pub c_type: Arc<str>,
}

/// A counter of a manifest: the description of the counter, and attributes that only manifests have.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The description, without unit and source, which [`Manifest::counter_sets`] adds. Counters that are not displayed
    /// need no name.
    pub info: CounterInfo,
    /// A unique and stable identifier, in any syntax.
    pub uri: Arc<str>,
    /// String id of the name, since version 2.0.
    pub name_id: Option<u32>,
    /// String id of the description, since version 2.0.
    pub description_id: Option<u32>,
    /// The C identifier of the macro for the counter's id.
    pub symbol: Option<Arc<str>>,
    /// The name of the [`Struct`] that contains the value, for kernel mode providers.
    pub structure: Option<Arc<str>>,
    /// The member of the structure that is the value.
    pub field: Option<Arc<str>>,
}

impl Manifest {
    /// The complete descriptions of the counter sets, for consumers: with provider, counters, sources, and units, which
    /// are derived from types and names.
    pub fn counter_sets(&self) -> impl Iterator<Item = CounterSetInfo> {
        self.provider.counter_sets.iter().map(|set| self.provider.complete_info(set))
    }
}

impl Provider {
    fn complete_info(&self, set: &CounterSet) -> CounterSetInfo {
        let mut info = set.info.clone();
        info.provider_guid = self.guid.value;
        info.provider_name = self.name.to_string().into();
        info.counters = set.counters.iter().map(|counter| counter.info.clone()).collect();
        for counter in &mut info.counters {
            counter.unit = counter_of(counter).implied_unit();
            counter.source = self.application_identity.to_string().into();
        }
        info
    }
}
