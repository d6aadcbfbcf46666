//! Queries: counters that are collected together, with one timestamp.

mod item;
mod queried_set;
mod results;
mod selection;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::Pattern;

use crate::block::{Identifier, MAX_BLOCK_BYTES, WILDCARD_ID};
use crate::provider::{CollectionId, MAX_PREPARE_TIME};
use crate::registry::{Entry, Registry};
use crate::{ErrorCode, InstanceFilter, Timestamps};
use item::QueryItem;
use queried_set::not_collected;

pub use queried_set::QueriedSet;
pub use selection::SetSelection;

/// A query of a machine: identifiers and counter paths that are collected together, with one timestamp.
///
/// ```
/// use std::sync::Arc;
/// use tachograph_perflib::{Clock, Query, Registry};
///
/// let registry = Arc::new(Registry::new("WEB1", Clock::of_this_machine()));
/// let mut query = Query::open(&registry, None)?;
/// query.collect();
/// let mut block = Vec::new();
/// query.data(&mut block)?;
/// assert_eq!(block.len(), 48);
/// # Ok::<(), tachograph_perflib::ErrorCode>(())
/// ```
#[derive(Debug)]
pub struct Query {
    registry: Arc<Registry>,
    /// The identifiers and the counters selected by paths, in the order in which they were added.
    items: Vec<QueryItem>,
    /// The counter sets that `added` refers to.
    sets: Vec<QueriedSet>,
    /// The time of the last collection.
    timestamps: Timestamps,
    /// Maximum time that a collection waits for providers.
    max_wait: Duration,
}

/// A counter that a path selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMatch {
    /// The index of its counter set in [`Query::sets`].
    pub set: usize,
    /// The counter's id.
    pub counter_id: u32,
}

impl Query {
    /// Opens an empty query of a machine; `None` means the registry's own machine. Another machine is looked up with
    /// [`Registry::of_machine`].
    ///
    /// # Errors
    ///
    /// Those of [`Registry::of_machine`]: [`ErrorCode::BAD_NETWORK_PATH`] for an unknown machine.
    #[doc(alias = "PerfOpenQueryHandle")]
    #[doc(alias = "PerfCloseQueryHandle")]
    pub fn open(registry: &Arc<Registry>, machine: Option<&str>) -> Result<Self, ErrorCode> {
        let registry = registry.of_machine(machine).map_err(|failure| failure.code)?;
        Ok(Self {
            registry,
            items: Vec::new(),
            sets: Vec::new(),
            timestamps: Timestamps::default(),
            max_wait: MAX_PREPARE_TIME,
        })
    }

    /// Adds identifiers. Sets the status of each to 0 or an [`ErrorCode`]; an error does not affect the other
    /// identifiers.
    ///
    /// - [`ErrorCode::GUID_NOT_FOUND`], [`ErrorCode::ITEM_ID_NOT_FOUND`]: no such set or counter.
    /// - [`ErrorCode::INVALID_PARAMETER`]: a name for a set without instances, or no name for a set with instances.
    /// - [`ErrorCode::PATH_NOT_FOUND`]: the name has no wildcards, and no current instance matches.
    /// - [`ErrorCode::ALREADY_EXISTS`]: the same identifier was already added.
    ///
    /// The companions of a counter are not added; [`add_path`](Self::add_path) adds them.
    #[doc(alias = "PerfAddCounters")]
    pub fn add(&mut self, identifiers: &mut [Identifier]) {
        for identifier in identifiers.iter_mut() {
            let outcome = self.add_one(identifier);
            identifier.status = outcome.err().map_or(0, |code| code.0);
        }
        self.update_selections();
    }

    fn add_one(&mut self, identifier: &Identifier) -> Result<(), ErrorCode> {
        let registry = Arc::clone(&self.registry);
        let entry = registry.entry(identifier.set)?;
        if identifier.counter_id.is_some_and(|id| entry.info.position(id).is_none()) {
            return Err(ErrorCode::ITEM_ID_NOT_FOUND);
        }
        let has_instances = entry.info.instance_type.has_instances();
        if has_instances == identifier.name.is_empty() {
            return Err(ErrorCode::INVALID_PARAMETER);
        }
        let added = QueryItem::new(self.set_index(entry), &entry.info, identifier);
        if self.items.iter().any(|known| known.is_same(&added)) {
            return Err(ErrorCode::ALREADY_EXISTS);
        }
        if has_instances && Pattern::new(&identifier.name).is_literal() {
            // If the provider fails, add the identifier anyway: the provider may succeed later.
            if let Ok(instances) = entry.instances(registry.clock())
                && !instances.iter().any(|instance| added.can_match(instance))
            {
                return Err(ErrorCode::PATH_NOT_FOUND);
            }
        }
        self.items.push(added);
        Ok(())
    }

    /// Removes identifiers. Sets the status of each to 0, or [`ErrorCode::INVALID_PARAMETER`] if it was not added.
    #[doc(alias = "PerfDeleteCounters")]
    pub fn delete(&mut self, identifiers: &mut [Identifier]) {
        for identifier in identifiers.iter_mut() {
            identifier.status = match self.items.iter().position(|added| added.matches_identifier(identifier))
            {
                Some(index) => {
                    self.items.remove(index);
                    0
                }
                None => ErrorCode::INVALID_PARAMETER.0,
            };
        }
        self.update_selections();
    }

    /// The added identifiers, each with the index of its result in the block.
    #[doc(alias = "PerfQueryCounterInfo")]
    pub fn identifiers(&self) -> Vec<Identifier> {
        self.items.iter().enumerate().map(|(index, added)| added.identifier(index)).collect()
    }

    /// Adds every counter that a path selects, with the counter's companions (base, time, frequency, multiplier). The
    /// instance need not exist yet.
    ///
    /// Returns one match per counter, in the order of registration; empty if the path selects no counter.
    pub fn add_path(&mut self, path: &PathPattern) -> Vec<PathMatch> {
        self.add_paths([path]).into_iter().flatten().collect()
    }

    /// Like [`add_path`](Self::add_path), for several paths.
    pub fn add_paths<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathPattern>) -> Vec<Vec<PathMatch>> {
        let matches = paths.into_iter().map(|path| self.push_path(path)).collect();
        self.update_selections();
        matches
    }

    /// Replaces all identifiers and paths of the query with these paths. Returns the same as
    /// [`add_paths`](Self::add_paths). Sets keep their indexes while the registry has them, and a set that stays
    /// selected is not released in between.
    pub fn set_paths<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathPattern>) -> Vec<Vec<PathMatch>> {
        self.items.clear();
        self.add_paths(paths)
    }

    /// Adds the counters that a path selects, without updating the selections.
    fn push_path(&mut self, path: &PathPattern) -> Vec<PathMatch> {
        let registry = Arc::clone(&self.registry);
        let mut matches = Vec::new();
        if !path.matches_machine(registry.machine()) {
            return matches;
        }
        for guid in registry.enumerate() {
            let Ok(entry) = registry.entry(guid) else { continue };
            let info = &entry.info;
            let instance = path.path().instance.as_ref().filter(|_| info.has_instances());
            let instance = instance.map(|instance| instance.as_str());
            // `Registry::resolve_path` has already added `(*)` where it is needed.
            if !path.matches_set(&info.name, info.has_instances()) {
                continue;
            }
            let chosen: Vec<_> = info
                .counters
                .iter()
                .filter(|counter| counter.is_displayable() && path.matches_counter(&counter.name))
                .collect();
            if chosen.is_empty() {
                continue;
            }
            let set = self.set_index(entry);
            let item = QueryItem::from_path(set, info, instance);
            for counter in chosen {
                matches.push(PathMatch { set, counter_id: counter.id });
                for id in std::iter::once(counter.id).chain(counter.companions()) {
                    let added = item(id);
                    if !self.items.iter().any(|known| known.is_same(&added)) {
                        self.items.push(added);
                    }
                }
            }
        }
        matches
    }

    /// The index of a set, which is added if necessary. A new set reuses the index of a removed set, so that the list
    /// does not grow without bound when sets appear and disappear.
    fn set_index(&mut self, entry: &Arc<Entry>) -> usize {
        if let Some(known) = self.sets.iter().position(|set| Arc::ptr_eq(&set.entry, entry)) {
            return known;
        }
        let set = QueriedSet::new(entry);
        match (0..self.sets.len()).find(|&index| self.is_gone(index)) {
            Some(index) => {
                self.sets[index] = set;
                index
            }
            None => {
                self.sets.push(set);
                self.sets.len() - 1
            }
        }
    }

    /// Whether a set has been removed from the registry, and none of its counters are selected.
    fn is_gone(&self, index: usize) -> bool {
        let entry = &self.sets[index].entry;
        let is_registered = self.registry.entry(entry.info.guid).is_ok_and(|known| Arc::ptr_eq(known, entry));
        !is_registered && self.items.iter().all(|added| added.set != index)
    }

    /// Updates the selection of each set after items were added or removed, and notifies the processes that publish it.
    fn update_selections(&mut self) {
        for (index, set) in self.sets.iter_mut().enumerate() {
            let of_set = || self.items.iter().filter(|added| added.set == index);
            let mut filters: Vec<InstanceFilter> = Vec::new();
            for added in of_set() {
                for filter in added.filters.iter() {
                    if !filters.contains(filter) {
                        filters.push(filter.clone());
                    }
                }
            }
            let ids = of_set().flat_map(|added| added.ids.iter().copied());
            if set.rows.select(ids, filters) {
                set.outcome = Err(not_collected());
            }
            let wants_all = of_set().any(|added| added.counter_id.is_none() && !added.is_selection());
            set.notify(if wants_all { vec![WILDCARD_ID] } else { set.rows.selected_ids().collect() });
            set.set_in_use(of_set().next().is_some());
        }
    }

    /// Collects everything that was added, with one timestamp. If a set fails, its [outcome](QueriedSet::outcome) is an
    /// error; the other sets are not affected.
    ///
    /// Instances are matched again for each collection.
    pub fn collect(&mut self) -> Timestamps {
        let collection = CollectionId::next();
        let in_use = || self.sets.iter().filter(|set| set.is_in_use);
        // Send all requests before waiting for any answer, so that the providers work at the same time.
        in_use().for_each(|set| set.entry.host().request(&set.rows, collection));
        // The deadline starts only now, because a request blocks while another query waits for the same set.
        let until = Instant::now() + self.max_wait;
        in_use().for_each(|set| set.entry.host().prepare(&set.rows, collection, until));
        // Read the time after all waits, so that no prepared value is newer.
        self.timestamps = self.registry.clock().timestamps_of(collection);
        for set in &mut self.sets {
            set.rows.clear(self.timestamps);
            set.outcome = if set.is_in_use { set.entry.host().collect(&mut set.rows) } else { Ok(()) };
        }
        self.timestamps
    }

    /// Sets the maximum time that a collection waits for providers that depend on something else, such as another machine.
    /// More than a second has no effect.
    pub fn limit_wait(&mut self, max: Duration) {
        self.max_wait = max.min(MAX_PREPARE_TIME);
    }

    /// The time of the last collection.
    pub fn timestamps(&self) -> Timestamps {
        self.timestamps
    }

    /// The counter sets of the query.
    pub fn sets(&self) -> &[QueriedSet] {
        &self.sets
    }

    /// Switches to a newer registry, in which later additions are looked up. Earlier additions keep their providers.
    pub fn adopt(&mut self, registry: &Arc<Registry>) {
        self.registry = Arc::clone(registry);
    }

    /// The registry in which additions are looked up.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Encodes the last collection as a raw data block: one result for each identifier, in the order of
    /// [`identifiers`](Self::identifiers). `out` is cleared first.
    ///
    /// A value that cannot be read now has data size 0, which
    /// [`DecodeOptions::CONSUMER`](crate::block::DecodeOptions::CONSUMER) allows and the strict decoder rejects. If the
    /// selected counters or instances of a set have changed since the collection, its results are
    /// [`ErrorCode::NO_DATA`].
    ///
    /// # Errors
    ///
    /// [`ErrorCode::OUT_OF_MEMORY`] if the block would exceed [`MAX_BLOCK_BYTES`](crate::block::MAX_BLOCK_BYTES) or
    /// memory is exhausted.
    #[doc(alias = "PerfQueryCounterData")]
    pub fn data(&self, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
        self.data_within(MAX_BLOCK_BYTES, out)
    }

    /// Like [`data`](Self::data), with a block of at most `max_bytes` bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::OUT_OF_MEMORY`] if the block would be larger or memory is exhausted.
    pub fn data_within(&self, max_bytes: usize, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
        results::encode(self, max_bytes, out)
    }
}
