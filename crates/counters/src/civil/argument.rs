//! Times in command-line arguments.

use std::fmt;

use super::{FileTime, from_fields};

/// A time in a command-line argument.
///
/// ```
/// use tachograph_counters::civil::{FileTime, TimeArgument};
/// let local = TimeArgument::parse("2/19/2013 6:50:17 PM")?;
/// assert_eq!(local, TimeArgument::Local(FileTime(130_057_734_170_000_000)));
/// let utc = TimeArgument::parse("2013-02-19T18:50:17-08:00")?;
/// assert_eq!(utc, TimeArgument::Utc(FileTime(130_058_022_170_000_000)));
/// # Ok::<(), tachograph_counters::civil::TimeArgumentError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeArgument {
    /// A local time, in the time zone of the log or machine.
    Local(FileTime),
    /// A time in UTC, from a text with an offset.
    Utc(FileTime),
}

impl TimeArgument {
    /// Parses a time in one of two forms, ignoring surrounding blanks:
    ///
    /// * `M/D/YYYY` or `M/D/YY`, optionally followed by blanks and `HH:MM[:SS[.fff]]`, with or without `AM` or `PM`
    ///   (relog's form). This is a local time.
    /// * `YYYY-MM-DD`, optionally followed by `T` or a blank and `HH:MM[:SS[.fff]]` (ISO 8601). This is a local time,
    ///   or UTC if `Z`, `+hh:mm` or `-hh:mm` follows the time of day.
    ///
    /// A two-digit year means a year from 1950 to 2049, as in Windows. The default time of day is midnight. A fraction
    /// has one to nine digits and is truncated to 100 ns.
    ///
    /// # Errors
    ///
    /// [`TimeArgumentError`] if the text has neither form, or the date or time does not exist.
    pub fn parse(text: &str) -> Result<Self, TimeArgumentError> {
        let trimmed = text.trim_ascii();
        if trimmed.is_empty() {
            return Err(TimeArgumentError::Empty);
        }
        let blanks = text.len() - text.trim_ascii_start().len();
        let mut scanner = Scanner::new(trimmed.as_bytes());
        let parsed = match trimmed.as_bytes().iter().position(|byte| !byte.is_ascii_digit()) {
            Some(4) => parse_iso(&mut scanner),
            _ => parse_month_first(&mut scanner),
        };
        let end = scanner.offset;
        match parsed {
            None => Err(TimeArgumentError::Form { offset: blanks + end }),
            Some(Ok(_)) if !scanner.is_at_end() => Err(TimeArgumentError::Form { offset: blanks + end }),
            Some(result) => result,
        }
    }

    /// Parses a time of day, `HH:MM[:SS[.fff]]` with or without `AM` or `PM`. Returns the 100 ns units since midnight,
    /// or `None` if the text does not have this form.
    ///
    /// ```
    /// use tachograph_counters::civil::TimeArgument;
    /// assert_eq!(TimeArgument::parse_time_of_day("6:55 PM"), Some(Ok((18 * 60 + 55) * 600_000_000)));
    /// assert_eq!(TimeArgument::parse_time_of_day("2/19/2013"), None);
    /// ```
    ///
    /// # Errors
    ///
    /// [`TimeArgumentError`] if the time of day does not exist.
    pub fn parse_time_of_day(text: &str) -> Option<Result<i64, TimeArgumentError>> {
        let mut scanner = Scanner::new(text.trim_ascii().as_bytes());
        let parsed = parse_time_of_day(&mut scanner)?;
        scanner.is_at_end().then(|| parsed.and_then(Clock::checked).map(Clock::since_midnight))
    }
}

impl std::str::FromStr for TimeArgument {
    type Err = TimeArgumentError;

    fn from_str(text: &str) -> Result<Self, TimeArgumentError> {
        Self::parse(text)
    }
}

/// `None` if the text does not have the expected form. The scanner then stops at the first unexpected byte.
type Parsed = Option<Result<TimeArgument, TimeArgumentError>>;

fn parse_month_first(scanner: &mut Scanner<'_>) -> Parsed {
    let month = scanner.number(1, 2)?;
    scanner.expect(b'/')?;
    let day = scanner.number(1, 2)?;
    scanner.expect(b'/')?;
    let date = [scanner.number(4, 4).or_else(|| Some(full_year(scanner.number(2, 2)?)))?, month, day];
    if scanner.is_at_end() {
        return Some(combine(date, Clock::default()).map(TimeArgument::Local));
    }
    scanner.expect(b' ')?;
    scanner.skip_blanks();
    Some(parse_time_of_day(scanner)?.and_then(|clock| combine(date, clock)).map(TimeArgument::Local))
}

/// The full year for a two-digit year, as in Windows.
fn full_year(two_digits: u32) -> u32 {
    two_digits + if two_digits < 50 { 2000 } else { 1900 }
}

/// Parses `HH:MM[:SS[.fff]]` with or without `AM` or `PM`. Checks only that an hour before `AM` or `PM` is 1 to 12.
fn parse_time_of_day(scanner: &mut Scanner<'_>) -> Option<Result<Clock, TimeArgumentError>> {
    let mut clock = parse_clock(scanner)?;
    scanner.skip_blanks();
    let afternoon = scanner.letter(b'P').is_some();
    if !afternoon && scanner.letter(b'A').is_none() {
        return Some(Ok(clock));
    }
    scanner.letter(b'M')?;
    if !(1..=12).contains(&clock.hour) {
        return Some(Err(TimeArgumentError::TwelveHours { hour: clock.hour }));
    }
    clock.hour = clock.hour % 12 + if afternoon { 12 } else { 0 };
    Some(Ok(clock))
}

fn parse_iso(scanner: &mut Scanner<'_>) -> Parsed {
    let date = scanner.date(b'-', [4, 2, 2], [4, 2, 2])?;
    if scanner.is_at_end() {
        return Some(combine(date, Clock::default()).map(TimeArgument::Local));
    }
    scanner.letter(b'T').or_else(|| scanner.expect(b' '))?;
    let clock = parse_clock(scanner)?;
    let time = match combine(date, clock) {
        Ok(time) => time,
        Err(error) => return Some(Err(error)),
    };
    if scanner.letter(b'Z').is_some() {
        return Some(Ok(TimeArgument::Utc(time)));
    }
    let sign = if scanner.expect(b'+').is_some() {
        1
    } else if scanner.expect(b'-').is_some() {
        -1
    } else {
        return Some(Ok(TimeArgument::Local(time)));
    };
    let hours = scanner.number(2, 2)?;
    scanner.expect(b':')?;
    let minutes = scanner.number(2, 2)?;
    if hours > 23 || minutes > 59 {
        return Some(Err(TimeArgumentError::Offset { hours, minutes }));
    }
    let offset = sign * i64::from(hours * 60 + minutes) * FileTime::PER_MINUTE;
    Some(Ok(TimeArgument::Utc(time.saturating_sub(offset))))
}

/// A time of day.
#[derive(Clone, Copy, Default)]
struct Clock {
    hour: u32,
    minute: u32,
    second: u32,
    /// In 100 ns units.
    fraction: u32,
}

impl Clock {
    fn checked(self) -> Result<Self, TimeArgumentError> {
        let Self { hour, minute, second, .. } = self;
        if hour > 23 || minute > 59 || second > 59 {
            return Err(TimeArgumentError::TimeOfDay { hour, minute, second });
        }
        Ok(self)
    }

    /// The 100 ns units since midnight.
    fn since_midnight(self) -> i64 {
        let seconds = i64::from(self.hour * 3600 + self.minute * 60 + self.second);
        seconds * FileTime::PER_SECOND + i64::from(self.fraction)
    }
}

fn parse_clock(scanner: &mut Scanner<'_>) -> Option<Clock> {
    let mut clock = Clock { hour: scanner.number(1, 2)?, ..Clock::default() };
    scanner.expect(b':')?;
    clock.minute = scanner.number(2, 2)?;
    if scanner.expect(b':').is_some() {
        clock.second = scanner.number(2, 2)?;
        if scanner.expect(b'.').is_some() {
            clock.fraction = scanner.fraction(9)?;
        }
    }
    Some(clock)
}

/// The time on a date, or an error if the date or the time of day does not exist.
fn combine(date: [u32; 3], clock: Clock) -> Result<FileTime, TimeArgumentError> {
    let [year, month, day] = date;
    let Clock { hour, minute, second, fraction } = clock.checked()?;
    from_fields([year, month, day, hour, minute, second], fraction).ok_or(TimeArgumentError::Date {
        year,
        month,
        day,
    })
}

/// The error of an invalid time. The message shows examples of both forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeArgumentError {
    /// The text is empty.
    Empty,
    /// The text has neither of the two forms.
    Form {
        /// The offset of the first unexpected byte.
        offset: usize,
    },
    /// The date does not exist.
    Date {
        /// The year of the text.
        year: u32,
        /// The month of the text.
        month: u32,
        /// The day of the text.
        day: u32,
    },
    /// The time of day does not exist.
    TimeOfDay {
        /// The hour of the text.
        hour: u32,
        /// The minute of the text.
        minute: u32,
        /// The second of the text.
        second: u32,
    },
    /// The hour before AM or PM is not 1 to 12.
    TwelveHours {
        /// The hour of the text.
        hour: u32,
    },
    /// The offset from UTC is out of range.
    Offset {
        /// The hours of the offset.
        hours: u32,
        /// The minutes of the offset.
        minutes: u32,
    },
}

impl fmt::Display for TimeArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the time is empty")?,
            Self::Form { offset } => write!(f, "the time is invalid at character {}", offset + 1)?,
            Self::Date { year, month, day } => {
                write!(f, "there is no day {day} of month {month} in the year {year}")?;
            }
            Self::TimeOfDay { hour, minute, second } => {
                write!(f, "there is no time of day {hour:02}:{minute:02}:{second:02}")?;
            }
            Self::TwelveHours { hour } => write!(f, "the hour before AM or PM is 1 to 12, not {hour}")?,
            Self::Offset { hours, minutes } => {
                write!(f, "there is no offset of {hours:02}:{minutes:02} from UTC")?;
            }
        }
        f.write_str("; write '2/19/2013 6:50:17 PM' or '2013-02-19T18:50:17' for a local time, ")?;
        f.write_str("'2013-02-19T18:50:17-08:00' for one with its offset from UTC")
    }
}

impl std::error::Error for TimeArgumentError {}

/// Parses a string from left to right. A method that returns `None` stops at the first byte that does not match.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    offset: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, offset: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.offset == self.text.len()
    }

    fn remaining(&self) -> &'a [u8] {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// Parses `min` to `max` digits.
    fn digits(&mut self, min: usize, max: usize) -> Option<&'a [u8]> {
        let rest = self.remaining();
        let length = rest.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
        if length < min {
            return None;
        }
        self.offset += length;
        Some(&rest[..length])
    }

    /// Parses a decimal number of `min` to `max` digits. `max` must not exceed 9.
    pub(super) fn number(&mut self, min: usize, max: usize) -> Option<u32> {
        let digits = self.digits(min, max)?;
        Some(digits.iter().fold(0, |number, byte| number * 10 + u32::from(byte - b'0')))
    }

    /// Parses the digits after the decimal point of the seconds. Returns 100 ns units, truncated.
    pub(super) fn fraction(&mut self, max_digits: usize) -> Option<u32> {
        let digits = self.digits(1, max_digits)?;
        let units = (0..7).map(|place| digits.get(place).map_or(0, |byte| u32::from(byte - b'0')));
        Some(units.fold(0, |number, digit| number * 10 + digit))
    }

    /// Parses the three numbers of a date, in the order of the text. `min` and `max` are their minimum and maximum
    /// numbers of digits.
    pub(super) fn date(&mut self, separator: u8, min: [usize; 3], max: [usize; 3]) -> Option<[u32; 3]> {
        let first = self.number(min[0], max[0])?;
        self.expect(separator)?;
        let second = self.number(min[1], max[1])?;
        self.expect(separator)?;
        Some([first, second, self.number(min[2], max[2])?])
    }

    /// Parses a time of day with seconds and an optional fraction of up to seven digits. `date` is year, month and day.
    pub(super) fn time_on(&mut self, date: [u32; 3], min_hour_digits: usize) -> Option<FileTime> {
        let hour = self.number(min_hour_digits, 2)?;
        self.expect(b':')?;
        let minute = self.number(2, 2)?;
        self.expect(b':')?;
        let second = self.number(2, 2)?;
        let fraction = if self.expect(b'.').is_some() { self.fraction(7)? } else { 0 };
        let [year, month, day] = date;
        from_fields([year, month, day, hour, minute, second], fraction)
    }

    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.remaining().first() == Some(&byte)).then(|| self.offset += 1)
    }

    fn skip_blanks(&mut self) {
        while self.expect(b' ').is_some() {}
    }

    /// Parses a letter in either case.
    fn letter(&mut self, upper_case: u8) -> Option<()> {
        self.expect(upper_case).or_else(|| self.expect(upper_case.to_ascii_lowercase()))
    }
}
