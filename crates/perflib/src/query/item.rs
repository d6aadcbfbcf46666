//! Identifiers and paths that were added to a query.

use std::sync::Arc;

use tachograph_counters::path::split_index;
use tachograph_counters::wildcard::{Pattern, eq_ignore_case};

use crate::block::Identifier;
use crate::registration::CounterSetInfo;
use crate::{Guid, InstanceFilter, InstanceKey, SetSelection};

/// An identifier that was added to a query, or one counter that a path selected.
#[derive(Debug)]
pub(super) struct QueryItem {
    /// The index of the counter set in [`Query::sets`](super::Query::sets).
    pub(super) set: usize,
    /// The GUID of the counter set.
    guid: Guid,
    /// The name of the instance, or a pattern; empty for a set without instances.
    name: Arc<str>,
    /// The id that an instance must have; `None` for any.
    instance_id: Option<u32>,
    /// The selected counter; `None` for all counters.
    pub(super) counter_id: Option<u32>,
    /// Selects the instances: those that match one of the filters.
    pub(super) filters: Arc<[InstanceFilter]>,
    /// Whether the result can have several instances.
    pub(super) has_wildcard: bool,
    /// Whether this comes from a path, whose instance name can end in `#n`.
    is_path: bool,
    /// Whether this comes from a [`SetSelection`].
    is_selection: bool,
    /// The ids of the selected counters.
    pub(super) ids: Arc<[u32]>,
}

impl QueryItem {
    pub(super) fn new(set: usize, info: &CounterSetInfo, identifier: &Identifier) -> Self {
        let has_instances = info.instance_type.has_instances();
        let filter = if has_instances {
            InstanceFilter::new(&identifier.name, identifier.instance_id)
        } else {
            InstanceFilter::all()
        };
        let ids = match identifier.counter_id {
            Some(id) => [id].into(),
            None => info.counters.iter().map(|counter| counter.id).collect(),
        };
        Self {
            set,
            guid: identifier.set,
            name: identifier.name.as_str().into(),
            instance_id: identifier.instance_id,
            counter_id: identifier.counter_id,
            filters: [filter].into(),
            has_wildcard: has_instances && !Pattern::new(&identifier.name).is_literal(),
            is_path: false,
            is_selection: false,
            ids,
        }
    }

    /// Several counters of a set, for the instances that match one of the filters.
    pub(super) fn from_selection(set: usize, info: &CounterSetInfo, selection: &SetSelection) -> Self {
        let filters = match info.has_instances() {
            true => selection.instances.clone().into(),
            false => [InstanceFilter::all()].into(),
        };
        Self {
            set,
            guid: info.guid,
            name: "*".into(),
            instance_id: None,
            counter_id: None,
            filters,
            has_wildcard: true,
            is_path: false,
            is_selection: true,
            ids: selection.counter_ids.as_slice().into(),
        }
    }

    /// The items of the counters that a path selected, for the instances that the path can match. Items are many, so they
    /// share their names and filters.
    pub(super) fn from_path(
        set: usize,
        info: &CounterSetInfo,
        instance: Option<&str>,
    ) -> impl Fn(u32) -> Self {
        let guid = info.guid;
        let name: Arc<str> = instance.unwrap_or_default().into();
        let has_wildcard = instance.is_some() && !Pattern::new(&name).is_literal();
        let filters: Arc<[_]> = [instance.map_or_else(InstanceFilter::all, InstanceFilter::from_path)].into();
        move |id| Self {
            set,
            guid,
            name: Arc::clone(&name),
            instance_id: None,
            counter_id: Some(id),
            filters: Arc::clone(&filters),
            has_wildcard,
            is_path: true,
            is_selection: false,
            ids: [id].into(),
        }
    }

    /// Whether the name is empty, because the set has no instance names.
    pub(super) fn is_nameless(&self) -> bool {
        self.name.is_empty()
    }

    pub(super) fn is_selection(&self) -> bool {
        self.is_selection
    }

    pub(super) fn can_match(&self, instance: &InstanceKey) -> bool {
        self.filters.iter().any(|filter| filter.can_match(instance.full_name(), instance.id()))
    }

    /// The row that a name without wildcards selects: the first with this name or, for a path with `#n`, the one with
    /// index `n`, counted from 0. An instance for which the name is reserved comes first.
    pub(super) fn row(&self, instances: &[Arc<InstanceKey>]) -> Option<usize> {
        let nth = |name: &str, index: u32| {
            let matches = |instance: &Arc<InstanceKey>| {
                eq_ignore_case(instance.full_name(), name)
                    && self.instance_id.is_none_or(|id| id == instance.id())
            };
            let rows = |is_reserved: bool| {
                let rows = instances.iter().enumerate();
                rows.filter(move |(_, instance)| instance.is_reserved() == is_reserved && matches(instance))
            };
            rows(true).chain(rows(false)).map(|(row, _)| row).nth(index as usize)
        };
        let (name, index) = split_index(&self.name);
        nth(&self.name, 0).or_else(|| (self.is_path && index > 0).then(|| nth(name, index))?)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.is_selection == other.is_selection
            && (self.guid, &self.name, self.instance_id, self.counter_id)
                == (other.guid, &other.name, other.instance_id, other.counter_id)
    }

    /// Whether this comes from a selection of the set with this GUID.
    pub(super) fn is_selection_of(&self, set: Guid) -> bool {
        self.is_selection && self.guid == set
    }

    /// Whether the identifier is the one that was added.
    pub(super) fn matches_identifier(&self, identifier: &Identifier) -> bool {
        !self.is_selection
            && (self.guid, &*self.name, self.instance_id, self.counter_id)
                == (identifier.set, identifier.name.as_str(), identifier.instance_id, identifier.counter_id)
    }

    pub(super) fn identifier(&self, index: usize) -> Identifier {
        Identifier {
            set: self.guid,
            status: 0,
            counter_id: self.counter_id,
            instance_id: self.instance_id,
            index: index as u32,
            name: self.name.to_string(),
        }
    }
}
