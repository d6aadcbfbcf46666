//! Which counters are asked for, and what became of each path.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use tachograph_counters::Formula;
use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use tachograph_counters::wildcard::{closest, fold_case};

/// Counter paths, and what became of them: which ones matched, and what there was to match.
#[derive(Clone, Debug)]
pub struct Selection {
    pub(crate) patterns: Arc<[PathPattern]>,
    /// Paths of single counters that are left out, without regard to case.
    except: Arc<HashSet<String>>,
    /// Whether counters that identify instances are taken with any other counter of them.
    keeps_identities: bool,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    matched: Vec<bool>,
    machines: BTreeSet<String>,
    /// Counter sets met, by name.
    sets: BTreeMap<String, KnownSet>,
    /// Counters taken although no path selects them.
    kept_identities: BTreeSet<String>,
}

/// What was met of a counter set, to say what there is instead of what was asked for.
#[derive(Clone, Debug, Default)]
struct KnownSet {
    english_name: Option<String>,
    has_instances: bool,
    /// The counters' names and, where they differ, their English ones.
    counters: BTreeSet<String>,
    /// Instances met while a path was looking for one, at most [`MAX_INSTANCES`].
    instances: BTreeSet<String>,
}

/// Processes that come and go for months must not fill the memory for the sake of one message.
const MAX_INSTANCES: usize = 10_000;

impl Selection {
    /// A selection; without patterns it takes everything.
    pub fn new(patterns: Vec<PathPattern>) -> Self {
        let state = State { matched: vec![false; patterns.len()], ..Default::default() };
        Self {
            patterns: patterns.into(),
            except: Arc::default(),
            keeps_identities: false,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The same, and with each selected counter of processes and threads also `ID Process` and `ID Thread` of the same
    /// instances, where the source has them. A raw log without them pairs a value with that of another process whose name
    /// it got, so logs that are written from a selection need them.
    #[must_use]
    pub fn with_identities(mut self) -> Self {
        self.keeps_identities = true;
        self
    }

    /// Whether counters that identify instances are taken unasked.
    pub(crate) fn keeps_identities(&self) -> bool {
        self.keeps_identities
    }

    /// The counters that were taken because of [`with_identities`](Self::with_identities) alone, each once, as paths without
    /// a machine and an instance.
    pub fn kept_identities(&self) -> Vec<String> {
        self.lock().kept_identities.iter().cloned().collect()
    }

    pub(crate) fn note_identity(&self, set: &CounterSet, counter: &Counter) {
        let instances = if set.has_instances { "(*)" } else { "" };
        self.lock().kept_identities.insert(format!(r"\{}{instances}\{}", set.name, counter.name));
    }

    /// The paths by their place that select a counter of this set, if only its name and a fixed instance count.
    pub(crate) fn patterns_of<'a>(
        &'a self,
        set: &'a CounterSet,
        counter: &'a Counter,
    ) -> impl Iterator<Item = usize> + 'a {
        // A fixed instance decides here and now; others come and go.
        let names_fixed = |pattern: &PathPattern| {
            set.instance.as_ref().is_none_or(|instance| takes_row(pattern, set, instance.label()))
        };
        let names_counter = |pattern: &PathPattern| {
            let english = counter.english_name.as_ref();
            pattern.matches_counter(&counter.name)
                || english.is_some_and(|name| pattern.matches_counter(name))
        };
        let is_one = move |(_, pattern): &(usize, &PathPattern)| {
            names_set(pattern, set) && names_fixed(pattern) && names_counter(pattern)
        };
        self.patterns.iter().enumerate().filter(is_one).map(|(place, _)| place)
    }

    /// The same without single counters of single instances; a path without a machine is left out of any. Wildcards are
    /// characters like others. Of a selection without patterns, which takes everything, nothing is left out.
    #[must_use]
    pub fn without(mut self, paths: &[CounterPath]) -> Self {
        self.except = Arc::new(paths.iter().map(|path| fold_case(&path.to_string())).collect());
        self
    }

    /// Whether everything is taken.
    pub fn is_everything(&self) -> bool {
        self.patterns.is_empty()
    }

    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether there is no path, which means that everything is taken.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The paths that nothing matched so far, each with what there is instead where something is near.
    pub fn unmatched(&self) -> Vec<(String, Option<String>)> {
        let state = self.lock();
        self.patterns
            .iter()
            .zip(&state.matched)
            .filter(|(_, matched)| !**matched)
            .map(|(pattern, _)| (pattern.to_string(), state.advice(pattern)))
            .collect()
    }

    /// Whether no sample came by at all, so that nothing could match.
    pub fn met_nothing(&self) -> bool {
        self.lock().sets.is_empty()
    }

    /// A selection of some of the paths of this one, which knows of them what this one knows: nothing need be read again to
    /// find out what they match.
    #[must_use]
    pub fn narrowed(&self, patterns: &[PathPattern]) -> Self {
        let known = self.lock();
        let is_matched = |pattern: &PathPattern| {
            let place = self.patterns.iter().position(|known| known == pattern);
            place.is_some_and(|place| known.matched.get(place) == Some(&true))
        };
        let state = State {
            matched: patterns.iter().map(is_matched).collect(),
            machines: known.machines.clone(),
            sets: known.sets.clone(),
            kept_identities: BTreeSet::new(),
        };
        let except = Arc::clone(&self.except);
        Self { patterns: patterns.into(), except, state: Arc::new(Mutex::new(state)), ..*self }
    }

    /// Whether single counters of this set may be left out.
    pub(crate) fn has_exceptions(&self, set: &CounterSet) -> bool {
        let name = format!(r"\{}", fold_case(&set.name));
        self.except.iter().any(|path| path.contains(&name))
    }

    /// Whether a counter of an instance is left out.
    pub(crate) fn excepts(&self, set: &CounterSet, instance: &Instance, counter: &Counter) -> bool {
        if self.except.is_empty() {
            return false;
        }
        let path = fold_case(&set.path(instance, counter));
        let machine = fold_case(&format!(r"\\{}", set.machine));
        self.except.contains(&path)
            || path.strip_prefix(&machine).is_some_and(|path| self.except.contains(path))
    }

    /// The paths that select a counter of this set whose values need two samples, by their places; a single `None` where
    /// everything is selected.
    pub(crate) fn selecting_pairs(&self, set: &CounterSet) -> BTreeSet<Option<usize>> {
        let needs_two =
            |counter: &&Counter| counter.counter_type.formula().is_some_and(Formula::needs_two_samples);
        let mut paired = set.counters.iter().filter(needs_two).peekable();
        if self.is_everything() {
            return paired.peek().map(|_| None).into_iter().collect();
        }
        paired.flat_map(|counter| self.patterns_of(set, counter)).map(Some).collect()
    }

    /// Whether a path, by its place, takes this instance; `None` takes all.
    pub(crate) fn takes(&self, path: Option<usize>, set: &CounterSet, instance: &Instance) -> bool {
        path.is_none_or(|path| takes_row(&self.patterns[path], set, instance.label()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note_set(&self, set: &CounterSet) {
        let mut state = self.lock();
        if !set.machine.is_empty() {
            state.machines.insert(set.machine.to_string());
        }
        let known = state.sets.entry(set.name.to_string()).or_default();
        known.english_name = set.english_name.as_ref().map(ToString::to_string);
        known.has_instances |= set.has_instances;
        for counter in &set.counters {
            known.counters.insert(counter.name.to_string());
            known.counters.extend(counter.english_name.as_ref().map(ToString::to_string));
        }
        known.instances.extend(set.instance.as_ref().map(|instance| instance.label().to_owned()));
    }

    /// Notes the instances that there are while one of the paths has found none.
    pub(crate) fn note_instances(&self, patterns: &[usize], set: &CounterSet, instances: &Instances) {
        let mut state = self.lock();
        if patterns.iter().all(|&number| state.matched.get(number) == Some(&true)) {
            return;
        }
        if let Some(known) = state.sets.get_mut(&*set.name)
            && known.instances.len() < MAX_INSTANCES
        {
            known.instances.extend(instances.iter().map(|instance| instance.label().to_owned()));
        }
    }

    pub(crate) fn note_match(&self, number: usize) {
        if let Some(matched) = self.lock().matched.get_mut(number) {
            *matched = true;
        }
    }
}

impl State {
    fn advice(&self, pattern: &PathPattern) -> Option<String> {
        let path = pattern.path();
        if path.machine.is_some() && !self.machines.iter().any(|machine| pattern.matches_machine(machine)) {
            let machines: Vec<_> = self.machines.iter().map(|machine| format!(r"'\\{machine}'")).collect();
            return Some(match machines.as_slice() {
                [] => "the log names no machine: leave it out of the path".to_owned(),
                _ => format!("there are counters of {}", machines.join(", ")),
            });
        }
        let mut sets = self.sets.iter();
        let set = sets.find(|(name, set)| {
            pattern.matches_set_name(name)
                || set.english_name.as_ref().is_some_and(|name| pattern.matches_set_name(name))
        });
        let Some((name, KnownSet { has_instances, counters, instances, .. })) = set else {
            let english = self.sets.values().filter_map(|set| set.english_name.as_deref());
            let names = || self.sets.keys().map(String::as_str);
            if let Some(question) = which(&path.set, "counter set", names()) {
                return Some(question);
            }
            let near = closest(&path.set, names().chain(english))?;
            return Some(format!("did you mean the counter set '{near}'?"));
        };
        if !counters.iter().any(|counter| pattern.matches_counter(counter)) {
            let names = || counters.iter().map(String::as_str);
            if let Some(question) = which(&path.counter, "counter", names()) {
                return Some(question);
            }
            return Some(match closest(&path.counter, names()) {
                Some(near) => format!("did you mean the counter '{near}'?"),
                None => format!("'{name}' has no counter '{}'", path.counter),
            });
        }
        match (&path.instance, has_instances) {
            (None, true) => {
                Some(format!(r"'{name}' has instances: write '\{name}(*)\{}' for all of them", path.counter))
            }
            (Some(_), false) => Some(format!(r"'{name}' has no instances: write '\{name}\{}'", path.counter)),
            (Some(wanted), true) => {
                let wanted = wanted.as_str();
                if instances.iter().any(|instance| pattern.matches_instance(Some(instance))) {
                    return Some(format!("'{name}({wanted})' has other counters there"));
                }
                let is_literal = pattern.instance().is_none_or(|instance| instance.is_literal());
                let names = instances.iter().map(String::as_str).filter(|_| is_literal);
                Some(match closest(wanted, names) {
                    Some(near) => format!("did you mean the instance '{near}'?"),
                    None => format!("'{name}' has no instance '{wanted}'"),
                })
            }
            (None, false) => None,
        }
    }
}

/// Asks which of the names that begin with what was written was meant. Few letters begin too many.
fn which<'a>(wanted: &str, kind: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    const LEAST: usize = 3;
    const MOST: usize = 4;
    let start = fold_case(wanted);
    if start.chars().count() < LEAST {
        return None;
    }
    let mut names: Vec<_> = names.filter(|name| fold_case(name).starts_with(&start)).collect();
    // Where a single letter is missing, that name is meant.
    if let Some(place) = names.iter().position(|name| name.chars().count() == start.chars().count() + 1) {
        names = vec![names[place]];
    }
    let quoted = |names: &[&str]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    Some(match names.as_slice() {
        [] => return None,
        [name] => format!("did you mean the {kind} '{name}'?"),
        [some @ .., last] if names.len() <= MOST => format!("did you mean {} or '{last}'?", quoted(some)),
        names => format!(
            "did you mean {} or one of {} more?",
            quoted(&names[..MOST - 1]),
            names.len() - (MOST - 1)
        ),
    })
}

/// Whether a pattern is for this set of this machine, under its own or its English name.
pub(crate) fn names_set(pattern: &PathPattern, set: &CounterSet) -> bool {
    pattern.matches_machine(&set.machine)
        && [Some(&set.name), set.english_name.as_ref()]
            .into_iter()
            .flatten()
            .any(|name| pattern.matches_set(name, set.has_instances))
}

/// Whether a pattern takes the instance of this label.
pub(crate) fn takes_row(pattern: &PathPattern, set: &CounterSet, label: &str) -> bool {
    pattern.matches_instance(set.has_instances.then_some(label))
}
