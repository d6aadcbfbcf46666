//! Lists machines, counter sets, counters and instances.

use std::collections::HashSet;
use std::sync::Arc;

use tachograph_counters::set::{Instance, TitleIndexes};
use tachograph_counters::wildcard::{eq_ignore_case, fold_case};

use crate::known_sets::SetRef;
use crate::source::Origin;
use crate::{DataSource, PdhStatus, Result};

/// The counters and instances of a counter set, without duplicate names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectItems {
    /// The counters in the order of the set.
    pub counters: Vec<String>,
    /// The instances without `#n`; `parent/instance` for those with a parent. `None` for a single-instance set; empty
    /// for a multi-instance set that currently has no instances.
    pub instances: Option<Vec<String>>,
}

/// The default counter set of machines that have it.
const DEFAULT_OBJECT: &str = "Processor";

impl DataSource {
    /// The machines, in the form `\\NAME`: the machines of the logs, or the local machine and all connected machines.
    ///
    /// # Errors
    ///
    /// Errors of reading a log.
    #[doc(alias = "PdhEnumMachinesW")]
    #[doc(alias = "PdhEnumMachinesA")]
    #[doc(alias = "PdhEnumMachinesHW")]
    pub fn machines(&self) -> Result<Vec<String>> {
        let names: Vec<Arc<str>> = match self.origin() {
            Origin::Machine(registry) => {
                let registry = registry();
                let connected = registry.connector().map(|connector| connector.connected());
                [Arc::clone(registry.machine())].into_iter().chain(connected.into_iter().flatten()).collect()
            }
            Origin::Logs(logs) => logs.scan()?.sets.iter().map(|set| Arc::clone(&set.machine)).collect(),
        };
        let names = names.iter().filter(|name| !name.is_empty());
        Ok(without_duplicates(names.map(|name| format!(r"\\{name}"))))
    }

    /// The counter sets up to a detail level: 100 novice, 200 advanced, 300 expert, 400 wizard. If `machine` is `None`,
    /// the sets of the local machine, or of all machines in a log. The list is always current.
    ///
    /// # Errors
    ///
    /// Same as [`connect_machine`](Self::connect_machine).
    #[doc(alias = "PdhEnumObjectsW")]
    #[doc(alias = "PdhEnumObjectsA")]
    #[doc(alias = "PdhEnumObjectsHW")]
    pub fn objects(&self, machine: Option<&str>, detail_level: u32) -> Result<Vec<String>> {
        let sets = self.sets_of(machine)?;
        Ok(without_duplicates(
            sets.iter().filter(|set| set.detail_level <= detail_level).map(|set| set.name.to_string()),
        ))
    }

    /// The counters, up to a detail level, and the instances of a counter set. For a machine, the current instances; for a
    /// log, those of all its samples.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for an empty name, [`PdhStatus::NO_OBJECT`]; otherwise the same as
    /// [`connect_machine`](Self::connect_machine); errors of the set's provider.
    #[doc(alias = "PdhEnumObjectItemsW")]
    #[doc(alias = "PdhEnumObjectItemsA")]
    #[doc(alias = "PdhEnumObjectItemsHW")]
    pub fn object_items(
        &self,
        machine: Option<&str>,
        object: &str,
        detail_level: u32,
    ) -> Result<ObjectItems> {
        let sets = self.sets_named(machine, object)?;
        let (mut counters, mut instances) = (Vec::new(), Vec::new());
        for set in &sets {
            let shown = set.counters().filter(|counter| counter.detail_level <= detail_level);
            counters.extend(shown.map(|counter| counter.name.to_string()));
            for part in self.parts(set)?.iter() {
                instances.extend(part.instances.iter().map(|instance| full_name(instance)));
            }
        }
        let has_instances = sets.iter().any(|set| set.has_instances);
        Ok(ObjectItems {
            counters: without_duplicates(counters.into_iter()),
            // On Linux, instance names are case-sensitive.
            instances: has_instances.then(|| {
                let mut known = HashSet::new();
                instances.retain(|name| known.insert(name.clone()));
                instances
            }),
        })
    }

    /// The counter set that a user interface should preselect: `Processor`, or the first one.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_MACHINE`]; [`PdhStatus::NO_OBJECT`] for a source without counter sets.
    #[doc(alias = "PdhGetDefaultPerfObjectW")]
    #[doc(alias = "PdhGetDefaultPerfObjectA")]
    #[doc(alias = "PdhGetDefaultPerfObjectHW")]
    pub fn default_object(&self, machine: Option<&str>) -> Result<String> {
        let sets = self.sets_of(machine)?;
        let default = sets.iter().find(|set| set.is_named(DEFAULT_OBJECT)).or(sets.first());
        default.map(|set| set.name.to_string()).ok_or(PdhStatus::NO_OBJECT)
    }

    /// The counter of a set that a user interface should preselect: the set's default counter, or its first one.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_COUNTER`] for a set without counters; otherwise as for [`object_items`](Self::object_items).
    #[doc(alias = "PdhGetDefaultPerfCounterW")]
    #[doc(alias = "PdhGetDefaultPerfCounterA")]
    #[doc(alias = "PdhGetDefaultPerfCounterHW")]
    pub fn default_counter(&self, machine: Option<&str>, object: &str) -> Result<String> {
        let sets = self.sets_named(machine, object)?;
        let set = sets.first().ok_or(PdhStatus::NO_OBJECT)?;
        let default = |index: u32| {
            let matches = |indexes: TitleIndexes| index != 0 && indexes.name == index;
            set.counters().find(|counter| counter.indexes.is_some_and(matches))
        };
        let counter = default(set.default_counter()).or_else(|| set.counters().next());
        counter.map(|counter| counter.name.to_string()).ok_or(PdhStatus::NO_COUNTER)
    }

    /// The name of a set or counter by its title index in a log.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_MACHINE`]; [`PdhStatus::STRING_NOT_FOUND`] for an unknown index. On the local machine, names
    /// have no index.
    #[doc(alias = "PdhLookupPerfNameByIndexW")]
    #[doc(alias = "PdhLookupPerfNameByIndexA")]
    pub fn name_by_index(&self, machine: Option<&str>, index: u32) -> Result<String> {
        let titles = self.titles(machine)?;
        let found = titles.into_iter().find(|(_, known)| *known == index);
        found.map(|(name, _)| name).ok_or(PdhStatus::STRING_NOT_FOUND)
    }

    /// The title index of a set or counter in a log.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_MACHINE`]; [`PdhStatus::STRING_NOT_FOUND`] if the name is unknown or has no index.
    #[doc(alias = "PdhLookupPerfIndexByNameW")]
    #[doc(alias = "PdhLookupPerfIndexByNameA")]
    pub fn index_by_name(&self, machine: Option<&str>, name: &str) -> Result<u32> {
        let titles = self.titles(machine)?;
        let found = titles.into_iter().find(|(known, _)| eq_ignore_case(known, name));
        found.map(|(_, index)| index).ok_or(PdhStatus::STRING_NOT_FOUND)
    }

    /// The names and title indexes of all sets and counters that have an index.
    fn titles(&self, machine: Option<&str>) -> Result<Vec<(String, u32)>> {
        let mut titles = Vec::new();
        for set in self.sets_of(machine)? {
            titles.extend(set.indexes().map(|indexes| (set.name.to_string(), indexes.name)));
            let counters = set.counters();
            titles.extend(counters.filter_map(|one| Some((one.name.to_string(), one.indexes?.name))));
        }
        Ok(titles)
    }

    /// The sets with this name: at least one, several if multiple machines in a log have the set.
    fn sets_named(&self, machine: Option<&str>, object: &str) -> Result<Vec<SetRef>> {
        if object.is_empty() {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        let mut sets = self.sets_of(machine)?;
        sets.retain(|set| set.is_named(object));
        if sets.is_empty() { Err(PdhStatus::NO_OBJECT) } else { Ok(sets) }
    }
}

/// An instance's name with its parent, without `#n`.
pub(crate) fn full_name(instance: &Instance) -> String {
    match instance.parent() {
        Some(parent) => format!("{parent}/{}", instance.name()),
        None => instance.name().to_owned(),
    }
}

/// Removes repeated names, ignoring case.
fn without_duplicates(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = HashSet::new();
    names.filter(|name| known.insert(fold_case(name))).collect()
}
