//! From the description in a published file to a registration.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_shm::{CounterDescription, Description, InstanceKind};

use super::names::{can_be_named, cleaned};
use crate::Guid;
use crate::registration::{Aggregate, Attributes, CounterInfo, CounterSetInfo, InstanceType};

/// What a set is called whose description and registration say nothing: its GUID.
fn name_of(guid: Guid, name: &str, registered: Option<&CounterSetInfo>) -> String {
    match (cleaned(name), registered) {
        (name, _) if !name.is_empty() => name,
        (_, Some(registered)) => registered.name.to_string(),
        _ => guid.to_string(),
    }
}

/// The registration of a published set, under its own name and GUID. What the description leaves empty is taken from that
/// of a registered manifest.
///
/// # Errors
///
/// Why the set cannot be shown.
pub(super) fn info_of(
    description: &Description,
    registered: Option<&CounterSetInfo>,
) -> Result<CounterSetInfo, String> {
    let guid = description.set;
    let name = name_of(guid, &description.name, registered);
    let instance_type = instance_type_of(description.instances);
    let mut info = CounterSetInfo::new(name, guid, instance_type);
    info.provider_guid = description.provider;
    info.provider_name = text(&description.provider_name, registered.map(|known| &known.provider_name));
    info.help = text(&description.help, registered.map(|known| &known.help));
    info.instances_help = text(&description.instances_help, registered.map(|known| &known.instances_help));
    info.detail_level = description.detail_level;
    info.is_per_process = is_per_process(instance_type);
    if info.is_per_process && info.instances_help.is_empty() {
        info.instances_help = "The processes that publish the set, in the order of their start.".into();
    }
    let known = registered.into_iter().flat_map(|set| &set.counters).rev();
    let known: HashMap<u32, &CounterInfo> = known.map(|counter| (counter.id, counter)).collect();
    let counters = description.counters.iter();
    info.counters = counters.map(|counter| counter_of(counter, known.get(&counter.id).copied())).collect();
    check(&info)?;
    Ok(info)
}

/// Whether every process is an instance of a set of this type.
pub(super) fn is_per_process(instance_type: InstanceType) -> bool {
    instance_type == InstanceType::Single
}

/// Whether the set can be shown under its names.
pub(super) fn check(info: &CounterSetInfo) -> Result<(), String> {
    for counter in info.counters.iter().filter(|counter| counter.is_displayable()) {
        if !can_be_named(&info.name, &counter.name) {
            return Err(format!("no counter path can mean '{}' and '{}'", info.name, counter.name));
        }
    }
    if !can_be_named(&info.name, "x") {
        return Err(format!("no counter path can mean '{}'", info.name));
    }
    info.check_in_words().map_err(|error| error.to_string())
}

fn counter_of(counter: &CounterDescription, registered: Option<&CounterInfo>) -> CounterInfo {
    let mut info = CounterInfo::new(counter.id, "", CounterType(counter.counter_type));
    info.name = text(&counter.name, registered.map(|known| &known.name));
    info.help = text(&counter.help, registered.map(|known| &known.help));
    info.unit = text(&counter.unit, registered.map(|known| &known.unit));
    info.source = "published".into();
    info.attributes = Attributes(counter.attributes);
    info.detail_level = counter.detail_level;
    info.default_scale = counter.default_scale;
    info.base_id = counter.base_id;
    info.time_id = counter.time_id;
    info.frequency_id = counter.frequency_id;
    info.multiplier_id = counter.multiplier_id;
    info.aggregate = Aggregate::from_number(counter.aggregate).unwrap_or_default();
    // C providers leave their names to the manifest.
    if info.name.is_empty() && info.is_displayable() {
        info.name = format!("Counter {}", counter.id).into();
    }
    info
}

/// A text without control characters, or that of the registration where it is empty.
fn text(given: &str, registered: Option<&Arc<str>>) -> Arc<str> {
    match (given, registered) {
        ("", Some(registered)) => Arc::clone(registered),
        _ => cleaned(given).into(),
    }
}

pub(super) fn instance_type_of(kind: InstanceKind) -> InstanceType {
    match kind {
        InstanceKind::Single => InstanceType::Single,
        InstanceKind::Multiple => InstanceType::Multiple,
        InstanceKind::SingleAggregate => InstanceType::SingleAggregate,
        InstanceKind::MultipleAggregate => InstanceType::MultipleAggregate,
        InstanceKind::SingleAggregateHistory => InstanceType::SingleAggregateHistory,
    }
}
