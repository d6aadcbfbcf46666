//! Tracks the ids of processes and threads, to distinguish instances that Windows renumbered (`#n`).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instances};

use crate::id_hasher::MapById;
use crate::{FlowError, Selection, Source};

/// The counters that identify an instance, most specific first. The threads of a process have the same `ID Process`.
const IDENTITY_COUNTERS: [&str; 2] = [THREAD_ID, PROCESS_ID];
const THREAD_ID: &str = "ID Thread";
const PROCESS_ID: &str = "ID Process";

/// Whether the values of a counter of this machine are the ids of the set's instances.
pub(crate) fn is_instance_id(set: &str, counter: &str) -> bool {
    [("Process", PROCESS_ID), ("Thread", THREAD_ID)].contains(&(set, counter))
}

/// Sets [`Group::identities`] to the ids of processes and threads, if the log has them, so that values of two processes
/// are not paired when an instance name passes from one process to the other. Counts these cases.
pub struct Identity<S> {
    source: S,
    /// The groups of the last sample; roles are recomputed only when the groups change.
    known_groups: Vec<(Arc<CounterSet>, Role)>,
    /// The sets whose instances have identities in the last sample.
    sets: Vec<IdentitySet>,
    /// Only changes that break a pair of a selected counter are counted.
    selection: Selection,
    /// See [`renumbered`](Self::renumbered).
    renumbered: Arc<std::sync::atomic::AtomicU64>,
}

/// How a group gets its identities.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// The group has no identities.
    None,
    /// The group's identities are those of the [`IdentitySet`] with this index.
    Lookup(usize),
    /// The group has the identity counter, in `column`; its ids are stored in `sets[set]`. `counter` is an index into
    /// [`IDENTITY_COUNTERS`].
    Source { set: usize, column: usize, counter: usize },
}

/// The identities of the instances of one counter set.
#[derive(Default)]
struct IdentitySet {
    /// The result of [`key_of`].
    key: (String, String),
    /// The identities in the last sample, keyed by [`Instance::id`](tachograph_counters::set::Instance::id).
    current_identities: MapById<Known>,
    /// Like `current_identities`, but in the sample before the last one.
    previous_identities: MapById<Known>,
    /// The identities in the last sample of the previous log, keyed by the instance's label.
    carried: HashMap<Box<str>, Known>,
    /// The instance lists of the groups that supply the current identities.
    instances: Vec<Instances>,
    /// The identities of the instances of one group of the last sample. Kept because other groups usually have the same
    /// instances.
    group_identities: Vec<u64>,
    /// The index of that group.
    listed_group: Option<usize>,
    /// See [`Selection::selecting_pairs`].
    paired: BTreeSet<Option<usize>>,
}

/// The identity of one instance.
#[derive(Clone, Copy, Debug)]
struct Known {
    identity: u64,
    /// The counter that supplied the identity, as an index into [`IDENTITY_COUNTERS`].
    counter: usize,
    /// Whether it was already compared with the previous identity; several groups can have the same instance.
    is_compared: bool,
}

impl<S: Source> Identity<S> {
    /// A stage over `source`. The selection only decides which broken pairs are counted; a later stage applies it.
    pub fn new(source: S, selection: Selection) -> Self {
        Self { source, known_groups: Vec::new(), sets: Vec::new(), selection, renumbered: Arc::default() }
    }

    pub(crate) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// Number of pairs that were broken because a name now belongs to another process. The counter is shared, so it can be
    /// read while the stage is in use elsewhere.
    pub fn renumbered(&self) -> Arc<std::sync::atomic::AtomicU64> {
        Arc::clone(&self.renumbered)
    }

    fn find_roles(&mut self, sample: &Sample) {
        if sample.has_sets(self.known_groups.iter().map(|(set, _)| set)) {
            return;
        }
        let mut earlier: HashMap<_, _> =
            std::mem::take(&mut self.sets).into_iter().map(|set| (set.key.clone(), set)).collect();
        let mut by_key: HashMap<(String, String), usize> = HashMap::new();
        let mut roles = vec![Role::None; sample.groups.len()];
        for (group, role) in sample.groups.iter().zip(&mut roles) {
            if let Some((counter, column)) = identity_column(&group.set) {
                let key = key_of(&group.set);
                let set = *by_key.entry(key.clone()).or_insert_with(|| {
                    let before = earlier.remove(&key);
                    self.sets.push(IdentitySet::new(key, before));
                    self.sets.len() - 1
                });
                *role = Role::Source { set, column, counter };
            }
        }
        if !self.sets.is_empty() {
            for (group, role) in sample.groups.iter().zip(&mut roles) {
                if *role == Role::None
                    && let Some(&set) = by_key.get(&key_of(&group.set))
                {
                    *role = Role::Lookup(set);
                }
                if let Role::Source { set, .. } | Role::Lookup(set) = *role {
                    self.sets[set].paired.extend(self.selection.selecting_pairs(&group.set));
                }
            }
        }
        self.known_groups = sample.groups.iter().map(|group| Arc::clone(&group.set)).zip(roles).collect();
    }
}

/// The machine and the name of a counter set, in lower case.
pub(crate) fn key_of(set: &CounterSet) -> (String, String) {
    (set.machine.to_lowercase(), set.name.to_lowercase())
}

/// The most specific identity counter of a set, as an index into [`IDENTITY_COUNTERS`], and its column.
fn identity_column(set: &CounterSet) -> Option<(usize, usize)> {
    let columns = set.counters.iter().enumerate();
    // Already formatted values are not paired, so they need no identity.
    let raw = columns.filter(|(_, counter)| counter.counter_type != CounterType::DOUBLE_RAW);
    raw.filter_map(|(column, counter)| Some((identity_counter(counter)?, column))).min()
}

/// The index of a counter in [`IDENTITY_COUNTERS`], by its English name.
pub(crate) fn identity_counter(counter: &Counter) -> Option<usize> {
    let english = counter.english_name.as_ref().unwrap_or(&counter.name);
    IDENTITY_COUNTERS.iter().position(|wanted| english.eq_ignore_ascii_case(wanted))
}

impl IdentitySet {
    /// A set without current identities. `before` is the same set in the previous log; its identities become `carried`.
    fn new(key: (String, String), before: Option<Self>) -> Self {
        let mut carried = HashMap::new();
        if let Some(before) = before {
            for instance in before.instances.iter().flat_map(|list| list.iter()) {
                if let Some(known) = before.current_identities.get(&instance.id()) {
                    carried.insert(instance.label().into(), *known);
                }
            }
        }
        Self { key, carried, ..Self::default() }
    }

    fn read(&mut self, group: &Group, column: usize, counter: usize) {
        self.instances.push(Arc::clone(&group.instances));
        for (instance, values) in group.instances.iter().zip(group.rows()) {
            let raw = values[column];
            if raw.status.is_error() {
                continue;
            }
            // The identity 0 means unknown, but 0 is also the process id of Idle and _Total. So the identity is the id
            // plus 1.
            let identity = (raw.first as u64).wrapping_add(1);
            let known = Known { identity, counter, is_compared: false };
            let now = self.current_identities.entry(instance.id()).or_insert(known);
            if counter < now.counter {
                *now = known;
            }
        }
    }

    /// Number of selected instances that belong to a different process or thread than in the previous sample.
    fn count_renumbered(&mut self, group: &Group, selection: &Selection) -> u64 {
        let mut renumbered = 0;
        for instance in group.instances.iter() {
            let Some(now) = self.current_identities.get_mut(&instance.id()) else { continue };
            if std::mem::replace(&mut now.is_compared, true) {
                continue;
            }
            // A process id cannot be compared with a thread id.
            let before =
                self.previous_identities.get(&instance.id()).or_else(|| self.carried.get(instance.label()));
            let is_another =
                before.is_some_and(|before| before.counter == now.counter && before.identity != now.identity);
            let is_paired = || self.paired.iter().any(|&path| selection.selects(path, &group.set, instance));
            renumbered += u64::from(is_another && is_paired());
        }
        renumbered
    }
}

impl<S: Source> Source for Identity<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.source.next(sample)? {
            return Ok(false);
        }
        self.find_roles(sample);
        if self.sets.is_empty() {
            return Ok(true);
        }
        for set in &mut self.sets {
            std::mem::swap(&mut set.current_identities, &mut set.previous_identities);
            set.current_identities.clear();
            set.instances.clear();
            set.listed_group = None;
        }
        let present_groups =
            || self.known_groups.iter().zip(&sample.groups).filter(|(_, group)| group.is_present());
        for ((_, role), group) in present_groups() {
            if let Role::Source { set, column, counter } = *role {
                self.sets[set].read(group, column, counter);
            }
        }
        // Identities are compared only after all groups were read, since the most specific counter can be in the last group.
        let mut renumbered = 0;
        for ((_, role), group) in present_groups() {
            if let Role::Source { set, .. } = *role {
                renumbered += self.sets[set].count_renumbered(group, &self.selection);
            }
        }
        self.sets.iter_mut().filter(|set| !set.instances.is_empty()).for_each(|set| set.carried.clear());
        self.renumbered.fetch_add(renumbered, std::sync::atomic::Ordering::Relaxed);
        for (index, (_, role)) in self.known_groups.iter().enumerate() {
            let (Role::Source { set, .. } | Role::Lookup(set)) = *role else { continue };
            let set = &mut self.sets[set];
            let instances = &sample.groups[index].instances;
            if !set
                .listed_group
                .is_some_and(|listed| Arc::ptr_eq(&sample.groups[listed].instances, instances))
            {
                set.listed_group = Some(index);
                let now = &set.current_identities;
                let identity = |id: u32| now.get(&id).map_or(0, |known| known.identity);
                set.group_identities.clear();
                set.group_identities.extend(instances.iter().map(|instance| identity(instance.id())));
            }
            sample.groups[index].identities.clone_from(&set.group_identities);
        }
        Ok(true)
    }
}
