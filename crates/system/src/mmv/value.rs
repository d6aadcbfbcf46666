//! How values of MMV metrics become raw values of counters: the counter's type, and the number.

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_perflib::Moments;

use super::raw::RawRecord;
use super::units::Units;

/// How a metric's values become those of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    kind: Kind,
    /// What a value is multiplied by to be in the counter's unit.
    factor: i64,
    /// Nanoseconds of the counter's unit, for elapsed times.
    unit_ns: i64,
    pub(super) class: Class,
}

/// The types of values, as `MMV_TYPE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    I32,
    U32,
    I64,
    U64,
    Float,
    Double,
    Elapsed,
}

/// What kind of counter a metric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// The value as it is.
    Gauge,
    /// The value as it is, with fractions.
    Double,
    /// The value as it is, with fractions: the total of something counted.
    DoubleTotal,
    /// Something counted, per second; the value may be 32 bits wide.
    Rate { is_32_bit: bool },
    /// A time counted in units of 100 ns or more, as a share of the time passed.
    Timer,
    /// The same of a time counted in ns: divided by a clock in ns.
    TimerNs,
}

/// Why a metric cannot be a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoCounter {
    Text,
    Type(i32),
    Semantics(i32),
}

impl std::fmt::Display for NoCounter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text => f.write_str("its values are texts"),
            Self::Type(kind) => write!(f, "its values are of type {kind}, which is no number"),
            Self::Semantics(semantics) => write!(f, "its semantics are {semantics}, not 1, 3 or 4"),
        }
    }
}

/// A value at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Number(i64),
    /// A number with the clock that divides it.
    WithBase(i64, i64),
    /// The program says that there is none.
    Absent,
    /// 64 bits of which the sign says something else than here.
    TooLarge,
    /// A floating point number that is none.
    NotFinite,
    /// An elapsed time that began before 1970.
    BadStart,
}

impl Class {
    pub(super) fn counter_type(self) -> CounterType {
        match self {
            Self::Gauge => CounterType::LARGE_RAWCOUNT,
            Self::Double | Self::DoubleTotal => CounterType::DOUBLE_RAW,
            Self::Rate { is_32_bit: true } => CounterType::COUNTER_COUNTER,
            Self::Rate { is_32_bit: false } => CounterType::BULK_COUNT,
            Self::Timer => CounterType::TIMER_100NS,
            Self::TimerNs => CounterType::PRECISION_SYSTEM_TIMER,
        }
    }

    /// The unit of the formatted value.
    pub(super) fn unit(self, units: Units) -> String {
        match self {
            Self::Gauge | Self::Double | Self::DoubleTotal => units.text(),
            Self::Rate { .. } => units.rate_text(),
            Self::Timer | Self::TimerNs => "%".to_owned(),
        }
    }
}

impl Mapping {
    /// How a metric of this type (`MMV_TYPE_*`), these semantics (`MMV_SEM_*`) and units is read.
    pub(super) fn of(kind: i32, semantics: i32, units: Units) -> Result<Self, NoCounter> {
        let kind = match kind {
            0 => Kind::I32,
            1 => Kind::U32,
            2 => Kind::I64,
            3 => Kind::U64,
            4 => Kind::Float,
            5 => Kind::Double,
            6 => return Err(NoCounter::Text),
            9 => Kind::Elapsed,
            other => return Err(NoCounter::Type(other)),
        };
        let is_counter = match semantics {
            1 => true,
            3 | 4 => false,
            other => return Err(NoCounter::Semantics(other)),
        };
        // PCP's library counts elapsed times in microseconds.
        let time_ns = units.nanoseconds().or((kind == Kind::Elapsed).then_some(1_000));
        let unit_ns = time_ns.unwrap_or(1);
        let plain = |class| Self { kind, factor: 1, unit_ns, class };
        Ok(match (kind, is_counter, time_ns) {
            (Kind::Float | Kind::Double, true, _) => plain(Class::DoubleTotal),
            (Kind::Float | Kind::Double, false, _) => plain(Class::Double),
            (_, false, _) => plain(Class::Gauge),
            (_, true, Some(1)) => plain(Class::TimerNs),
            (_, true, Some(ns)) => Self { kind, factor: ns / 100, unit_ns: 100, class: Class::Timer },
            (_, true, None) => plain(Class::Rate { is_32_bit: matches!(kind, Kind::I32 | Kind::U32) }),
        })
    }

    /// The value that a record holds at this moment.
    pub(super) fn value(self, record: RawRecord, is_sentinel: bool, at: &Moments) -> Value {
        let number = match self.kind {
            Kind::Float => return double(f64::from(record.f32()), is_sentinel),
            Kind::Double => return double(record.f64(), is_sentinel),
            // As PCP's agent does: all 64 bits, also of a 32-bit value.
            _ if is_sentinel && record.u64() == u64::MAX => return Value::Absent,
            Kind::I32 => i128::from(record.i32()),
            Kind::U32 => i128::from(record.u32()),
            Kind::I64 | Kind::Elapsed => i128::from(record.i64()),
            Kind::U64 => i128::from(record.u64()),
        };
        let mut number = number * i128::from(self.factor);
        if self.kind == Kind::Elapsed && record.extra() != 0 {
            // In progress: the negative of the microseconds since 1970 at which it began.
            if record.extra() > 0 {
                return Value::BadStart;
            }
            let now_us = at.wall.0.saturating_sub(FileTime::UNIX_EPOCH.0) / 10;
            let passed_us = (i128::from(now_us) + i128::from(record.extra())).max(0);
            number += passed_us * 1_000 / i128::from(self.unit_ns);
        }
        match i64::try_from(number) {
            Err(_) => Value::TooLarge,
            // The performance clock counts 100 ns: 292 years of uptime fit.
            Ok(number) if self.class == Class::TimerNs => {
                Value::WithBase(number, at.ticks.saturating_mul(100))
            }
            Ok(number) => Value::Number(number),
        }
    }
}

fn double(value: f64, is_sentinel: bool) -> Value {
    if value.is_finite() {
        Value::Number(value.to_bits().cast_signed())
    } else if is_sentinel && value.is_nan() {
        Value::Absent
    } else {
        Value::NotFinite
    }
}
