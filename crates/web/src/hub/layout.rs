//! The series that a request selects, in order.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Group;
use tachograph_counters::set::{CounterSet, Extent, Instance};
use tachograph_flow::sinks::LiveValues;

use crate::series::SeriesName;

/// Whether a path can select values of a group with this description. A path that names an instance has a group of its
/// own, which paths with wildcards do not select, because the instance may not exist.
fn can_select(path: &PathPattern, set: &CounterSet) -> bool {
    let is_fixed = path.instance().is_some_and(|instance| instance.is_literal());
    path.matches_set(&set.name, set.has_instances)
        && (!set.has_instances || is_fixed || set.instance.is_none())
        && set
            .instance
            .as_ref()
            .is_none_or(|one| path.matches_instance(set.has_instances.then(|| one.label())))
}

/// The columns that paths select, cached by counter set.
pub(super) struct SelectedColumns {
    paths: Vec<PathPattern>,
    /// By the address of the set's description.
    known: HashMap<usize, Columns>,
}

/// The selected columns of a counter set.
struct Columns {
    /// The description. Holding it keeps its address from being reused.
    original: Arc<CounterSet>,
    /// The description with only the selected counters.
    selected: Arc<CounterSet>,
    /// The indexes of the selected counters in `original`.
    indexes: Vec<usize>,
    /// A description for each selected counter alone, created when it is first needed.
    each: OnceCell<Vec<Arc<CounterSet>>>,
}

impl SelectedColumns {
    /// The columns that any of the paths selects, or all columns if `paths` is empty.
    pub(super) fn new(paths: Vec<PathPattern>) -> Self {
        Self { paths, known: HashMap::new() }
    }

    fn columns(&mut self, set: &Arc<CounterSet>) -> &Columns {
        self.known.entry(Arc::as_ptr(set).addr()).or_insert_with(|| {
            let paths: Vec<_> = self.paths.iter().filter(|path| can_select(path, set)).collect();
            let is_selected = |&column: &usize| {
                self.paths.is_empty()
                    || paths.iter().any(|path| path.matches_counter(&set.counters[column].name))
            };
            let indexes: Vec<usize> = (0..set.counters.len()).filter(is_selected).collect();
            let mut selected = Arc::clone(set);
            if indexes.len() < set.counters.len() {
                let counters = indexes.iter().map(|&column| set.counters[column].clone()).collect();
                Arc::make_mut(&mut selected).counters = counters;
            }
            Columns { original: Arc::clone(set), selected, indexes, each: OnceCell::new() }
        })
    }

    pub(super) fn selects_all(&mut self, group: &Group) -> bool {
        let Columns { original, selected, .. } = self.columns(&group.set);
        Arc::ptr_eq(original, selected)
    }

    /// A copy of the group with its selected columns, if any.
    pub(super) fn copy(&mut self, group: &Group) -> Option<Group> {
        let Columns { original, selected, indexes, .. } = self.columns(&group.set);
        match indexes.is_empty() {
            true => None,
            false if Arc::ptr_eq(original, selected) => Some(group.clone()),
            false => Some(group.with_columns(selected, indexes)),
        }
    }

    /// Adds a group to `out` for each selected column. A group of extent `Table` is not divided.
    pub(super) fn copy_each(&mut self, group: &Group, out: &mut Vec<Group>) {
        if group.set.extent == Extent::Table {
            out.extend(self.copy(group));
            return;
        }
        let Columns { original, indexes, each, .. } = self.columns(&group.set);
        let each = each.get_or_init(|| indexes.iter().map(|&column| original.of_counter(column)).collect());
        out.extend(each.iter().zip(indexes).map(|(set, &column)| group.with_columns(set, &[column])));
    }
}

/// The series that paths select, in the order of the paths, without duplicates.
#[derive(Default)]
pub(crate) struct Layout {
    pub(crate) series: Vec<SelectedSeries>,
}

/// A series of [`LiveValues`].
pub(crate) struct SelectedSeries {
    /// The index of the series' group.
    group: usize,
    /// The series' index in the group's values.
    index: usize,
    set: Arc<CounterSet>,
    instance: Arc<Instance>,
    column: usize,
    pub(crate) path: String,
}

impl SelectedSeries {
    pub(crate) fn name(&self) -> SeriesName<'_> {
        SeriesName::new(&self.path, &self.set, Some(&self.instance), &self.set.counters[self.column])
    }
}

impl Layout {
    pub(crate) fn new(values: &LiveValues, paths: &[PathPattern]) -> Self {
        let mut series: Vec<SelectedSeries> = Vec::new();
        let mut seen: HashSet<(usize, &str, &str)> = HashSet::new();
        let mut sets: Vec<(&str, &str)> = Vec::new();
        for path in paths {
            for (group_index, group) in values.groups().iter().enumerate() {
                let set = group.set();
                if !path.matches_machine(&set.machine) || !can_select(path, set) {
                    continue;
                }
                let name = (&*set.machine, &*set.name);
                let set_index = sets.iter().position(|known| *known == name).unwrap_or_else(|| {
                    sets.push(name);
                    sets.len() - 1
                });
                let width = set.counters.len();
                for (column, counter) in set.counters.iter().enumerate() {
                    if !path.matches_counter(&counter.name) {
                        continue;
                    }
                    for (row, instance) in group.instances().iter().enumerate() {
                        if !path.matches_instance(set.has_instances.then(|| instance.label()))
                            || !seen.insert((set_index, instance.label(), &counter.name))
                        {
                            continue;
                        }
                        series.push(SelectedSeries {
                            group: group_index,
                            index: row * width + column,
                            set: Arc::clone(set),
                            instance: Arc::clone(instance),
                            column,
                            path: set.path(instance, counter),
                        });
                    }
                }
            }
        }
        Self { series }
    }

    pub(crate) fn values<'a>(&'a self, values: &'a LiveValues) -> impl Iterator<Item = Option<f64>> + 'a {
        self.series.iter().map(|one| *values.groups().get(one.group)?.values().get(one.index)?)
    }
}
