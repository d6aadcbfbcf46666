//! What there is to ask for: machines, counter sets, counters and instances.

use std::collections::HashSet;

use tachograph_counters::set::{Instance, TitleIndexes};
use tachograph_counters::wildcard::{eq_ignore_case, fold_case};

use crate::catalogue::SetPlace;
use crate::{DataSource, PdhStatus, Result};

/// Counters and instances of a counter set, each name once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectItems {
    /// The counters in the order of the set.
    pub counters: Vec<String>,
    /// The instances, `parent/instance` where there are parents, without `#n`. `None`: the set has no instances by its
    /// nature; empty: it has none now.
    pub instances: Option<Vec<String>>,
}

/// The counter set that is a machine's default, where it has it.
const DEFAULT_OBJECT: &str = "Processor";

impl DataSource {
    /// The machines, each as `\\NAME`.
    ///
    /// # Errors
    ///
    /// What reading a log fails with.
    #[doc(alias = "PdhEnumMachinesW")]
    #[doc(alias = "PdhEnumMachinesA")]
    #[doc(alias = "PdhEnumMachinesHW")]
    pub fn machines(&self) -> Result<Vec<String>> {
        let sets = self.sets()?;
        let names =
            sets.iter().filter(|set| !set.machine.is_empty()).map(|set| format!(r"\\{}", set.machine));
        Ok(each_once(names))
    }

    /// The counter sets of a machine (`None` for this one, or for all of a log) up to a level of detail: 100 novice,
    /// 200 advanced, 300 expert, 400 wizard. Always as they are now, so that nothing is to be refreshed.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_MACHINE`] for a machine that the source does not have; what reading a log fails with.
    #[doc(alias = "PdhEnumObjectsW")]
    #[doc(alias = "PdhEnumObjectsA")]
    #[doc(alias = "PdhEnumObjectsHW")]
    pub fn objects(&self, machine: Option<&str>, detail_level: u32) -> Result<Vec<String>> {
        let sets = self.sets_of(machine)?;
        Ok(each_once(
            sets.iter().filter(|set| set.detail_level <= detail_level).map(|set| set.name.to_string()),
        ))
    }

    /// The counters and instances of a counter set, counters up to a level of detail. Instances are those that there are
    /// now; of a log, those of all its samples.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] without a name, [`PdhStatus::NO_MACHINE`], [`PdhStatus::NO_OBJECT`]; what reading a
    /// log, or the set's provider, fails with.
    #[doc(alias = "PdhEnumObjectItemsW")]
    #[doc(alias = "PdhEnumObjectItemsA")]
    #[doc(alias = "PdhEnumObjectItemsHW")]
    pub fn object_items(
        &self,
        machine: Option<&str>,
        object: &str,
        detail_level: u32,
    ) -> Result<ObjectItems> {
        let sets = self.named(machine, object)?;
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
            counters: each_once(counters.into_iter()),
            // Instances that differ in case alone are two on Linux.
            instances: has_instances.then(|| {
                let mut known = HashSet::new();
                instances.retain(|name| known.insert(name.clone()));
                instances
            }),
        })
    }

    /// The counter set that is shown where none was chosen: `Processor`, or else the first.
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

    /// The counter of a set that is shown where none was chosen: the one that a log names, or else the first.
    ///
    /// # Errors
    ///
    /// As [`object_items`](Self::object_items); [`PdhStatus::NO_COUNTER`] for a set without counters.
    #[doc(alias = "PdhGetDefaultPerfCounterW")]
    #[doc(alias = "PdhGetDefaultPerfCounterA")]
    #[doc(alias = "PdhGetDefaultPerfCounterHW")]
    pub fn default_counter(&self, machine: Option<&str>, object: &str) -> Result<String> {
        let sets = self.named(machine, object)?;
        let set = sets.first().ok_or(PdhStatus::NO_OBJECT)?;
        let default = |index: u32| {
            let is_it = |indexes: TitleIndexes| index != 0 && indexes.name == index;
            set.counters().find(|counter| counter.indexes.is_some_and(is_it))
        };
        let counter = default(set.default_counter()).or_else(|| set.counters().next());
        counter.map(|counter| counter.name.to_string()).ok_or(PdhStatus::NO_COUNTER)
    }

    /// The name of a set or counter that a log knows by this number of the older interface (V1).
    ///
    /// # Errors
    ///
    /// [`PdhStatus::NO_MACHINE`]; [`PdhStatus::STRING_NOT_FOUND`] where no name has the number: names of this machine have
    /// none.
    #[doc(alias = "PdhLookupPerfNameByIndexW")]
    #[doc(alias = "PdhLookupPerfNameByIndexA")]
    pub fn name_by_index(&self, machine: Option<&str>, index: u32) -> Result<String> {
        let numbered = self.numbered(machine)?;
        let found = numbered.into_iter().find(|(_, number)| *number == index);
        found.map(|(name, _)| name).ok_or(PdhStatus::STRING_NOT_FOUND)
    }

    /// The number of the older interface (V1) by which a log knows a set or counter.
    ///
    /// # Errors
    ///
    /// As [`name_by_index`](Self::name_by_index).
    #[doc(alias = "PdhLookupPerfIndexByNameW")]
    #[doc(alias = "PdhLookupPerfIndexByNameA")]
    pub fn index_by_name(&self, machine: Option<&str>, name: &str) -> Result<u32> {
        let numbered = self.numbered(machine)?;
        let found = numbered.into_iter().find(|(known, _)| eq_ignore_case(known, name));
        found.map(|(_, number)| number).ok_or(PdhStatus::STRING_NOT_FOUND)
    }

    /// The names of sets and counters that have a number.
    fn numbered(&self, machine: Option<&str>) -> Result<Vec<(String, u32)>> {
        let mut numbered = Vec::new();
        for set in self.sets_of(machine)? {
            numbered.extend(set.indexes().map(|indexes| (set.name.to_string(), indexes.name)));
            let counters = set.counters();
            numbered.extend(counters.filter_map(|one| Some((one.name.to_string(), one.indexes?.name))));
        }
        Ok(numbered)
    }

    /// The sets of this name; there is at least one. Several machines of a log may have it.
    fn named(&self, machine: Option<&str>, object: &str) -> Result<Vec<SetPlace>> {
        if object.is_empty() {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        let mut sets = self.sets_of(machine)?;
        sets.retain(|set| set.is_named(object));
        if sets.is_empty() { Err(PdhStatus::NO_OBJECT) } else { Ok(sets) }
    }
}

/// An instance's name without its number.
pub(crate) fn full_name(instance: &Instance) -> String {
    match instance.parent() {
        Some(parent) => format!("{parent}/{}", instance.name()),
        None => instance.name().to_owned(),
    }
}

/// Names without those that came before, in whatever case.
fn each_once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = HashSet::new();
    names.filter(|name| known.insert(fold_case(name))).collect()
}
