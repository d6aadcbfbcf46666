//! Paths with wildcards, and checking paths.

use std::collections::HashSet;

use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::set::Counter;

use crate::catalogue::{KnownSet, Part, is_counter_taken};
use crate::find::{MissingInstance, find};
use crate::{DataSource, PdhStatus, Result};

/// A wildcard in the counter stays as it is.
#[doc(alias = "PDH_NOEXPANDCOUNTERS")]
pub const NO_EXPAND_COUNTERS: u32 = 1;
/// A wildcard in the instance stays as it is.
#[doc(alias = "PDH_NOEXPANDINSTANCES")]
pub const NO_EXPAND_INSTANCES: u32 = 2;
/// Instances are looked up anew, which they always are.
#[doc(alias = "PDH_REFRESHCOUNTERS")]
pub const REFRESH_COUNTERS: u32 = 4;

impl DataSource {
    /// The paths that a path with wildcards takes. `*` and `?` may stand in any part but the machine.
    ///
    /// Names may be the source's own or English ones; the results have the source's own. A result has a machine where the
    /// path has one, and always over logs, which may be of several. Instances are those that there are now, of a log those
    /// of all its samples, with their numbers (`svchost#1`). A path without wildcards becomes itself, whether its instance
    /// is there or not; wildcards that take nothing give no path.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for no text and for unknown flags. [`PdhStatus::INVALID_PATH`] for what is no path,
    /// and where the instance has a wildcard and the set has no instances. [`PdhStatus::NO_MACHINE`],
    /// [`PdhStatus::NO_OBJECT`], [`PdhStatus::NO_COUNTER`]; [`PdhStatus::NO_INSTANCE`] for an instance of a set that has
    /// none, and the other way round. What reading a log, or the provider, fails with.
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
            Expansion { source: self, pattern, flags, known: HashSet::new(), paths: Vec::new() };
        expansion.expand()?;
        Ok(expansion.paths)
    }

    /// Whether a path names a counter, and its instance is there. A wildcard in the instance must take one.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] for no text, [`PdhStatus::BAD_COUNTERNAME`] for what is no path,
    /// [`PdhStatus::NO_MACHINE`], [`PdhStatus::NO_OBJECT`], [`PdhStatus::NO_COUNTER`], [`PdhStatus::NO_INSTANCE`].
    #[doc(alias = "PdhValidatePathW")]
    #[doc(alias = "PdhValidatePathA")]
    #[doc(alias = "PdhValidatePathExW")]
    #[doc(alias = "PdhValidatePathExA")]
    pub fn validate_path(&self, path: &str) -> Result<()> {
        if path.is_empty() {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        find(self, path, MissingInstance::Refused).map(|_| ())
    }
}

struct Expansion<'a> {
    source: &'a DataSource,
    pattern: PathPattern,
    flags: u32,
    known: HashSet<String>,
    paths: Vec<String>,
}

impl Expansion<'_> {
    fn expand(&mut self) -> Result<()> {
        let sets = self.source.sets_of(self.pattern.path().machine.as_deref())?;
        let mut refusal = Some(PdhStatus::NO_OBJECT);
        let wanted = self.pattern.set().clone();
        for set in sets.iter().filter(|set| set.is_taken(&wanted)) {
            match self.expand_set(set) {
                Ok(()) => refusal = None,
                Err(status @ (PdhStatus::NO_COUNTER | PdhStatus::NO_INSTANCE | PdhStatus::INVALID_PATH)) => {
                    refusal = refusal.map(|_| status);
                }
                // What cannot be read is not to be taken for empty, unless other sets are wanted too.
                Err(status) if wanted.is_literal() => return Err(status),
                Err(_) => {}
            }
        }
        refusal.map_or(Ok(()), Err)
    }

    fn expand_set(&mut self, set: &KnownSet) -> Result<()> {
        let is_wild = self.pattern.instance().is_some_and(|instance| !instance.is_literal());
        match (set.has_instances, self.pattern.instance().is_some()) {
            (false, true) if is_wild => return Err(PdhStatus::INVALID_PATH),
            (true, false) if set.is_per_process => {}
            (false, true) | (true, false) => return Err(PdhStatus::NO_INSTANCE),
            _ => {}
        }
        if !set.counters().any(|counter| is_counter_taken(counter, &self.pattern)) {
            return Err(PdhStatus::NO_COUNTER);
        }
        if !is_wild || self.flags & NO_EXPAND_INSTANCES != 0 {
            set.counters().for_each(|counter| self.push_as_given(set, counter));
            return Ok(());
        }
        for part in self.source.parts(set)?.iter() {
            self.expand_part(set, part);
        }
        Ok(())
    }

    /// The counters with the instance as the path has it.
    fn push_as_given(&mut self, set: &KnownSet, counter: &Counter) {
        if is_counter_taken(counter, &self.pattern) {
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
                if is_counter_taken(counter, &self.pattern) {
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
        if self.known.insert(text.clone()) {
            self.paths.push(text);
        }
    }
}
