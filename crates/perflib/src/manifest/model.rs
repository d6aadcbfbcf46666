//! What a manifest says, once it is known to be right.

use std::path::Path;
use std::sync::Arc;

use tachograph_counters::CounterType;

use super::violation::Located;
use crate::Guid;
use crate::registration::{Aggregate, Attributes, InstanceType};

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

/// A counter set of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSet {
    /// The set's GUID.
    pub guid: Located<Guid>,
    /// A name that never changes, of any form.
    pub uri: Arc<str>,
    /// The C identifier that generated names begin with.
    pub symbol: Arc<str>,
    /// The name.
    pub name: Located<Arc<str>>,
    /// What the set is about.
    pub description: Arc<str>,
    /// How many instances it has.
    pub instances: InstanceType,
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

/// A counter of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// The number, unique in the set.
    pub id: Located<u32>,
    /// A name that never changes, of any form.
    pub uri: Arc<str>,
    /// The type.
    pub counter_type: CounterType,
    /// 100 (standard) or 200 (advanced).
    pub detail_level: u32,
    /// The name; counters that are not displayed may have none.
    pub name: Option<Arc<str>>,
    /// What it counts.
    pub description: Option<Arc<str>>,
    /// String id of the name, from version 2.0 on.
    pub name_id: Option<u32>,
    /// String id of the description, from version 2.0 on.
    pub description_id: Option<u32>,
    /// The C identifier of the id.
    pub symbol: Option<Arc<str>>,
    /// The counter that holds the base.
    pub base_id: Option<u32>,
    /// The counter that holds the time.
    pub time_id: Option<u32>,
    /// The counter that holds the frequency of the time.
    pub frequency_id: Option<u32>,
    /// The counter that holds the multiplier.
    pub multiplier_id: Option<u32>,
    /// Exponent of ten for charts, -10 to 10.
    pub default_scale: i32,
    /// How aggregates are made.
    pub aggregate: Aggregate,
    /// The structure that holds the value, in the kernel.
    pub structure: Option<Arc<str>>,
    /// The member of the structure.
    pub field: Option<Arc<str>>,
    /// How it is shown, and whether the provider hands out its address.
    pub attributes: Attributes,
}
