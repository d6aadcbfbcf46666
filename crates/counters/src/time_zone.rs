//! The time zone of a log, as defined in the log itself.
//!
//! Sample times of logs are local times without an offset. The TIME_ZONE_INFORMATION in the log's header is used to
//! convert them to UTC. It has a bias, additional biases for standard and daylight time, and the dates on which these
//! begin.
//!
//! Source: "TIME_ZONE_INFORMATION structure" (Windows SDK); reference: "The Windows Performance Monitor binary log",
//! 3.3 and 10.1.

use crate::civil::{FileTime, Moment, TimeArgument, days_from_date};

mod names;

/// Maximum bias, in minutes, of any time zone on Earth. A log with a larger bias is damaged.
pub const MAX_BIAS_MINUTES: u32 = 14 * 60;

/// Whether a zone can have this bias, which is at most [`MAX_BIAS_MINUTES`] in either direction.
#[must_use]
pub fn is_possible_bias(bias_minutes: i32) -> bool {
    bias_minutes.unsigned_abs() <= MAX_BIAS_MINUTES
}

/// The date and time of day at which standard or daylight time begins: a SYSTEMTIME.
///
/// With year 0, the change recurs every year on the `day`-th (5 = last) `day_of_week` (0 = Sunday) of the month. With
/// any other year, it happens on that date only, and `day_of_week` is ignored. The time of day is the local time before
/// the change. Month 0 means no rule, and so does an invalid field, such as month 13.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TransitionDate {
    /// 0 = every year.
    pub year: u16,
    /// 1 to 12; 0 = no rule.
    pub month: u16,
    /// 0 = Sunday to 6 = Saturday.
    pub day_of_week: u16,
    /// The occurrence of the day of week in the month, 1 to 5 (5 = last); if `year` is not 0, the day of the month.
    pub day: u16,
    /// 0 to 23.
    pub hour: u16,
    /// 0 to 59.
    pub minute: u16,
    /// 0 to 59.
    pub second: u16,
    /// 0 to 999.
    pub millisecond: u16,
}

impl TransitionDate {
    /// No rule: all fields 0.
    pub const NONE: Self =
        Self { year: 0, month: 0, day_of_week: 0, day: 0, hour: 0, minute: 0, second: 0, millisecond: 0 };

    /// The eight fields in the order of SYSTEMTIME.
    #[must_use]
    pub fn to_fields(&self) -> [u16; 8] {
        [
            self.year,
            self.month,
            self.day_of_week,
            self.day,
            self.hour,
            self.minute,
            self.second,
            self.millisecond,
        ]
    }

    /// Whether the fields are a valid rule.
    fn is_rule(&self) -> bool {
        let is_day_valid = if self.year == 0 {
            self.day_of_week <= 6 && (1..=5).contains(&self.day)
        } else {
            self.day >= 1 && i64::from(self.day) <= days_in_month(self.year.into(), self.month.into())
        };
        (1..=12).contains(&self.month)
            && is_day_valid
            && self.hour <= 23
            && self.minute <= 59
            && self.second <= 59
            && self.millisecond <= 999
    }

    /// The local time of the change in a year; `None` if there is no change in that year.
    fn in_year(&self, year: i64) -> Option<FileTime> {
        if !self.is_rule() || (self.year != 0 && i64::from(self.year) != year) {
            return None;
        }
        let month = i64::from(self.month);
        let day = if self.year == 0 { self.day_by_week(year) } else { i64::from(self.day) };
        let minutes = i64::from(self.hour) * 60 + i64::from(self.minute);
        let milliseconds = i64::from(self.second) * 1000 + i64::from(self.millisecond);
        let since_midnight = minutes * FileTime::PER_MINUTE + milliseconds * FileTime::PER_MILLISECOND;
        let days = days_from_date(year, month, day);
        Some(FileTime(days.saturating_mul(FileTime::PER_DAY)).saturating_add(since_midnight))
    }

    /// The day of the month of the `day`-th (or last) `day_of_week`.
    fn day_by_week(&self, year: i64) -> i64 {
        let month = i64::from(self.month);
        // 1601-01-01 was a Monday.
        let first_day_of_week = (days_from_date(year, month, 1) + 1).rem_euclid(7);
        let first = 1 + (i64::from(self.day_of_week) - first_day_of_week).rem_euclid(7);
        let wanted = first + 7 * (i64::from(self.day) - 1);
        if wanted > days_in_month(year, month) { wanted - 7 } else { wanted }
    }
}

impl From<[u16; 8]> for TransitionDate {
    fn from(fields: [u16; 8]) -> Self {
        let [year, month, day_of_week, day, hour, minute, second, millisecond] = fields;
        Self { year, month, day_of_week, day, hour, minute, second, millisecond }
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = if month >= 12 { (year + 1, 1) } else { (year, month + 1) };
    days_from_date(next_year, next_month, 1) - days_from_date(year, month, 1)
}

/// A time zone: its names, its biases and its rule for daylight time. Biases are in minutes; UTC = local time + bias.
///
/// ```
/// use tachograph_counters::civil::FileTime;
/// use tachograph_counters::time_zone::TimeZone;
/// let pacific = TimeZone {
///     bias_minutes: 480,
///     standard_name: "@tzres.dll,-212".to_owned(),
///     standard_date: [0, 11, 0, 1, 2, 0, 0, 0].into(),
///     standard_bias_minutes: 0,
///     daylight_name: "@tzres.dll,-211".to_owned(),
///     daylight_date: [0, 3, 0, 2, 2, 0, 0, 0].into(),
///     daylight_bias_minutes: -60,
/// };
/// let moment = pacific.local_to_moment(FileTime(130_057_734_178_440_000), None);
/// assert_eq!(moment.rfc3339(), "2013-02-19T18:50:17.844-08:00");
/// assert_eq!(pacific.name_at(&moment), "Pacific Standard Time");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeZone {
    /// The bias that standard and daylight time have in common.
    pub bias_minutes: i32,
    /// The name of standard time in the log, either plain or as an indirect string (`@tzres.dll,-212`).
    pub standard_name: String,
    /// When standard time begins. The time of day is in daylight time.
    pub standard_date: TransitionDate,
    /// Added to `bias_minutes` in standard time if the zone has daylight time; usually 0.
    pub standard_bias_minutes: i32,
    /// The name of daylight time in the log.
    pub daylight_name: String,
    /// When daylight time begins. The time of day is in standard time.
    pub daylight_date: TransitionDate,
    /// Added to `bias_minutes` in daylight time; usually -60.
    pub daylight_bias_minutes: i32,
}

impl Default for TimeZone {
    /// Same as [`TimeZone::utc`].
    fn default() -> Self {
        Self::utc()
    }
}

/// Which of a zone's two biases is in force: that of standard time or that of daylight time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Season {
    Daylight,
    // Compares as greater than `Daylight`, so that it takes precedence if both begin at the same time.
    Standard,
}

impl TimeZone {
    /// UTC, with the name that Windows uses.
    #[must_use]
    pub fn utc() -> Self {
        Self::fixed("Coordinated Universal Time", 0)
    }

    /// A zone with one name and one bias (in minutes).
    #[must_use]
    pub fn fixed(name: &str, bias_minutes: i32) -> Self {
        Self {
            bias_minutes,
            standard_name: name.to_owned(),
            standard_date: TransitionDate::NONE,
            standard_bias_minutes: 0,
            daylight_name: name.to_owned(),
            daylight_date: TransitionDate::NONE,
            daylight_bias_minutes: 0,
        }
    }

    /// Whether the zone has daylight time, that is, both dates are valid rules.
    #[must_use]
    pub fn has_daylight_time(&self) -> bool {
        self.standard_date.is_rule() && self.daylight_date.is_rule()
    }

    /// Converts a local time to a moment, with the bias that is in force according to the zone's rule.
    ///
    /// * A time in the hour that occurs twice, at the end of daylight time, is taken as daylight time if that is after
    ///   `previous_utc`, the previous time in the log. Otherwise it is taken as standard time.
    /// * A time in the hour that is skipped, at the start of daylight time, is taken as standard time.
    /// * A zone without a rule always has the same bias.
    ///
    /// The local time of the result always equals `local`; the bias is 0 if UTC would be out of the range of
    /// [`FileTime`].
    #[must_use]
    pub fn local_to_moment(&self, local: FileTime, previous_utc: Option<FileTime>) -> Moment {
        if !self.has_daylight_time() {
            return Moment::from_local(local, self.bias_minutes);
        }
        let standard = Moment::from_local(local, self.bias_in(Season::Standard));
        let daylight = Moment::from_local(local, self.bias_in(Season::Daylight));
        let is_standard = self.season_at(standard.utc) == Season::Standard;
        let is_daylight = self.season_at(daylight.utc) == Season::Daylight;
        match (is_standard, is_daylight) {
            // Usually daylight time comes first. A zone whose daylight bias is the larger one repeats an hour at the
            // start of daylight time, so there standard time comes first.
            (true, true) => {
                let (first, second) = (standard.min(daylight), standard.max(daylight));
                if previous_utc.is_some_and(|previous| first.utc <= previous) { second } else { first }
            }
            (false, true) => daylight,
            (true, false) | (false, false) => standard,
        }
    }

    /// Converts a time in UTC to a moment, with the bias that is in force according to the zone's rule.
    #[must_use]
    pub fn utc_to_moment(&self, utc: FileTime) -> Moment {
        let bias_minutes =
            if self.has_daylight_time() { self.bias_in(self.season_at(utc)) } else { self.bias_minutes };
        Moment { utc, bias_minutes }
    }

    /// The moments between `begin` and `end` (both exclusive) at which the bias changes, in the order of time; at most
    /// `max`.
    #[must_use]
    pub fn changes(&self, begin: FileTime, end: FileTime, max: usize) -> Vec<Moment> {
        let mut found = Vec::new();
        if !self.has_daylight_time() || begin >= end {
            return found;
        }
        let mut bias_minutes = self.utc_to_moment(begin).bias_minutes;
        for year in begin.year() - 1..=end.year() + 1 {
            let mut in_year: Vec<_> = self.changes_in(year).map(|(at, _)| at).collect();
            in_year.sort_unstable();
            for at in in_year.into_iter().filter(|&at| begin < at && at < end) {
                let moment = self.utc_to_moment(at);
                if found.len() < max && moment.bias_minutes != bias_minutes {
                    bias_minutes = moment.bias_minutes;
                    found.push(moment);
                }
            }
            if found.len() >= max {
                break;
            }
        }
        found
    }

    /// Converts a time argument to a moment. A local time is interpreted in this zone.
    #[must_use]
    pub fn argument_to_moment(&self, argument: TimeArgument) -> Moment {
        match argument {
            TimeArgument::Local(local) => self.local_to_moment(local, None),
            TimeArgument::Utc(utc) => self.utc_to_moment(utc),
        }
    }

    /// The name of standard or daylight time, depending on which of the two is in force at a moment of this zone.
    ///
    /// Indirect strings are [resolved](resolve_name).
    #[must_use]
    pub fn name_at(&self, moment: &Moment) -> &str {
        let daylight_bias = self.bias_in(Season::Daylight);
        let is_daylight = self.has_daylight_time()
            && moment.bias_minutes == daylight_bias
            && (daylight_bias != self.bias_in(Season::Standard)
                || self.season_at(moment.utc) == Season::Daylight);
        resolve_name(if is_daylight { &self.daylight_name } else { &self.standard_name })
    }

    /// The bias of a season. The zone must have daylight time.
    fn bias_in(&self, season: Season) -> i32 {
        let additional_bias = match season {
            Season::Standard => self.standard_bias_minutes,
            Season::Daylight => self.daylight_bias_minutes,
        };
        self.bias_minutes.saturating_add(additional_bias)
    }

    /// The times in UTC at which standard and daylight time begin in a year. The zone must have daylight time.
    fn changes_in(&self, year: i64) -> impl Iterator<Item = (FileTime, Season)> + Clone + use<> {
        let standard = self.standard_date.in_year(year).map(|local| (local, Season::Standard));
        let daylight = self.daylight_date.in_year(year).map(|local| (local, Season::Daylight));
        let biases = [self.bias_in(Season::Standard), self.bias_in(Season::Daylight)];
        [standard, daylight].into_iter().flatten().map(move |(local, season)| {
            let before = match season {
                Season::Standard => biases[1],
                Season::Daylight => biases[0],
            };
            (Moment::from_local(local, before).utc, season)
        })
    }

    /// The season at a moment, which is that of the latest change. The order of the two dates within a year, which is
    /// reversed in the southern hemisphere, does not matter. The zone must have daylight time.
    fn season_at(&self, utc: FileTime) -> Season {
        let year = utc.year();
        let near = (year - 1..=year + 1).flat_map(|year| self.changes_in(year));
        if let Some((_, season)) = near.filter(|&(begin, _)| begin <= utc).max() {
            return season;
        }
        // No change began within the last year, so no rule recurs every year: only rules for a single year remain.
        let years = [self.standard_date.year, self.daylight_date.year].map(i64::from);
        let unique_changes =
            years.into_iter().filter(|&year| year != 0).flat_map(|year| self.changes_in(year));
        if let Some((_, season)) = unique_changes.clone().filter(|&(begin, _)| begin <= utc).max() {
            return season;
        }
        match unique_changes.min() {
            Some((_, Season::Standard)) => Season::Daylight,
            _ => Season::Standard,
        }
    }
}

/// The name of a zone for display. An indirect string of `tzres.dll` is replaced with Windows' English name. Other text
/// and unknown ids are returned unchanged.
///
/// ```
/// use tachograph_counters::time_zone::resolve_name;
/// assert_eq!(resolve_name("@tzres.dll,-112"), "Eastern Standard Time");
/// assert_eq!(resolve_name("@tzres.dll,-65000"), "@tzres.dll,-65000");
/// ```
#[must_use]
pub fn resolve_name(name: &str) -> &str {
    indirect_id(name).and_then(names::name_of).unwrap_or(name)
}

/// The id of an indirect string `@[path\]tzres.dll,-id[;comment]`.
fn indirect_id(name: &str) -> Option<u16> {
    let (file, id) = name.strip_prefix('@')?.split_once(",-")?;
    let file = file.rsplit('\\').next()?;
    if !file.eq_ignore_ascii_case("tzres.dll") {
        return None;
    }
    let digits = id.split(';').next()?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}
