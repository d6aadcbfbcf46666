//! Selecting counters by paths, and reporting paths that select none.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex};

use tachograph_counters::path::{CounterPath, PathPattern};
use tachograph_counters::set::{Counter, CounterSet, Instance, Instances};
use tachograph_counters::wildcard::{closest, fold_case};
use tachograph_counters::{Formula, IgnorePoison};
use tachograph_logs::CounterFilter;

use crate::identity::identity_counter;

/// Counter paths that select counters. Records which of the paths matched, and which sets, counters and instances
/// exist, for suggestions. Clones share what was recorded.
#[derive(Clone, Debug)]
pub struct Selection {
    pub(crate) patterns: Arc<[PathPattern]>,
    /// Paths of individual counters that are excluded, case-folded.
    except: Arc<HashSet<String>>,
    /// Whether the counters that identify instances are selected along with any other counter of these instances.
    adds_identities: bool,
    state: Arc<Mutex<State>>,
}

/// The matches, and the contents of counter sets, that were recorded so far.
#[derive(Debug, Default)]
struct State {
    /// For each path, whether it has selected a counter.
    matched: Vec<bool>,
    machines: BTreeSet<String>,
    /// The counter sets so far, by name.
    sets: BTreeMap<String, KnownSet>,
    /// Identity counters that were selected although no path matches them.
    added_identities: BTreeSet<String>,
}

/// The contents of a counter set, for suggestions.
#[derive(Clone, Debug, Default)]
struct KnownSet {
    english_name: Option<String>,
    has_instances: bool,
    /// The counters' names and English names.
    counters: BTreeSet<String>,
    /// The instances so far. Recorded only while a path has not matched, and only up to about [`MAX_INSTANCES`].
    instances: BTreeSet<String>,
}

/// Limits the memory for suggestions when short-lived processes are recorded for months.
const MAX_INSTANCES: usize = 10_000;

impl Selection {
    /// A selection by these patterns. Without patterns, everything is selected.
    pub fn new(patterns: Vec<PathPattern>) -> Self {
        let state = State { matched: vec![false; patterns.len()], ..Default::default() };
        Self {
            patterns: patterns.into(),
            except: Arc::default(),
            adds_identities: false,
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// When a counter of processes or threads is selected, also selects `ID Process` and `ID Thread` of the same
    /// instances. Written logs need them: without ids, values of two processes that had the same name would be paired.
    #[must_use]
    pub fn with_identities(mut self) -> Self {
        self.adds_identities = true;
        self
    }

    /// Whether counters that identify instances are added.
    pub(crate) fn adds_identities(&self) -> bool {
        self.adds_identities
    }

    /// The counters that were selected only because of [`with_identities`](Self::with_identities), as paths without a
    /// machine. Instances are written as `(*)`.
    pub fn added_identities(&self) -> Vec<String> {
        self.lock().added_identities.iter().cloned().collect()
    }

    pub(crate) fn record_identity(&self, set: &CounterSet, counter: &Counter) {
        let instances = if set.has_instances { "(*)" } else { "" };
        self.lock().added_identities.insert(format!(r"\{}{instances}\{}", set.name, counter.name));
    }

    /// The indexes of the paths that select this counter of this set, perhaps only for some instances.
    pub(crate) fn patterns_of<'a>(
        &'a self,
        set: &'a CounterSet,
        counter: &'a Counter,
    ) -> impl Iterator<Item = usize> + 'a {
        // Only a fixed instance can be checked here, since other instances appear and disappear.
        let names_fixed = |pattern: &PathPattern| {
            set.instance.as_ref().is_none_or(|instance| selects_row(pattern, set, instance.label()))
        };
        let names_counter = |pattern: &PathPattern| {
            let english = counter.english_name.as_ref();
            pattern.matches_counter(&counter.name)
                || english.is_some_and(|name| pattern.matches_counter(name))
        };
        let selects_counter = move |(_, pattern): &(usize, &PathPattern)| {
            names_set(pattern, set) && names_fixed(pattern) && names_counter(pattern)
        };
        self.patterns.iter().enumerate().filter(selects_counter).map(|(index, _)| index)
    }

    /// Whether a path names this instance without wildcards and selects the counter. A set without instances counts as named if
    /// the path names the set without wildcards.
    pub fn names_instance(&self, set: &CounterSet, counter: &Counter, instance: Option<&Instance>) -> bool {
        self.patterns_of(set, counter).any(|index| {
            let pattern = &self.patterns[index];
            match (instance, pattern.instance()) {
                (Some(instance), Some(wanted)) => {
                    wanted.is_literal() && selects_row(pattern, set, instance.label())
                }
                (None, _) => pattern.set().is_literal(),
                (Some(_), None) => false,
            }
        })
    }

    /// Whether a value is needed for what is selected: also the ids of processes and threads, which identify instances. `None` if
    /// all values are.
    pub(crate) fn filter(&self) -> Option<CounterFilter> {
        if self.is_everything() {
            return None;
        }
        let selection = self.clone();
        Some(Arc::new(move |set, counter| {
            identity_counter(counter).is_some() || selection.patterns_of(set, counter).next().is_some()
        }))
    }

    /// Excludes individual counters of individual instances. A path without a machine applies to all machines.
    /// Wildcards have no special meaning. A selection without patterns excludes nothing.
    #[must_use]
    pub fn without(mut self, paths: &[CounterPath]) -> Self {
        self.except = Arc::new(paths.iter().map(|path| fold_case(&path.to_string())).collect());
        self
    }

    /// Whether everything is selected.
    pub fn is_everything(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Whether there are no paths, so that everything is selected.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// For each path, whether it has matched something so far.
    pub(crate) fn matched_paths(&self) -> Vec<bool> {
        self.lock().matched.clone()
    }

    /// The paths that have not matched anything so far, each with a suggestion, if any.
    pub fn unmatched(&self) -> Vec<(String, Option<String>)> {
        let state = self.lock();
        self.patterns
            .iter()
            .zip(&state.matched)
            .filter(|(_, matched)| !**matched)
            .map(|(pattern, _)| (pattern.to_string(), state.suggest_correction(pattern)))
            .collect()
    }

    /// Whether no counter set has been recorded yet, so that no path could match.
    pub fn has_seen_no_set(&self) -> bool {
        self.lock().sets.is_empty()
    }

    /// A selection with only these patterns, a subset of those of `self`. Copies the matches recorded so far.
    #[must_use]
    pub fn narrowed(&self, patterns: &[PathPattern]) -> Self {
        let known = self.lock();
        let is_matched = |pattern: &PathPattern| {
            let index = self.patterns.iter().position(|known| known == pattern);
            index.is_some_and(|index| known.matched.get(index) == Some(&true))
        };
        let state = State {
            matched: patterns.iter().map(is_matched).collect(),
            machines: known.machines.clone(),
            sets: known.sets.clone(),
            added_identities: BTreeSet::new(),
        };
        let except = Arc::clone(&self.except);
        Self { patterns: patterns.into(), except, state: Arc::new(Mutex::new(state)), ..*self }
    }

    /// Whether individual counters of this set may be excluded.
    pub(crate) fn has_exceptions(&self, set: &CounterSet) -> bool {
        let name = format!(r"\{}", fold_case(&set.name));
        self.except.iter().any(|path| path.contains(&name))
    }

    /// Whether this counter of this instance is excluded.
    pub(crate) fn excepts(&self, set: &CounterSet, instance: &Instance, counter: &Counter) -> bool {
        if self.except.is_empty() {
            return false;
        }
        let path = fold_case(&set.path(instance, counter));
        let machine = fold_case(&format!(r"\\{}", set.machine));
        self.except.contains(&path)
            || path.strip_prefix(&machine).is_some_and(|path| self.except.contains(path))
    }

    /// The indexes of the paths that select a counter of this set whose values need two samples. If everything is selected,
    /// a single `None` if the set has such a counter.
    pub(crate) fn selecting_pairs(&self, set: &CounterSet) -> BTreeSet<Option<usize>> {
        let needs_two =
            |counter: &&Counter| counter.counter_type.formula().is_some_and(Formula::needs_two_samples);
        let mut paired = set.counters.iter().filter(needs_two).peekable();
        if self.is_everything() {
            return paired.peek().map(|_| None).into_iter().collect();
        }
        paired.flat_map(|counter| self.patterns_of(set, counter)).map(Some).collect()
    }

    /// Whether the path with this index selects the instance; `None` selects all.
    pub(crate) fn selects(&self, path: Option<usize>, set: &CounterSet, instance: &Instance) -> bool {
        path.is_none_or(|path| selects_row(&self.patterns[path], set, instance.label()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// Records the contents of a counter set, for suggestions.
    pub(crate) fn record_set(&self, set: &CounterSet) {
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

    /// Records the instances, unless all of the given patterns have matched.
    pub(crate) fn record_instances(&self, patterns: &[usize], set: &CounterSet, instances: &Instances) {
        let mut state = self.lock();
        if patterns.iter().all(|&index| state.matched.get(index) == Some(&true)) {
            return;
        }
        if let Some(known) = state.sets.get_mut(&*set.name)
            && known.instances.len() < MAX_INSTANCES
        {
            known.instances.extend(instances.iter().map(|instance| instance.label().to_owned()));
        }
    }

    /// Records that the path with this index selects a counter.
    pub(crate) fn record_match(&self, index: usize) {
        if let Some(matched) = self.lock().matched.get_mut(index) {
            *matched = true;
        }
    }
}

impl State {
    /// Suggests how to correct a path that has not matched.
    fn suggest_correction(&self, pattern: &PathPattern) -> Option<String> {
        let path = pattern.path();
        if path.machine.is_some() && !self.machines.iter().any(|machine| pattern.matches_machine(machine)) {
            let machines: Vec<_> = self.machines.iter().map(|machine| format!(r"'\\{machine}'")).collect();
            return Some(match machines.as_slice() {
                [] => "the log names no machine: omit the machine from the path".to_owned(),
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
            if let Some(question) = suggest_abbreviated(&path.set, "counter set", names()) {
                return Some(question);
            }
            let near = closest(&path.set, names().chain(english))?;
            return Some(format!("did you mean the counter set '{near}'?"));
        };
        if !counters.iter().any(|counter| pattern.matches_counter(counter)) {
            let names = || counters.iter().map(String::as_str);
            if let Some(question) = suggest_abbreviated(&path.counter, "counter", names()) {
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
                    return Some(format!("'{name}({wanted})' exists, but without this counter"));
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

fn is_abbreviation(short: &str, name: &str) -> bool {
    let mut words = name.split_whitespace();
    name.starts_with(short)
        || short.split_whitespace().all(|start| words.next().is_some_and(|word| word.starts_with(start)))
            && words.next().is_none()
}

/// Suggests the names that `wanted` abbreviates, unless it is very short: names that start with it, or that have as many words,
/// each of which starts with the word of `wanted`.
fn suggest_abbreviated<'a>(wanted: &str, kind: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    const MIN_LENGTH: usize = 3;
    const MAX_NAMES: usize = 4;
    let start = fold_case(wanted);
    if start.chars().count() < MIN_LENGTH {
        return None;
    }
    let mut names: Vec<_> = names.filter(|name| is_abbreviation(&start, &fold_case(name))).collect();
    // A name with exactly one more letter, such as a plural, is the best match.
    if let Some(index) = names.iter().position(|name| name.chars().count() == start.chars().count() + 1) {
        names = vec![names[index]];
    }
    let quoted = |names: &[&str]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    Some(match names.as_slice() {
        [] => return None,
        [name] => format!("did you mean the {kind} '{name}'?"),
        [some @ .., last] if names.len() <= MAX_NAMES => {
            format!("did you mean {} or '{last}'?", quoted(some))
        }
        names => format!(
            "did you mean {} or one of {} more?",
            quoted(&names[..MAX_NAMES - 1]),
            names.len() - (MAX_NAMES - 1)
        ),
    })
}

/// Whether a pattern matches the machine of this set, and its name or English name.
pub(crate) fn names_set(pattern: &PathPattern, set: &CounterSet) -> bool {
    pattern.matches_machine(&set.machine)
        && [Some(&set.name), set.english_name.as_ref()]
            .into_iter()
            .flatten()
            .any(|name| pattern.matches_set(name, set.has_instances))
}

/// Whether a pattern matches the instance of this set that has this label.
pub(crate) fn selects_row(pattern: &PathPattern, set: &CounterSet, label: &str) -> bool {
    pattern.matches_instance(set.has_instances.then_some(label))
}
