//! The plan of a scrape: the families of counter sets, and the rows that paths select.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::set::{Instance, Instances};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_perflib::{ErrorCode, InstanceKey, Numbering, PathMatch, QueriedSet, Query, Registry};

use super::catalog::{Catalog, SetFamilies, Source};
use super::extended_counter::ExtendedCounter;
use super::labels::{Labelling, Labels};
use super::mounts::MountTable;

/// A query, and the exported families of each of its sets.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) query: Query,
    pub(super) sets: Vec<PlannedSet>,
    path_count: usize,
}

/// The exported families of a counter set, and the state of its instances.
#[derive(Debug)]
pub(super) struct PlannedSet {
    pub(super) families: Arc<SetFamilies>,
    pub(super) planned: Vec<PlannedFamily>,
    /// One filter per requested instance pattern.
    filters: Vec<RowFilter>,
    /// The indexes of the paths that select counters of the set, each with the index of its filter.
    by_path: Vec<(usize, usize)>,
    numbering: Numbering,
    pub(super) labels: Labels,
    /// The state of counters that can wrap: a list per instance, with the indexes of the set's families.
    pub(super) extended: HashMap<Arc<InstanceKey>, Vec<ExtendedCounter>>,
}

/// A family of a set, and the counter that it is read from.
#[derive(Debug)]
pub(super) struct PlannedFamily {
    /// The index of the family in its set.
    pub(super) family: usize,
    pub(super) source: Source,
    /// The indexes of the set's filters; rows that any of them selects are exported.
    filters: Vec<usize>,
}

/// The rows whose instance a path selects.
#[derive(Debug)]
struct RowFilter {
    pattern: PathPattern,
    /// Whether each row is selected.
    rows: Vec<bool>,
}

impl Plan {
    /// Creates a plan for these paths. The instance state of the sets in `known` is kept.
    pub(super) fn new(
        registry: &Arc<Registry>,
        catalog: &Catalog,
        paths: &[PathPattern],
        mut known: Vec<PlannedSet>,
    ) -> Result<Self, ErrorCode> {
        let mut query = Query::open(registry, None)?;
        let matches = query.add_paths(paths);
        let mut sets = Vec::with_capacity(query.sets().len());
        for (index, queried) in query.sets().iter().enumerate() {
            let info = queried.rows().info();
            // A set that is not in the catalog has no families.
            let unknown = || {
                let labelling = Labelling::NameAndParent;
                Arc::new(SetFamilies { info: Arc::clone(info), families: Vec::new(), labelling })
            };
            let families = catalog.set(info.guid).cloned().unwrap_or_else(unknown);
            let is_same_set =
                |set: &PlannedSet| set.families.info.guid == info.guid && set.families.info == *info;
            let mut set = match known.iter().position(is_same_set) {
                Some(old) => PlannedSet { families, ..known.swap_remove(old) },
                None => PlannedSet::new(families),
            };
            set.select(index, paths, &matches);
            sets.push(set);
        }
        Ok(Self { query, sets, path_count: paths.len() })
    }

    /// The number of paths that selected nothing in this collection. A set that could not be read counts as a match.
    pub(super) fn without_match(&self) -> usize {
        let mut has_match = vec![false; self.path_count];
        for (set, queried) in self.sets.iter().zip(self.query.sets()) {
            for &(path, filter) in &set.by_path {
                has_match[path] |= queried.outcome().is_err() || set.filters[filter].rows.contains(&true);
            }
        }
        has_match.iter().filter(|has_match| !**has_match).count()
    }
}

impl PlannedSet {
    fn new(families: Arc<SetFamilies>) -> Self {
        Self {
            families,
            planned: Vec::new(),
            filters: Vec::new(),
            by_path: Vec::new(),
            numbering: Numbering::default(),
            labels: Labels::default(),
            extended: HashMap::new(),
        }
    }

    /// Plans the families of the set that `paths` select; `set_index` is the set's index in `matches`.
    fn select(&mut self, set_index: usize, paths: &[PathPattern], matches: &[Vec<PathMatch>]) {
        self.planned.clear();
        self.filters.clear();
        self.by_path.clear();
        self.labels = Labels::default();
        // The filters of the paths that select a counter, by counter id.
        let mut selected: HashMap<u32, Vec<usize>> = HashMap::new();
        // The filters of the paths that name the counter without wildcards, by counter id.
        let mut named: HashMap<u32, Vec<usize>> = HashMap::new();
        for (path_index, (path, found)) in paths.iter().zip(matches).enumerate() {
            for found in found.iter().filter(|found| found.set == set_index) {
                let instance = |path: &PathPattern| path.path().instance.clone();
                let has_same_instances = |filter: &RowFilter| instance(&filter.pattern) == instance(path);
                let filter = self.filters.iter().position(has_same_instances).unwrap_or_else(|| {
                    self.filters.push(RowFilter { pattern: path.clone(), rows: Vec::new() });
                    self.filters.len() - 1
                });
                if self.by_path.last() != Some(&(path_index, filter)) {
                    self.by_path.push((path_index, filter));
                }
                let is_named = path.counter().is_literal();
                for filters in std::iter::once(&mut selected).chain(is_named.then_some(&mut named)) {
                    let filters = filters.entry(found.counter_id).or_default();
                    if !filters.contains(&filter) {
                        filters.push(filter);
                    }
                }
            }
        }
        for (family, described) in self.families.families.iter().enumerate() {
            let filters_of = |source: &Source| {
                let by_counter = if source.is_sum { &named } else { &selected };
                by_counter.get(&source.counter_id)
            };
            let Some(source) = described.sources.iter().find(|source| filters_of(source).is_some()) else {
                continue;
            };
            let mut filters: Vec<usize> =
                described.sources.iter().filter_map(filters_of).flatten().copied().collect();
            filters.sort_unstable();
            filters.dedup();
            self.planned.push(PlannedFamily { family, source: *source, filters });
        }
    }

    /// Updates labels and filters for the instances of a collection.
    pub(super) fn update_rows(&mut self, queried: &QueriedSet, mounts: Option<&Arc<MountTable>>) {
        let keys = queried.rows().instances();
        let instances = Arc::clone(self.numbering.assign(keys));
        if !self.labels.update(self.families.labelling, &instances, keys, mounts) {
            return;
        }
        let has_instances = self.families.info.has_instances();
        for filter in &mut self.filters {
            filter.update(&instances, keys, has_instances);
        }
    }

    pub(super) fn includes(&self, family: &PlannedFamily, row: usize) -> bool {
        family.filters.iter().any(|&filter| self.filters[filter].rows.get(row) == Some(&true))
    }

    /// The state of a family's counter that can wrap, for an instance.
    pub(super) fn extended_counter(
        &mut self,
        key: &Arc<InstanceKey>,
        family: usize,
    ) -> Option<&mut ExtendedCounter> {
        if !self.extended.contains_key(key) {
            let new = vec![ExtendedCounter::default(); self.families.families.len()];
            self.extended.insert(Arc::clone(key), new);
        }
        self.extended.get_mut(key)?.get_mut(family)
    }

    /// Removes the state of instances that no longer exist.
    pub(super) fn remove_absent(&mut self, queried: &QueriedSet) {
        let present = queried.rows().instances();
        if queried.outcome().is_ok() && self.extended.len() > present.len() {
            let present: std::collections::HashSet<&Arc<InstanceKey>> = present.iter().collect();
            self.extended.retain(|key, _| present.contains(key));
        }
    }
}

impl RowFilter {
    fn update(&mut self, instances: &Instances, keys: &[Arc<InstanceKey>], has_instances: bool) {
        self.rows.clear();
        let Some(requested) = self.pattern.path().instance.as_ref().filter(|_| has_instances) else {
            // A set without instances has one row.
            return self.rows.extend((0..instances.len()).map(|row| row == 0));
        };
        if self.pattern.instance().is_some_and(|pattern| pattern.is_literal()) {
            // Prefers an exact match, because names are case-sensitive on Linux.
            let exact = instances.iter().position(|instance| instance.label() == requested.as_str());
            let ignoring_case =
                || instances.iter().position(|instance| eq_ignore_case(instance.label(), requested.as_str()));
            let selected = exact.or_else(ignoring_case);
            return self.rows.extend((0..instances.len()).map(|row| Some(row) == selected));
        }
        let names_total = requested.as_str().contains("_Total");
        let is_selected = |(instance, key): (&Arc<Instance>, &Arc<InstanceKey>)| {
            self.pattern.matches_instance(Some(instance.label())) && (names_total || !is_total(key))
        };
        self.rows.extend(instances.iter().zip(keys).map(is_selected));
    }
}

/// Whether an instance is a total of other instances.
fn is_total(key: &InstanceKey) -> bool {
    key.is_reserved() && (key.name() == "_Total" || key.name().ends_with(",_Total"))
}
