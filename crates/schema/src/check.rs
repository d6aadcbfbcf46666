//! What a registration must hold.

use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;

use crate::companions::{CompanionFault, check_companions};
use crate::{CounterInfo, CounterSetInfo, CounterType, Text};

/// The scales that a counter can have, exponents of ten.
pub const SCALES: RangeInclusive<i32> = -10..=10;

/// The id that stands for all counters.
const WILDCARD_ID: u32 = u32::MAX;

/// Whether a detail level is one of the two of PerfLib V2.
pub const fn is_detail_level(level: u32) -> bool {
    matches!(level, 100 | 200)
}

/// Why a counter set cannot be registered: the set, the counter where it is one, and what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct RegistrationError {
    set: Text,
    counter: Option<(u32, Text)>,
    wrong: Wrong,
}

#[derive(Clone, Debug, PartialEq)]
enum Wrong {
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
    /// Id of the counter that is wrong; `None` where the set is.
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
        match &self.wrong {
            Wrong::CounterCount(count) => {
                write!(f, "it has {count} counters, not 1 to {}", CounterSetInfo::MAX_COUNTERS)
            }
            Wrong::DetailLevel(level) => write!(f, "its detail level is {level}, not 100 or 200"),
            Wrong::Scale(scale) => {
                write!(f, "its default scale is {scale}, not {} to {}", SCALES.start(), SCALES.end())
            }
            Wrong::LongName => {
                write!(f, "its name has more than {} characters of UTF-16", CounterSetInfo::MAX_NAME)
            }
            Wrong::Wildcard => f.write_str("its id stands for all counters"),
            Wrong::RepeatedId => f.write_str("another counter has its id"),
            Wrong::RepeatedName => f.write_str("another counter has its name"),
            Wrong::Companion(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for RegistrationError {}

impl CounterSetInfo {
    /// Checks what a registration must hold: at least one counter, ids and names unique, detail levels 100 or 200, scales
    /// -10 to 10, companions that exist, are not the counter itself and have the type that the counter's type needs.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), RegistrationError> {
        let of_set = |wrong| Err(RegistrationError { set: self.name.clone(), counter: None, wrong });
        if !(1..=Self::MAX_COUNTERS).contains(&self.counters.len()) {
            return of_set(Wrong::CounterCount(self.counters.len()));
        }
        if !is_detail_level(self.detail_level) {
            return of_set(Wrong::DetailLevel(self.detail_level));
        }
        if is_long(&self.name) {
            return of_set(Wrong::LongName);
        }
        let mut types: Vec<_> =
            self.counters.iter().map(|counter| (counter.id, counter.counter_type)).collect();
        types.sort_unstable();
        let (mut ids, mut names) = (HashSet::new(), HashSet::new());
        for counter in &self.counters {
            let wrong = if !ids.insert(counter.id) {
                Some(Wrong::RepeatedId)
            } else if !counter.name.is_empty() && !names.insert(counter.name.to_lowercase()) {
                // Counters that are not shown need no name.
                Some(Wrong::RepeatedName)
            } else {
                counter.find_wrong(&types)
            };
            if let Some(wrong) = wrong {
                let counter = Some((counter.id, counter.name.clone()));
                return Err(RegistrationError { set: self.name.clone(), counter, wrong });
            }
        }
        Ok(())
    }
}

impl CounterInfo {
    fn find_wrong(&self, types: &[(u32, CounterType)]) -> Option<Wrong> {
        if self.id == WILDCARD_ID {
            Some(Wrong::Wildcard)
        } else if is_long(&self.name) {
            Some(Wrong::LongName)
        } else if !is_detail_level(self.detail_level) {
            Some(Wrong::DetailLevel(self.detail_level))
        } else if !SCALES.contains(&self.default_scale) {
            Some(Wrong::Scale(self.default_scale))
        } else {
            let checked = check_companions(self.id, self.counter_type, self.companion_ids(), Some(types));
            checked.err().map(Wrong::Companion)
        }
    }
}

fn is_long(name: &str) -> bool {
    name.encode_utf16().count() > CounterSetInfo::MAX_NAME
}

#[cfg(test)]
mod tests;
