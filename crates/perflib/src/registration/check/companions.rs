//! The counters that others need beside them: bases, times, frequencies, multipliers.

use std::fmt;

use tachograph_counters::CounterType as T;

/// What a companion is to its counter, in the order of the fields of `PERF_COUNTER_REG_INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::registration) enum Role {
    Base,
    Time,
    Frequency,
    Multiplier,
}

impl Role {
    const ALL: [Self; 4] = [Self::Base, Self::Time, Self::Frequency, Self::Multiplier];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Base => "base",
            Self::Time => "time",
            Self::Frequency => "frequency",
            Self::Multiplier => "multiplier",
        })
    }
}

/// What is wrong with a companion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::registration) enum Fault {
    /// The type needs one of this type, and none is named.
    Missing(Role, T),
    /// The counter names itself.
    Itself(Role),
    /// No counter of the set has this id.
    Unknown(Role, u32),
    /// It is not of the type that is needed.
    Type { role: Role, id: u32, found: T, expected: T },
}

impl Fault {
    pub(in crate::registration) fn role(self) -> Role {
        match self {
            Self::Missing(role, _)
            | Self::Itself(role)
            | Self::Unknown(role, _)
            | Self::Type { role, .. } => role,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(role, expected) => write!(f, "its type needs a {role} of type {expected}"),
            Self::Itself(role) => write!(f, "it is its own {role}"),
            Self::Unknown(role, id) => write!(f, "its {role} is counter {id}, which the set has not"),
            Self::Type { role, id, found, expected } => {
                write!(f, "its {role}, counter {id}, is of type {found}, not {expected}")
            }
        }
    }
}

/// The types of a set's counters by id, sorted.
pub(in crate::registration) struct Types(Vec<(u32, T)>);

/// The types of a set's counters.
pub(in crate::registration) fn types(counters: impl Iterator<Item = (u32, T)>) -> Types {
    let mut types: Vec<_> = counters.collect();
    types.sort_unstable();
    Types(types)
}

impl Types {
    fn of(&self, id: u32) -> Option<T> {
        let at = self.0.partition_point(|(other, _)| *other < id);
        self.0.get(at).filter(|(other, _)| *other == id).map(|(_, counter_type)| *counter_type)
    }
}

/// Whether a type stands for the one that is needed.
fn is_same(found: T, expected: T) -> bool {
    // Telegraf's and the exporters' tables carry LARGE_RAW_BASE with the low byte of its pre-release form.
    found == expected || (expected == T::LARGE_RAW_BASE && found.0 == 0x4003_0503)
}

/// Checks the companions that a counter names, by role. Without the set's types only what the counter alone tells.
///
/// A companion that the type does not need must exist, too, but can be of any type.
pub(in crate::registration) fn check_companions(
    id: u32,
    counter_type: T,
    named: [Option<u32>; 4],
    types: Option<&Types>,
) -> Result<(), Fault> {
    for ((role, named), needed) in Role::ALL.into_iter().zip(named).zip(counter_type.companions()) {
        let Some(companion) = named else {
            match needed {
                Some(expected) => return Err(Fault::Missing(role, expected)),
                None => continue,
            }
        };
        if companion == id {
            return Err(Fault::Itself(role));
        }
        let Some(types) = types else { continue };
        let Some(found) = types.of(companion) else { return Err(Fault::Unknown(role, companion)) };
        if let Some(expected) = needed
            && !is_same(found, expected)
        {
            return Err(Fault::Type { role, id: companion, found, expected });
        }
    }
    Ok(())
}
