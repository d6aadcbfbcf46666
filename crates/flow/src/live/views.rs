//! From the rows of a collected counter set to the groups of a sample.

use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Clocks, Group};
use tachograph_counters::set::{CounterSet, Extent, Instance, Instances, has_parents};
use tachograph_counters::{RawValue, Status};
use tachograph_perflib::registration::{CounterSetInfo, counter_of};
use tachograph_perflib::{FREQUENCY, InstanceKey, Moments, Numbering, PathMatch, QueriedSet};

/// A queried counter set with the display names of its instances.
#[derive(Debug)]
pub(super) struct NamedSet {
    info: Arc<CounterSetInfo>,
    numbering: Numbering,
    instances: Instances,
    views: Vec<View>,
}

/// The rows that one instance pattern takes.
#[derive(Debug)]
struct View {
    taken: Taken,
    /// The set's instances that `rows` was made for.
    of: Instances,
    rows: Vec<usize>,
    instances: Instances,
}

#[derive(Clone, Debug, PartialEq)]
enum Taken {
    /// All rows.
    All,
    /// What a pattern with wildcards takes.
    Matching(Box<PathPattern>),
    /// The one instance of this display name.
    One(Arc<Instance>),
}

/// A group of the samples: one counter of the instances of a view.
#[derive(Clone, Debug)]
pub(super) struct LiveGroup {
    set: usize,
    view: usize,
    counter_id: u32,
    description: Arc<CounterSet>,
}

impl NamedSet {
    /// Names for a reader that pairs samples by names alone, or by identities too.
    pub(super) fn new(set: &QueriedSet, pairs_by_identity: bool) -> Self {
        let info = Arc::clone(set.rows().info());
        let numbering = if pairs_by_identity { Numbering::for_identities() } else { Numbering::default() };
        Self { info, numbering, instances: Instances::default(), views: Vec::new() }
    }

    /// Whether it was made for this set: another may have its place by now.
    pub(super) fn is_of(&self, set: &QueriedSet) -> bool {
        Arc::ptr_eq(&self.info, set.rows().info())
    }

    /// Takes the instances of a collection.
    pub(super) fn take(&mut self, set: &QueriedSet) {
        let keys = set.rows().instances();
        self.instances = Arc::clone(self.numbering.number(keys));
        for view in &mut self.views {
            view.take(&self.instances, keys);
        }
    }

    fn view(&mut self, taken: Taken) -> usize {
        let known = self.views.iter().position(|view| view.taken == taken);
        known.unwrap_or_else(|| {
            let none = Instances::default();
            self.views.push(View { taken, of: Arc::clone(&none), rows: Vec::new(), instances: none });
            self.views.len() - 1
        })
    }

    /// Drops the views that none of the set's groups has any more.
    pub(super) fn keep_views<'a>(&mut self, groups: impl Iterator<Item = &'a mut LiveGroup>) {
        let mut places = vec![None; self.views.len()];
        let mut kept = 0;
        for group in groups {
            let place = places[group.view].get_or_insert_with(|| {
                kept += 1;
                kept - 1
            });
            group.view = *place;
        }
        let mut views: Vec<_> = self.views.drain(..).zip(places).collect();
        views.retain(|(_, place)| place.is_some());
        views.sort_by_key(|(_, place)| *place);
        self.views.extend(views.into_iter().map(|(view, _)| view));
    }
}

impl View {
    fn take(&mut self, instances: &Instances, keys: &[Arc<InstanceKey>]) {
        if Arc::ptr_eq(&self.of, instances) {
            return;
        }
        self.of = Arc::clone(instances);
        self.rows.clear();
        // The set's own instance whose name was another's until just now (a total of other members) is left out until it
        // has the name: nobody asks for the total as `_Total#1`.
        let is_named = |(row, instance): &(usize, &Arc<Instance>)| {
            instance.index() == 0 || !keys.get(*row).is_some_and(|key| key.is_reserved())
        };
        match &self.taken {
            Taken::All => {
                self.rows.extend(instances.iter().enumerate().filter(is_named).map(|(row, _)| row));
                if self.rows.len() == instances.len() {
                    self.instances = Arc::clone(instances);
                    return;
                }
            }
            Taken::Matching(pattern) => {
                let named = instances.iter().enumerate().filter(is_named);
                let matching = named.filter(|(_, instance)| pattern.matches_instance(Some(instance.label())));
                self.rows.extend(matching.map(|(row, _)| row));
            }
            Taken::One(wanted) => {
                // The same letters first: on Linux `x` and `X` are two.
                let exactly = instances.iter().position(|instance| instance.label() == wanted.label());
                let loosely = || {
                    instances.iter().position(|instance| {
                        tachograph_counters::wildcard::eq_ignore_case(instance.label(), wanted.label())
                    })
                };
                self.rows.extend(exactly.or_else(loosely));
            }
        }
        self.instances = self.rows.iter().map(|&row| Arc::clone(&instances[row])).collect();
    }
}

impl LiveGroup {
    /// The group of a counter that a path selects.
    pub(super) fn new(
        machine: &Arc<str>,
        info: &CounterSetInfo,
        found: &PathMatch,
        path: &PathPattern,
        set: &mut NamedSet,
    ) -> Option<Self> {
        let counter = info.counters.get(info.position(found.counter_id)?)?;
        let mut description = CounterSet::new(Arc::clone(machine), &*info.name, Extent::Value);
        description.counters.push(counter_of(counter));
        let taken = match path.path().instance.as_ref().filter(|_| info.has_instances()) {
            None => {
                description.has_instances = false;
                description.instance = Some(Arc::new(Instance::none()));
                Taken::All
            }
            Some(text) if path.instance().is_some_and(|pattern| pattern.is_literal()) => {
                let (parent, name, index) = text.split(has_parents(&info.name));
                let instance = Arc::new(Instance::new(parent, name, index));
                description.instance = Some(Arc::clone(&instance));
                Taken::One(instance)
            }
            Some(text) => {
                description.extent = Extent::Column;
                if text.as_str() == "*" { Taken::All } else { Taken::Matching(Box::new(path.clone())) }
            }
        };
        let view = set.view(taken);
        Some(Self { set: found.set, view, counter_id: found.counter_id, description: Arc::new(description) })
    }

    /// The number of its counter set in the query.
    pub(super) fn set(&self) -> usize {
        self.set
    }

    /// Whether another path has selected the same before.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.set, self.view, self.counter_id) == (other.set, other.view, other.counter_id)
    }

    /// The description of the group.
    pub(super) fn description(&self) -> &Arc<CounterSet> {
        &self.description
    }

    /// Whether no instance that was asked for by name or pattern was there.
    pub(super) fn misses_instance(&self, sets: &[NamedSet]) -> bool {
        let view = &sets[self.set].views[self.view];
        !matches!(view.taken, Taken::All) && view.rows.is_empty()
    }

    /// Overwrites `group` with what was collected.
    pub(super) fn fill(&self, group: &mut Group, queried: &QueriedSet, named: &NamedSet, at: Moments) {
        group.describe(&self.description);
        group.clear_values();
        group.clocks = Clocks {
            ticks: at.ticks,
            frequency: FREQUENCY,
            system_time: at.system_time,
            ..Clocks::default()
        };
        let rows = queried.rows();
        let view = &named.views[self.view];
        let column = rows.column(self.counter_id);
        if let (Ok(()), Some(column)) = (queried.outcome(), column) {
            group.values.extend(view.rows.iter().map(|&row| rows.values(row)[column]));
            group.identities.extend(view.rows.iter().map(|&row| rows.instances()[row].identity()));
        }
        match &self.description.instance {
            // A single record always has its one value.
            Some(instance) => {
                if group.instances.len() != 1 || !Arc::ptr_eq(&group.instances[0], instance) {
                    group.instances = [Arc::clone(instance)].into();
                }
                if group.values.is_empty() {
                    let status = match queried.outcome() {
                        Ok(()) => Status::NO_INSTANCE,
                        Err(_) => Status::CSTATUS_INVALID_DATA,
                    };
                    group.values.push(RawValue::error(status));
                    group.identities.push(0);
                }
            }
            None if queried.outcome().is_err() => {
                group.take_rows_out();
                group.status = Status::NO_DATA;
            }
            None => group.set_rows(&view.instances),
        }
    }
}
