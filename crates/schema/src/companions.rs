//! The counters that others need beside them: bases, times, frequencies, multipliers.

use std::fmt;

use crate::CounterType;

/// The names of the companions, in the order of the fields of `PERF_COUNTER_REG_INFO`.
const ROLES: [&str; 4] = ["base", "time", "frequency", "multiplier"];

/// What is wrong with a companion: the index of its role, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompanionFault {
    /// The type needs one of this type, and none is named.
    Missing(usize, CounterType),
    /// The counter names itself.
    Itself(usize),
    /// No counter of the set has this id.
    Unknown(usize, u32),
    /// It is not of the type that is needed.
    Type {
        /// The index of the companion.
        role: usize,
        /// Its id.
        id: u32,
        /// Its type.
        found: CounterType,
        /// The type that is needed.
        expected: CounterType,
    },
}

impl CompanionFault {
    /// The index of the companion among [`CounterInfo::companion_ids`](crate::CounterInfo::companion_ids).
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
            Self::Unknown(_, id) => write!(f, "its {role} is counter {id}, which the set has not"),
            Self::Type { id, found, expected, .. } => {
                write!(f, "its {role}, counter {id}, is of type {found}, not {expected}")
            }
        }
    }
}

/// Whether a type stands for the one that is needed.
fn is_same(found: CounterType, expected: CounterType) -> bool {
    // Telegraf's and the exporters' tables carry LARGE_RAW_BASE with the low byte of its pre-release form.
    found == expected || (expected == CounterType::LARGE_RAW_BASE && found.0 == 0x4003_0503)
}

/// Checks the companions that a counter names. `types` are the types of the set's counters, sorted by id; without them the
/// companions' existence and types are not checked.
///
/// A companion that the type does not need must exist, too, but can be of any type.
///
/// # Errors
///
/// The first companion that is wrong.
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
        let at = types.partition_point(|(other, _)| *other < companion);
        let Some((_, found)) = types.get(at).copied().filter(|(other, _)| *other == companion) else {
            return Err(CompanionFault::Unknown(role, companion));
        };
        if let Some(expected) = needed
            && !is_same(found, expected)
        {
            return Err(CompanionFault::Type { role, id: companion, found, expected });
        }
    }
    Ok(())
}
