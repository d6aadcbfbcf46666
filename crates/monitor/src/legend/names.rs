//! Short names of items that are shown together.

use std::sync::Arc;

use super::{Legend, LegendItem};

/// Whether items are counters of more than one machine.
pub fn are_of_several_machines<'a>(items: impl IntoIterator<Item = &'a LegendItem>) -> bool {
    let mut machines = items.into_iter().filter_map(|item| item.info()?.machine.as_ref());
    machines.next().is_some_and(|first| machines.any(|machine| machine != first))
}

impl Legend {
    /// Short names of items that are shown together. The name of an item with a label is the label, preceded by the instance
    /// if its path has wildcards. The name of another item is instance and counter, without the part that all items have in
    /// common. If the items are of several machines, the machine comes first.
    pub fn short_names(&self, items: &[&LegendItem]) -> Vec<String> {
        let counter = |item: &LegendItem| Some(Arc::clone(&item.info()?.counter.name));
        let instance = |item: &LegendItem| item.info()?.instance_name().map(str::to_owned);
        let is_common = |part: &dyn Fn(&LegendItem) -> Option<String>| {
            let mut parts = items.iter().map(|item| part(item));
            let first = parts.next().flatten();
            items.len() > 1 && first.is_some() && parts.all(|part| part == first)
        };
        let has_common_counter = is_common(&|item| counter(item).map(|name| name.to_string()));
        let has_common_instance = is_common(&instance);
        let mut names: Vec<_> = items
            .iter()
            .map(|item| {
                let entry = self.entries.iter().find(|entry| entry.id == item.entry);
                let label = entry.and_then(|entry| entry.chosen.label.as_deref());
                let has_wildcard = entry.is_none_or(|entry| !entry.chosen.path.is_literal());
                let name = match label {
                    Some(label) => label.to_owned(),
                    None if has_common_counter && instance(item).is_some() => String::new(),
                    None => counter(item).map_or_else(|| self.path_of(item), |name| name.to_string()),
                };
                let is_named = if label.is_some() { has_wildcard } else { !has_common_instance };
                match instance(item).filter(|_| is_named || name.is_empty()) {
                    Some(instance) if name.is_empty() => instance,
                    Some(instance) => format!("{instance} {name}"),
                    None => name,
                }
            })
            .collect();
        if are_of_several_machines(items.iter().copied()) {
            // A name that all items have in common does not distinguish them.
            let is_common = names.iter().all(|name| *name == names[0]);
            for (item, name) in items.iter().zip(&mut names) {
                match item.info().and_then(|info| info.machine.as_deref()) {
                    Some(machine) if is_common => machine.clone_into(name),
                    Some(machine) => *name = format!("{machine} {name}").trim_end().to_owned(),
                    None => {}
                }
            }
        }
        names
    }

    /// The labels of items, or else the names of their counters.
    pub fn labels(&self, items: &[&LegendItem]) -> Vec<String> {
        let label = |item: &&LegendItem| {
            let entry = self.entries.iter().find(|entry| entry.id == item.entry);
            let label = entry.and_then(|entry| entry.chosen.label.clone());
            label.unwrap_or_else(|| {
                item.info().map_or_else(|| self.path_of(item), |info| info.counter.name.to_string())
            })
        };
        items.iter().map(label).collect()
    }
}
