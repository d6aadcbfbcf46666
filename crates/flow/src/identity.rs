//! Which process is behind a name: breaks pairs where Windows renumbered `#n`.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;

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
    /// Changes are counted for what is asked for only.
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
struct IdentitySet {
    key: (String, String),
    /// By the instance's number: its identity now.
    now: HashMap<u32, Known>,
    before: HashMap<u32, Known>,
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
        self.sets.clear();
        let mut roles = vec![Role::None; sample.groups.len()];
        for (group, role) in sample.groups.iter().zip(&mut roles) {
            if let Some((counter, column)) = identity_column(&group.set) {
                let key = key_of(&group.set);
                let set = self.sets.iter().position(|set| set.key == key).unwrap_or_else(|| {
                    self.sets.push(IdentitySet { key, now: HashMap::new(), before: HashMap::new() });
                    self.sets.len() - 1
                });
                *role = Role::Holds { set, column, counter };
            }
        }
        if !self.sets.is_empty() {
            for (group, role) in sample.groups.iter().zip(&mut roles) {
                if *role == Role::None {
                    let key = key_of(&group.set);
                    if let Some(set) = self.sets.iter().position(|set| set.key == key) {
                        *role = Role::Follows(set);
                    }
                }
            }
        }
        self.known = sample.groups.iter().map(|group| Arc::clone(&group.set)).zip(roles).collect();
    }
}

fn key_of(set: &CounterSet) -> (String, String) {
    (set.machine.to_lowercase(), set.name.to_lowercase())
}

/// The identity counter of a set that tells most, and its column.
fn identity_column(set: &CounterSet) -> Option<(usize, usize)> {
    IDENTITY_COUNTERS.iter().enumerate().find_map(|(number, wanted)| {
        let column = set.counters.iter().position(|counter| {
            let english = counter.english_name.as_ref().unwrap_or(&counter.name);
            english.eq_ignore_ascii_case(wanted)
        });
        column.map(|column| (number, column))
    })
}

impl IdentitySet {
    /// Takes in what a group holds.
    fn hold(&mut self, group: &Group, column: usize, counter: usize) {
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
            let is_another = self
                .before
                .get(&instance.id())
                .is_some_and(|before| before.counter == now.counter && before.identity != now.identity);
            renumbered += u64::from(is_another && selection.concerns(&group.set, instance));
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
