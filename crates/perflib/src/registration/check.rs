//! What a registration must hold.

mod companions;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

pub(super) use companions::{Fault, Types, check_companions, types};

use super::{CounterInfo, CounterSetInfo};
use crate::ErrorCode;
use crate::block::{MAX_COUNTERS, MAX_NAME_UNITS, WILDCARD_ID};

/// The scales that a counter can have, exponents of ten.
pub(super) const SCALES: std::ops::RangeInclusive<i32> = -10..=10;

/// Whether a detail level is one of the two of PerfLib V2.
pub(super) fn is_detail_level(level: u32) -> bool {
    matches!(level, 100 | 200)
}

/// Why a counter set cannot be registered: the set, the counter where it is one, and what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub struct RegistrationError {
    set: Arc<str>,
    counter: Option<(u32, Arc<str>)>,
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
    Companion(Fault),
}

impl RegistrationError {
    /// [`ErrorCode::INVALID_REGISTRATION`].
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::INVALID_REGISTRATION
    }

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
            Wrong::CounterCount(count) => write!(f, "it has {count} counters, not 1 to {MAX_COUNTERS}"),
            Wrong::DetailLevel(level) => write!(f, "its detail level is {level}, not 100 or 200"),
            Wrong::Scale(scale) => {
                write!(f, "its default scale is {scale}, not {} to {}", SCALES.start(), SCALES.end())
            }
            Wrong::LongName => write!(f, "its name has more than {MAX_NAME_UNITS} characters of UTF-16"),
            Wrong::Wildcard => f.write_str("its id stands for all counters"),
            Wrong::RepeatedId => f.write_str("another counter has its id"),
            Wrong::RepeatedName => f.write_str("another counter has its name"),
            Wrong::Companion(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for RegistrationError {}

impl From<RegistrationError> for ErrorCode {
    fn from(error: RegistrationError) -> Self {
        error.code()
    }
}

impl CounterSetInfo {
    /// As [`check`](Self::check); the error says what is wrong, in words.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong.
    pub fn check_in_words(&self) -> Result<(), RegistrationError> {
        find_wrong(self)
    }
}

/// [`CounterSetInfo::check`].
pub(super) fn check(info: &CounterSetInfo) -> Result<(), ErrorCode> {
    Ok(find_wrong(info)?)
}

fn find_wrong(info: &CounterSetInfo) -> Result<(), RegistrationError> {
    let of_set = |wrong| Err(RegistrationError { set: Arc::clone(&info.name), counter: None, wrong });
    if !(1..=MAX_COUNTERS).contains(&info.counters.len()) {
        return of_set(Wrong::CounterCount(info.counters.len()));
    }
    if !is_detail_level(info.detail_level) {
        return of_set(Wrong::DetailLevel(info.detail_level));
    }
    if is_long(&info.name) {
        return of_set(Wrong::LongName);
    }
    let types = companions::types(info.counters.iter().map(|counter| (counter.id, counter.counter_type)));
    let (mut ids, mut names) = (HashSet::new(), HashSet::new());
    for counter in &info.counters {
        let wrong = if !ids.insert(counter.id) {
            Some(Wrong::RepeatedId)
        } else if !counter.name.is_empty() && !names.insert(counter.name.to_lowercase()) {
            // Counters that are not shown need no name.
            Some(Wrong::RepeatedName)
        } else {
            check_counter(counter, &types)
        };
        if let Some(wrong) = wrong {
            let counter = Some((counter.id, Arc::clone(&counter.name)));
            return Err(RegistrationError { set: Arc::clone(&info.name), counter, wrong });
        }
    }
    Ok(())
}

fn check_counter(counter: &CounterInfo, types: &companions::Types) -> Option<Wrong> {
    if counter.id == WILDCARD_ID {
        Some(Wrong::Wildcard)
    } else if is_long(&counter.name) {
        Some(Wrong::LongName)
    } else if !is_detail_level(counter.detail_level) {
        Some(Wrong::DetailLevel(counter.detail_level))
    } else if !SCALES.contains(&counter.default_scale) {
        Some(Wrong::Scale(counter.default_scale))
    } else {
        let named = [counter.base_id, counter.time_id, counter.frequency_id, counter.multiplier_id];
        check_companions(counter.id, counter.counter_type, named, Some(types)).err().map(Wrong::Companion)
    }
}

fn is_long(name: &str) -> bool {
    name.encode_utf16().count() > MAX_NAME_UNITS
}

#[cfg(test)]
mod tests;
