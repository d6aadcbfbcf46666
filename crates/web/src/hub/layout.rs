//! Which of the collected values a request is about, and in which order.

use std::collections::HashSet;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::set::{CounterSet, Instance};
use tachograph_flow::sinks::LiveValues;

use crate::series::SeriesName;

/// Whether a group of this description can hold what a path selects. A counter of one instance by its name and that of all
/// instances are collected for themselves: an instance that somebody else named, and that is not there, is no wildcard's.
pub(super) fn is_group_of(path: &PathPattern, set: &CounterSet) -> bool {
    let is_fixed = path.instance().is_some_and(|instance| instance.is_literal());
    path.matches_set(&set.name, set.has_instances)
        && (!set.has_instances || is_fixed || set.instance.is_none())
        && set
            .instance
            .as_ref()
            .is_none_or(|one| path.matches_instance(set.has_instances.then(|| one.label())))
}

/// Whether a group of this description can hold counters that a path selects.
pub(super) fn is_column_of(path: &PathPattern, set: &CounterSet) -> bool {
    is_group_of(path, set) && set.counters.iter().any(|counter| path.matches_counter(&counter.name))
}

/// The series that paths select, in the order of the paths; each once.
#[derive(Default)]
pub(crate) struct Layout {
    pub(crate) cells: Vec<Cell>,
}

/// One series.
pub(crate) struct Cell {
    group: usize,
    /// Its place among the group's values.
    place: usize,
    set: Arc<CounterSet>,
    instance: Arc<Instance>,
    column: usize,
    pub(crate) path: String,
}

impl Cell {
    /// What it is.
    pub(crate) fn name(&self) -> SeriesName<'_> {
        SeriesName::of(&self.path, &self.set, Some(&self.instance), &self.set.counters[self.column])
    }
}

impl Layout {
    pub(crate) fn of(values: &LiveValues, paths: &[PathPattern]) -> Self {
        let mut cells: Vec<Cell> = Vec::new();
        let mut seen: HashSet<(usize, &str, &str)> = HashSet::new();
        let mut sets: Vec<(&str, &str)> = Vec::new();
        for path in paths {
            for (number, group) in values.groups().iter().enumerate() {
                let set = group.set();
                if !path.matches_machine(&set.machine) || !is_group_of(path, set) {
                    continue;
                }
                let name = (&*set.machine, &*set.name);
                let set_number = sets.iter().position(|known| *known == name).unwrap_or_else(|| {
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
                            || !seen.insert((set_number, instance.label(), &counter.name))
                        {
                            continue;
                        }
                        cells.push(Cell {
                            group: number,
                            place: row * width + column,
                            set: Arc::clone(set),
                            instance: Arc::clone(instance),
                            column,
                            path: set.path(instance, counter),
                        });
                    }
                }
            }
        }
        Self { cells }
    }

    /// The values of the series now.
    pub(crate) fn values<'a>(&'a self, values: &'a LiveValues) -> impl Iterator<Item = Option<f64>> + 'a {
        self.cells.iter().map(|cell| *values.groups().get(cell.group)?.values().get(cell.place)?)
    }
}
