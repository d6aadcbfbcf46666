//! The sets, counters and instances that a user can choose.

use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::set::Counter;
use tachograph_perflib::registration::{CounterSetInfo, counter_of};
use tachograph_perflib::{Numbering, Registry};

/// A counter set.
#[derive(Clone, Debug, PartialEq)]
pub struct SetEntry {
    /// The machine; `None` if the source names none.
    pub machine: Option<Arc<str>>,
    /// The name.
    pub name: Arc<str>,
    /// The description; empty if the source has none.
    pub help: Arc<str>,
    /// Whether the set has instances.
    pub has_instances: bool,
    /// The set's counters.
    pub counters: Vec<CounterEntry>,
}

impl SetEntry {
    /// The entry for a registered set. Counters that only serve to compute others, such as bases, are omitted.
    pub fn new(machine: &Arc<str>, info: &CounterSetInfo) -> Self {
        let displayable = info.counters.iter().filter(|counter| counter.is_displayable());
        let counters = displayable
            .map(|info| CounterEntry { counter: counter_of(info), help: Arc::from(&*info.help) })
            .collect();
        Self {
            machine: Some(Arc::clone(machine)),
            name: Arc::from(&*info.name),
            help: Arc::from(&*info.help),
            has_instances: info.has_instances(),
            counters,
        }
    }

    /// A path that selects this counter, or all counters, of all instances.
    pub fn path(&self, counter: Option<&CounterEntry>) -> String {
        let instances = if self.has_instances { "(*)" } else { "" };
        let counter = counter.map_or("*", |entry| &entry.counter.name);
        format!(r"\{}{instances}\{counter}", self.name)
    }
}

/// A counter of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterEntry {
    /// Name, type, unit and default scale.
    pub counter: Counter,
    /// Description; empty if the source has none.
    pub help: Arc<str>,
}

/// Sets, counters and instances of a machine or of logs.
pub trait Catalogue {
    /// The counter sets, sorted by name.
    fn sets(&self) -> Vec<SetEntry>;

    /// The instances of a set as paths name them: the current ones of a machine, or all that a log contains.
    ///
    /// # Errors
    ///
    /// A message if the instances are not available.
    fn instances(&self, set: &str) -> Result<Vec<String>, String>;

    /// The number of series that `wanted` selects and `present` does not. A set whose instances are not available
    /// counts as empty; instances with the same name on several logged machines count once.
    fn count(&self, wanted: &[PathPattern], present: &[PathPattern]) -> usize {
        let count_set = |set: &SetEntry| {
            let matches_set = |path: &&PathPattern| path.matches_set(&set.name, set.has_instances);
            let wanted: Vec<_> = wanted.iter().filter(matches_set).collect();
            if wanted.is_empty() {
                return 0;
            }
            let present: Vec<_> = present.iter().filter(matches_set).collect();
            let instances = if set.has_instances { self.instances(&set.name) } else { Ok(Vec::new()) };
            let instances = instances.unwrap_or_default();
            count_in(set, instances.iter().map(String::as_str), &wanted, &present)
        };
        self.sets().iter().map(count_set).fold(0, usize::saturating_add)
    }
}

/// [`Catalogue::count`] for one set, which all paths must match. A path in `present` with a machine only applies to
/// that machine.
pub(crate) fn count_in<'a>(
    set: &SetEntry,
    instances: impl Iterator<Item = &'a str>,
    wanted: &[&PathPattern],
    present: &[&PathPattern],
) -> usize {
    let machine = set.machine.as_deref().unwrap_or_default();
    let present: Vec<_> = present.iter().copied().filter(|path| path.matches_machine(machine)).collect();
    if let ([only], []) = (wanted, &present[..]) {
        let counters = set.counters.iter().filter(|entry| only.matches_counter(&entry.counter.name)).count();
        let rows = match set.has_instances {
            _ if counters == 0 => 0,
            true => instances.filter(|instance| only.matches_instance(Some(instance))).count(),
            false => usize::from(only.matches_instance(None)),
        };
        return counters.saturating_mul(rows);
    }
    let count_of = |instance: Option<&str>| {
        let matches = |path: &&PathPattern| path.matches_instance(instance);
        let wanted: Vec<_> = wanted.iter().copied().filter(matches).collect();
        let present: Vec<_> = present.iter().copied().filter(matches).collect();
        let any_matches =
            |paths: &[&PathPattern], counter: &str| paths.iter().any(|path| path.matches_counter(counter));
        let is_new = |entry: &&CounterEntry| {
            any_matches(&wanted, &entry.counter.name) && !any_matches(&present, &entry.counter.name)
        };
        set.counters.iter().filter(is_new).count()
    };
    if !set.has_instances {
        return count_of(None);
    }
    instances.map(|instance| count_of(Some(instance))).fold(0, usize::saturating_add)
}

/// The catalogue of this machine.
#[derive(Clone, Debug)]
pub struct MachineCatalogue(pub Arc<Registry>);

impl Catalogue for MachineCatalogue {
    fn sets(&self) -> Vec<SetEntry> {
        let mut sets: Vec<_> =
            self.0.counter_sets().map(|info| SetEntry::new(self.0.machine(), info)).collect();
        sets.sort_by_cached_key(|set| set.name.to_lowercase());
        sets
    }

    fn instances(&self, set: &str) -> Result<Vec<String>, String> {
        let info = self.0.find(set).ok_or_else(|| format!("there is no counter set '{set}'"))?;
        if !info.has_instances() {
            return Ok(Vec::new());
        }
        let keys = self.0.instances(info.guid).map_err(|failure| failure.to_string())?;
        let mut numbering = Numbering::default();
        Ok(numbering.assign(&keys).iter().map(|instance| instance.label().to_owned()).collect())
    }
}
