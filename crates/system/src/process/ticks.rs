//! Conversion of the kernel's ticks.

use crate::roots::Roots;

/// The length of a tick, for conversions to units of 100 ns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ticks {
    /// Units of 100 ns per tick, if this is a whole number. A multiplication is much faster than a wide division.
    Whole(u64),
    /// Ticks per second, otherwise.
    PerSecond(u64),
}

impl Ticks {
    pub(super) fn new(roots: &Roots) -> Self {
        let per_second = roots.ticks_per_second.max(1);
        if 10_000_000 % per_second == 0 {
            Self::Whole(10_000_000 / per_second)
        } else {
            Self::PerSecond(per_second)
        }
    }

    pub(super) fn per_second(self) -> u64 {
        match self {
            Self::Whole(units) => 10_000_000 / units,
            Self::PerSecond(per_second) => per_second,
        }
    }

    #[inline]
    pub(super) fn hundred_ns(self, ticks: u64) -> u64 {
        match self {
            Self::Whole(units) => ticks.wrapping_mul(units),
            Self::PerSecond(per_second) => (u128::from(ticks) * 10_000_000 / u128::from(per_second)) as u64,
        }
    }

    /// The whole ticks in a time in units of 100 ns.
    pub(super) fn ticks_in(self, time: u64) -> u64 {
        match self {
            Self::Whole(units) => time / units,
            Self::PerSecond(per_second) => (u128::from(time) * u128::from(per_second) / 10_000_000) as u64,
        }
    }
}
