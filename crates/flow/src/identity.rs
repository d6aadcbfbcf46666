//! Which process is behind a name: breaks pairs where Windows renumbered `#n`.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;

use crate::{FlowError, Selection, Source};

/// Counters that hold the identity of an instance.
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
    /// Holds them, in the given column, for the set of that number.
    Holds { set: usize, column: usize },
}

/// The identities of one counter set of one machine.
struct IdentitySet {
    key: (String, String),
    /// By the instance's number: its identity now.
    now: HashMap<u32, u64>,
    before: HashMap<u32, u64>,
}

impl<S: Source> Identity<S> {
    /// A stage over `source`, of which `selection` will be taken.
    pub fn new(source: S, selection: Selection) -> Self {
        Self { source, known: Vec::new(), sets: Vec::new(), selection, renumbered: Arc::default() }
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
            if let Some(column) = identity_column(&group.set) {
                let key = key_of(&group.set);
                let set = self.sets.iter().position(|set| set.key == key).unwrap_or_else(|| {
                    self.sets.push(IdentitySet { key, now: HashMap::new(), before: HashMap::new() });
                    self.sets.len() - 1
                });
                *role = Role::Holds { set, column };
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

fn identity_column(set: &CounterSet) -> Option<usize> {
    IDENTITY_COUNTERS.iter().find_map(|wanted| {
        set.counters.iter().position(|counter| {
            let english = counter.english_name.as_ref().unwrap_or(&counter.name);
            english.eq_ignore_ascii_case(wanted)
        })
    })
}

impl IdentitySet {
    fn hold(&mut self, group: &Group, column: usize, selection: &Selection) -> u64 {
        let mut renumbered = 0;
        for (instance, values) in group.instances.iter().zip(group.rows()) {
            let raw = values[column];
            if raw.status.is_error() {
                continue;
            }
            // Idle and _Total have the number 0, as has what is not known: shifted by one, it counts all the same.
            let identity = (raw.first as u64).wrapping_add(1);
            self.now.insert(instance.id(), identity);
            let is_another = self.before.get(&instance.id()).is_some_and(|&before| before != identity);
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
        let mut renumbered = 0;
        for ((_, role), group) in self.known.iter().zip(&sample.groups) {
            if let Role::Holds { set, column } = *role
                && group.is_present()
            {
                renumbered += self.sets[set].hold(group, column, &self.selection);
            }
        }
        self.renumbered.fetch_add(renumbered, std::sync::atomic::Ordering::Relaxed);
        for ((_, role), group) in self.known.iter().zip(&mut sample.groups) {
            let (Role::Holds { set, .. } | Role::Follows(set)) = *role else { continue };
            let now = &self.sets[set].now;
            group.identities.clear();
            group.identities.extend(
                group.instances.iter().map(|instance| now.get(&instance.id()).copied().unwrap_or_default()),
            );
        }
        Ok(true)
    }
}
