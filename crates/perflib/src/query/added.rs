//! What was added to a query.

use std::sync::Arc;

use tachograph_counters::path::split_index;
use tachograph_counters::wildcard::{Pattern, eq_ignore_case};

use crate::block::Identifier;
use crate::registration::CounterSetInfo;
use crate::{Guid, InstanceFilter, InstanceKey};

/// An identifier of a query, looked up.
#[derive(Debug)]
pub(super) struct Added {
    set: usize,
    guid: Guid,
    /// Empty for a set without instances.
    name: Box<str>,
    instance_id: Option<u32>,
    counter_id: Option<u32>,
    filter: InstanceFilter,
    /// Whether several instances may be the answer.
    has_wildcard: bool,
    /// Whether `#n` at the end of the name may be a number.
    is_path: bool,
    /// What a block's id array says.
    ids: Arc<[u32]>,
}

impl Added {
    pub(super) fn new(set: usize, info: &CounterSetInfo, identifier: &Identifier) -> Self {
        let has_instances = info.instance_type.has_instances();
        let filter = if has_instances {
            InstanceFilter::new(&identifier.name, identifier.instance_id)
        } else {
            InstanceFilter::everything()
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
            filter,
            has_wildcard: has_instances && !Pattern::new(&identifier.name).is_literal(),
            is_path: false,
            ids,
        }
    }

    /// One counter of the instances that a path may mean.
    pub(super) fn of_path(set: usize, info: &CounterSetInfo, instance: Option<&str>, id: u32) -> Self {
        let filter = instance.map_or_else(InstanceFilter::everything, InstanceFilter::of_path);
        let name = instance.unwrap_or_default();
        Self {
            set,
            guid: info.guid,
            name: name.into(),
            instance_id: None,
            counter_id: Some(id),
            filter,
            has_wildcard: instance.is_some() && !Pattern::new(name).is_literal(),
            is_path: true,
            ids: [id].into(),
        }
    }

    pub(super) fn set(&self) -> usize {
        self.set
    }

    pub(super) fn filter(&self) -> &InstanceFilter {
        &self.filter
    }

    pub(super) fn has_wildcard(&self) -> bool {
        self.has_wildcard
    }

    pub(super) fn counter_id(&self) -> Option<u32> {
        self.counter_id
    }

    /// The counters that the result holds, all of which are to be read for it.
    pub(super) fn result_ids(&self) -> &[u32] {
        &self.ids
    }

    /// Whether it means the one instance of a set without instance names.
    pub(super) fn is_nameless(&self) -> bool {
        self.name.is_empty()
    }

    pub(super) fn takes(&self, instance: &InstanceKey) -> bool {
        self.filter.may_take(instance.full_name(), instance.id())
    }

    /// The row that a name without wildcards means: the first of the name, or of a path with `#n` the one of this number. An
    /// instance for which the name is reserved counts before the others.
    pub(super) fn row(&self, instances: &[Arc<InstanceKey>]) -> Option<usize> {
        let nth = |name: &str, number: u32| {
            let is_it = |instance: &Arc<InstanceKey>| {
                eq_ignore_case(instance.full_name(), name)
                    && self.instance_id.is_none_or(|id| id == instance.id())
            };
            let rows = |is_reserved: bool| {
                let rows = instances.iter().enumerate();
                rows.filter(move |(_, instance)| instance.is_reserved() == is_reserved && is_it(instance))
            };
            rows(true).chain(rows(false)).map(|(row, _)| row).nth(number as usize)
        };
        let (name, number) = split_index(&self.name);
        nth(&self.name, 0).or_else(|| (self.is_path && number > 0).then(|| nth(name, number))?)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.guid, &self.name, self.instance_id, self.counter_id)
            == (other.guid, &other.name, other.instance_id, other.counter_id)
    }

    /// Whether it was added by this identifier.
    pub(super) fn is(&self, identifier: &Identifier) -> bool {
        (self.guid, &*self.name, self.instance_id, self.counter_id)
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
