//! Counter types, 32-bit words that define how displayed values are computed from raw values.

mod table;

use std::fmt;

use crate::Formula;
use table::{NAMED_TYPES, NamedType};

/// A counter type, which is a `PERF_...` word of winperf.h.
///
/// The word is a bitwise "or" of independent fields (size, class, subtype, time base, modifiers, suffix). Each field
/// has an accessor. Words without a name are preserved: they are displayed as `0x...` and have no
/// [`formula`](Self::formula).
///
/// Whether a type needs two samples ([`needs_two_samples`](Self::needs_two_samples)) and whether it is displayed
/// ([`is_shown`](Self::is_shown)) cannot be derived from the bits, which are wrong for some averages.
///
/// Source: winperf.h; "Counter Types", Windows Server 2003 Deployment Kit.
///
/// ```
/// use tachograph_schema::CounterType;
///
/// let kind = CounterType(0x4002_0500);
/// assert_eq!(kind.name(), Some("PERF_AVERAGE_BULK"));
/// assert_eq!(kind.dot_net_name(), Some("AverageCount64"));
/// assert!(kind.needs_two_samples() && !kind.is_delta());
/// assert_eq!(CounterType(0x1234_5678).to_string(), "0x12345678");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CounterType(pub u32);

/// Bits 8-9: the nominal size. Logs and blocks also store the actual size of each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 32 bits.
    Dword,
    /// 64 bits.
    Large,
    /// No data.
    Zero,
    /// Variable length (text).
    VariableLength,
}

/// Bits 10-11: the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A number that is displayed without a computation.
    Number,
    /// The result of a formula.
    Counter,
    /// A string.
    Text,
    /// Always displayed as 0.
    Zero,
}

/// Bits 16-19: the subtype; its meaning depends on the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subtype {
    /// Number: in hexadecimal.
    Hex,
    /// Number: in decimal.
    Decimal,
    /// Number: divided by 1000 for display.
    Decimal1000,
    /// Counter: the value itself, or its change between two samples.
    Value,
    /// Counter: per unit of time.
    Rate,
    /// Counter: a fraction of a base.
    Fraction,
    /// Counter: the base of another counter.
    Base,
    /// Counter: the time since a start time.
    Elapsed,
    /// Counter: length of a queue over time.
    QueueLength,
    /// Counter: histogram.
    Histogram,
    /// Counter: a timer with its own time stamp.
    Precision,
    /// Text: in Unicode.
    Unicode,
    /// Text: in ASCII.
    Ascii,
    /// A number that winperf.h does not name.
    Other(u8),
}

/// Bits 20-21: the clock of the second raw value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeBase {
    /// The performance counter, in ticks of its frequency.
    Tick,
    /// System time, in units of 100 ns.
    HundredNs,
    /// The clock of the counter's object.
    Object,
    /// Both bits are set, which winperf.h does not define.
    Other,
}

/// Bits 28-30: the unit that is displayed after the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suffix {
    /// Nothing.
    None,
    /// `/sec`.
    PerSecond,
    /// `%`.
    Percent,
    /// `secs`.
    Seconds,
    /// Not displayed (but see [`CounterType::is_shown`]).
    NoShow,
    /// A number that winperf.h does not name.
    Other(u8),
}

impl CounterType {
    /// The nominal size.
    pub const fn size(self) -> Size {
        match (self.0 >> 8) & 3 {
            0 => Size::Dword,
            1 => Size::Large,
            2 => Size::Zero,
            _ => Size::VariableLength,
        }
    }

    /// The class.
    pub const fn class(self) -> Class {
        match (self.0 >> 10) & 3 {
            0 => Class::Number,
            1 => Class::Counter,
            2 => Class::Text,
            _ => Class::Zero,
        }
    }

    /// The subtype within the class.
    pub const fn subtype(self) -> Subtype {
        let number = ((self.0 >> 16) & 15) as u8;
        match (self.class(), number) {
            (Class::Number, 0) => Subtype::Hex,
            (Class::Number, 1) => Subtype::Decimal,
            (Class::Number, 2) => Subtype::Decimal1000,
            (Class::Counter, 0) => Subtype::Value,
            (Class::Counter, 1) => Subtype::Rate,
            (Class::Counter, 2) => Subtype::Fraction,
            (Class::Counter, 3) => Subtype::Base,
            (Class::Counter, 4) => Subtype::Elapsed,
            (Class::Counter, 5) => Subtype::QueueLength,
            (Class::Counter, 6) => Subtype::Histogram,
            (Class::Counter, 7) => Subtype::Precision,
            (Class::Text, 0) => Subtype::Unicode,
            (Class::Text, 1) => Subtype::Ascii,
            (_, other) => Subtype::Other(other),
        }
    }

    /// The clock of the second raw value.
    pub const fn time_base(self) -> TimeBase {
        match (self.0 >> 20) & 3 {
            0 => TimeBase::Tick,
            1 => TimeBase::HundredNs,
            2 => TimeBase::Object,
            _ => TimeBase::Other,
        }
    }

    /// Whether the formula uses the change of the value between two samples (bit 22). The bit is clear for `AVERAGE_TIMER` and
    /// `AVERAGE_BULK`, although their formulas do use it.
    pub const fn is_delta(self) -> bool {
        self.0 & 0x0040_0000 != 0
    }

    /// Whether the formula also uses the change of the base between two samples (bit 23).
    pub const fn is_delta_base(self) -> bool {
        self.0 & 0x0080_0000 != 0
    }

    /// Whether the value is subtracted from one (100 %) before it is displayed (bit 24).
    pub const fn is_inverse(self) -> bool {
        self.0 & 0x0100_0000 != 0
    }

    /// Whether the value is a sum over several sources, whose number is the multiplier (bit 25).
    pub const fn is_multi(self) -> bool {
        self.0 & 0x0200_0000 != 0
    }

    /// The unit that is displayed after the value.
    pub const fn suffix(self) -> Suffix {
        match (self.0 >> 28) & 7 {
            0 => Suffix::None,
            1 => Suffix::PerSecond,
            2 => Suffix::Percent,
            3 => Suffix::Seconds,
            4 => Suffix::NoShow,
            other => Suffix::Other(other as u8),
        }
    }

    /// The Windows name, such as `PERF_COUNTER_BULK_COUNT`, if any. `PERF_LARGE_RAW_BASE` and
    /// `PERF_PRECISION_TIMESTAMP` are the same word, for which the first name is returned.
    pub fn name(self) -> Option<&'static str> {
        self.named_type().map(|named| named.name)
    }

    /// The member of .NET's `PerformanceCounterType`, such as `RateOfCountsPerSecond64`, if any.
    pub fn dot_net_name(self) -> Option<&'static str> {
        self.named_type().and_then(|named| named.dot_net_name)
    }

    /// The word in manifests, such as `perf_counter_bulk_count`, if any.
    ///
    /// Source: "Performance Counters Schema", counter.
    pub fn manifest_word(self) -> Option<&'static str> {
        self.named_type().and_then(|named| named.manifest_word)
    }

    /// The type with this Windows name or .NET name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMED_TYPES
            .iter()
            .find(|named| named.name == name || named.dot_net_name == Some(name))
            .map(|named| Self(named.word))
    }

    /// The type with this word in manifests.
    pub fn from_manifest_word(word: &str) -> Option<Self> {
        NAMED_TYPES.iter().find(|named| named.manifest_word == Some(word)).map(|named| Self(named.word))
    }

    /// Every named type, in numerical order.
    pub fn all() -> impl Iterator<Item = Self> {
        let mut last = None;
        NAMED_TYPES.iter().map(|named| Self(named.word)).filter(move |&kind| last.replace(kind) != Some(kind))
    }

    /// The formula of the type. `None` for types without a displayed number (such as bases, text and no data) and for
    /// unknown words.
    pub const fn formula(self) -> Option<Formula> {
        match self.named_type() {
            Some(named) => named.formula,
            None => None,
        }
    }

    /// Whether this word has a [`name`](Self::name).
    pub const fn is_known(self) -> bool {
        self.named_type().is_some()
    }

    /// Whether computing the displayed value needs two samples. False for types without displayed values.
    pub fn needs_two_samples(self) -> bool {
        self.formula().is_some_and(Formula::needs_two_samples)
    }

    /// Whether this is the type of a base, which belongs to the counter before it and has no displayed value of its
    /// own.
    pub const fn is_base(self) -> bool {
        matches!((self.class(), self.subtype()), (Class::Counter, Subtype::Base))
    }

    /// Whether tools display counters of this type. True except for bases and `NO_DATA`.
    pub fn is_shown(self) -> bool {
        !self.is_base() && self != Self::NO_DATA
    }

    /// Whether the value is displayed in hexadecimal.
    pub fn is_hexadecimal(self) -> bool {
        matches!(self.formula(), Some(Formula::Value)) && matches!(self.subtype(), Subtype::Hex)
    }

    /// The types of the companions that a counter of this type needs, in the order base, time, frequency, multiplier.
    ///
    /// Source: "Performance Counters Schema", counter, and \[MS-PCQ\] 2.2.4.2.
    pub const fn companions(self) -> [Option<Self>; 4] {
        match self {
            Self::AVERAGE_TIMER | Self::AVERAGE_BULK => [Some(Self::AVERAGE_BASE), None, None, None],
            Self::RAW_FRACTION => [Some(Self::RAW_BASE), None, None, None],
            Self::SAMPLE_FRACTION => [Some(Self::SAMPLE_BASE), None, None, None],
            Self::LARGE_RAW_FRACTION | Self::PRECISION_SYSTEM_TIMER | Self::PRECISION_100NS_TIMER => {
                [Some(Self::LARGE_RAW_BASE), None, None, None]
            }
            Self::OBJ_TIME_TIMER
            | Self::OBJ_TIME_QUEUELEN
            | Self::ELAPSED_TIME
            | Self::PRECISION_OBJECT_TIMER => {
                [None, Some(Self::LARGE_RAWCOUNT), Some(Self::LARGE_RAWCOUNT), None]
            }
            Self::COUNTER_MULTI_TIMER
            | Self::COUNTER_MULTI_TIMER_INV
            | Self::MULTI_TIMER_100NS
            | Self::MULTI_TIMER_INV_100NS => [None, None, None, Some(Self::RAWCOUNT)],
            _ => [None; 4],
        }
    }

    /// The type of the base counter that follows a counter of this type in blocks, if any. The precision object timer
    /// and multi timers have a base there, although they do not [need](Self::companions) it.
    ///
    /// Source: \[MS-PCQ\] 2.2.4.2.
    pub const fn base(self) -> Option<Self> {
        match self {
            Self::PRECISION_OBJECT_TIMER => Some(Self::LARGE_RAW_BASE),
            Self::COUNTER_MULTI_TIMER
            | Self::MULTI_TIMER_100NS
            | Self::COUNTER_MULTI_TIMER_INV
            | Self::MULTI_TIMER_INV_100NS => Some(Self::MULTI_BASE),
            _ => self.companions()[0],
        }
    }

    /// The row of this word in the table of named types.
    const fn named_type(self) -> Option<&'static NamedType> {
        // Telegraf and some exporters use LARGE_RAW_BASE with the low byte of a pre-release version.
        let word = if self.0 == 0x4003_0503 { Self::LARGE_RAW_BASE.0 } else { self.0 };
        let (mut low, mut high) = (0, NAMED_TYPES.len());
        while low < high {
            let middle = (low + high) / 2;
            if NAMED_TYPES[middle].word < word {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low < NAMED_TYPES.len() && NAMED_TYPES[low].word == word { Some(&NAMED_TYPES[low]) } else { None }
    }
}

impl From<u32> for CounterType {
    fn from(word: u32) -> Self {
        Self(word)
    }
}

/// Writes the Windows name, or the word as `0x...`.
impl fmt::Display for CounterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&format!("{:#010x}", self.0)),
        }
    }
}

impl fmt::Debug for CounterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} ({:#010x})", self.0)
    }
}

#[cfg(test)]
mod tests;
