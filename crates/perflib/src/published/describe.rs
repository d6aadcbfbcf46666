//! From the description in a published file to a registration.

use std::collections::HashMap;

use tachograph_schema::{CellKind, CounterInfo, CounterSetInfo, Guid, InstanceType, Text};

use super::names::{can_be_named, cleaned};

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
    description: &CounterSetInfo,
    registered: Option<&CounterSetInfo>,
) -> Result<CounterSetInfo, String> {
    let guid = description.guid;
    let mut info = description.clone();
    info.name = name_of(guid, &description.name, registered).into();
    fill_in(info.texts_mut(), registered.map(CounterSetInfo::texts));
    // That of one process; the set is of all.
    info.label = Text::default();
    info.is_per_process = is_per_process(info.instance_type);
    if info.is_per_process && info.instances_help.is_empty() {
        info.instances_help = "The processes that publish the set, in the order of their start.".into();
    }
    let known = registered.into_iter().flat_map(|set| &set.counters).rev();
    let known: HashMap<u32, &CounterInfo> = known.map(|counter| (counter.id, counter)).collect();
    for counter in &mut info.counters {
        complete(counter, known.get(&counter.id).copied());
    }
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
    info.check().map_err(|error| error.to_string())
}

fn complete(counter: &mut CounterInfo, registered: Option<&CounterInfo>) {
    fill_in(counter.texts_mut(), registered.map(CounterInfo::texts));
    counter.source = "published".into();
    // Processes that store the values otherwise publish the same set.
    (counter.cell, counter.stripes) = (CellKind::Plain, 0);
    // C providers leave their names to the manifest.
    if counter.name.is_empty() && counter.is_displayable() {
        counter.name = format!("Counter {}", counter.id).into();
    }
}

/// Removes control characters from texts; those that are empty become the registered ones.
fn fill_in(texts: [&mut Text; 3], registered: Option<[&Text; 3]>) {
    for (index, text) in texts.into_iter().enumerate() {
        *text = match registered {
            Some(registered) if text.is_empty() => registered[index].clone(),
            _ => cleaned(text).into(),
        };
    }
}
