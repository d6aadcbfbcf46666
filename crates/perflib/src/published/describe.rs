//! Converts the description in a published file to a registration.

use std::collections::HashMap;

use tachograph_schema::{CellKind, CounterInfo, CounterSetInfo, Guid, InstanceType, Text};

use super::names::{is_addressable, replace_controls};

/// The name of a set: the name in its description or, if that is empty, in its registered manifest; the GUID if there
/// is no name.
fn set_name(guid: Guid, name: &str, registered: Option<&CounterSetInfo>) -> String {
    match (replace_controls(name), registered) {
        (name, _) if !name.is_empty() => name,
        (_, Some(registered)) => registered.name.to_string(),
        _ => guid.to_string(),
    }
}

/// Converts a description to a registration. A registered manifest supplies missing texts.
///
/// # Errors
///
/// The reason that the set cannot be shown.
pub(super) fn to_registration(
    description: &CounterSetInfo,
    registered: Option<&CounterSetInfo>,
) -> Result<CounterSetInfo, String> {
    let guid = description.guid;
    let mut info = description.clone();
    info.name = set_name(guid, &description.name, registered).into();
    fill_in(info.texts_mut(), registered.map(CounterSetInfo::texts));
    // The label belongs to one process, not to the set.
    info.label = Text::default();
    info.is_per_process = is_per_process(info.instance_type);
    if info.is_per_process && info.instances_help.is_empty() {
        info.instances_help = "The processes that publish the set, ordered by start time.".into();
    }
    let known = registered.into_iter().flat_map(|set| &set.counters).rev();
    let known: HashMap<u32, &CounterInfo> = known.map(|counter| (counter.id, counter)).collect();
    for counter in &mut info.counters {
        complete(counter, known.get(&counter.id).copied());
    }
    check(&info)?;
    Ok(info)
}

/// Whether a published set of this type has one instance per process.
pub(super) fn is_per_process(instance_type: InstanceType) -> bool {
    instance_type == InstanceType::Single
}

/// Checks that the registration is valid and that counter paths can contain the names.
pub(super) fn check(info: &CounterSetInfo) -> Result<(), String> {
    for counter in info.counters.iter().filter(|counter| counter.is_displayable()) {
        if !is_addressable(&info.name, &counter.name) {
            return Err(format!(
                "no counter path can contain the names '{}' and '{}'",
                info.name, counter.name
            ));
        }
    }
    if !is_addressable(&info.name, "x") {
        return Err(format!("no counter path can contain the name '{}'", info.name));
    }
    info.check().map_err(|error| error.to_string())
}

/// Fills in the missing texts of a counter, and resets the fields that describe its storage.
fn complete(counter: &mut CounterInfo, registered: Option<&CounterInfo>) {
    fill_in(counter.texts_mut(), registered.map(CounterInfo::texts));
    counter.source = "published".into();
    // Omit details of storage, which can differ between processes that publish the same set.
    (counter.cell, counter.stripes) = (CellKind::Plain, 0);
    // C providers do not publish names; the manifest has them.
    if counter.name.is_empty() && counter.is_displayable() {
        counter.name = format!("Counter {}", counter.id).into();
    }
}

/// Replaces control characters in texts. Empty texts are replaced by the registered texts.
fn fill_in(texts: [&mut Text; 3], registered: Option<[&Text; 3]>) {
    for (index, text) in texts.into_iter().enumerate() {
        *text = match registered {
            Some(registered) if text.is_empty() => registered[index].clone(),
            _ => replace_controls(text).into(),
        };
    }
}
