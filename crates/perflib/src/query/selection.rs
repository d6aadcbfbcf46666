//! Selections: several counters of a set, for the same instances.

use super::Query;
use super::item::QueryItem;
use crate::{ErrorCode, Guid, InstanceFilter};

/// Several counters of a set, for the instances that match one of the filters. An agent collects these for another
/// machine: one result of a raw data block has all values of the set, and names each instance once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetSelection {
    /// The GUID of the set.
    pub set: Guid,
    /// The ids of the counters, in the order of the values; companions are included only if they are named.
    pub counter_ids: Vec<u32>,
    /// The filters of the instances; ignored for sets without instances.
    pub instances: Vec<InstanceFilter>,
}

impl Query {
    /// Adds a selection. Its result is always a list of instances, even for sets without instances. The instances need
    /// not exist yet.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::GUID_NOT_FOUND`], [`ErrorCode::ITEM_ID_NOT_FOUND`]: no such set, or no counter with one of the ids.
    /// [`ErrorCode::INVALID_PARAMETER`]: no counters, a counter twice, or no filter. [`ErrorCode::ALREADY_EXISTS`]: the set
    /// already has a selection.
    pub fn add_selection(&mut self, selection: &SetSelection) -> Result<(), ErrorCode> {
        let outcome = self.push_selection(selection);
        self.update_selections();
        outcome
    }

    /// Adds several selections; returns an outcome for each, like [`add_selection`](Self::add_selection).
    pub fn add_selections<'a>(
        &mut self,
        selections: impl IntoIterator<Item = &'a SetSelection>,
    ) -> Vec<Result<(), ErrorCode>> {
        let outcomes = selections.into_iter().map(|selection| self.push_selection(selection)).collect();
        self.update_selections();
        outcomes
    }

    /// Adds a selection, without updating the selections of the sets.
    fn push_selection(&mut self, selection: &SetSelection) -> Result<(), ErrorCode> {
        let registry = std::sync::Arc::clone(&self.registry);
        if self.items.iter().any(|known| known.is_selection_of(selection.set)) {
            return Err(ErrorCode::ALREADY_EXISTS);
        }
        let entry = registry.entry(selection.set)?;
        let ids = &selection.counter_ids;
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if ids.is_empty() || sorted.len() < ids.len() || selection.instances.is_empty() {
            return Err(ErrorCode::INVALID_PARAMETER);
        }
        if ids.len() > entry.info.counters.len() || ids.iter().any(|&id| entry.info.position(id).is_none()) {
            return Err(ErrorCode::ITEM_ID_NOT_FOUND);
        }
        let added = QueryItem::from_selection(self.set_index(entry), &entry.info, selection);
        self.items.push(added);
        Ok(())
    }
}
