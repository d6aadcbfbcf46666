//! The catalogue of logs.

use std::collections::HashSet;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::set::Instance;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::{ScannedGroup, UnionScan};

use crate::catalogue::{Catalogue, CounterEntry, SetEntry, count_in};
use crate::defaults::first_paths;

/// The sets, counters and instances of logs, as far as the logs have been read.
#[derive(Clone, Debug, Default)]
pub struct LogCatalogue {
    sets: Vec<LoggedSet>,
    machines: Vec<Arc<str>>,
    /// The paths of the first chart.
    first_chart_paths: Vec<String>,
}

#[derive(Clone, Debug)]
struct LoggedSet {
    entry: SetEntry,
    instances: Vec<Arc<Instance>>,
    /// The labels of `instances`.
    labels: HashSet<Arc<str>>,
}

/// The number of counters in the first chart of a log that has none of the usual ones.
const FALLBACK_COUNTERS: usize = 4;

impl LogCatalogue {
    pub(super) fn add(&mut self, scan: &UnionScan) {
        for group in scan.groups() {
            self.add_group(group);
        }
        self.sets.sort_by_cached_key(|set| set.entry.name.to_lowercase());
        self.machines.sort();
        self.first_chart_paths = self.first_paths(scan);
    }

    fn add_group(&mut self, group: &ScannedGroup) {
        let machine = &group.set.machine;
        if !machine.is_empty() && !self.machines.iter().any(|known| known.eq_ignore_ascii_case(machine)) {
            self.machines.push(Arc::clone(machine));
        }
        let slot = self.sets.iter().position(|set| set.entry.name == group.set.name).unwrap_or_else(|| {
            let entry = SetEntry {
                machine: Some(Arc::clone(machine)).filter(|machine| !machine.is_empty()),
                name: Arc::clone(&group.set.name),
                help: "".into(),
                has_instances: group.set.has_instances,
                counters: Vec::new(),
            };
            self.sets.push(LoggedSet { entry, instances: Vec::new(), labels: HashSet::new() });
            self.sets.len() - 1
        });
        let LoggedSet { entry, instances, labels } = &mut self.sets[slot];
        for counter in &group.set.counters {
            if !entry.counters.iter().any(|known| known.counter.name == counter.name) {
                entry.counters.push(CounterEntry { counter: counter.clone(), help: "".into() });
            }
        }
        if group.set.has_instances {
            instances.extend(group.instances.iter().filter(|new| labels.insert(new.label().into())).cloned());
        }
    }

    fn first_paths(&self, scan: &UnionScan) -> Vec<String> {
        let paths = first_paths(|path| self.has(path));
        if !paths.is_empty() {
            return paths.iter().map(ToString::to_string).collect();
        }
        let groups = scan.groups().iter();
        let all = groups.flat_map(|group| {
            group.instances.iter().flat_map(|instance| {
                group.set.counters.iter().map(|counter| group.set.path(instance, counter))
            })
        });
        // A text log can contain a column several times.
        let mut paths: Vec<String> = Vec::new();
        for path in all {
            if !paths.iter().any(|known| eq_ignore_case(known, &path)) {
                paths.push(path);
            }
            if paths.len() == FALLBACK_COUNTERS {
                break;
            }
        }
        paths
    }

    /// Whether a path selects anything.
    pub fn has(&self, path: &PathPattern) -> bool {
        let matches = |instance: &Arc<Instance>| path.matches_instance(Some(instance.label()));
        let has_instance = |set: &LoggedSet| !set.entry.has_instances || set.instances.iter().any(matches);
        let has_counter = |set: &LoggedSet| {
            set.entry.counters.iter().any(|known| path.matches_counter(&known.counter.name))
        };
        let mut sets = self.sets.iter().filter(|set| is_selected(path, set));
        sets.any(|set| has_counter(set) && has_instance(set))
    }

    /// The machines that the logs name.
    pub fn machines(&self) -> &[Arc<str>] {
        &self.machines
    }

    /// The maximum number of series that a path can select: all matching counters of all matching instances.
    pub fn max_series(&self, path: &PathPattern) -> usize {
        let count_set = |set: &LoggedSet| {
            count_in(&set.entry, set.instances.iter().map(|instance| instance.label()), &[path], &[])
        };
        let sets = self.sets.iter().filter(|set| is_selected(path, set));
        sets.map(count_set).fold(0, usize::saturating_add)
    }

    /// Paths of a few counters to chart first: the usual ones if the logs have them, otherwise the first ones.
    pub fn first_choice(&self) -> &[String] {
        &self.first_chart_paths
    }
}

fn is_selected(path: &PathPattern, set: &LoggedSet) -> bool {
    path.matches_set(&set.entry.name, set.entry.has_instances)
}

impl Catalogue for LogCatalogue {
    fn sets(&self) -> Vec<SetEntry> {
        self.sets.iter().map(|set| set.entry.clone()).collect()
    }

    fn instances(&self, set: &str) -> Result<Vec<String>, String> {
        let found = self.sets.iter().find(|known| known.entry.name.eq_ignore_ascii_case(set));
        found
            .map(|set| set.instances.iter().map(|instance| instance.label().to_owned()).collect())
            .ok_or_else(|| format!("the logs have no counter set '{set}'"))
    }
}
