//! A manifest that is being read. Missing and invalid parts are `None`, so that the rest can still be checked.

use std::path::Path;
use std::sync::Arc;

use tachograph_counters::CounterType;

use super::model::{Callback, Counter, CounterSet, Manifest, Provider, ProviderType, SchemaVersion, Struct};
use super::types::Companions;
use super::violation::{Located, Position};
use crate::Guid;
use crate::registration::{CounterInfo, CounterSetInfo, Text};

/// The value of an attribute, if it is present and valid.
pub(super) type AttributeValue<T> = Option<Located<T>>;

fn value<T>(found: AttributeValue<T>) -> Option<T> {
    found.map(|found| found.value)
}

/// A draft of a [`Manifest`].
pub(super) struct Draft {
    pub(super) schema_version: AttributeValue<SchemaVersion>,
    pub(super) provider: ProviderDraft,
}

/// A draft of a [`Provider`].
pub(super) struct ProviderDraft {
    pub(super) guid: AttributeValue<Guid>,
    pub(super) name: AttributeValue<Arc<str>>,
    pub(super) application_identity: AttributeValue<Arc<str>>,
    pub(super) symbol: AttributeValue<Option<Arc<str>>>,
    pub(super) callback: AttributeValue<Callback>,
    pub(super) provider_type: AttributeValue<ProviderType>,
    pub(super) resource_base: AttributeValue<u32>,
    pub(super) counter_sets: Vec<SetDraft>,
}

/// A draft of a [`CounterSet`].
pub(super) struct SetDraft {
    /// The position of the element.
    pub(super) at: Position,
    /// The element's [`label`](super::element::label) in messages.
    pub(super) label: String,
    pub(super) guid: AttributeValue<Guid>,
    pub(super) uri: AttributeValue<Arc<str>>,
    pub(super) symbol: AttributeValue<Arc<str>>,
    pub(super) name: AttributeValue<Arc<str>>,
    /// Only the attributes in `SET_ATTRIBUTES` are set; `finish` sets the others.
    pub(super) info: CounterSetInfo,
    /// Whether the attributes in `SET_ATTRIBUTES` are valid, and the required attributes are present.
    pub(super) is_valid: bool,
    pub(super) name_id: AttributeValue<u32>,
    pub(super) description_id: AttributeValue<u32>,
    pub(super) structs: Vec<StructDraft>,
    pub(super) counters: Vec<CounterDraft>,
}

/// A draft of a [`Struct`].
pub(super) struct StructDraft {
    /// The position of the element.
    pub(super) at: Position,
    pub(super) name: AttributeValue<Arc<str>>,
    pub(super) c_type: AttributeValue<Arc<str>>,
}

/// A draft of a [`Counter`].
pub(super) struct CounterDraft {
    /// The position of the element.
    pub(super) at: Position,
    /// The element's [`label`](super::element::label) in messages.
    pub(super) label: String,
    pub(super) id: AttributeValue<u32>,
    pub(super) uri: AttributeValue<Arc<str>>,
    pub(super) counter_type: AttributeValue<CounterType>,
    /// Only the attributes in `COUNTER_ATTRIBUTES` are set; `finish` sets the others.
    pub(super) info: CounterInfo,
    /// Whether the attributes in `COUNTER_ATTRIBUTES` are valid, and the required attributes are present.
    pub(super) is_valid: bool,
    pub(super) name: AttributeValue<Arc<str>>,
    pub(super) has_description: bool,
    pub(super) name_id: AttributeValue<u32>,
    pub(super) description_id: AttributeValue<u32>,
    pub(super) symbol: AttributeValue<Option<Arc<str>>>,
    /// For each role, the id of the companion.
    pub(super) companions: Companions<AttributeValue<u32>>,
    /// For each role, whether the attribute is present, even if it is invalid.
    pub(super) has_companion_attribute: Companions<bool>,
    /// The name of the C struct that contains the counter's value.
    pub(super) structure: AttributeValue<Arc<str>>,
    /// The field of this struct.
    pub(super) field: AttributeValue<Arc<str>>,
}

impl Draft {
    /// Converts the draft to a manifest; `None` if a required part is missing.
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
        let guid = self.guid?;
        let mut info = self.info;
        (info.guid, info.name) = (guid.value, self.name?.value.to_string().into());
        self.is_valid.then_some(())?;
        Some(CounterSet {
            info,
            at: guid.at,
            uri: value(self.uri)?,
            symbol: value(self.symbol)?,
            name_id: value(self.name_id),
            description_id: value(self.description_id),
            structs: self.structs.into_iter().map(structure).collect::<Option<_>>()?,
            counters: self.counters.into_iter().map(CounterDraft::finish).collect::<Option<_>>()?,
        })
    }
}

impl CounterDraft {
    fn finish(self) -> Option<Counter> {
        let mut info = self.info;
        (info.id, info.counter_type) = (value(self.id)?, value(self.counter_type)?);
        info.name = value(self.name).map_or_else(Text::default, |name| name.to_string().into());
        info.set_companion_ids(self.companions.map(value));
        self.is_valid.then_some(())?;
        Some(Counter {
            info,
            uri: value(self.uri)?,
            name_id: value(self.name_id),
            description_id: value(self.description_id),
            symbol: value(self.symbol).flatten(),
            structure: value(self.structure),
            field: value(self.field),
        })
    }
}
