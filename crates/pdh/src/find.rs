//! From a path to the counter that it names.

use std::sync::Arc;

use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::set::Counter;
use tachograph_counters::wildcard::Pattern;

use crate::catalogue::{KnownSet, Part, is_counter_named};
use crate::{DataSource, PdhStatus, Result};

/// A counter that a path names, of one instance or of those that a pattern takes.
#[derive(Clone)]
pub(crate) struct Found {
    /// The path with the source's own names, the machine always there where it has a name.
    pub(crate) pattern: PathPattern,
    /// Whether the instance has wildcards.
    pub(crate) is_wild: bool,
    /// Whether the path has no instance, and means every process that publishes the set.
    pub(crate) is_of_processes: bool,
    pub(crate) counter: Counter,
    /// What the counter counts.
    pub(crate) help: Arc<str>,
}

/// What becomes of an instance that there is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingInstance {
    /// It may come later.
    Allowed,
    /// [`PdhStatus::NO_INSTANCE`].
    Refused,
}

/// Reads a path.
///
/// # Errors
///
/// [`PdhStatus::NO_COUNTERNAME`] for no text, [`PdhStatus::BAD_COUNTERNAME`] for what is no path.
pub(crate) fn read(path: &str) -> Result<CounterPath> {
    if path.is_empty() {
        return Err(PdhStatus::NO_COUNTERNAME);
    }
    CounterPath::parse(path).map_err(|_| PdhStatus::BAD_COUNTERNAME)
}

/// The counter that a path names. The instance may have wildcards; set and counter are names.
///
/// # Errors
///
/// [`PdhStatus::NO_COUNTERNAME`], [`PdhStatus::BAD_COUNTERNAME`], [`PdhStatus::NO_MACHINE`], [`PdhStatus::NO_OBJECT`],
/// [`PdhStatus::NO_COUNTER`], and [`PdhStatus::NO_INSTANCE`] where the path has an instance and the set has none, the other
/// way round, or where one is missing that may not.
pub(crate) fn find(source: &DataSource, path: &str, missing: MissingInstance) -> Result<Found> {
    let path = read(path)?;
    let sets = source.sets_of(path.machine.as_deref())?;
    let mut refusal = PdhStatus::NO_OBJECT;
    // A log may have the set of several machines: the first that has it all is meant.
    for set in sets.iter().filter(|set| set.is_named(&path.set)) {
        if let Some(counter) = set.counters().find(|counter| is_counter_named(counter, &path.counter)) {
            match in_set(source, set, counter, &path, missing) {
                Ok(found) => return Ok(found),
                Err(status) => refusal = status,
            }
        } else if refusal == PdhStatus::NO_OBJECT {
            refusal = PdhStatus::NO_COUNTER;
        }
    }
    Err(refusal)
}

fn in_set(
    source: &DataSource,
    set: &KnownSet,
    counter: &Counter,
    path: &CounterPath,
    missing: MissingInstance,
) -> Result<Found> {
    let is_of_processes = set.is_per_process && path.instance.is_none();
    if set.has_instances != path.instance.is_some() && !is_of_processes {
        return Err(PdhStatus::NO_INSTANCE);
    }
    let mut instance = path.instance.clone().or(is_of_processes.then(|| InstanceName::from("*")));
    let mut is_wild = false;
    if let Some(name) = &mut instance {
        is_wild = !Pattern::new(name.as_str()).is_literal();
        let first = first_of(name);
        // What may be missing need not be looked for.
        if missing == MissingInstance::Refused || first.is_some() {
            match source.parts(set) {
                Ok(parts) => {
                    // `x#0` is the first `x`, unless an instance is named so.
                    if let Some(first) = first.filter(|_| !has_label(&parts, name.as_str())) {
                        *name = first;
                    }
                    if missing == MissingInstance::Refused && !has_instance(&parts, counter, name) {
                        return Err(PdhStatus::NO_INSTANCE);
                    }
                }
                // A provider that fails now may answer later.
                Err(_) if missing == MissingInstance::Allowed => {}
                Err(status) => return Err(status),
            }
        }
    }
    let own = CounterPath {
        machine: (!set.machine.is_empty()).then(|| set.machine.to_string()),
        set: set.name.to_string(),
        instance,
        counter: counter.name.to_string(),
    };
    let help = set.help(&counter.name);
    Ok(Found { pattern: own.into(), is_wild, is_of_processes, counter: counter.clone(), help })
}

/// The name without an index of 0.
fn first_of(name: &InstanceName) -> Option<InstanceName> {
    name.as_str().strip_suffix("#0").filter(|name| !name.is_empty()).map(InstanceName::from)
}

fn has_label(parts: &[Part], label: &str) -> bool {
    parts.iter().flat_map(|part| &part.instances).any(|instance| instance.label() == label)
}

/// Whether an instance with the counter is there that the name, or pattern, takes.
fn has_instance(parts: &[Part], counter: &Counter, name: &InstanceName) -> bool {
    let path = CounterPath {
        machine: None,
        set: "set".to_owned(),
        instance: Some(name.clone()),
        counter: "counter".to_owned(),
    };
    let pattern = PathPattern::from(path);
    let with_counter = parts
        .iter()
        .filter(|part| part.set.counters.iter().any(|known| is_counter_named(known, &counter.name)));
    with_counter
        .flat_map(|part| &part.instances)
        .any(|instance| pattern.matches_instance(Some(instance.label())))
}
