//! Companions: counters that exist only for another counter, as its base, time, frequency or multiplier.

use std::fmt;

use crate::CounterType;

/// The roles of companions, in the order of the fields of `PERF_COUNTER_REG_INFO`.
const ROLES: [&str; 4] = ["base", "time", "frequency", "multiplier"];

/// Why a companion is invalid, with the index of its role (base, time, frequency or multiplier).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompanionFault {
    /// The counter's type needs a companion of this type.
    Missing(usize, CounterType),
    /// The counter refers to itself.
    Itself(usize),
    /// No counter of the set has this id.
    Unknown(usize, u32),
    /// The companion does not have the required type.
    Type {
        /// The index of the role.
        role: usize,
        /// The companion's id.
        id: u32,
        /// The companion's type.
        found: CounterType,
        /// The required type.
        expected: CounterType,
    },
}

impl CompanionFault {
    /// The index of the companion in [`CounterInfo::companion_ids`](crate::CounterInfo::companion_ids).
    pub const fn role(self) -> usize {
        match self {
            Self::Missing(role, _)
            | Self::Itself(role)
            | Self::Unknown(role, _)
            | Self::Type { role, .. } => role,
        }
    }
}

impl fmt::Display for CompanionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = ROLES[self.role()];
        match self {
            Self::Missing(_, expected) => write!(f, "its type needs a {role} of type {expected}"),
            Self::Itself(_) => write!(f, "it is its own {role}"),
            Self::Unknown(_, id) => write!(f, "its {role} is counter {id}, which is not in the set"),
            Self::Type { id, found, expected, .. } => {
                write!(f, "its {role}, counter {id}, is of type {found}, not {expected}")
            }
        }
    }
}

/// Whether a companion of type `found` is accepted where `expected` is needed.
fn is_accepted(found: CounterType, expected: CounterType) -> bool {
    // Telegraf and some exporters use LARGE_RAW_BASE with the low byte of a pre-release version.
    found == expected || (expected == CounterType::LARGE_RAW_BASE && found.0 == 0x4003_0503)
}

/// Checks the companions of a counter. `types` has the ids and types of the set's counters, sorted by id. If it is
/// `None`, the existence and the types of companions are not checked. A companion that the counter's type does not need
/// must exist, but can have any type.
///
/// # Errors
///
/// The fault of the first invalid companion.
pub fn check_companions(
    id: u32,
    counter_type: CounterType,
    companion_ids: [Option<u32>; 4],
    types: Option<&[(u32, CounterType)]>,
) -> Result<(), CompanionFault> {
    for (role, (companion, needed)) in companion_ids.into_iter().zip(counter_type.companions()).enumerate() {
        let Some(companion) = companion else {
            match needed {
                Some(expected) => return Err(CompanionFault::Missing(role, expected)),
                None => continue,
            }
        };
        if companion == id {
            return Err(CompanionFault::Itself(role));
        }
        let Some(types) = types else { continue };
        let index = types.partition_point(|(other, _)| *other < companion);
        let Some((_, found)) = types.get(index).copied().filter(|(other, _)| *other == companion) else {
            return Err(CompanionFault::Unknown(role, companion));
        };
        if let Some(expected) = needed
            && !is_accepted(found, expected)
        {
            return Err(CompanionFault::Type { role, id: companion, found, expected });
        }
    }
    Ok(())
}
