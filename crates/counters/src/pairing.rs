//! Which two raw values of a counter form an interval.
//!
//! A formula of two samples compares a raw value with the one before. These rules decide whether there is one before, and
//! everything that pairs raw values uses them: statistics, charts, texts, live tables and PDH queries.
//!
//! 1. The instance has the same name, and the same task, device or publisher ([`Origin::identity`]): `#n` may pass to another.
//!    Text that `relog` writes pairs by names alone, as Windows does: no identity is given.
//! 2. The machine was not restarted in between ([`Origin::boot_time`]).
//! 3. Both are of the same kind: the same formula and clock ([`Origin::formula`], [`Origin::time_base`]).
//! 4. The instance was in every sample in between that concerns it: a row that is missing, or has the status
//!    [`Status::NO_INSTANCE`], ends what was before ([`Pairer::interrupt`]).
//! 5. Another log of the same machine changes nothing. A counter that is lower there, without a restart, is an error, as it is
//!    within one log.
//! 6. A sample that does not concern the counter (a gap: it is of another log, and says nothing) changes nothing.

use tachograph_schema::Formula;

use crate::civil::FileTime;
use crate::formula::Calculator;
use crate::raw::RawValue;
use crate::status::Status;

/// Where a raw value is from, beyond the name of its instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// What tells the instance from others that had its name before; 0 where unknown, which differs from nothing.
    pub identity: u64,
    /// When the machine was started, UTC; 0 where unknown, which differs from nothing.
    pub boot_time: FileTime,
    /// Ticks per second of the clock that the raw value was taken with.
    pub time_base: i64,
    /// The formula of its counter's type.
    pub formula: Option<Formula>,
}

impl Origin {
    /// The origin of a value of this counter.
    pub fn new(calculator: &Calculator, identity: u64, boot_time: FileTime) -> Self {
        Self { identity, boot_time, time_base: calculator.time_base(), formula: calculator.formula() }
    }
}

/// Pairs the raw values of one counter of one instance by the [rules](self).
#[derive(Clone, Debug, Default)]
pub struct Pairer {
    pub(crate) previous: Option<RawValue>,
    /// That of the value before; a boot time that was known once stays.
    origin: Origin,
}

impl Pairer {
    /// Says where the next raw values are from. The value before is forgotten where that is elsewhere.
    pub fn follow(&mut self, origin: Origin) {
        let differ = |before: u64, now: u64| before != 0 && now != 0 && before != now;
        let before = std::mem::replace(&mut self.origin, origin);
        if origin.boot_time == FileTime(0) {
            self.origin.boot_time = before.boot_time;
        }
        if differ(before.identity, origin.identity)
            || differ(before.boot_time.0.cast_unsigned(), origin.boot_time.0.cast_unsigned())
            || (before.time_base, before.formula) != (origin.time_base, origin.formula)
        {
            self.previous = None;
        }
    }

    /// The raw value that this one makes a pair with; the next one is paired with this.
    pub fn pair(&mut self, raw: &RawValue) -> Option<RawValue> {
        if raw.status == Status::NO_INSTANCE {
            self.previous = None;
            return None;
        }
        self.previous.replace(*raw)
    }

    /// Forgets the value before: the instance was absent from a sample.
    pub fn interrupt(&mut self) {
        self.previous = None;
    }

    /// Whether the next raw value of the same origin makes a pair.
    pub fn has_previous(&self) -> bool {
        self.previous.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CounterType;

    const ORIGIN: Origin =
        Origin { identity: 7, boot_time: FileTime(100), time_base: 10, formula: Some(Formula::Rate) };

    /// Whether two values make a pair with these origins.
    fn are_paired(one: Origin, other: Origin) -> bool {
        let mut pairer = Pairer::default();
        pairer.follow(one);
        assert_eq!(pairer.pair(&RawValue::new(1, 1)), None);
        pairer.follow(other);
        pairer.pair(&RawValue::new(2, 2)).is_some()
    }

    #[test]
    fn another_origin_makes_no_pair() {
        assert!(are_paired(ORIGIN, ORIGIN));
        assert!(!are_paired(ORIGIN, Origin { identity: 8, ..ORIGIN }));
        assert!(!are_paired(ORIGIN, Origin { boot_time: FileTime(101), ..ORIGIN }));
        assert!(!are_paired(ORIGIN, Origin { time_base: 11, ..ORIGIN }));
        assert!(!are_paired(ORIGIN, Origin { formula: Some(Formula::Value), ..ORIGIN }));
    }

    #[test]
    fn what_is_unknown_differs_from_nothing() {
        for unknown in [Origin { identity: 0, ..ORIGIN }, Origin { boot_time: FileTime(0), ..ORIGIN }] {
            assert!(are_paired(ORIGIN, unknown) && are_paired(unknown, ORIGIN), "{unknown:?}");
        }
    }

    #[test]
    fn a_boot_time_stays_known() {
        let mut pairer = Pairer::default();
        pairer.follow(ORIGIN);
        pairer.pair(&RawValue::new(1, 1));
        pairer.follow(Origin { boot_time: FileTime(0), ..ORIGIN });
        assert!(pairer.pair(&RawValue::new(2, 2)).is_some());
        pairer.follow(Origin { boot_time: FileTime(101), ..ORIGIN });
        assert!(pairer.pair(&RawValue::new(3, 3)).is_none());
    }

    #[test]
    fn an_instance_that_was_absent_makes_no_pair() {
        let mut pairer = Pairer::default();
        pairer.follow(ORIGIN);
        pairer.pair(&RawValue::new(1, 1));
        assert_eq!(pairer.pair(&RawValue::error(Status::NO_INSTANCE)), None);
        assert_eq!(pairer.pair(&RawValue::new(2, 2)), None);
        assert_eq!(pairer.pair(&RawValue::new(3, 3)), Some(RawValue::new(2, 2)));
        pairer.interrupt();
        assert_eq!(pairer.pair(&RawValue::new(4, 4)), None);
        // A value that could not be read is there: the interval is an error, not a pair with the value before it.
        assert_eq!(pairer.pair(&RawValue::error(Status::CSTATUS_INVALID_DATA)), Some(RawValue::new(4, 4)));
    }

    #[test]
    fn an_origin_knows_the_clock_and_the_formula() {
        let calculator = Calculator::new(CounterType::BULK_COUNT, 1000);
        let origin = Origin::new(&calculator, 3, FileTime(4));
        let expected = Origin {
            identity: 3,
            boot_time: FileTime(4),
            time_base: 1000,
            formula: CounterType::BULK_COUNT.formula(),
        };
        assert_eq!(origin, expected);
    }
}
