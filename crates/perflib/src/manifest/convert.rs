//! From a manifest to what is registered.

use std::sync::Arc;

use super::model::{Counter, CounterSet, Manifest, Provider};
use crate::registration::{CounterInfo, CounterSetInfo, counter_of};

impl Manifest {
    /// The counter sets with all texts, as consumers see them. Ids, types, attributes and companions are those of the
    /// manifest; the unit follows from type and name.
    pub fn counter_sets(&self) -> impl Iterator<Item = CounterSetInfo> {
        self.provider.counter_sets.iter().map(|set| info_of(&self.provider, set))
    }
}

fn info_of(provider: &Provider, set: &CounterSet) -> CounterSetInfo {
    let mut info = CounterSetInfo::new(Arc::clone(&set.name.value), set.guid.value, set.instances);
    info.provider_guid = provider.guid.value;
    info.provider_name = Arc::clone(&provider.name);
    info.help = Arc::clone(&set.description);
    info.counters = set.counters.iter().map(|counter| counter_info(provider, counter)).collect();
    info
}

fn counter_info(provider: &Provider, counter: &Counter) -> CounterInfo {
    let text = |text: &Option<Arc<str>>| text.clone().unwrap_or_default();
    let mut info = CounterInfo::new(counter.id.value, text(&counter.name), counter.counter_type);
    info.unit = counter_of(&info).unit().into();
    info.help = text(&counter.description);
    info.source = Arc::clone(&provider.application_identity);
    info.attributes = counter.attributes;
    info.detail_level = counter.detail_level;
    info.default_scale = counter.default_scale;
    info.base_id = counter.base_id;
    info.time_id = counter.time_id;
    info.frequency_id = counter.frequency_id;
    info.multiplier_id = counter.multiplier_id;
    info.aggregate = counter.aggregate;
    info
}
