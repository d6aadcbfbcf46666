//! The groups of live samples, made of rows and columns of the collected counter sets.

use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Clocks, Group};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, Instances, has_parents};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_counters::{RawValue, Status};
use tachograph_perflib::registration::{CounterSetInfo, counter_of};
use tachograph_perflib::{FREQUENCY, InstanceKey, MatchedBy, Numbering, QueriedSet, Query, Timestamps};

use crate::Selection;
use crate::identity::is_instance_id;

/// The groups of a live source's samples, in the order of the paths. Consecutive counters of the same instances of a
/// set share a group. Indexes into [`Query::sets`] are stored only here.
#[derive(Debug)]
pub(super) struct LiveGroups {
    pairs_by_identity: bool,
    /// Parallel to [`Query::sets`].
    names: Vec<SetNames>,
    groups: Vec<LiveGroup>,
    /// Each path with the indexes of its groups.
    paths: Vec<(String, Vec<usize>)>,
}

/// The instances of a collected counter set, with their `#n` numbers.
#[derive(Debug)]
struct SetNames {
    info: Arc<CounterSetInfo>,
    numbering: Numbering,
    instances: Instances,
}

/// A group of the samples: the rows and columns of a collected set that it contains.
#[derive(Debug)]
struct LiveGroup {
    /// Index in [`Query::sets`].
    set: usize,
    filter: RowFilter,
    description: Arc<CounterSet>,
    /// The ids of the counters of `description`.
    counter_ids: Vec<u32>,
    /// The instances of the whole set, from which `rows` and `instances` were selected.
    set_instances: Instances,
    rows: Vec<usize>,
    instances: Instances,
    /// Buffer for the group's columns in the collected set.
    columns: Vec<Option<usize>>,
}

/// Which rows of a set belong to a group.
#[derive(Clone, Debug)]
enum RowFilter {
    All,
    /// The rows whose instances match the wildcards of a path.
    Matching(Arc<PathPattern>),
    /// The row of the instance with this display name.
    One(Arc<Instance>),
}

/// A counter that a path selects for some instances.
struct Request {
    path: usize,
    set: usize,
    filter: RowFilter,
    counter_id: u32,
}

impl LiveGroups {
    /// Creates a value without groups. If `pairs_by_identity` is true, the sink pairs values by name and identity, not by
    /// name alone; this affects how instances with the same name are numbered.
    pub(super) fn new(pairs_by_identity: bool) -> Self {
        Self { pairs_by_identity, names: Vec::new(), groups: Vec::new(), paths: Vec::new() }
    }

    /// Replaces the paths of `query`, and the groups with those that the new paths select. A counter that an earlier
    /// path already selects is skipped. A group whose counters are all still selected remains unchanged, since sinks
    /// recognize it by its description.
    pub(super) fn select(&mut self, query: &mut Query, paths: &[PathPattern], selection: &Selection) {
        let machine = Arc::clone(query.registry().machine());
        let matches = query.set_paths(paths);
        let mut before = std::mem::take(&mut self.groups);
        for (index, set) in query.sets().iter().enumerate() {
            match self.names.get_mut(index) {
                None => self.names.push(SetNames::new(set)),
                Some(names) if Arc::ptr_eq(&names.info, set.rows().info()) => {}
                Some(names) => {
                    *names = SetNames::new(set);
                    before.retain(|group| group.set != index);
                }
            }
        }
        let mut requests: Vec<Request> = Vec::new();
        for (index, (path, found)) in paths.iter().zip(&matches).enumerate() {
            for found in found {
                selection.record_match(index);
                let filter = match requests.last() {
                    Some(last) if (last.path, last.set) == (index, found.set) => last.filter.clone(),
                    _ => RowFilter::from_path(path, &self.names[found.set].info),
                };
                requests.push(Request { path: index, set: found.set, filter, counter_id: found.counter_id });
            }
        }
        let is_selected = |group: &LiveGroup, id: u32| {
            requests.iter().any(|request| request.counter_id == id && request.has_rows_of(group))
        };
        before.retain(|group| group.counter_ids.iter().all(|&id| is_selected(group, id)));
        self.paths = paths.iter().map(|path| (path.to_string(), Vec::new())).collect();
        for request in requests {
            let Some(index) = self.add(&machine, &request, &mut before) else { continue };
            let groups_of_path = &mut self.paths[request.path].1;
            if groups_of_path.last() != Some(&index) {
                groups_of_path.push(index);
            }
        }
        for index in 0..self.names.len() {
            let matched_by = self.matched_by(index);
            self.names[index].numbering.set_matched_by(matched_by);
        }
    }

    /// How the sink, and the readers of the log that it writes, recognize the instances of a set in the next sample.
    fn matched_by(&self, set: usize) -> MatchedBy {
        let has_ids = |group: &LiveGroup| {
            let ids = |counter: &Counter| is_instance_id(&self.names[set].info.name, &counter.name);
            group.set == set
                && matches!(group.filter, RowFilter::All)
                && group.description.counters.iter().any(ids)
        };
        match self.pairs_by_identity {
            true => MatchedBy::Identity,
            false if self.groups.iter().any(has_ids) => MatchedBy::Id,
            false => MatchedBy::Name,
        }
    }

    /// Adds the requested counter, if no group has it yet. Returns the index of its group.
    fn add(&mut self, machine: &Arc<str>, request: &Request, before: &mut Vec<LiveGroup>) -> Option<usize> {
        let has_counter =
            |group: &LiveGroup| request.has_rows_of(group) && group.counter_ids.contains(&request.counter_id);
        if let Some(known) = self.groups.iter().position(has_counter) {
            return Some(known);
        }
        if let Some(known) = before.iter().position(has_counter) {
            self.groups.push(before.remove(known));
            return Some(self.groups.len() - 1);
        }
        let info = &self.names[request.set].info;
        let counter = counter_of(info.counters.get(info.position(request.counter_id)?)?);
        // A description that a sample shares must not change.
        if let Some(last) = self.groups.last_mut()
            && request.has_rows_of(last)
            && let Some(description) = Arc::get_mut(&mut last.description)
        {
            description.counters.push(counter);
            last.counter_ids.push(request.counter_id);
        } else {
            let mut description = request.filter.describe(machine, info);
            description.counters.push(counter);
            self.groups.push(LiveGroup {
                set: request.set,
                filter: request.filter.clone(),
                description: Arc::new(description),
                counter_ids: vec![request.counter_id],
                set_instances: Instances::default(),
                rows: Vec::new(),
                instances: Instances::default(),
                columns: Vec::new(),
            });
        }
        Some(self.groups.len() - 1)
    }

    pub(super) fn descriptions(&self) -> impl Iterator<Item = &Arc<CounterSet>> {
        self.groups.iter().map(|group| &group.description)
    }

    /// The paths that name instances and select a counter, but had no matching instance in the last sample.
    pub(super) fn missing_instances(&self) -> Vec<String> {
        let is_missing = |index: &usize| {
            let group = &self.groups[*index];
            !matches!(group.filter, RowFilter::All) && group.rows.is_empty()
        };
        let missing =
            self.paths.iter().filter(|(_, groups)| !groups.is_empty() && groups.iter().all(is_missing));
        missing.map(|(path, _)| path.clone()).collect()
    }

    /// Fills the groups of a sample from the collected sets.
    pub(super) fn fill(&mut self, groups: &mut Vec<Group>, query: &Query, at: Timestamps) {
        for (names, set) in self.names.iter_mut().zip(query.sets()) {
            names.instances = Arc::clone(names.numbering.assign(set.rows().instances()));
        }
        groups.truncate(self.groups.len());
        for (index, live) in self.groups.iter_mut().enumerate() {
            if index == groups.len() {
                groups.push(Group::new(Arc::clone(&live.description)));
            }
            let set = &query.sets()[live.set];
            live.select_rows(&self.names[live.set].instances, set.rows().instances());
            live.fill(&mut groups[index], set, at);
        }
    }
}

impl SetNames {
    fn new(set: &QueriedSet) -> Self {
        Self {
            info: Arc::clone(set.rows().info()),
            numbering: Numbering::default(),
            instances: Instances::default(),
        }
    }
}

impl Request {
    /// Whether a group has the rows for which the counter is requested.
    fn has_rows_of(&self, group: &LiveGroup) -> bool {
        self.set == group.set && self.filter.is_same(&group.filter)
    }
}

impl RowFilter {
    /// The rows of a set that a path selects.
    fn from_path(path: &PathPattern, info: &CounterSetInfo) -> Self {
        match path.path().instance.as_ref().filter(|_| info.has_instances()) {
            None => Self::All,
            Some(text) if path.instance().is_some_and(|pattern| pattern.is_literal()) => {
                let (parent, name, index) = text.split(has_parents(&info.name));
                Self::One(Arc::new(Instance::new(parent, name, index)))
            }
            Some(text) if text.as_str() == "*" => Self::All,
            Some(_) => Self::Matching(Arc::new(path.clone())),
        }
    }

    /// Whether both filters select the same rows.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, Self::All) => true,
            (Self::Matching(one), Self::Matching(other)) => one.path().instance == other.path().instance,
            (Self::One(one), Self::One(other)) => one == other,
            _ => false,
        }
    }

    /// The description of a group with these rows, without counters.
    fn describe(&self, machine: &Arc<str>, info: &CounterSetInfo) -> CounterSet {
        let mut description = CounterSet::new(Arc::clone(machine), &*info.name, Extent::Columns);
        description.has_instances = info.has_instances();
        description.instance = match self {
            Self::One(instance) => Some(Arc::clone(instance)),
            _ if info.has_instances() => None,
            _ => Some(Arc::new(Instance::none())),
        };
        if description.instance.is_some() {
            description.extent = Extent::Row;
        }
        description
    }
}

impl LiveGroup {
    /// Selects the rows again if the instances of the set have changed.
    fn select_rows(&mut self, instances: &Instances, keys: &[Arc<InstanceKey>]) {
        if Arc::ptr_eq(&self.set_instances, instances) {
            return;
        }
        self.set_instances = Arc::clone(instances);
        self.rows.clear();
        // A total instance whose name still belongs to another instance is numbered (`_Total#1`). It is skipped until
        // the name is free.
        let is_named = |(row, instance): &(usize, &Arc<Instance>)| {
            instance.index() == 0 || !keys.get(*row).is_some_and(|key| key.is_reserved())
        };
        let named = instances.iter().enumerate().filter(is_named);
        match &self.filter {
            RowFilter::All => self.rows.extend(named.map(|(row, _)| row)),
            RowFilter::Matching(pattern) => {
                let matching = named.filter(|(_, instance)| pattern.matches_instance(Some(instance.label())));
                self.rows.extend(matching.map(|(row, _)| row));
            }
            RowFilter::One(wanted) => {
                // On Linux, `x` and `X` are two instances, so an exact match takes precedence.
                let exact = instances.iter().position(|instance| instance.label() == wanted.label());
                let any_case =
                    || instances.iter().position(|instance| eq_ignore_case(instance.label(), wanted.label()));
                self.rows.extend(exact.or_else(any_case));
            }
        }
        self.instances = if self.rows.len() == instances.len() {
            Arc::clone(instances)
        } else {
            self.rows.iter().map(|&row| Arc::clone(&instances[row])).collect()
        };
    }

    fn fill(&mut self, group: &mut Group, set: &QueriedSet, at: Timestamps) {
        group.describe(&self.description);
        group.clear_values();
        group.clocks = Clocks {
            ticks: at.ticks,
            frequency: FREQUENCY,
            system_time: at.system_time,
            ..Clocks::default()
        };
        let rows = set.rows();
        if set.outcome().is_ok() {
            self.columns.clear();
            self.columns.extend(self.counter_ids.iter().map(|&id| rows.column(id)));
            let has_all_values = self.rows.len() == rows.instances().len()
                && self.columns.len() == rows.width()
                && (0..).zip(&self.columns).all(|(index, column)| *column == Some(index));
            if has_all_values {
                group.values.extend_from_slice(rows.all_values());
            } else {
                let absent = RawValue::error(Status::NO_INSTANCE);
                for &row in &self.rows {
                    let values = rows.values(row);
                    group.values.extend(
                        self.columns.iter().map(|column| column.map_or(absent, |index| values[index])),
                    );
                }
            }
            group.identities.extend(self.rows.iter().map(|&row| rows.instances()[row].identity()));
        }
        match &self.description.instance {
            // The group of a fixed instance always has a row.
            Some(instance) => {
                if group.instances.len() != 1 || !Arc::ptr_eq(&group.instances[0], instance) {
                    group.instances = [Arc::clone(instance)].into();
                }
                if group.identities.is_empty() {
                    let status = match set.outcome() {
                        Ok(()) => Status::NO_INSTANCE,
                        Err(failure) if failure.is_of_machine => Status::NO_MACHINE,
                        Err(_) => Status::CSTATUS_INVALID_DATA,
                    };
                    group.values.resize(self.counter_ids.len(), RawValue::error(status));
                    group.identities.push(0);
                }
            }
            None => match set.outcome() {
                Ok(()) => group.set_rows(&self.instances),
                Err(failure) => {
                    group.clear_rows();
                    group.status = if failure.is_of_machine { Status::NO_MACHINE } else { Status::NO_DATA };
                }
            },
        }
    }
}
