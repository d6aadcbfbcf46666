//! Which process is behind a name: breaks pairs where Windows renumbered `#n`.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Instances};

use crate::{FlowError, Selection, Source};

/// Counters that hold the identity of an instance, the one that tells most first: the threads of a process share the second.
const IDENTITY_COUNTERS: [&str; 2] = ["ID Thread", "ID Process"];

/// Gives each row the number of the process or thread behind it, where the log holds that number, so that a name that
/// passed to another process is not paired with its predecessor.
///
/// Also counts how often that happened.
pub struct Identity<S> {
    source: S,
    /// The groups of the sample before, to find out only once where identities stand.
    known: Vec<(Arc<CounterSet>, Role)>,
    sets: Vec<IdentitySet>,
    /// Changes are counted where they break a pair of a counter that is asked for.
    selection: Selection,
    renumbered: Arc<std::sync::atomic::AtomicU64>,
}

/// What a group has to do with identities.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// Its set has none.
    None,
    /// Takes identities from the number of an [`IdentitySet`].
    Follows(usize),
    /// Holds them, in the given column, for the set of that number; `counter` is the place among [`IDENTITY_COUNTERS`].
    Holds { set: usize, column: usize, counter: usize },
}

/// The identities of one counter set of one machine.
#[derive(Default)]
struct IdentitySet {
    key: (String, String),
    /// By the instance's number: its identity now.
    now: HashMap<u32, Known>,
    before: HashMap<u32, Known>,
    /// By the instance's name: its identity in the last sample of the log before.
    carried: HashMap<Box<str>, Known>,
    /// The rows of the groups that hold the identities of now.
    rows: Vec<Instances>,
    /// Which of the paths asked for select a counter of this set that needs two samples; one without a name is all of them.
    paired: BTreeSet<Option<usize>>,
}

/// What is behind an instance.
#[derive(Clone, Copy, Debug)]
struct Known {
    identity: u64,
    /// Which counter says so.
    counter: usize,
    /// Whether it was compared with what was there before: several groups may hold one instance.
    is_compared: bool,
}

impl<S: Source> Identity<S> {
    /// A stage over `source`, of which `selection` will be taken.
    pub fn new(source: S, selection: Selection) -> Self {
        Self { source, known: Vec::new(), sets: Vec::new(), selection, renumbered: Arc::default() }
    }

    pub(crate) fn source_mut(&mut self) -> &mut S {
        &mut self.source
    }

    /// How many pairs were broken so far because another process came to a name; readable while the stage is consumed
    /// elsewhere.
    pub fn renumbered(&self) -> Arc<std::sync::atomic::AtomicU64> {
        Arc::clone(&self.renumbered)
    }

    fn find_roles(&mut self, sample: &Sample) {
        let same = self.known.len() == sample.groups.len()
            && self.known.iter().zip(&sample.groups).all(|((set, _), group)| Arc::ptr_eq(set, &group.set));
        if same {
            return;
        }
        let mut earlier: HashMap<_, _> =
            std::mem::take(&mut self.sets).into_iter().map(|set| (set.key.clone(), set)).collect();
        // A log can hold as many sets as it has columns.
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
                *role = Role::Holds { set, column, counter };
            }
        }
        if !self.sets.is_empty() {
            for (group, role) in sample.groups.iter().zip(&mut roles) {
                if *role == Role::None
                    && let Some(&set) = by_key.get(&key_of(&group.set))
                {
                    *role = Role::Follows(set);
                }
                if let Role::Holds { set, .. } | Role::Follows(set) = *role {
                    self.sets[set].paired.extend(self.selection.selecting_pairs(&group.set));
                }
            }
        }
        self.known = sample.groups.iter().map(|group| Arc::clone(&group.set)).zip(roles).collect();
    }
}

/// Properties shared by all groups of one counter set of one machine.
pub(crate) fn key_of(set: &CounterSet) -> (String, String) {
    (set.machine.to_lowercase(), set.name.to_lowercase())
}

/// The identity counter of a set that tells most, and its column.
fn identity_column(set: &CounterSet) -> Option<(usize, usize)> {
    let columns = set.counters.iter().enumerate();
    // What is formatted already needs no pairs.
    let raw = columns.filter(|(_, counter)| counter.counter_type != CounterType::DOUBLE_RAW);
    raw.filter_map(|(column, counter)| Some((identity_counter(counter)?, column))).min()
}

/// The place of a counter among [`IDENTITY_COUNTERS`], by its English name: a multi record of another language does not
/// say that it is one.
pub(crate) fn identity_counter(counter: &Counter) -> Option<usize> {
    let english = counter.english_name.as_ref().unwrap_or(&counter.name);
    IDENTITY_COUNTERS.iter().position(|wanted| english.eq_ignore_ascii_case(wanted))
}

impl IdentitySet {
    /// A new set. Only what the previous log held is known of it.
    fn new(key: (String, String), before: Option<Self>) -> Self {
        let mut carried = HashMap::new();
        if let Some(before) = before {
            for instance in before.rows.iter().flat_map(|rows| rows.iter()) {
                if let Some(known) = before.now.get(&instance.id()) {
                    carried.insert(instance.label().into(), *known);
                }
            }
        }
        Self { key, carried, ..Self::default() }
    }

    /// Takes in what a group holds.
    fn hold(&mut self, group: &Group, column: usize, counter: usize) {
        self.rows.push(Arc::clone(&group.instances));
        for (instance, values) in group.instances.iter().zip(group.rows()) {
            let raw = values[column];
            if raw.status.is_error() {
                continue;
            }
            // Idle and _Total have the number 0, as has what is not known: shifted by one, it counts all the same.
            let identity = (raw.first as u64).wrapping_add(1);
            let known = Known { identity, counter, is_compared: false };
            let now = self.now.entry(instance.id()).or_insert(known);
            if counter < now.counter {
                *now = known;
            }
        }
    }

    /// How many instances of a group are of another process or thread than before.
    fn renumbered(&mut self, group: &Group, selection: &Selection) -> u64 {
        let mut renumbered = 0;
        for instance in group.instances.iter() {
            let Some(now) = self.now.get_mut(&instance.id()) else { continue };
            if std::mem::replace(&mut now.is_compared, true) {
                continue;
            }
            // Numbers of two counters say nothing of each other.
            let before = self.before.get(&instance.id()).or_else(|| self.carried.get(instance.label()));
            let is_another =
                before.is_some_and(|before| before.counter == now.counter && before.identity != now.identity);
            let is_paired = || self.paired.iter().any(|&path| selection.takes(path, &group.set, instance));
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
            std::mem::swap(&mut set.now, &mut set.before);
            set.now.clear();
            set.rows.clear();
        }
        let present = || self.known.iter().zip(&sample.groups).filter(|(_, group)| group.is_present());
        for ((_, role), group) in present() {
            if let Role::Holds { set, column, counter } = *role {
                self.sets[set].hold(group, column, counter);
            }
        }
        // When all is known: the counter that tells most may stand in the last group.
        let mut renumbered = 0;
        for ((_, role), group) in present() {
            if let Role::Holds { set, .. } = *role {
                renumbered += self.sets[set].renumbered(group, &self.selection);
            }
        }
        self.sets.iter_mut().filter(|set| !set.rows.is_empty()).for_each(|set| set.carried.clear());
        self.renumbered.fetch_add(renumbered, std::sync::atomic::Ordering::Relaxed);
        for ((_, role), group) in self.known.iter().zip(&mut sample.groups) {
            let (Role::Holds { set, .. } | Role::Follows(set)) = *role else { continue };
            let now = &self.sets[set].now;
            group.identities.clear();
            group.identities.extend(
                group
                    .instances
                    .iter()
                    .map(|instance| now.get(&instance.id()).map_or(0, |known| known.identity)),
            );
        }
        Ok(true)
    }
}
