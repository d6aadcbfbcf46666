//! A time as a person writes it.

use std::fmt;

use super::{FileTime, from_fields};

/// A time as a person writes it on a command line.
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
    /// A local time, of the log or the machine that it is held against.
    Local(FileTime),
    /// A time in UTC: the text said its offset.
    Utc(FileTime),
}

impl TimeArgument {
    /// Reads a time in one of two forms, blanks around it left aside:
    ///
    /// * `M/D/YYYY` or `M/D/YY` and, after blanks, `HH:MM[:SS[.fff]]` and `AM` or `PM` (relog's form): a local time;
    /// * `YYYY-MM-DD` and, after `T` or a blank, `HH:MM[:SS[.fff]]` (ISO 8601): a local time; with `Z`, `+hh:mm` or
    ///   `-hh:mm` after it: UTC.
    ///
    /// A year of two digits is one of 1950 to 2049, as on Windows. Without a time of day it is midnight. A fraction has one to nine digits, cut to 100 ns.
    ///
    /// # Errors
    ///
    /// [`TimeArgumentError`], where the text has neither form, or there is no such date or time.
    pub fn parse(text: &str) -> Result<Self, TimeArgumentError> {
        let trimmed = text.trim_ascii();
        if trimmed.is_empty() {
            return Err(TimeArgumentError::Empty);
        }
        let before = text.len() - text.trim_ascii_start().len();
        let mut scan = Scan::new(trimmed.as_bytes());
        let read = match trimmed.as_bytes().iter().position(|byte| !byte.is_ascii_digit()) {
            Some(4) => iso(&mut scan),
            _ => month_first(&mut scan),
        };
        let end = scan.offset;
        match read {
            None => Err(TimeArgumentError::Form { offset: before + end }),
            Some(Ok(_)) if !scan.is_at_end() => Err(TimeArgumentError::Form { offset: before + end }),
            Some(result) => result,
        }
    }

    /// Reads a time of day alone, `HH:MM[:SS[.fff]]` and `AM` or `PM`: 100 ns units after midnight. `None` where the text
    /// has another form.
    ///
    /// ```
    /// use tachograph_counters::civil::TimeArgument;
    /// assert_eq!(TimeArgument::parse_time_of_day("6:55 PM"), Some(Ok((18 * 60 + 55) * 600_000_000)));
    /// assert_eq!(TimeArgument::parse_time_of_day("2/19/2013"), None);
    /// ```
    ///
    /// # Errors
    ///
    /// [`TimeArgumentError`], where there is no such time of day.
    pub fn parse_time_of_day(text: &str) -> Option<Result<i64, TimeArgumentError>> {
        let mut scan = Scan::new(text.trim_ascii().as_bytes());
        let read = of_day(&mut scan)?;
        scan.is_at_end().then(|| read.and_then(Clock::check).map(Clock::units))
    }
}

impl std::str::FromStr for TimeArgument {
    type Err = TimeArgumentError;

    fn from_str(text: &str) -> Result<Self, TimeArgumentError> {
        Self::parse(text)
    }
}

/// Outer `None`: the text does not have this form, from where the scan stands.
type Read = Option<Result<TimeArgument, TimeArgumentError>>;

fn month_first(scan: &mut Scan<'_>) -> Read {
    let month = scan.number(1, 2)?;
    scan.expect(b'/')?;
    let day = scan.number(1, 2)?;
    scan.expect(b'/')?;
    let date = [scan.number(4, 4).or_else(|| Some(full_year(scan.number(2, 2)?)))?, month, day];
    if scan.is_at_end() {
        return Some(together(date, Clock::default()).map(TimeArgument::Local));
    }
    scan.expect(b' ')?;
    scan.blanks();
    Some(of_day(scan)?.and_then(|clock| together(date, clock)).map(TimeArgument::Local))
}

/// The year that two digits mean on Windows.
fn full_year(two_digits: u32) -> u32 {
    two_digits + if two_digits < 50 { 2000 } else { 1900 }
}

/// `HH:MM[:SS[.fff]]` and `AM` or `PM`. The fields are not checked but for the latter.
fn of_day(scan: &mut Scan<'_>) -> Option<Result<Clock, TimeArgumentError>> {
    let mut clock = clock(scan, 1)?;
    scan.blanks();
    let afternoon = scan.letter(b'P').is_some();
    if !afternoon && scan.letter(b'A').is_none() {
        return Some(Ok(clock));
    }
    scan.letter(b'M')?;
    if !(1..=12).contains(&clock.hour) {
        return Some(Err(TimeArgumentError::TwelveHours { hour: clock.hour }));
    }
    clock.hour = clock.hour % 12 + if afternoon { 12 } else { 0 };
    Some(Ok(clock))
}

fn iso(scan: &mut Scan<'_>) -> Read {
    let date = scan.date(b'-', [4, 2, 2], [4, 2, 2])?;
    if scan.is_at_end() {
        return Some(together(date, Clock::default()).map(TimeArgument::Local));
    }
    scan.letter(b'T').or_else(|| scan.expect(b' '))?;
    let clock = clock(scan, 2)?;
    let time = match together(date, clock) {
        Ok(time) => time,
        Err(error) => return Some(Err(error)),
    };
    if scan.letter(b'Z').is_some() {
        return Some(Ok(TimeArgument::Utc(time)));
    }
    let sign = if scan.expect(b'+').is_some() {
        1
    } else if scan.expect(b'-').is_some() {
        -1
    } else {
        return Some(Ok(TimeArgument::Local(time)));
    };
    let hours = scan.number(2, 2)?;
    scan.expect(b':')?;
    let minutes = scan.number(2, 2)?;
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
    fn check(self) -> Result<Self, TimeArgumentError> {
        let Self { hour, minute, second, .. } = self;
        if hour > 23 || minute > 59 || second > 59 {
            return Err(TimeArgumentError::TimeOfDay { hour, minute, second });
        }
        Ok(self)
    }

    /// 100 ns units after midnight.
    fn units(self) -> i64 {
        let seconds = i64::from(self.hour * 3600 + self.minute * 60 + self.second);
        seconds * FileTime::PER_SECOND + i64::from(self.fraction)
    }
}

fn clock(scan: &mut Scan<'_>, least_hour_digits: usize) -> Option<Clock> {
    let mut clock = Clock { hour: scan.number(least_hour_digits, 2)?, ..Clock::default() };
    scan.expect(b':')?;
    clock.minute = scan.number(2, 2)?;
    if scan.expect(b':').is_some() {
        clock.second = scan.number(2, 2)?;
        if scan.expect(b'.').is_some() {
            clock.fraction = scan.fraction(9)?;
        }
    }
    Some(clock)
}

fn together(date: [u32; 3], clock: Clock) -> Result<FileTime, TimeArgumentError> {
    let [year, month, day] = date;
    let Clock { hour, minute, second, fraction } = clock.check()?;
    from_fields([year, month, day, hour, minute, second], fraction).ok_or(TimeArgumentError::Date {
        year,
        month,
        day,
    })
}

/// Why a text is no time. The message says what was wrong and shows both forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimeArgumentError {
    /// There is no text.
    Empty,
    /// The text has neither of the two forms.
    Form {
        /// From where it does not, in bytes from its start.
        offset: usize,
    },
    /// There is no such day in the calendar.
    Date {
        /// The year of the text.
        year: u32,
        /// The month of the text.
        month: u32,
        /// The day of the text.
        day: u32,
    },
    /// There is no such time of day.
    TimeOfDay {
        /// The hour of the text.
        hour: u32,
        /// The minute of the text.
        minute: u32,
        /// The second of the text.
        second: u32,
    },
    /// An hour with AM or PM is not from 1 to 12.
    TwelveHours {
        /// The hour of the text.
        hour: u32,
    },
    /// There is no such offset from UTC.
    Offset {
        /// The offset's hours.
        hours: u32,
        /// The offset's minutes.
        minutes: u32,
    },
}

impl fmt::Display for TimeArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the time is empty")?,
            Self::Form { offset } => write!(f, "the time cannot be read from character {} on", offset + 1)?,
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

/// A text being read from left to right. What cannot be read is not consumed.
pub(super) struct Scan<'a> {
    text: &'a [u8],
    offset: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, offset: 0 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.offset == self.text.len()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// The digits that come next, at most `most` of them.
    fn digits(&mut self, least: usize, most: usize) -> Option<&'a [u8]> {
        let rest = self.rest();
        let length = rest.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if length < least {
            return None;
        }
        self.offset += length;
        Some(&rest[..length])
    }

    /// A decimal number of at most nine digits.
    pub(super) fn number(&mut self, least: usize, most: usize) -> Option<u32> {
        let digits = self.digits(least, most)?;
        Some(digits.iter().fold(0, |number, byte| number * 10 + u32::from(byte - b'0')))
    }

    /// The digits after the decimal point as 100 ns units; further ones are cut off.
    pub(super) fn fraction(&mut self, most_digits: usize) -> Option<u32> {
        let digits = self.digits(1, most_digits)?;
        let units = (0..7).map(|place| digits.get(place).map_or(0, |byte| u32::from(byte - b'0')));
        Some(units.fold(0, |number, digit| number * 10 + digit))
    }

    /// The three numbers of a date, in their order in the text, each with its least and greatest number of digits.
    pub(super) fn date(&mut self, separator: u8, least: [usize; 3], most: [usize; 3]) -> Option<[u32; 3]> {
        let first = self.number(least[0], most[0])?;
        self.expect(separator)?;
        let second = self.number(least[1], most[1])?;
        self.expect(separator)?;
        Some([first, second, self.number(least[2], most[2])?])
    }

    /// A time of day with seconds, and up to seven digits of their fraction, on a date (year, month, day).
    pub(super) fn time_on(&mut self, date: [u32; 3], least_hour_digits: usize) -> Option<FileTime> {
        let hour = self.number(least_hour_digits, 2)?;
        self.expect(b':')?;
        let minute = self.number(2, 2)?;
        self.expect(b':')?;
        let second = self.number(2, 2)?;
        let fraction = if self.expect(b'.').is_some() { self.fraction(7)? } else { 0 };
        let [year, month, day] = date;
        from_fields([year, month, day, hour, minute, second], fraction)
    }

    pub(super) fn expect(&mut self, byte: u8) -> Option<()> {
        (self.rest().first() == Some(&byte)).then(|| self.offset += 1)
    }

    fn blanks(&mut self) {
        while self.expect(b' ').is_some() {}
    }

    /// A letter in either case.
    fn letter(&mut self, upper_case: u8) -> Option<()> {
        self.expect(upper_case).or_else(|| self.expect(upper_case.to_ascii_lowercase()))
    }
}
