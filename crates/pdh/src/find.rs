//! Finds the counter for a path.

use std::sync::Arc;

use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::set::Counter;
use tachograph_counters::wildcard::Pattern;
use tachograph_perflib::Registry;

use crate::known_sets::{KnownSet, Part, is_counter_named};
use crate::{DataSource, PdhStatus, Result};

/// The counter that a path names, with one instance or a pattern for instances.
#[derive(Clone)]
pub(crate) struct FoundCounter {
    /// The path with the source's own names, including the machine if it has a name.
    pub(crate) pattern: PathPattern,
    /// Whether the instance has wildcards.
    pub(crate) has_wildcard: bool,
    /// Whether the path omits the instance and thus selects all processes that publish the set.
    pub(crate) selects_all_processes: bool,
    pub(crate) counter: Counter,
    pub(crate) help: Arc<str>,
    /// The counter sets of the counter's machine; `None` for logs.
    pub(crate) registry: Option<Arc<Registry>>,
}

/// How a missing instance is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingInstance {
    /// A missing instance is allowed, because it may appear later.
    Allowed,
    /// The search fails with [`PdhStatus::NO_INSTANCE`].
    Error,
}

/// Parses a path.
///
/// # Errors
///
/// [`PdhStatus::NO_COUNTERNAME`] for an empty path, [`PdhStatus::BAD_COUNTERNAME`] for a malformed one.
pub(crate) fn parse(path: &str) -> Result<CounterPath> {
    if path.is_empty() {
        return Err(PdhStatus::NO_COUNTERNAME);
    }
    CounterPath::parse(path).map_err(|_| PdhStatus::BAD_COUNTERNAME)
}

/// Finds the counter that a path names. Only the instance may contain wildcards.
///
/// # Errors
///
/// [`PdhStatus::NO_COUNTERNAME`], [`PdhStatus::BAD_COUNTERNAME`], [`PdhStatus::NO_MACHINE`], [`PdhStatus::NO_OBJECT`],
/// [`PdhStatus::NO_COUNTER`] if the source does not have the machine, set or counter; [`PdhStatus::NO_INSTANCE`] if the
/// path names an instance and the set is single-instance, or vice versa, and for a missing instance with
/// [`MissingInstance::Error`].
pub(crate) fn find(source: &DataSource, path: &str, missing: MissingInstance) -> Result<FoundCounter> {
    let path = parse(path)?;
    let sets = source.sets_of(path.machine.as_deref())?;
    let mut error = PdhStatus::NO_OBJECT;
    // In a log, several machines may have the set: the first complete match is used.
    for set in sets.iter().filter(|set| set.is_named(&path.set)) {
        if let Some(counter) = set.counters().find(|counter| is_counter_named(counter, &path.counter)) {
            match find_in_set(source, set, counter, &path, missing) {
                Ok(found) => return Ok(found),
                Err(status) => error = status,
            }
        } else if error == PdhStatus::NO_OBJECT {
            error = PdhStatus::NO_COUNTER;
        }
    }
    Err(error)
}

fn find_in_set(
    source: &DataSource,
    set: &KnownSet,
    counter: &Counter,
    path: &CounterPath,
    missing: MissingInstance,
) -> Result<FoundCounter> {
    let selects_all_processes = set.is_per_process && path.instance.is_none();
    if set.has_instances != path.instance.is_some() && !selects_all_processes {
        return Err(PdhStatus::NO_INSTANCE);
    }
    let mut instance = path.instance.clone().or(selects_all_processes.then(|| InstanceName::from("*")));
    let mut has_wildcard = false;
    if let Some(name) = &mut instance {
        has_wildcard = !Pattern::new(name.as_str()).is_literal();
        let first = without_index_0(name);
        // If a missing instance is allowed, only names that end in `#0` must be looked up.
        if missing == MissingInstance::Error || first.is_some() {
            match source.parts(set) {
                Ok(parts) => {
                    // `x#0` means the first `x`, unless an instance is really named `x#0`.
                    if let Some(first) = first.filter(|_| !has_label(&parts, name.as_str())) {
                        *name = first;
                    }
                    if missing == MissingInstance::Error && !has_instance(&parts, counter, name) {
                        return Err(PdhStatus::NO_INSTANCE);
                    }
                }
                // A provider that fails now may succeed later.
                Err(_) if missing == MissingInstance::Allowed => {}
                Err(status) => return Err(status),
            }
        }
    }
    let full_path = CounterPath {
        machine: (!set.machine.is_empty()).then(|| set.machine.to_string()),
        set: set.name.to_string(),
        instance,
        counter: counter.name.to_string(),
    };
    let help = set.help(&counter.name);
    Ok(FoundCounter {
        pattern: full_path.into(),
        has_wildcard,
        selects_all_processes,
        counter: counter.clone(),
        help,
        registry: set.live().map(|live| Arc::clone(&live.registry)),
    })
}

/// The name without its suffix `#0`; `None` if it has no such suffix.
fn without_index_0(name: &InstanceName) -> Option<InstanceName> {
    name.as_str().strip_suffix("#0").filter(|name| !name.is_empty()).map(InstanceName::from)
}

fn has_label(parts: &[Part], label: &str) -> bool {
    parts.iter().flat_map(|part| &part.instances).any(|instance| instance.label() == label)
}

/// Whether a name or pattern matches an instance that has the counter.
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
