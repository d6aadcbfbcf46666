//! Checking counter sets before they are registered.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;

use crate::companions::{CompanionFault, check_companions};
use crate::{CounterInfo, CounterSetInfo, CounterType, Text};

/// The scales that a counter can have, as powers of ten.
pub const SCALES: RangeInclusive<i32> = -10..=10;

/// The id that represents all counters, so no counter can have it.
const WILDCARD_ID: u32 = u32::MAX;

/// Whether a detail level is one of the two that PerfLib V2 allows.
pub const fn is_detail_level(level: u32) -> bool {
    matches!(level, 100 | 200)
}

/// Why a counter set cannot be registered. The message has the set, the counter if one is at fault, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct RegistrationError {
    set: Text,
    counter: Option<(u32, Text)>,
    fault: Fault,
}

#[derive(Clone, Debug, PartialEq)]
enum Fault {
    CounterCount(usize),
    DetailLevel(u32),
    Scale(i32),
    LongName,
    Wildcard,
    RepeatedId,
    RepeatedName,
    Companion(CompanionFault),
}

impl RegistrationError {
    /// The id of the counter that is at fault; `None` if it is the set itself.
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
        match &self.fault {
            Fault::CounterCount(count) => {
                write!(f, "it has {count} counters, not 1 to {}", CounterSetInfo::MAX_COUNTERS)
            }
            Fault::DetailLevel(level) => write!(f, "its detail level is {level}, not 100 or 200"),
            Fault::Scale(scale) => {
                write!(f, "its default scale is {scale}, not {} to {}", SCALES.start(), SCALES.end())
            }
            Fault::LongName => {
                write!(f, "its name has more than {} characters of UTF-16", CounterSetInfo::MAX_NAME)
            }
            Fault::Wildcard => f.write_str("its id stands for all counters"),
            Fault::RepeatedId => f.write_str("another counter has its id"),
            Fault::RepeatedName => f.write_str("another counter has its name"),
            Fault::Companion(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for RegistrationError {}

impl CounterSetInfo {
    /// Checks that the set has 1 to [`MAX_COUNTERS`](Self::MAX_COUNTERS) counters, ids and names are valid and unique,
    /// detail levels are 100 or 200, scales are in [`SCALES`], and companions exist, are not the counter itself and
    /// have the type that the counter's type needs.
    ///
    /// # Errors
    ///
    /// The first fault that is found.
    pub fn check(&self) -> Result<(), RegistrationError> {
        let of_set = |fault| Err(RegistrationError { set: self.name.clone(), counter: None, fault });
        if !(1..=Self::MAX_COUNTERS).contains(&self.counters.len()) {
            return of_set(Fault::CounterCount(self.counters.len()));
        }
        if !is_detail_level(self.detail_level) {
            return of_set(Fault::DetailLevel(self.detail_level));
        }
        if is_long(&self.name) {
            return of_set(Fault::LongName);
        }
        let mut types: Vec<_> =
            self.counters.iter().map(|counter| (counter.id, counter.counter_type)).collect();
        types.sort_unstable();
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for counter in &self.counters {
            let fault = if !ids.insert(counter.id) {
                Some(Fault::RepeatedId)
            } else if !counter.name.is_empty() && !names.insert(counter.name.to_lowercase()) {
                // Several counters can have an empty name, since those that are not displayed do not need one.
                Some(Fault::RepeatedName)
            } else {
                counter.find_fault(&types)
            };
            if let Some(fault) = fault {
                let counter = Some((counter.id, counter.name.clone()));
                return Err(RegistrationError { set: self.name.clone(), counter, fault });
            }
        }
        Ok(())
    }
}

impl CounterInfo {
    fn find_fault(&self, types: &[(u32, CounterType)]) -> Option<Fault> {
        if self.id == WILDCARD_ID {
            Some(Fault::Wildcard)
        } else if is_long(&self.name) {
            Some(Fault::LongName)
        } else if !is_detail_level(self.detail_level) {
            Some(Fault::DetailLevel(self.detail_level))
        } else if !SCALES.contains(&self.default_scale) {
            Some(Fault::Scale(self.default_scale))
        } else {
            let checked = check_companions(self.id, self.counter_type, self.companion_ids(), Some(types));
            checked.err().map(Fault::Companion)
        }
    }
}

fn is_long(name: &str) -> bool {
    name.encode_utf16().count() > CounterSetInfo::MAX_NAME
}

#[cfg(test)]
mod tests;
