//! How a value is wanted, and what it then is.

use tachograph_counters::{FormatOptions, Status};

use crate::{PdhStatus, Result};

/// The bits of a format, `PDH_FMT_*` of pdh.h.
pub mod flags {
    /// The raw value, unformatted: no format of a value.
    #[doc(alias = "PDH_FMT_RAW")]
    pub const RAW: u32 = 0x10;
    /// Text of one byte a character: no format of a value.
    #[doc(alias = "PDH_FMT_ANSI")]
    pub const ANSI: u32 = 0x20;
    /// Text of two bytes a character: no format of a value.
    #[doc(alias = "PDH_FMT_UNICODE")]
    pub const UNICODE: u32 = 0x40;
    /// A 32-bit integer.
    #[doc(alias = "PDH_FMT_LONG")]
    pub const LONG: u32 = 0x100;
    /// A double.
    #[doc(alias = "PDH_FMT_DOUBLE")]
    pub const DOUBLE: u32 = 0x200;
    /// A 64-bit integer.
    #[doc(alias = "PDH_FMT_LARGE")]
    pub const LARGE: u32 = 0x400;
    /// The counter's scale factor is not applied.
    #[doc(alias = "PDH_FMT_NOSCALE")]
    pub const NOSCALE: u32 = 0x1000;
    /// The value times 1000.
    #[doc(alias = "PDH_FMT_1000")]
    pub const TIMES_1000: u32 = 0x2000;
    /// No format of a value.
    #[doc(alias = "PDH_FMT_NODATA")]
    pub const NODATA: u32 = 0x4000;
    /// Percentages may exceed 100.
    #[doc(alias = "PDH_FMT_NOCAP100")]
    pub const NOCAP100: u32 = 0x8000;
}

/// How a value is wanted: as one of three kinds of numbers, with or without scale factor, cap and factor 1000.
///
/// Without [`flags::NOCAP100`] values above 100 of types that are shown with a `%` become 100. The scale factor is the one
/// [set by the caller](crate::Query::set_scale_factor); the default scale of a counter is for charts and is never applied.
///
/// ```
/// use tachograph_pdh::{Format, PdhStatus, flags};
///
/// assert!(Format::from_flags(flags::LARGE | flags::NOCAP100).is_ok());
/// assert_eq!(Format::from_flags(flags::LARGE | flags::LONG), Err(PdhStatus::INVALID_ARGUMENT));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    flags: u32,
}

impl Format {
    /// A double as all tools of this project show it: uncapped, unscaled.
    pub const DOUBLE: Self = Self { flags: flags::DOUBLE | flags::NOSCALE | flags::NOCAP100 };

    /// The format of these bits.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] unless there is exactly one of `LONG`, `DOUBLE` and `LARGE`, and for bits beside
    /// `NOSCALE`, `1000` and `NOCAP100`.
    pub fn from_flags(flags: u32) -> Result<Self> {
        const NUMBERS: u32 = flags::LONG | flags::DOUBLE | flags::LARGE;
        const MODIFIERS: u32 = flags::NOSCALE | flags::TIMES_1000 | flags::NOCAP100;
        if (flags & NUMBERS).count_ones() != 1 || flags & !(NUMBERS | MODIFIERS) != 0 {
            return Err(PdhStatus::INVALID_ARGUMENT);
        }
        Ok(Self { flags })
    }

    /// The bits.
    #[must_use]
    pub const fn flags(self) -> u32 {
        self.flags
    }

    /// What the formulas are told, for a counter with this scale factor.
    pub(crate) fn options(self, scale: i8) -> FormatOptions {
        FormatOptions {
            cap_at_100: self.flags & flags::NOCAP100 == 0,
            scale: if self.flags & flags::NOSCALE == 0 { scale } else { 0 },
            times_1000: self.flags & flags::TIMES_1000 != 0,
            unwrap_32_bit: false,
        }
    }

    /// A number of the wanted kind: cut toward zero, and at the ends of the range.
    pub(crate) fn value_of(self, number: f64) -> Value {
        // `as` saturates, and cuts toward zero.
        match self.flags & (flags::LONG | flags::LARGE) {
            flags::LONG => Value::Long(number as i32),
            flags::LARGE => Value::Large(number as i64),
            _ => Value::Double(number),
        }
    }
}

/// A number of the kind that a [`Format`] asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// 32 bits.
    Long(i32),
    /// A double; never infinite, never NaN.
    Double(f64),
    /// 64 bits.
    Large(i64),
}

/// A formatted value with its own status.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "PDH_FMT_COUNTERVALUE")]
pub struct FormattedValue {
    /// [`PdhStatus::VALID_DATA`], or why there is no value.
    #[doc(alias = "CStatus")]
    pub status: PdhStatus,
    /// The value; 0 where there is none.
    pub value: Value,
}

/// There is no value: what the call answers, and the status that the value itself has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoValue {
    /// The status of the call.
    pub status: PdhStatus,
    /// The status of the value (`CStatus`).
    pub value_status: PdhStatus,
}

impl NoValue {
    /// A call that is wrong as such: its value is not valid either.
    pub(crate) fn of_call(status: PdhStatus) -> Self {
        Self { status, value_status: PdhStatus::CSTATUS_INVALID_DATA }
    }

    /// The value that stands in an array, or in statistics, where there is none.
    pub(crate) fn in_place(self, format: Format) -> FormattedValue {
        FormattedValue { status: self.value_status, value: format.value_of(0.0) }
    }
}

impl std::fmt::Display for NoValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (value: {})", self.status, self.value_status)
    }
}

impl std::error::Error for NoValue {}

/// What the formula gave, in the wanted format; `raw_status` is the status of the sample that is in the way, if one is.
pub(crate) fn formatted(
    result: std::result::Result<f64, Status>,
    format: Format,
    raw_status: Option<PdhStatus>,
) -> std::result::Result<FormattedValue, NoValue> {
    match result {
        Ok(number) => Ok(FormattedValue { status: PdhStatus::VALID_DATA, value: format.value_of(number) }),
        Err(status) => {
            let value_status = raw_status.unwrap_or(PdhStatus::CSTATUS_INVALID_DATA);
            Err(NoValue { status: status.into(), value_status })
        }
    }
}
