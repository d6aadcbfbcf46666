//! Expands and validates paths with wildcards.

use std::collections::HashSet;

use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::set::Counter;

use crate::find::{MissingInstance, find};
use crate::known_sets::{KnownSet, Part, counter_matches};
use crate::{DataSource, PdhStatus, Result};

/// Does not expand a wildcard in the counter.
#[doc(alias = "PDH_NOEXPANDCOUNTERS")]
pub const NO_EXPAND_COUNTERS: u32 = 1;
/// Does not expand a wildcard in the instance.
#[doc(alias = "PDH_NOEXPANDINSTANCES")]
pub const NO_EXPAND_INSTANCES: u32 = 2;
/// Has no effect: a machine's counters and instances are always re-read.
#[doc(alias = "PDH_REFRESHCOUNTERS")]
pub const REFRESH_COUNTERS: u32 = 4;

impl DataSource {
    /// Expands a path to the paths that match it. `*` and `?` may be in any part except the machine.
    ///
    /// The path may contain the source's own names or English names; the results contain the source's own names, and
    /// the machine if the path does or the source is a log. For a machine, the current instances are matched; for a
    /// log, the instances in all of its samples. Instance names include the index (`svchost#1`). An instance without
    /// wildcards need not exist. If no instance matches, the result is empty.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for an empty path and for unknown flags. [`PdhStatus::INVALID_PATH`] for a
    /// malformed path, and for a wildcard in the instance of a set without instances. [`PdhStatus::NO_MACHINE`],
    /// [`PdhStatus::NO_OBJECT`], [`PdhStatus::NO_COUNTER`] if the source does not have the machine, set or counter;
    /// [`PdhStatus::NO_INSTANCE`] if the path names an instance and the set is single-instance, or vice versa. Also
    /// errors of the provider, and errors while reading a log.
    #[doc(alias = "PdhExpandWildCardPathW")]
    #[doc(alias = "PdhExpandWildCardPathA")]
    #[doc(alias = "PdhExpandWildCardPathHW")]
    #[doc(alias = "PdhExpandCounterPathW")]
    #[doc(alias = "PdhExpandCounterPathA")]
    pub fn expand_wild_card_path(&self, path: &str, flags: u32) -> Result<Vec<String>> {
        if path.is_empty() || flags & !(NO_EXPAND_COUNTERS | NO_EXPAND_INSTANCES | REFRESH_COUNTERS) != 0 {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        let pattern = PathPattern::parse(path).map_err(|_| PdhStatus::INVALID_PATH)?;
        let mut expansion =
            Expansion { source: self, pattern, flags, found_paths: HashSet::new(), paths: Vec::new() };
        expansion.expand()?;
        Ok(expansion.paths)
    }

    /// Checks that a path names a counter with an existing instance. A wildcard must match at least one instance.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for an empty path, [`PdhStatus::BAD_COUNTERNAME`] for a malformed one,
    /// [`PdhStatus::NO_MACHINE`], [`PdhStatus::NO_OBJECT`], [`PdhStatus::NO_COUNTER`] if the source does not have the
    /// machine, set or counter, and [`PdhStatus::NO_INSTANCE`] if no instance matches.
    #[doc(alias = "PdhValidatePathW")]
    #[doc(alias = "PdhValidatePathA")]
    #[doc(alias = "PdhValidatePathExW")]
    #[doc(alias = "PdhValidatePathExA")]
    pub fn validate_path(&self, path: &str) -> Result<()> {
        if path.is_empty() {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        find(self, path, MissingInstance::Error).map(|_| ())
    }
}

/// The expansion of one path.
struct Expansion<'a> {
    source: &'a DataSource,
    pattern: PathPattern,
    flags: u32,
    /// The paths found so far, to detect duplicates.
    found_paths: HashSet<String>,
    /// The paths found so far, in order.
    paths: Vec<String>,
}

impl Expansion<'_> {
    fn expand(&mut self) -> Result<()> {
        let sets = self.source.sets_of(self.pattern.path().machine.as_deref())?;
        let mut error = Some(PdhStatus::NO_OBJECT);
        let pattern = self.pattern.set().clone();
        for set in sets.iter().filter(|set| set.matches(&pattern)) {
            match self.expand_set(set) {
                Ok(()) => error = None,
                Err(status @ (PdhStatus::NO_COUNTER | PdhStatus::NO_INSTANCE | PdhStatus::INVALID_PATH)) => {
                    error = error.map(|_| status);
                }
                // An unreadable set is an error only if the path names it exactly.
                Err(status) if pattern.is_literal() => return Err(status),
                Err(_) => {}
            }
        }
        error.map_or(Ok(()), Err)
    }

    fn expand_set(&mut self, set: &KnownSet) -> Result<()> {
        let has_wildcard = self.pattern.instance().is_some_and(|instance| !instance.is_literal());
        match (set.has_instances, self.pattern.instance().is_some()) {
            (false, true) if has_wildcard => return Err(PdhStatus::INVALID_PATH),
            (true, false) if set.is_per_process => {}
            (false, true) | (true, false) => return Err(PdhStatus::NO_INSTANCE),
            _ => {}
        }
        if !set.counters().any(|counter| counter_matches(counter, &self.pattern)) {
            return Err(PdhStatus::NO_COUNTER);
        }
        if !has_wildcard || self.flags & NO_EXPAND_INSTANCES != 0 {
            set.counters().for_each(|counter| self.push_unexpanded(set, counter));
            return Ok(());
        }
        for part in self.source.parts(set)?.iter() {
            self.expand_part(set, part);
        }
        Ok(())
    }

    /// Adds a counter's path, with the instance unchanged from the pattern.
    fn push_unexpanded(&mut self, set: &KnownSet, counter: &Counter) {
        if counter_matches(counter, &self.pattern) {
            let instance = self.pattern.path().instance.clone();
            self.push(set, instance, &counter.name);
        }
    }

    fn expand_part(&mut self, set: &KnownSet, part: &Part) {
        for instance in &part.instances {
            if !self.pattern.matches_instance(Some(instance.label())) {
                continue;
            }
            for counter in &part.set.counters {
                if counter_matches(counter, &self.pattern) {
                    self.push(set, Some(InstanceName::from(instance.label())), &counter.name);
                }
            }
        }
    }

    fn push(&mut self, set: &KnownSet, instance: Option<InstanceName>, counter: &str) {
        let has_machine = self.pattern.path().machine.is_some() || !self.source.is_real_time();
        let keeps_counter = self.flags & NO_EXPAND_COUNTERS != 0 && !self.pattern.counter().is_literal();
        let path = CounterPath {
            machine: (has_machine && !set.machine.is_empty()).then(|| set.machine.to_string()),
            set: set.name.to_string(),
            instance,
            counter: if keeps_counter { self.pattern.path().counter.clone() } else { counter.to_owned() },
        };
        let text = path.to_string();
        if self.found_paths.insert(text.clone()) {
            self.paths.push(text);
        }
    }
}
