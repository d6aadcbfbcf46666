//! Converts the values of MMV metrics to raw counter values.

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_perflib::Timestamps;

use super::raw::RawEntry;
use super::units::Units;

/// How the values of a metric are converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    kind: Kind,
    /// The factor that converts a value to the counter's unit.
    factor: i64,
    /// The length of the counter's unit in nanoseconds, to convert the interval in progress of [`Kind::Elapsed`].
    unit_ns: i64,
    /// The kind of counter that the metric becomes.
    pub(super) class: Class,
}

/// The type of a value, `MMV_TYPE_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    I32,
    U32,
    I64,
    U64,
    Float,
    Double,
    /// A total of intervals. The program can also store the start of an interval in progress.
    Elapsed,
}

/// The kind of counter that a metric becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// An integer, shown unchanged.
    Gauge,
    /// A floating-point number, shown unchanged.
    Double,
    /// A floating-point running total, shown unchanged.
    DoubleTotal,
    /// An integer running total, shown per second. Wraps at 32 or 64 bits.
    Rate { is_32_bit: bool },
    /// A running total of time in 100 ns, shown as a share of elapsed time.
    Timer,
    /// A running total of time in ns, divided by a clock in ns.
    TimerNs,
}

/// Why a metric cannot become a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MappingError {
    /// The values are strings.
    Text,
    /// Unknown type of the values.
    Type(i32),
    /// Unknown semantics.
    Semantics(i32),
}

impl std::fmt::Display for MappingError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text => f.write_str("its values are strings"),
            Self::Type(kind) => write!(f, "its values are of type {kind}, which is not numeric"),
            Self::Semantics(semantics) => write!(f, "its semantics are {semantics}, expected 1, 3 or 4"),
        }
    }
}

/// A converted value, or why there is no value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Number(i64),
    /// A number and the value of its base.
    WithBase(i64, i64),
    /// The program has marked the value as missing.
    Absent,
    TooLarge,
    NotFinite,
    /// The interval in progress began before 1970.
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

    /// The unit of the displayed value.
    pub(super) fn unit(self, units: Units) -> String {
        match self {
            Self::Gauge | Self::Double | Self::DoubleTotal => units.text(),
            Self::Rate { .. } => units.rate_text(),
            Self::Timer | Self::TimerNs => "%".to_owned(),
        }
    }
}

impl Mapping {
    /// The mapping for a type (`MMV_TYPE_*`), semantics (`MMV_SEM_*`) and units.
    pub(super) fn new(kind: i32, semantics: i32, units: Units) -> Result<Self, MappingError> {
        let kind = match kind {
            0 => Kind::I32,
            1 => Kind::U32,
            2 => Kind::I64,
            3 => Kind::U64,
            4 => Kind::Float,
            5 => Kind::Double,
            6 => return Err(MappingError::Text),
            9 => Kind::Elapsed,
            other => return Err(MappingError::Type(other)),
        };
        let is_counter = match semantics {
            1 => true,
            3 | 4 => false,
            other => return Err(MappingError::Semantics(other)),
        };
        // PCP's library records elapsed times in microseconds.
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

    /// The value of an entry at the time of the collection.
    pub(super) fn value(self, entry: RawEntry, has_sentinels: bool, timestamps: &Timestamps) -> Value {
        let number = match self.kind {
            Kind::Float => return double(f64::from(entry.f32()), has_sentinels),
            Kind::Double => return double(entry.f64(), has_sentinels),
            // Like PCP's agent, compare all 64 bits even for 32-bit values.
            _ if has_sentinels && entry.u64() == u64::MAX => return Value::Absent,
            Kind::I32 => i128::from(entry.i32()),
            Kind::U32 => i128::from(entry.u32()),
            Kind::I64 | Kind::Elapsed => i128::from(entry.i64()),
            Kind::U64 => i128::from(entry.u64()),
        };
        let mut number = number * i128::from(self.factor);
        if self.kind == Kind::Elapsed && entry.negated_start() != 0 {
            // An interval is in progress: the entry has its negated start, in microseconds since 1970.
            if entry.negated_start() > 0 {
                return Value::BadStart;
            }
            let now_us = timestamps.wall.0.saturating_sub(FileTime::UNIX_EPOCH.0) / 10;
            let elapsed_us = (i128::from(now_us) + i128::from(entry.negated_start())).max(0);
            number += elapsed_us * 1_000 / i128::from(self.unit_ns);
        }
        match i64::try_from(number) {
            Err(_) => Value::TooLarge,
            // The performance clock counts units of 100 ns. In ns, 64 bits hold 292 years of uptime.
            Ok(number) if self.class == Class::TimerNs => {
                Value::WithBase(number, timestamps.ticks.saturating_mul(100))
            }
            Ok(number) => Value::Number(number),
        }
    }
}

/// Converts a floating-point value.
fn double(value: f64, has_sentinels: bool) -> Value {
    if value.is_finite() {
        Value::Number(value.to_bits().cast_signed())
    } else if has_sentinels && value.is_nan() {
        Value::Absent
    } else {
        Value::NotFinite
    }
}
