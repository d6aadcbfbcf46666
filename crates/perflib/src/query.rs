//! Queries: what a consumer asks for, collected at one moment.

mod added;
mod queried_set;
mod results;

use std::sync::Arc;
use std::time::Instant;

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::{Pattern, eq_ignore_case};

use crate::block::Identifier;
use crate::provider::{CollectionId, TIME_TO_PREPARE};
use crate::registry::{Entry, Registry, instances_of};
use crate::{ErrorCode, InstanceFilter, Moments};
use added::Added;
use queried_set::{Wants, not_collected};

pub use queried_set::QueriedSet;

/// A query of a machine: identifiers and counter paths that are collected together, with one time stamp.
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
    added: Vec<Added>,
    sets: Vec<QueriedSet>,
    at: Moments,
}

/// A counter that a path was added for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathMatch {
    /// The place of its counter set among [`Query::sets`].
    pub set: usize,
    /// The counter's id.
    pub counter_id: u32,
}

impl Query {
    /// An empty query of a machine; `None` stands for this one.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::BAD_NETWORK_PATH`] for another machine: only this one can be asked.
    #[doc(alias = "PerfOpenQueryHandle")]
    #[doc(alias = "PerfCloseQueryHandle")]
    pub fn open(registry: &Arc<Registry>, machine: Option<&str>) -> Result<Self, ErrorCode> {
        let is_other = |name: &str| {
            let name = name.trim_start_matches('\\');
            !name.is_empty() && name != "." && !eq_ignore_case(name, registry.machine())
        };
        if machine.is_some_and(is_other) {
            return Err(ErrorCode::BAD_NETWORK_PATH);
        }
        let at = Moments::default();
        Ok(Self { registry: Arc::clone(registry), added: Vec::new(), sets: Vec::new(), at })
    }

    /// Adds identifiers. Each gets a status of its own, 0 or a [`ErrorCode`]; those that fail do not keep the others out.
    ///
    /// - [`ErrorCode::GUID_NOT_FOUND`], [`ErrorCode::ITEM_ID_NOT_FOUND`]: there is no such set or counter.
    /// - [`ErrorCode::INVALID_PARAMETER`]: a name for a set without instances, or none for a set with instances.
    /// - [`ErrorCode::PATH_NOT_FOUND`]: a name without wildcards that no instance has now.
    /// - [`ErrorCode::ALREADY_EXISTS`]: the same was added before.
    ///
    /// Companions of a counter are not added with it; [`add_path`](Self::add_path) does that.
    #[doc(alias = "PerfAddCounters")]
    pub fn add(&mut self, identifiers: &mut [Identifier]) {
        for identifier in identifiers.iter_mut() {
            let outcome = self.add_one(identifier);
            identifier.status = outcome.err().map_or(0, |code| code.0);
        }
        self.take_wants();
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
        let added = Added::new(self.queried(entry), &entry.info, identifier);
        if self.added.iter().any(|known| known.is_same(&added)) {
            return Err(ErrorCode::ALREADY_EXISTS);
        }
        if has_instances && Pattern::new(&identifier.name).is_literal() {
            // A provider that fails now may answer later; then its instances are known.
            if let Ok(instances) = instances_of(entry, registry.clock())
                && !instances.iter().any(|instance| added.takes(instance))
            {
                return Err(ErrorCode::PATH_NOT_FOUND);
            }
        }
        self.added.push(added);
        Ok(())
    }

    /// Takes identifiers out again. Each gets a status of its own: [`ErrorCode::INVALID_PARAMETER`] where there is nothing
    /// to take out.
    #[doc(alias = "PerfDeleteCounters")]
    pub fn delete(&mut self, identifiers: &mut [Identifier]) {
        for identifier in identifiers.iter_mut() {
            let is_it = |added: &Added| added.is(identifier);
            let place = self.added.iter().position(is_it);
            identifier.status = match place {
                Some(place) => {
                    self.added.remove(place);
                    0
                }
                None => ErrorCode::INVALID_PARAMETER.0,
            };
        }
        self.take_wants();
    }

    /// What was added, each with the place of its result in the block: the order in which results come.
    #[doc(alias = "PerfQueryCounterInfo")]
    pub fn identifiers(&self) -> Vec<Identifier> {
        self.added.iter().enumerate().map(|(index, added)| added.identifier(index)).collect()
    }

    /// Adds every counter that a path selects, for display, together with its companions (base, time, frequency,
    /// multiplier). An instance need not be there yet.
    ///
    /// Gives one match for each counter, in the order of the registration; none where the path selects no counter of any
    /// set.
    pub fn add_path(&mut self, path: &PathPattern) -> Vec<PathMatch> {
        let matches = self.add_path_quietly(path);
        self.take_wants();
        matches
    }

    /// As [`add_path`](Self::add_path) for several paths.
    pub fn add_paths<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathPattern>) -> Vec<Vec<PathMatch>> {
        let matches = paths.into_iter().map(|path| self.add_path_quietly(path)).collect();
        self.take_wants();
        matches
    }

    /// Wants these paths and nothing else from now on, whatever was added before; gives what [`add_paths`](Self::add_paths)
    /// does. Sets keep their places while they are in the registry, and what is wanted on goes on undisturbed.
    pub fn set_paths<'a>(&mut self, paths: impl IntoIterator<Item = &'a PathPattern>) -> Vec<Vec<PathMatch>> {
        self.added.clear();
        self.add_paths(paths)
    }

    fn add_path_quietly(&mut self, path: &PathPattern) -> Vec<PathMatch> {
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
            // A path without instance that means processes: `Registry::path_here` makes it one with `(*)`.
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
            let set = self.queried(entry);
            for counter in chosen {
                matches.push(PathMatch { set, counter_id: counter.id });
                for id in std::iter::once(counter.id).chain(counter.companions()) {
                    let added = Added::of_path(set, info, instance, id);
                    if !self.added.iter().any(|known| known.is_same(&added)) {
                        self.added.push(added);
                    }
                }
            }
        }
        matches
    }

    /// The place of a set among those of the query. Where it is new it gets that of one that has gone, so that sets which come
    /// and go for days leave nothing behind.
    fn queried(&mut self, entry: &Arc<Entry>) -> usize {
        if let Some(known) = self.sets.iter().position(|set| Arc::ptr_eq(&set.entry, entry)) {
            return known;
        }
        let set = QueriedSet::new(entry);
        match (0..self.sets.len()).find(|&place| self.is_gone(place)) {
            Some(place) => {
                self.sets[place] = set;
                place
            }
            None => {
                self.sets.push(set);
                self.sets.len() - 1
            }
        }
    }

    /// Whether the registry has the set at a place no more, and nothing of it is asked for.
    fn is_gone(&self, place: usize) -> bool {
        let entry = &self.sets[place].entry;
        let is_here = self.registry.entry(entry.info.guid).is_ok_and(|here| Arc::ptr_eq(here, entry));
        !is_here && self.added.iter().all(|added| added.set() != place)
    }

    /// Tells the rows of each set what is wanted of it now.
    fn take_wants(&mut self) {
        for (place, set) in self.sets.iter_mut().enumerate() {
            let of_set = || self.added.iter().filter(|added| added.set() == place);
            let mut filters: Vec<InstanceFilter> = Vec::new();
            for added in of_set() {
                if !filters.contains(added.filter()) {
                    filters.push(added.filter().clone());
                }
            }
            let is_wanted = of_set().next().is_some();
            let ids = of_set().flat_map(|added| added.result_ids().iter().copied());
            if set.rows.want(ids, filters) {
                set.outcome = Err(not_collected());
            }
            let is_for_all = of_set().any(|added| added.counter_id().is_none());
            set.tell(if is_for_all { Wants::EveryCounter } else { Wants::Counters });
            set.ask(is_wanted);
        }
    }

    /// Collects everything that was added, at one moment. What a set fails with is its own
    /// [outcome](QueriedSet::outcome); the others are whole.
    ///
    /// Instances are matched anew each time.
    pub fn collect(&mut self) -> Moments {
        let collection = CollectionId::next();
        let wanted = || self.sets.iter().filter(|set| set.is_wanted);
        // All of them before the first is waited for: a slow one takes nothing from the time of the others.
        wanted().for_each(|set| set.entry.host().ask(&set.rows, collection));
        // Not before that: asking may take its time where another query waits for the same set.
        let until = Instant::now() + TIME_TO_PREPARE;
        wanted().for_each(|set| set.entry.host().prepare(&set.rows, collection, until));
        // Only now, when nobody is waited for any more.
        self.at = self.registry.clock().now();
        for set in &mut self.sets {
            set.rows.clear(self.at);
            set.outcome = if set.is_wanted { set.entry.host().collect(&mut set.rows) } else { Ok(()) };
        }
        self.at
    }

    /// The moment of the last collection.
    pub fn at(&self) -> Moments {
        self.at
    }

    /// The counter sets that were collected.
    pub fn sets(&self) -> &[QueriedSet] {
        &self.sets
    }

    /// Goes on with the sets of this registry, which is that of a later moment: what is added from now on is looked up
    /// there. What was added before stays with the providers that it was added for.
    pub fn adopt(&mut self, registry: &Arc<Registry>) {
        self.registry = Arc::clone(registry);
    }

    /// The registry that is asked.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The last collection as a raw data block: one result for each identifier, in the order of
    /// [`identifiers`](Self::identifiers). `out` is cleared before.
    ///
    /// A value that cannot be read now has the data size 0, which
    /// [`DecodeOptions::CONSUMER`](crate::block::DecodeOptions::CONSUMER) allows and the strict decoder refuses. A set of
    /// which something was added or deleted since answers with [`ErrorCode::NO_DATA`].
    ///
    /// # Errors
    ///
    /// [`ErrorCode::OUT_OF_MEMORY`] when the block would be longer than its size fields can say.
    #[doc(alias = "PerfQueryCounterData")]
    pub fn data(&self, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
        results::encode(self, out)
    }
}
