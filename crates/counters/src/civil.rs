//! Civil times: FILETIME, and times in logs and on the command line.
//!
//! A [`FileTime`] is a number of 100 ns units in UTC or in local time; the name of the field or function says which. In
//! a log, sample times are local and file times are in UTC (reference: "The Windows Performance Monitor binary log",
//! 10.1). A [`Moment`] is a time in UTC with the offset of local time.
//!
//! Times come from untrusted files, so the functions in this module do not panic for any number.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::civil::DateTime;

use crate::time_zone::is_possible_bias;

mod argument;

pub use argument::{TimeArgument, TimeArgumentError};

const DAYS_PER_400_YEARS: i64 = 146_097;

/// Days from 0000-03-01 to 1601-01-01 in the proleptic Gregorian calendar.
const DAYS_TO_1601: i64 = 584_694;

/// A time in units of 100 ns since 1601-01-01 00:00:00, like a Windows FILETIME, but signed.
///
/// Source: "FILETIME structure" (Windows SDK).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime(pub i64);

impl FileTime {
    /// 100 ns units in a millisecond.
    pub const PER_MILLISECOND: i64 = 10_000;
    /// 100 ns units in a second.
    pub const PER_SECOND: i64 = 10_000_000;
    /// 100 ns units in a minute.
    pub const PER_MINUTE: i64 = 60 * Self::PER_SECOND;
    /// 100 ns units in a day.
    pub const PER_DAY: i64 = 24 * 60 * Self::PER_MINUTE;
    /// 1970-01-01 00:00:00, the start of Unix time.
    pub const UNIX_EPOCH: Self = Self(116_444_736_000_000_000);

    /// The range of four-digit years: 0000-01-01 00:00:00 to 9999-12-31 23:59:59.9999999.
    const FOUR_DIGIT_YEARS: (Self, Self) = (Self(-505_227_456_000_000_000), Self(2_650_467_743_999_999_999));

    /// The time of a date and a time of day, truncated to 100 ns. Every `DateTime` is in range.
    ///
    /// ```
    /// use tachograph_counters::civil::FileTime;
    /// assert_eq!(FileTime::from_civil(jiff::civil::date(1970, 1, 1).at(0, 0, 0, 0)), FileTime::UNIX_EPOCH);
    /// ```
    #[must_use]
    pub fn from_civil(civil: DateTime) -> Self {
        let days = days_from_date(civil.year().into(), civil.month().into(), civil.day().into());
        let minutes = i64::from(civil.hour()) * 60 + i64::from(civil.minute());
        let fraction = i64::from(civil.subsec_nanosecond()) / 100;
        Self(
            days * Self::PER_DAY
                + minutes * Self::PER_MINUTE
                + i64::from(civil.second()) * Self::PER_SECOND
                + fraction,
        )
    }

    /// The start of the day of this time.
    ///
    /// ```
    /// use tachograph_counters::civil::FileTime;
    /// let epoch = FileTime::UNIX_EPOCH;
    /// assert_eq!(epoch.saturating_add(FileTime::PER_DAY - 1).midnight(), epoch);
    /// ```
    #[must_use]
    pub fn midnight(self) -> Self {
        self.saturating_add(-self.0.rem_euclid(Self::PER_DAY))
    }

    /// The date and the time of day; `None` outside the years 0 to 9999.
    #[must_use]
    pub fn to_civil(self) -> Option<DateTime> {
        let (first, last) = Self::FOUR_DIGIT_YEARS;
        if self < first || self > last {
            return None;
        }
        let fields = Fields::from_time(self);
        let [month, day, hour, minute, second] =
            [fields.month, fields.day, fields.hour, fields.minute, fields.second]
                .map(|field| i8::try_from(field).unwrap_or(0));
        let nanosecond = i32::try_from(fields.fraction * 100).ok()?;
        DateTime::new(i16::try_from(fields.year).ok()?, month, day, hour, minute, second, nanosecond).ok()
    }

    /// Converts a system time to UTC, rounded down to 100 ns. Saturates.
    #[must_use]
    pub fn from_system_time(system_time: SystemTime) -> Self {
        let units = match system_time.duration_since(UNIX_EPOCH) {
            Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX) / 100,
            Err(before) => -i128::try_from(before.duration().as_nanos().div_ceil(100)).unwrap_or(i128::MAX),
        };
        let units = units.clamp(i64::MIN.into(), i64::MAX.into());
        Self(Self::UNIX_EPOCH.0.saturating_add(i64::try_from(units).unwrap_or(i64::MAX)))
    }

    /// This time plus a number of 100 ns units. Saturates.
    #[must_use]
    pub fn saturating_add(self, units: i64) -> Self {
        Self(self.0.saturating_add(units))
    }

    /// This time minus a number of 100 ns units. Saturates.
    #[must_use]
    pub fn saturating_sub(self, units: i64) -> Self {
        Self(self.0.saturating_sub(units))
    }

    /// The number of 100 ns units from `earlier` to this time; negative if `earlier` is later. Saturates.
    #[must_use]
    pub fn since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This time rounded down to milliseconds, which is the resolution of sample times in logs.
    #[must_use]
    pub fn cut_to_milliseconds(self) -> Self {
        Self(self.0.saturating_sub(self.0.rem_euclid(Self::PER_MILLISECOND)))
    }

    /// Writes the time in the format of text logs: `MM/dd/yyyy HH:mm:ss.fff`.
    ///
    /// Rounds down to milliseconds. Times outside the years 0000 to 9999 are written as the first or the last
    /// millisecond of that range. Source: observed in logs written by Windows (reference: "The Windows Performance
    /// Monitor binary log", 10.2).
    ///
    /// ```
    /// use tachograph_counters::civil::FileTime;
    /// let mut text = [0; 23];
    /// FileTime(130_057_734_178_449_999).write_log_time(&mut text);
    /// assert_eq!(&text, b"02/19/2013 18:50:17.844");
    /// ```
    pub fn write_log_time(self, out: &mut [u8; 23]) {
        let (first, last) = Self::FOUR_DIGIT_YEARS;
        let Fields { year, month, day, hour, minute, second, fraction } =
            Fields::from_time(self.clamp(first, last));
        let year = to_u32(year);
        let [[m, n], [d, e], [w, x], [y, z]] = [month, day, year / 100, year % 100].map(two_digits);
        let [[h, i], [j, k], [s, t]] = [hour, minute, second].map(two_digits);
        let milliseconds = fraction / 10_000;
        let ([a, b], [_, c]) = (two_digits(milliseconds / 10), two_digits(milliseconds % 10));
        *out = [m, n, b'/', d, e, b'/', w, x, y, z, b' ', h, i, b':', j, k, b':', s, t, b'.', a, b, c];
    }

    /// Returns the text that [`write_log_time`](Self::write_log_time) writes.
    #[must_use]
    pub fn to_log_time(self) -> String {
        let mut out = [0; 23];
        self.write_log_time(&mut out);
        out.iter().copied().map(char::from).collect()
    }

    /// Parses the time of a text log: `MM/dd/yyyy HH:mm:ss.fff`.
    ///
    /// Month, day and hour can have one digit. The fraction can be absent or have one to seven digits. `None` if the
    /// text has another form or the time does not exist.
    ///
    /// ```
    /// use tachograph_counters::civil::FileTime;
    /// assert_eq!(FileTime::parse_log_time(b"02/19/2013 18:50:17.844"), Some(FileTime(130_057_734_178_440_000)));
    /// assert_eq!(FileTime::parse_log_time(b"02/30/2013 18:50:17.844"), None);
    /// ```
    #[must_use]
    pub fn parse_log_time(text: &[u8]) -> Option<Self> {
        let mut scanner = argument::Scanner::new(text);
        let [month, day, year] = scanner.date(b'/', [1, 1, 4], [2, 2, 4])?;
        scanner.expect(b' ')?;
        let time = scanner.time_on([year, month, day], 1)?;
        scanner.is_at_end().then_some(time)
    }

    /// The year. Year 0 precedes year 1.
    pub(crate) fn year(self) -> i64 {
        date_from_days(self.0.div_euclid(Self::PER_DAY)).0
    }
}

/// A time from year, month, day, hour, minute and second, and a fraction of a second in 100 ns units. `None` if it does
/// not exist.
fn from_fields(fields: [u32; 6], fraction: u32) -> Option<FileTime> {
    let [month, day, hour, minute, second] = [fields[1], fields[2], fields[3], fields[4], fields[5]]
        .map(|field| i8::try_from(field).unwrap_or(i8::MAX));
    let nanosecond = i32::try_from(fraction.checked_mul(100)?).ok()?;
    let year = i16::try_from(fields[0]).ok()?;
    DateTime::new(year, month, day, hour, minute, second, nanosecond).ok().map(FileTime::from_civil)
}

/// A date and a time of day.
struct Fields {
    year: i64,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    /// In 100 ns units.
    fraction: u32,
}

impl Fields {
    fn from_time(time: FileTime) -> Self {
        let (year, month, day) = date_from_days(time.0.div_euclid(FileTime::PER_DAY));
        let since_midnight = time.0.rem_euclid(FileTime::PER_DAY);
        let seconds = to_u32(since_midnight / FileTime::PER_SECOND);
        Self {
            year,
            month,
            day,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            fraction: to_u32(since_midnight % FileTime::PER_SECOND),
        }
    }
}

/// Converts a number that is known to fit in a `u32`, such as seconds of a day or days of a year.
fn to_u32(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// Converts a number of days since 1601-01-01 to year, month and day, for the whole range of [`FileTime`].
///
/// The computation uses years that begin on March 1st, so that the leap day is the last day of its year. Source: Howard
/// Hinnant, "chrono-compatible low-level date algorithms".
fn date_from_days(days: i64) -> (i64, u32, u32) {
    let since_march = days + DAYS_TO_1601;
    let era = since_march.div_euclid(DAYS_PER_400_YEARS);
    let day_of_era = to_u32(since_march.rem_euclid(DAYS_PER_400_YEARS));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + i64::from(year_of_era) + i64::from(month <= 2), month, day)
}

/// The number of days from 1601-01-01 to a date. The month must be 1 to 12. A day after the end of the month is a day
/// of the next month.
pub(crate) fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    let year_from_march = year - i64::from(month <= 2);
    let era = year_from_march.div_euclid(400);
    let year_of_era = year_from_march.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_400_YEARS + day_of_era - DAYS_TO_1601
}

/// The two decimal digits of a number below 100.
fn two_digits(number: u32) -> [u8; 2] {
    const DIGITS: [[u8; 2]; 100] = {
        let mut digits = [[b'0'; 2]; 100];
        let mut number: u8 = 0;
        while number < 100 {
            digits[number as usize] = [b'0' + number / 10, b'0' + number % 10];
            number += 1;
        }
        digits
    };
    DIGITS[(number % 100) as usize]
}

/// A time in UTC, with the bias (UTC minus local time) that was in force in some time zone.
///
/// Ordered by UTC, then by bias.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment {
    /// The time in UTC.
    pub utc: FileTime,
    /// Minutes to add to the local time to get UTC: 480 for Pacific Standard Time.
    pub bias_minutes: i32,
}

impl Moment {
    /// The moment of a local time, with UTC = local + bias.
    ///
    /// If UTC would be out of the range of [`FileTime`], the bias is set to 0, so that [`local`](Self::local) still
    /// returns the local time.
    #[must_use]
    pub fn from_local(local: FileTime, bias_minutes: i32) -> Self {
        match local.0.checked_add(bias_units(bias_minutes)) {
            Some(utc) => Self { utc: FileTime(utc), bias_minutes },
            None => Self { utc: local, bias_minutes: 0 },
        }
    }

    /// The local time, which is UTC - bias. Saturates.
    #[must_use]
    pub fn local(&self) -> FileTime {
        self.utc.saturating_sub(bias_units(self.bias_minutes))
    }

    /// The local time with milliseconds and offset: `2013-02-19T18:50:17.844-08:00` (RFC 3339).
    ///
    /// Rounds down to milliseconds. With a bias that [no zone can have](is_possible_bias), the time is written in UTC
    /// with `+00:00`. If the year does not have four digits, the text is `filetime:` followed by the number of 100 ns
    /// units in UTC. `Display` writes the same text without allocating.
    ///
    /// ```
    /// use tachograph_counters::civil::{FileTime, Moment};
    /// let moment = Moment::from_local(FileTime(130_057_734_178_440_000), 480);
    /// assert_eq!(moment.rfc3339(), "2013-02-19T18:50:17.844-08:00");
    /// assert_eq!(Moment { utc: FileTime(i64::MAX), bias_minutes: 0 }.rfc3339(), "filetime:9223372036854775807");
    /// ```
    #[must_use]
    pub fn rfc3339(&self) -> String {
        self.to_string()
    }

    /// Parses the format of [`rfc3339`](Self::rfc3339). The fraction can be absent or have up to seven digits, and `Z`
    /// means UTC. `None` if the text has another form, the time does not exist, or [no zone can have](is_possible_bias)
    /// the offset.
    ///
    /// ```
    /// use tachograph_counters::civil::Moment;
    /// for text in ["2013-02-19T18:50:17.844-08:00", "2024-03-05T10:00:00.000+01:00", "filetime:9223372036854775807"] {
    ///     assert_eq!(Moment::parse_rfc3339(text).map(|moment| moment.rfc3339()).as_deref(), Some(text));
    /// }
    /// assert_eq!(Moment::parse_rfc3339("2013-02-19T18:50:17"), None);
    /// assert_eq!(Moment::parse_rfc3339("2013-02-19T18:50:17+14:01"), None);
    /// ```
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        if let Some(units) = text.strip_prefix("filetime:") {
            return Some(Self { utc: FileTime(units.parse().ok()?), bias_minutes: 0 });
        }
        let mut scanner = argument::Scanner::new(text.as_bytes());
        let date = scanner.date(b'-', [4, 2, 2], [4, 2, 2])?;
        scanner.expect(b'T')?;
        let local = scanner.time_on(date, 2)?;
        let bias_minutes = if scanner.expect(b'Z').is_some() {
            0
        } else {
            let is_ahead = scanner.expect(b'+').is_some();
            if !is_ahead {
                scanner.expect(b'-')?;
            }
            let hours = scanner.number(2, 2)?;
            scanner.expect(b':')?;
            let minutes = scanner.number(2, 2).filter(|&minutes| minutes < 60)?;
            let offset = (hours * 60 + minutes) as i32;
            Some(if is_ahead { -offset } else { offset }).filter(|&bias| is_possible_bias(bias))?
        };
        scanner.is_at_end().then(|| Self::from_local(local, bias_minutes))
    }
}

/// Converts a bias in minutes to 100 ns units. Cannot overflow.
fn bias_units(bias_minutes: i32) -> i64 {
    i64::from(bias_minutes) * FileTime::PER_MINUTE
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_possible = is_possible_bias(self.bias_minutes);
        let shown = if is_possible { *self } else { Self { utc: self.utc, bias_minutes: 0 } };
        let local = shown.local();
        let (first, last) = FileTime::FOUR_DIGIT_YEARS;
        if local < first || local > last {
            return write!(f, "filetime:{}", self.utc.0);
        }
        let mut time = [0; 23];
        local.write_log_time(&mut time);
        let [m, n, _, d, e, _, w, x, y, z, _, time @ ..] = time;
        let date = [w, x, y, z, b'-', m, n, b'-', d, e, b'T'];
        let offset = shown.bias_minutes.unsigned_abs();
        let [[h, i], [j, k]] = [offset / 60, offset % 60].map(two_digits);
        let sign = if shown.bias_minutes > 0 { b'-' } else { b'+' };
        [&date[..], &time, &[sign, h, i, b':', j, k]]
            .into_iter()
            .try_for_each(|part| f.write_str(std::str::from_utf8(part).unwrap_or_default()))
    }
}
