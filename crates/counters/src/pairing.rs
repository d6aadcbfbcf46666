//! Pairing: deciding which two raw values of a counter form an interval.
//!
//! A two-sample formula compares a raw value with the previous one. Two values are paired by these rules, which
//! statistics, charts, text logs, live tables and PDH queries all use:
//!
//! 1. The instance must have the same name and be the same task, device or publisher ([`Origin::identity`]), since a
//!    name such as `svchost#1` can later belong to another instance. For the text logs that `relog` writes, values are
//!    paired by name alone, as on Windows.
//! 2. The machine must not have been restarted in between ([`Origin::boot_time`]).
//! 3. Both values must have the same formula and clock ([`Origin::formula`], [`Origin::time_base`]).
//! 4. The instance must not have been absent in between. A sample of the same log without a row for it, or with the status
//!    [`Status::NO_INSTANCE`], ends the sequence ([`Pairer::interrupt`]).
//! 5. The values can be from two logs of the same machine. If the counter decreased without a restart, that is an error,
//!    as it is within one log.
//! 6. Samples of other logs in between that do not contain the counter are ignored.

use tachograph_schema::Formula;

use crate::civil::FileTime;
use crate::formula::Calculator;
use crate::raw::RawValue;
use crate::status::Status;

/// The properties of a raw value, other than the name of its instance, that decide whether it can be paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Distinguishes the instance from earlier instances with the same name; 0 if unknown, which matches any identity.
    pub identity: u64,
    /// When the machine was started, in UTC; 0 if unknown, which matches any time.
    pub boot_time: FileTime,
    /// Units per second of the raw value's clock.
    pub time_base: i64,
    /// The formula of the counter's type.
    pub formula: Option<Formula>,
}

impl Origin {
    /// The origin of a value of the calculator's counter.
    pub fn new(calculator: &Calculator, identity: u64, boot_time: FileTime) -> Self {
        Self { identity, boot_time, time_base: calculator.time_base(), formula: calculator.formula() }
    }
}

/// Pairs the raw values of one counter of one instance by the [rules](self).
#[derive(Clone, Debug, Default)]
pub struct Pairer {
    /// The last raw value, if the next raw value of the same origin can be paired with it.
    pub(crate) previous: Option<RawValue>,
    /// The origin of the previous value, with the last known boot time.
    origin: Origin,
}

impl Pairer {
    /// Sets the origin of the next raw values. If it differs from the origin of the previous value, the previous value
    /// is discarded.
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

    /// Returns the previous raw value, if it can be paired with `raw`. `raw` becomes the previous value.
    pub fn pair(&mut self, raw: &RawValue) -> Option<RawValue> {
        if raw.status == Status::NO_INSTANCE {
            self.previous = None;
            return None;
        }
        self.previous.replace(*raw)
    }

    /// Pairs consecutive raw values of the same origin. Calls `each` with the result of [`pair`](Self::pair) for each value.
    #[inline]
    pub fn pair_all<'a>(
        &mut self,
        raws: impl Iterator<Item = &'a RawValue>,
        mut each: impl FnMut(Option<&RawValue>, &'a RawValue),
    ) {
        let before = self.previous.take();
        let mut previous = before.as_ref();
        for raw in raws {
            let is_absent = raw.status == Status::NO_INSTANCE;
            each(previous.filter(|_| !is_absent), raw);
            previous = Some(raw).filter(|_| !is_absent);
        }
        self.previous = previous.copied();
    }

    /// Discards the previous value, because the instance was absent from a sample.
    pub fn interrupt(&mut self) {
        self.previous = None;
    }

    /// Whether there is a previous value. The next raw value of the same origin will be paired with it.
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

    fn are_paired(one: Origin, other: Origin) -> bool {
        let mut pairer = Pairer::default();
        pairer.follow(one);
        assert_eq!(pairer.pair(&RawValue::new(1, 1)), None);
        pairer.follow(other);
        pairer.pair(&RawValue::new(2, 2)).is_some()
    }

    #[test]
    fn values_of_different_origins_form_no_pair() {
        assert!(are_paired(ORIGIN, ORIGIN));
        assert!(!are_paired(ORIGIN, Origin { identity: 8, ..ORIGIN }));
        assert!(!are_paired(ORIGIN, Origin { boot_time: FileTime(101), ..ORIGIN }));
        assert!(!are_paired(ORIGIN, Origin { time_base: 11, ..ORIGIN }));
        assert!(!are_paired(ORIGIN, Origin { formula: Some(Formula::Value), ..ORIGIN }));
    }

    #[test]
    fn unknown_parts_of_an_origin_match_any() {
        for unknown in [Origin { identity: 0, ..ORIGIN }, Origin { boot_time: FileTime(0), ..ORIGIN }] {
            assert!(are_paired(ORIGIN, unknown) && are_paired(unknown, ORIGIN), "{unknown:?}");
        }
    }

    #[test]
    fn a_known_boot_time_is_kept() {
        let mut pairer = Pairer::default();
        pairer.follow(ORIGIN);
        pairer.pair(&RawValue::new(1, 1));
        pairer.follow(Origin { boot_time: FileTime(0), ..ORIGIN });
        assert!(pairer.pair(&RawValue::new(2, 2)).is_some());
        pairer.follow(Origin { boot_time: FileTime(101), ..ORIGIN });
        assert!(pairer.pair(&RawValue::new(3, 3)).is_none());
    }

    #[test]
    fn an_absent_instance_ends_the_sequence() {
        let mut pairer = Pairer::default();
        pairer.follow(ORIGIN);
        pairer.pair(&RawValue::new(1, 1));
        assert_eq!(pairer.pair(&RawValue::error(Status::NO_INSTANCE)), None);
        assert_eq!(pairer.pair(&RawValue::new(2, 2)), None);
        assert_eq!(pairer.pair(&RawValue::new(3, 3)), Some(RawValue::new(2, 2)));
        pairer.interrupt();
        assert_eq!(pairer.pair(&RawValue::new(4, 4)), None);
        // A value that could not be read does not count as absent; its interval is an error.
        assert_eq!(pairer.pair(&RawValue::error(Status::CSTATUS_INVALID_DATA)), Some(RawValue::new(4, 4)));
    }

    #[test]
    fn values_are_paired_together_as_one_by_one() {
        let (good, absent) = (RawValue::new(1, 1), RawValue::error(Status::NO_INSTANCE));
        let raws = [good, RawValue::new(2, 2), absent, absent, good, RawValue::new(3, 3)];
        for parts in 0..raws.len() {
            let (mut together, mut single) = (Pairer::default(), Pairer::default());
            let mut found = Vec::new();
            for part in [&raws[..parts], &raws[parts..]] {
                together.pair_all(part.iter(), |older, raw| found.push((older.copied(), *raw)));
            }
            let expected: Vec<_> = raws.iter().map(|raw| (single.pair(raw), *raw)).collect();
            assert_eq!(found, expected);
            assert_eq!(together.previous, single.previous);
        }
    }

    #[test]
    fn an_origin_has_the_clock_and_the_formula_of_its_calculator() {
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
