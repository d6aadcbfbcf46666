//! Number formats and formatted values.

use tachograph_counters::{FormatOptions, Status};

use crate::{PdhStatus, Result};

/// The bits of a format: `PDH_FMT_*` in pdh.h.
pub mod flags {
    /// The raw value. Not valid in a [`Format`](super::Format).
    #[doc(alias = "PDH_FMT_RAW")]
    pub const RAW: u32 = 0x10;
    /// ANSI text. Not valid in a [`Format`](super::Format).
    #[doc(alias = "PDH_FMT_ANSI")]
    pub const ANSI: u32 = 0x20;
    /// UTF-16 text. Not valid in a [`Format`](super::Format).
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
    /// Ignores the counter's scale factor.
    #[doc(alias = "PDH_FMT_NOSCALE")]
    pub const NOSCALE: u32 = 0x1000;
    /// Multiplies the value by 1000.
    #[doc(alias = "PDH_FMT_1000")]
    pub const TIMES_1000: u32 = 0x2000;
    /// Not valid in a [`Format`](super::Format).
    #[doc(alias = "PDH_FMT_NODATA")]
    pub const NODATA: u32 = 0x4000;
    /// Does not cap percentages at 100.
    #[doc(alias = "PDH_FMT_NOCAP100")]
    pub const NOCAP100: u32 = 0x8000;
}

/// The format of a value: one of three number types, and whether to apply the scale factor, cap percentages at 100 and
/// multiply by 1000.
///
/// The scale factor is the one set with [`set_scale_factor`](crate::Query::set_scale_factor). A counter's default scale
/// is for charts only and never applied.
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
    /// A double, uncapped and unscaled. All tools of this project display values in this format.
    pub const DOUBLE: Self = Self { flags: flags::DOUBLE | flags::NOSCALE | flags::NOCAP100 };

    /// Creates a format from its bits.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_ARGUMENT`] unless exactly one of `LONG`, `DOUBLE` and `LARGE` is set, and for bits other than
    /// these, `NOSCALE`, `1000` and `NOCAP100`.
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

    /// The options for the calculator, for a counter with this scale factor.
    pub(crate) fn options(self, scale: i8) -> FormatOptions {
        FormatOptions {
            cap_at_100: self.flags & flags::NOCAP100 == 0,
            scale: if self.flags & flags::NOSCALE == 0 { scale } else { 0 },
            times_1000: self.flags & flags::TIMES_1000 != 0,
            unwrap_32_bit: false,
        }
    }

    /// Converts a number to the type of the format. Integers are truncated toward zero and saturate.
    pub(crate) fn value_of(self, number: f64) -> Value {
        match self.flags & (flags::LONG | flags::LARGE) {
            flags::LONG => Value::Long(number as i32),
            flags::LARGE => Value::Large(number as i64),
            _ => Value::Double(number),
        }
    }
}

/// A number of the type that a [`Format`] selects.
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
    /// [`PdhStatus::VALID_DATA`], or why the value is missing.
    #[doc(alias = "CStatus")]
    pub status: PdhStatus,
    /// The value; 0 if it is missing.
    pub value: Value,
}

/// Why a value is missing: the status of the call, and the status of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoValue {
    /// The status of the call.
    pub status: PdhStatus,
    /// The status of the value (`CStatus`).
    pub value_status: PdhStatus,
}

impl NoValue {
    /// A call that failed with `status`; the status of the value is [`PdhStatus::CSTATUS_INVALID_DATA`].
    pub(crate) fn from_call_status(status: PdhStatus) -> Self {
        Self { status, value_status: PdhStatus::CSTATUS_INVALID_DATA }
    }

    /// Represents the missing value in an array or in statistics: a 0 with the value's status.
    pub(crate) fn to_value(self, format: Format) -> FormattedValue {
        FormattedValue { status: self.value_status, value: format.value_of(0.0) }
    }
}

impl std::fmt::Display for NoValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (value: {})", self.status, self.value_status)
    }
}

impl std::error::Error for NoValue {}

/// Formats the result of a formula. `raw_status` is the error status of the raw value that caused the formula to fail,
/// if any.
pub(crate) fn format_result(
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
