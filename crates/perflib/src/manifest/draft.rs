//! A manifest while it is read: what is missing or wrong is left out, so that the rest can be checked all the same.

use std::path::Path;
use std::sync::Arc;

use tachograph_counters::CounterType;

use super::model::{Callback, Counter, CounterSet, Manifest, Provider, ProviderType, SchemaVersion, Struct};
use super::types::Companions;
use super::violation::{Located, Position};
use crate::Guid;
use crate::registration::{Aggregate, Attributes, InstanceType};

/// What an attribute says, where it is there and right.
pub(super) type Said<T> = Option<Located<T>>;

fn value<T>(said: Said<T>) -> Option<T> {
    said.map(|said| said.value)
}

pub(super) struct Draft {
    pub(super) schema_version: Said<SchemaVersion>,
    pub(super) provider: ProviderDraft,
}

pub(super) struct ProviderDraft {
    pub(super) guid: Said<Guid>,
    pub(super) name: Said<Arc<str>>,
    pub(super) application_identity: Said<Arc<str>>,
    pub(super) symbol: Said<Option<Arc<str>>>,
    pub(super) callback: Said<Callback>,
    pub(super) provider_type: Said<ProviderType>,
    pub(super) resource_base: Said<u32>,
    pub(super) counter_sets: Vec<SetDraft>,
}

pub(super) struct SetDraft {
    pub(super) at: Position,
    pub(super) label: String,
    pub(super) guid: Said<Guid>,
    pub(super) uri: Said<Arc<str>>,
    pub(super) symbol: Said<Arc<str>>,
    pub(super) name: Said<Arc<str>>,
    pub(super) description: Said<Arc<str>>,
    pub(super) instances: Said<InstanceType>,
    pub(super) name_id: Said<u32>,
    pub(super) description_id: Said<u32>,
    pub(super) structs: Vec<StructDraft>,
    pub(super) counters: Vec<CounterDraft>,
}

pub(super) struct StructDraft {
    pub(super) at: Position,
    pub(super) name: Said<Arc<str>>,
    pub(super) c_type: Said<Arc<str>>,
}

pub(super) struct CounterDraft {
    pub(super) at: Position,
    pub(super) label: String,
    pub(super) id: Said<u32>,
    pub(super) uri: Said<Arc<str>>,
    pub(super) counter_type: Said<CounterType>,
    pub(super) detail_level: Said<u32>,
    pub(super) name: Said<Arc<str>>,
    pub(super) description: Said<Arc<str>>,
    pub(super) name_id: Said<u32>,
    pub(super) description_id: Said<u32>,
    pub(super) symbol: Said<Option<Arc<str>>>,
    /// By role.
    pub(super) companions: Companions<Said<u32>>,
    /// Whether there is an attribute for the role, right or wrong.
    pub(super) names_companion: Companions<bool>,
    pub(super) default_scale: Said<i32>,
    pub(super) aggregate: Said<Aggregate>,
    pub(super) structure: Said<Arc<str>>,
    pub(super) field: Said<Arc<str>>,
    pub(super) attributes: Attributes,
}

impl Draft {
    /// The manifest; nothing where something that it must have was left out.
    pub(super) fn finish(self, file: Arc<Path>) -> Option<Manifest> {
        let provider = self.provider;
        let symbol = provider.symbol.and_then(|Located { value, at }| Some(Located { value: value?, at }));
        Some(Manifest {
            file,
            schema_version: value(self.schema_version)?,
            provider: Provider {
                guid: provider.guid?,
                name: value(provider.name).unwrap_or_else(|| "Counters".into()),
                application_identity: value(provider.application_identity)?,
                symbol,
                callback: value(provider.callback).unwrap_or_default(),
                provider_type: value(provider.provider_type).unwrap_or_default(),
                resource_base: value(provider.resource_base),
                counter_sets: provider
                    .counter_sets
                    .into_iter()
                    .map(SetDraft::finish)
                    .collect::<Option<_>>()?,
            },
        })
    }
}

impl SetDraft {
    fn finish(self) -> Option<CounterSet> {
        let structure =
            |draft: StructDraft| Some(Struct { name: value(draft.name)?, c_type: value(draft.c_type)? });
        Some(CounterSet {
            guid: self.guid?,
            uri: value(self.uri)?,
            symbol: value(self.symbol)?,
            name: self.name?,
            description: value(self.description)?,
            instances: value(self.instances).unwrap_or(InstanceType::Single),
            name_id: value(self.name_id),
            description_id: value(self.description_id),
            structs: self.structs.into_iter().map(structure).collect::<Option<_>>()?,
            counters: self.counters.into_iter().map(CounterDraft::finish).collect::<Option<_>>()?,
        })
    }
}

impl CounterDraft {
    fn finish(self) -> Option<Counter> {
        let [base_id, time_id, frequency_id, multiplier_id] = self.companions.map(value);
        Some(Counter {
            id: self.id?,
            uri: value(self.uri)?,
            counter_type: value(self.counter_type)?,
            detail_level: value(self.detail_level)?,
            name: value(self.name),
            description: value(self.description),
            name_id: value(self.name_id),
            description_id: value(self.description_id),
            symbol: value(self.symbol).flatten(),
            base_id,
            time_id,
            frequency_id,
            multiplier_id,
            default_scale: value(self.default_scale).unwrap_or_default(),
            aggregate: value(self.aggregate).unwrap_or_default(),
            structure: value(self.structure),
            field: value(self.field),
            attributes: self.attributes,
        })
    }
}
