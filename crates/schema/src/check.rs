//! Checking counter sets before they are registered.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;

use crate::companions::{CompanionFault, check_companions};
use crate::{CounterInfo, CounterSetInfo, CounterType, Text};

/// The scales that a counter can have, as powers of ten.
pub const SCALES: RangeInclusive<i32> = -10..=10;

/// No counter can have this id, because it means all counters in a query.
const WILDCARD_ID: u32 = u32::MAX;

/// Whether PerfLib V2 allows a detail level: 100 (novice) or 200 (advanced).
pub const fn is_detail_level(level: u32) -> bool {
    matches!(level, 100 | 200)
}

/// Why a counter set cannot be registered. The message names the set, the counter if a counter is invalid, and
/// the violated rule.
#[derive(Clone, Debug, PartialEq)]
pub struct RegistrationError {
    /// The name of the set.
    set: Text,
    /// The id and the name of the invalid counter, if any.
    counter: Option<(u32, Text)>,
    violation: Violation,
}

/// The violated rule.
#[derive(Clone, Debug, PartialEq)]
enum Violation {
    CounterCount(usize),
    DetailLevel(u32),
    Scale(i32),
    NameTooLong,
    ReservedId,
    RepeatedId,
    RepeatedName,
    Companion(CompanionFault),
}

impl RegistrationError {
    /// The id of the invalid counter; `None` if the set itself is invalid.
    pub fn counter_id(&self) -> Option<u32> {
        self.counter.as_ref().map(|(id, _)| *id)
    }
}

impl fmt::Display for RegistrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "counter set '{}'", self.set)?;
        if let Some((id, name)) = &self.counter {
            write!(f, ", counter {id} '{name}'")?;
        }
        f.write_str(": ")?;
        match &self.violation {
            Violation::CounterCount(count) => {
                write!(f, "it has {count} counters, not 1 to {}", CounterSetInfo::MAX_COUNTERS)
            }
            Violation::DetailLevel(level) => write!(f, "its detail level is {level}, not 100 or 200"),
            Violation::Scale(scale) => {
                write!(f, "its default scale is {scale}, not {} to {}", SCALES.start(), SCALES.end())
            }
            Violation::NameTooLong => {
                write!(f, "its name has more than {} UTF-16 units", CounterSetInfo::MAX_NAME)
            }
            Violation::ReservedId => f.write_str("its id is reserved: it means all counters"),
            Violation::RepeatedId => f.write_str("another counter has its id"),
            Violation::RepeatedName => f.write_str("another counter has its name"),
            Violation::Companion(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RegistrationError {}

impl CounterSetInfo {
    /// Checks that the set has 1 to [`MAX_COUNTERS`](Self::MAX_COUNTERS) counters, ids and names are valid and unique,
    /// detail levels are 100 or 200, scales are in [`SCALES`], and each counter's companions (base, time, frequency and
    /// multiplier) exist, are other counters, and have the types that the counter's type needs.
    ///
    /// # Errors
    ///
    /// The first violated rule.
    pub fn check(&self) -> Result<(), RegistrationError> {
        let set_error =
            |violation| Err(RegistrationError { set: self.name.clone(), counter: None, violation });
        if !(1..=Self::MAX_COUNTERS).contains(&self.counters.len()) {
            return set_error(Violation::CounterCount(self.counters.len()));
        }
        if !is_detail_level(self.detail_level) {
            return set_error(Violation::DetailLevel(self.detail_level));
        }
        if is_too_long(&self.name) {
            return set_error(Violation::NameTooLong);
        }
        let mut types: Vec<_> =
            self.counters.iter().map(|counter| (counter.id, counter.counter_type)).collect();
        types.sort_unstable();
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for counter in &self.counters {
            let violation = if !ids.insert(counter.id) {
                Some(Violation::RepeatedId)
            } else if !counter.name.is_empty() && !names.insert(counter.name.to_lowercase()) {
                // Several counters can have an empty name, since counters that are not displayed do not need a name.
                Some(Violation::RepeatedName)
            } else {
                counter.find_violation(&types)
            };
            if let Some(violation) = violation {
                let counter = Some((counter.id, counter.name.clone()));
                return Err(RegistrationError { set: self.name.clone(), counter, violation });
            }
        }
        Ok(())
    }
}

impl CounterInfo {
    /// The first rule that the counter violates. `types` has the id and type of each counter of the set, sorted by id.
    fn find_violation(&self, types: &[(u32, CounterType)]) -> Option<Violation> {
        if self.id == WILDCARD_ID {
            Some(Violation::ReservedId)
        } else if is_too_long(&self.name) {
            Some(Violation::NameTooLong)
        } else if !is_detail_level(self.detail_level) {
            Some(Violation::DetailLevel(self.detail_level))
        } else if !SCALES.contains(&self.default_scale) {
            Some(Violation::Scale(self.default_scale))
        } else {
            let checked = check_companions(self.id, self.counter_type, self.companion_ids(), Some(types));
            checked.err().map(Violation::Companion)
        }
    }
}

fn is_too_long(name: &str) -> bool {
    name.encode_utf16().count() > CounterSetInfo::MAX_NAME
}

#[cfg(test)]
mod tests;
