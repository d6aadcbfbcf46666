//! Paths with wildcards.

use std::fmt;
use std::str::FromStr;

use super::{CounterPath, InstanceName, PathError, split_index};
use crate::wildcard::{Pattern, eq_ignore_case};

/// A path that selects counters. Each part can contain the wildcards `*` and `?`.
///
/// Case is ignored. The rules are:
///
/// * A path without a machine selects every machine.
/// * A path without an instance selects only sets without instances. A path with an instance selects sets with
///   instances. If neither the set nor the instance has a wildcard, it also selects a set without instances whose name
///   is `set(instance)`.
/// * The instance is compared with the whole *displayed name* of a candidate, `parent/name#index`, in which an index of
///   0 is omitted. `svchost` selects only the first instance, `svchost#2` the third one (or one whose name is
///   `svchost#2`), `svchost*` all of them, and `*` every instance with any parent and index. `*` also matches `/` and
///   `#`.
/// * If a pattern ends in `#` and an index, or in `#` and wildcards, a candidate without an index
///   ([`split_index`](super::split_index)) is also treated as if it ended in `#0`: `svchost#*` selects `svchost` and
///   `svchost#1`, and `svchost#0` selects `svchost`.
/// * A `/` in the pattern must match a `/` in the candidate: `*/*#*` selects `explorer/7`, but not `svchost`.
///
/// ```
/// use tachograph_counters::path::PathPattern;
/// let pattern: PathPattern = r"\Process(svchost#*)\*".parse()?;
/// assert!(pattern.matches("WEB1", "process", Some("svchost"), "Thread Count"));
/// assert!(pattern.matches("WEB1", "process", Some("svchost#3"), "Thread Count"));
/// assert!(!pattern.matches("WEB1", "process", Some("explorer"), "Thread Count"));
/// assert!(!pattern.matches("WEB1", "process", None, "Thread Count"));
/// # Ok::<(), tachograph_counters::path::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathPattern {
    path: CounterPath,
    machine: Option<Pattern>,
    set: Pattern,
    /// `set(instance)`, if neither has a wildcard. This can be the name of a set without instances.
    set_with_instance: Option<Box<str>>,
    instance: Option<InstancePattern>,
    counter: Pattern,
}

/// A pattern for the displayed names of instances.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct InstancePattern {
    /// Matches the whole displayed name, `parent/name#index`.
    full_name: Pattern,
    /// The pattern before the last `#`, if the pattern after the `#` can match index 0. A displayed name without an
    /// index is also selected if it matches the pattern before the `#`.
    without_index: Option<Pattern>,
}

impl InstancePattern {
    fn new(text: &str) -> Self {
        let without_index = text.rsplit_once('#').and_then(|(name, index)| {
            let can_be_index = !name.is_empty()
                && !index.is_empty()
                && index.bytes().all(|byte| byte.is_ascii_digit() || byte == b'*' || byte == b'?');
            (can_be_index && Pattern::new(index).matches("0")).then(|| Pattern::new(name))
        });
        Self { full_name: Pattern::new(text), without_index }
    }

    fn matches(&self, display: &str) -> bool {
        self.full_name.matches(display)
            || self
                .without_index
                .as_ref()
                .is_some_and(|name| name.matches(display) && split_index(display).1 == 0)
    }
}

impl PathPattern {
    /// Parses a path and compiles its wildcards.
    ///
    /// # Errors
    ///
    /// See [`CounterPath::parse`].
    pub fn parse(text: &str) -> Result<Self, PathError> {
        CounterPath::parse(text).map(Self::from)
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &CounterPath {
        &self.path
    }

    /// The pattern for any machine.
    #[must_use]
    pub fn without_machine(&self) -> Self {
        match self.path.machine {
            Some(_) => CounterPath { machine: None, ..self.path.clone() }.into(),
            None => self.clone(),
        }
    }

    /// Whether no part except the machine has a wildcard. Then at most one counter of a machine is selected.
    #[must_use]
    pub fn is_literal(&self) -> bool {
        self.set.is_literal()
            && self.counter.is_literal()
            && self.instance.as_ref().is_none_or(|instance| instance.full_name.is_literal())
    }

    /// The pattern of the set.
    #[must_use]
    pub fn set(&self) -> &Pattern {
        &self.set
    }

    /// The pattern of the instance; `None` if only sets without instances are selected.
    #[must_use]
    pub fn instance(&self) -> Option<&Pattern> {
        self.instance.as_ref().map(|instance| &instance.full_name)
    }

    /// The pattern of the counter.
    #[must_use]
    pub fn counter(&self) -> &Pattern {
        &self.counter
    }

    /// Whether the pattern selects this machine. The name can begin with two backslashes.
    #[must_use]
    pub fn matches_machine(&self, machine: &str) -> bool {
        let name = machine.strip_prefix(r"\\").unwrap_or(machine);
        self.machine.as_ref().is_none_or(|wanted| wanted.matches(name))
    }

    /// Whether the name of a set matches, regardless of whether the set has instances. Used to make suggestions
    /// for a path that selects nothing.
    #[must_use]
    pub fn matches_set_name(&self, set: &str) -> bool {
        self.set.matches(set)
    }

    /// Whether the pattern selects a counter set with this name.
    #[must_use]
    pub fn matches_set(&self, set: &str, has_instances: bool) -> bool {
        if self.instance.is_some() == has_instances {
            return self.set.matches(set);
        }
        let is_whole_name = |name: &str| eq_ignore_case(name, set);
        !has_instances && self.set_with_instance.as_deref().is_some_and(is_whole_name)
    }

    /// Whether the pattern selects an instance of a [selected set](Self::matches_set). `instance` is its displayed
    /// name, or `None` for a set without instances.
    #[must_use]
    pub fn matches_instance(&self, instance: Option<&str>) -> bool {
        match (&self.instance, instance) {
            (None, None) => true,
            (Some(_), None) => self.set_with_instance.is_some(),
            (Some(pattern), Some(display)) => pattern.matches(display),
            (None, Some(_)) => false,
        }
    }

    /// Whether the pattern selects a counter with this name.
    #[must_use]
    pub fn matches_counter(&self, counter: &str) -> bool {
        self.counter.matches(counter)
    }

    /// Whether the pattern selects a counter with these parts. `instance` is the displayed name, or `None` for a set
    /// without instances.
    #[must_use]
    pub fn matches(&self, machine: &str, set: &str, instance: Option<&str>, counter: &str) -> bool {
        self.matches_set(set, instance.is_some())
            && self.matches_counter(counter)
            && self.matches_instance(instance)
            && self.matches_machine(machine)
    }
}

impl From<CounterPath> for PathPattern {
    fn from(path: CounterPath) -> Self {
        let set = Pattern::new(&path.set);
        let instance = path.instance.as_ref().map(|instance| InstancePattern::new(instance.as_str()));
        let is_literal =
            set.is_literal() && instance.as_ref().is_some_and(|part| part.full_name.is_literal());
        let name = |instance: &InstanceName| format!("{}({})", path.set, instance.as_str()).into_boxed_str();
        Self {
            set_with_instance: path.instance.as_ref().filter(|_| is_literal).map(name),
            machine: path.machine.as_deref().map(Pattern::new),
            set,
            instance,
            counter: Pattern::new(&path.counter),
            path,
        }
    }
}

impl FromStr for PathPattern {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}
