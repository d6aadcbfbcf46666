//! What a scrape asks for: families of counter sets, of the rows that paths select.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::set::{Instance, Instances};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_perflib::{ErrorCode, InstanceKey, Numbering, PathMatch, QueriedSet, Query, Registry};

use super::catalog::{Catalog, SetFamilies, Source};
use super::labels::Labels;
use super::wrap::Extended;

/// A query with what is exported of it.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) query: Query,
    pub(super) sets: Vec<PlannedSet>,
    /// How many paths it was made for.
    paths: usize,
}

/// What is exported of a counter set, and what is known of its instances.
#[derive(Debug)]
pub(super) struct PlannedSet {
    pub(super) families: Arc<SetFamilies>,
    pub(super) chosen: Vec<Chosen>,
    views: Vec<View>,
    /// The paths that select counters of it, each with its view.
    by_path: Vec<(usize, usize)>,
    numbering: Numbering,
    pub(super) labels: Labels,
    /// By instance and family: counters that may begin again at 0.
    pub(super) extended: HashMap<Arc<InstanceKey>, Vec<Extended>>,
}

/// A family of a set, with the counter that it is read from.
#[derive(Debug)]
pub(super) struct Chosen {
    /// The place among the set's families.
    pub(super) family: usize,
    pub(super) source: Source,
    views: Vec<usize>,
}

/// The rows that paths with one instance pattern take.
#[derive(Debug)]
struct View {
    pattern: PathPattern,
    rows: Vec<bool>,
}

impl Plan {
    /// A query of what the paths select. What `known` sets know of their instances goes on.
    pub(super) fn new(
        registry: &Arc<Registry>,
        catalog: &Catalog,
        paths: &[PathPattern],
        mut known: Vec<PlannedSet>,
    ) -> Result<Self, ErrorCode> {
        let mut query = Query::open(registry, None)?;
        let matches = query.add_paths(paths);
        let mut sets = Vec::with_capacity(query.sets().len());
        for (place, queried) in query.sets().iter().enumerate() {
            let info = queried.rows().info();
            let families = catalog.set(info.guid).cloned().unwrap_or_else(|| SetFamilies::none(info));
            let is_it = |set: &PlannedSet| set.families.info.guid == info.guid && set.families.info == *info;
            let mut set = match known.iter().position(is_it) {
                Some(old) => PlannedSet { families, ..known.swap_remove(old) },
                None => PlannedSet::new(families),
            };
            set.choose(place, paths, &matches);
            sets.push(set);
        }
        Ok(Self { query, sets, paths: paths.len() })
    }

    /// How many of the paths selected nothing in this collection. What could not be read may have been there.
    pub(super) fn without_match(&self) -> usize {
        let mut has_match = vec![false; self.paths];
        for (set, queried) in self.sets.iter().zip(self.query.sets()) {
            for &(path, view) in &set.by_path {
                has_match[path] |= queried.outcome().is_err() || set.views[view].rows.contains(&true);
            }
        }
        has_match.iter().filter(|has_match| !**has_match).count()
    }
}

impl PlannedSet {
    fn new(families: Arc<SetFamilies>) -> Self {
        Self {
            families,
            chosen: Vec::new(),
            views: Vec::new(),
            by_path: Vec::new(),
            numbering: Numbering::default(),
            labels: Labels::default(),
            extended: HashMap::new(),
        }
    }

    fn choose(&mut self, place: usize, paths: &[PathPattern], matches: &[Vec<PathMatch>]) {
        self.chosen.clear();
        self.views.clear();
        self.by_path.clear();
        self.labels = Labels::default();
        // By counter: the views of the paths that select it.
        let mut selected: HashMap<u32, Vec<usize>> = HashMap::new();
        for (number, (path, found)) in paths.iter().zip(matches).enumerate() {
            for found in found.iter().filter(|found| found.set == place) {
                let instance = |path: &PathPattern| path.path().instance.clone();
                let same = |view: &View| instance(&view.pattern) == instance(path);
                let view = self.views.iter().position(same).unwrap_or_else(|| {
                    self.views.push(View { pattern: path.clone(), rows: Vec::new() });
                    self.views.len() - 1
                });
                if self.by_path.last() != Some(&(number, view)) {
                    self.by_path.push((number, view));
                }
                let views = selected.entry(found.counter_id).or_default();
                if !views.contains(&view) {
                    views.push(view);
                }
            }
        }
        for (family, described) in self.families.families.iter().enumerate() {
            let mut sources =
                described.sources.iter().filter(|source| selected.contains_key(&source.counter_id));
            let Some(source) = sources.clone().next() else { continue };
            let mut views: Vec<usize> = sources
                .by_ref()
                .filter_map(|source| selected.get(&source.counter_id))
                .flatten()
                .copied()
                .collect();
            views.sort_unstable();
            views.dedup();
            self.chosen.push(Chosen { family, source: *source, views });
        }
    }

    /// Takes the instances of a collection.
    pub(super) fn take(&mut self, queried: &QueriedSet) {
        let keys = queried.rows().instances();
        let instances = Arc::clone(self.numbering.number(keys));
        if !self.labels.take(&instances) {
            return;
        }
        let has_instances = self.families.info.has_instances();
        for view in &mut self.views {
            view.take(&instances, keys, has_instances);
        }
    }

    /// Whether a row is exported of a family.
    pub(super) fn takes(&self, chosen: &Chosen, row: usize) -> bool {
        chosen.views.iter().any(|&view| self.views[view].rows.get(row) == Some(&true))
    }

    /// The extended counter of a family of an instance.
    pub(super) fn extended(&mut self, key: &Arc<InstanceKey>, family: usize) -> Option<&mut Extended> {
        if !self.extended.contains_key(key) {
            let none = vec![Extended::default(); self.families.families.len()];
            self.extended.insert(Arc::clone(key), none);
        }
        self.extended.get_mut(key)?.get_mut(family)
    }

    /// Forgets instances that are not there any more.
    pub(super) fn forget_absent(&mut self, queried: &QueriedSet) {
        let here = queried.rows().instances();
        if queried.outcome().is_ok() && self.extended.len() > here.len() {
            let here: std::collections::HashSet<&Arc<InstanceKey>> = here.iter().collect();
            self.extended.retain(|key, _| here.contains(key));
        }
    }
}

impl View {
    fn take(&mut self, instances: &Instances, keys: &[Arc<InstanceKey>], has_instances: bool) {
        self.rows.clear();
        let Some(wanted) = self.pattern.path().instance.as_ref().filter(|_| has_instances) else {
            // A set without instances has one row.
            return self.rows.extend((0..instances.len()).map(|row| row == 0));
        };
        if self.pattern.instance().is_some_and(|pattern| pattern.is_literal()) {
            // The same letters first: on Linux `x` and `X` are two.
            let exactly = instances.iter().position(|instance| instance.label() == wanted.as_str());
            let loosely =
                || instances.iter().position(|instance| eq_ignore_case(instance.label(), wanted.as_str()));
            let taken = exactly.or_else(loosely);
            return self.rows.extend((0..instances.len()).map(|row| Some(row) == taken));
        }
        let names_total = wanted.as_str().contains("_Total");
        let is_taken = |(instance, key): (&Arc<Instance>, &Arc<InstanceKey>)| {
            self.pattern.matches_instance(Some(instance.label())) && (names_total || !is_total(key))
        };
        self.rows.extend(instances.iter().zip(keys).map(is_taken));
    }
}

/// Whether an instance is the sum of others.
fn is_total(key: &InstanceKey) -> bool {
    key.is_reserved() && (key.name() == "_Total" || key.name().ends_with(",_Total"))
}
