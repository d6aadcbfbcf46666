//! Times and time zones: values of the reference logs ("The Windows Performance Monitor binary log", 3.3, 10 and 14),
//! the seconds around changes of a zone, and laws for any number.

use jiff::civil::{DateTime, date};
use proptest::prelude::*;
use std::time::{Duration, SystemTime};
use tachograph_counters::civil::{FileTime, Moment, TimeArgument, TimeArgumentError};
use tachograph_counters::time_zone::{TimeZone, TransitionDate, resolve_name};

const SECOND: i64 = FileTime::PER_SECOND;
const HOUR: i64 = 60 * FileTime::PER_MINUTE;

fn time(text: &str) -> FileTime {
    FileTime::parse_log_time(text.as_bytes()).unwrap_or_else(|| panic!("{text}"))
}

fn zone(bias_minutes: i32, standard: [u16; 8], daylight: [u16; 8], daylight_bias_minutes: i32) -> TimeZone {
    TimeZone {
        bias_minutes,
        standard_name: "standard".to_owned(),
        standard_date: standard.into(),
        standard_bias_minutes: 0,
        daylight_name: "daylight".to_owned(),
        daylight_date: daylight.into(),
        daylight_bias_minutes,
    }
}

/// The zone of the reference logs T and C (docs/blg.md).
fn pacific() -> TimeZone {
    TimeZone {
        standard_name: "@tzres.dll,-212".to_owned(),
        daylight_name: "@tzres.dll,-211".to_owned(),
        ..zone(480, [0, 11, 0, 1, 2, 0, 0, 0], [0, 3, 0, 2, 2, 0, 0, 0], -60)
    }
}

/// The zone of the reference log P.
fn eastern() -> TimeZone {
    TimeZone {
        standard_name: "@tzres.dll,-112".to_owned(),
        daylight_name: "@tzres.dll,-111".to_owned(),
        ..pacific()
    }
    .with_bias(300)
}

/// Sydney since 2008.
fn sydney() -> TimeZone {
    zone(-600, [0, 4, 0, 1, 3, 0, 0, 0], [0, 10, 0, 1, 2, 0, 0, 0], -60)
}

trait WithBias {
    fn with_bias(self, bias_minutes: i32) -> Self;
}

impl WithBias for TimeZone {
    fn with_bias(self, bias_minutes: i32) -> Self {
        Self { bias_minutes, ..self }
    }
}

#[test]
fn log_times_are_written_and_parsed() {
    for (units, text) in [
        (0, "01/01/1601 00:00:00.000"),
        (-1, "12/31/1600 23:59:59.999"),
        (-10_000, "12/31/1600 23:59:59.999"),
        (-10_001, "12/31/1600 23:59:59.998"),
        (9_999, "01/01/1601 00:00:00.000"),
        (FileTime::UNIX_EPOCH.0, "01/01/1970 00:00:00.000"),
        (130_057_734_178_440_000, "02/19/2013 18:50:17.844"),
        (130_057_734_178_449_999, "02/19/2013 18:50:17.844"),
        (i64::MIN, "01/01/0000 00:00:00.000"),
        (i64::MAX, "12/31/9999 23:59:59.999"),
        (-505_227_456_000_000_000, "01/01/0000 00:00:00.000"),
        (2_650_467_743_999_999_999, "12/31/9999 23:59:59.999"),
    ] {
        assert_eq!(FileTime(units).to_log_time(), text, "{units}");
    }
    let second = time("02/19/2013 18:50:17").0;
    for (text, expected) in [
        ("2/19/2013 18:50:17", Some(second)),
        ("02/19/2013 18:50:17.8", Some(second + 8_000_000)),
        ("02/19/2013 18:50:17.8440001", Some(second + 8_440_001)),
        ("02/19/2013 8:50:17.000", Some(second - 10 * HOUR)),
        ("02/29/2012 00:00:00", Some(time("02/28/2012 00:00:00").0 + FileTime::PER_DAY)),
        ("02/29/2013 00:00:00", None),
        ("13/01/2013 00:00:00", None),
        ("00/01/2013 00:00:00", None),
        ("02/19/2013 24:00:00", None),
        ("02/19/2013 18:60:17", None),
        ("02/19/2013 18:50:60", None),
        ("02/19/2013 18:50:17.", None),
        ("02/19/2013 18:50:17.12345678", None),
        ("02/19/2013 18:50:17.844 ", None),
        ("02/19/13 18:50:17.844", None),
        ("02/19/2013  18:50:17.844", None),
        ("02/19/2013", None),
        ("", None),
    ] {
        assert_eq!(FileTime::parse_log_time(text.as_bytes()), expected.map(FileTime), "{text}");
    }
}

#[test]
fn calendar_and_system_times_convert() {
    assert_eq!(FileTime::from_civil(date(1601, 1, 1).at(0, 0, 0, 199)), FileTime(1));
    assert_eq!(FileTime(1).to_civil(), Some(date(1601, 1, 1).at(0, 0, 0, 100)));
    assert_eq!(FileTime(i64::MAX).to_civil(), None);
    assert_eq!(FileTime(i64::MIN).to_civil(), None);
    // The ends of the calendar.
    assert_eq!(FileTime::from_civil(DateTime::MAX).to_log_time(), "12/31/9999 23:59:59.999");
    assert!(FileTime::from_civil(DateTime::MIN) < FileTime(-505_227_456_000_000_000));

    let epoch = SystemTime::UNIX_EPOCH;
    assert_eq!(FileTime::from_system_time(epoch), FileTime::UNIX_EPOCH);
    let just_after = epoch + Duration::from_nanos(199);
    let just_before = epoch - Duration::from_nanos(1);
    assert_eq!(FileTime::from_system_time(just_after).since(FileTime::UNIX_EPOCH), 1);
    assert_eq!(FileTime::from_system_time(just_before).since(FileTime::UNIX_EPOCH), -1);
    assert_eq!(FileTime::from_system_time(epoch + Duration::from_secs(1 << 40)), FileTime(i64::MAX));
    assert_eq!(FileTime(19_999).cut_to_milliseconds(), FileTime(10_000));
    assert_eq!(FileTime(-1).cut_to_milliseconds(), FileTime(-10_000));
    assert_eq!(FileTime(i64::MIN).cut_to_milliseconds(), FileTime(i64::MIN));
}

#[test]
fn moments_are_written_with_their_offset() {
    let local = FileTime(130_057_734_178_449_999);
    for (bias_minutes, text) in [
        (480, "2013-02-19T18:50:17.844-08:00"),
        (0, "2013-02-19T18:50:17.844+00:00"),
        (-345, "2013-02-19T18:50:17.844+05:45"),
        (840, "2013-02-19T18:50:17.844-14:00"),
        (841, "2013-02-20T08:51:17.844+00:00"),
        (-841, "2013-02-19T04:49:17.844+00:00"),
        (-1440, "2013-02-18T18:50:17.844+00:00"),
    ] {
        assert_eq!(Moment::from_local(local, bias_minutes).rfc3339(), text);
    }
    for (utc, bias_minutes, text) in [
        (i64::MAX, 0, "filetime:9223372036854775807"),
        (i64::MIN, 480, "filetime:-9223372036854775808"),
        // East of UTC, the last minutes of 9999 in UTC are in the year 10000.
        (2_650_467_743_999_999_999, -60, "filetime:2650467743999999999"),
        (2_650_467_743_999_999_999, 60, "9999-12-31T22:59:59.999-01:00"),
    ] {
        assert_eq!(Moment { utc: FileTime(utc), bias_minutes }.rfc3339(), text);
    }
    let end = Moment::from_local(FileTime(i64::MAX), 480);
    assert_eq!((end.bias_minutes, end.local()), (0, FileTime(i64::MAX)));
}

#[test]
fn time_arguments_have_two_forms() {
    let second = time("02/19/2013 18:50:17").0;
    let midnight = time("02/19/2013 00:00:00").0;
    for (text, units) in [
        ("2/19/2013", midnight),
        ("02/19/2013", midnight),
        ("2/19/2013 18:50", second - 17 * SECOND),
        ("2/19/2013 18:50:17", second),
        ("2/19/2013 6:50:17 PM", second),
        ("2/19/2013  06:50:17pm", second),
        ("2/19/2013 6:50 pm", second - 17 * SECOND),
        ("2/19/2013 6:50:17.844 AM", second + 8_440_000 - 12 * HOUR),
        ("2/19/2013 12:00:00 AM", midnight),
        ("2/19/2013 12:00:00 PM", midnight + 12 * HOUR),
        (" 2013-02-19 ", midnight),
        ("2013-02-19T18:50:17.844", second + 8_440_000),
        ("2013-02-19 18:50:17", second),
        ("2013-02-19 8:50:17", second - 10 * HOUR),
        ("2013-02-19t18:50", second - 17 * SECOND),
        ("2013-02-19T18:50:17.123456789", second + 1_234_567),
    ] {
        assert_eq!(TimeArgument::parse(text), Ok(TimeArgument::Local(FileTime(units))), "{text}");
    }
    for (text, units) in [
        ("2013-02-19T18:50:17Z", second),
        ("2013-02-19 18:50z", second - 17 * SECOND),
        ("2013-02-19T18:50:17-08:00", second + 8 * HOUR),
        ("2013-02-19T18:50:17.844+05:45", second + 8_440_000 - 5 * HOUR - 45 * FileTime::PER_MINUTE),
    ] {
        assert_eq!(TimeArgument::parse(text), Ok(TimeArgument::Utc(FileTime(units))), "{text}");
    }
}

#[test]
fn two_digit_years_are_from_1950_to_2049() {
    for (text, year) in [
        ("2/19/13", 2013),
        ("2/19/00", 2000),
        ("2/19/49", 2049),
        ("2/19/50", 1950),
        ("2/19/99 6:50 PM", 1999),
    ] {
        let Ok(TimeArgument::Local(time)) = TimeArgument::parse(text) else { panic!("{text} is a time") };
        assert_eq!(time.to_civil().map(|civil| civil.year()), Some(year), "{text}");
    }
}

#[test]
fn times_of_day_are_parsed() {
    let minute = FileTime::PER_MINUTE;
    for (text, units) in [
        ("18:55", (18 * 60 + 55) * minute),
        (" 6:55:30.5 pm ", (18 * 60 + 55) * minute + minute / 2 + FileTime::PER_SECOND / 2),
        ("12:00AM", 0),
    ] {
        assert_eq!(TimeArgument::parse_time_of_day(text), Some(Ok(units)), "{text}");
    }
    let late = TimeArgumentError::TimeOfDay { hour: 24, minute: 0, second: 0 };
    assert_eq!(TimeArgument::parse_time_of_day("24:00"), Some(Err(late)));
    for text in ["", "18", "18:5", "18:55 x", "2/19/2013 18:55", "2013-02-19"] {
        assert_eq!(TimeArgument::parse_time_of_day(text), None, "{text}");
    }
}

#[test]
fn time_argument_errors_state_what_is_wrong() {
    use TimeArgumentError::{Date, Empty, Form, Offset, TimeOfDay, TwelveHours};
    for (text, error, message) in [
        (" ", Empty, "the time is empty"),
        ("yesterday", Form { offset: 0 }, "the time is invalid at character 1"),
        ("2/19/3", Form { offset: 5 }, "the time is invalid at character 6"),
        ("2/19/201", Form { offset: 7 }, "the time is invalid at character 8"),
        (" 2/19/2013 18", Form { offset: 13 }, "the time is invalid at character 14"),
        ("2/19/2013 6:50 XM", Form { offset: 15 }, "the time is invalid at character 16"),
        ("2/19/2013 6:50 PX", Form { offset: 16 }, "the time is invalid at character 17"),
        ("2013-02-19Z", Form { offset: 10 }, "the time is invalid at character 11"),
        ("2013-02-19T18:50:17+0800", Form { offset: 22 }, "the time is invalid at character 23"),
        (
            "2/30/2013",
            Date { year: 2013, month: 2, day: 30 },
            "there is no day 30 of month 2 in the year 2013",
        ),
        (
            "2013-13-01T00:00",
            Date { year: 2013, month: 13, day: 1 },
            "there is no day 1 of month 13 in the year 2013",
        ),
        ("2/19/2013 24:00", TimeOfDay { hour: 24, minute: 0, second: 0 }, "there is no time of day 24:00:00"),
        ("2/19/2013 13:00 PM", TwelveHours { hour: 13 }, "the hour before AM or PM is 1 to 12, not 13"),
        ("2/19/2013 0:00 AM", TwelveHours { hour: 0 }, "the hour before AM or PM is 1 to 12, not 0"),
        (
            "2013-02-19T18:50:17+24:00",
            Offset { hours: 24, minutes: 0 },
            "there is no offset of 24:00 from UTC",
        ),
    ] {
        assert_eq!(TimeArgument::parse(text), Err(error), "{text}");
        let shown = error.to_string();
        assert!(shown.starts_with(message), "{shown}");
        assert!(shown.contains("2/19/2013 6:50:17 PM") && shown.contains("2013-02-19T18:50:17-08:00"));
    }
}

#[test]
fn zones_of_the_reference_logs_are_applied() {
    let t = pacific().local_to_moment(time("02/19/2013 18:50:17.844"), None);
    assert_eq!(t.rfc3339(), "2013-02-19T18:50:17.844-08:00");
    assert_eq!(pacific().name_at(&t), "Pacific Standard Time");

    let p = eastern().local_to_moment(time("08/14/2007 15:41:38.614"), None);
    assert_eq!(p.bias_minutes, 240);
    assert_eq!(eastern().name_at(&p), "Eastern Daylight Time");
    assert_eq!(eastern().utc_to_moment(p.utc), p);

    let c = pacific().local_to_moment(time("11/26/2016 13:46:30.874"), None);
    assert_eq!((c.bias_minutes, pacific().name_at(&c)), (480, "Pacific Standard Time"));

    let b = zone(180, [0; 8], [0; 8], 0).local_to_moment(time("01/15/2007 12:00:00.000"), None);
    assert_eq!(b.bias_minutes, 180);
}

/// Checks rows of a local time, the previous time in the log (UTC), and the expected bias.
fn check(zone: &TimeZone, rows: &[(&str, Option<&str>, i32)]) {
    for &(local, previous_utc, bias_minutes) in rows {
        let moment = zone.local_to_moment(time(local), previous_utc.map(time));
        assert_eq!(moment.bias_minutes, bias_minutes, "{local} after {previous_utc:?}");
        assert_eq!(moment.local(), time(local));
        let name = if bias_minutes == zone.bias_minutes { "standard" } else { "daylight" };
        assert_eq!(zone.name_at(&moment), name, "{local}");
    }
}

#[test]
fn changes_in_the_northern_hemisphere_are_applied() {
    let pacific =
        TimeZone { daylight_name: "daylight".into(), standard_name: "standard".into(), ..pacific() };
    check(
        &pacific,
        &[
            ("01/01/2013 00:00:00.000", None, 480),
            ("03/10/2013 01:59:59.999", None, 480),
            // The skipped hour.
            ("03/10/2013 02:00:00.000", None, 480),
            ("03/10/2013 02:59:59.999", None, 480),
            ("03/10/2013 03:00:00.000", None, 420),
            ("11/03/2013 00:59:59.999", None, 420),
            // The repeated hour: daylight time from 08:00 to 09:00 UTC, then standard time.
            ("11/03/2013 01:00:00.000", None, 420),
            ("11/03/2013 01:59:59.999", None, 420),
            ("11/03/2013 01:00:00.000", Some("11/03/2013 07:59:59.999"), 420),
            ("11/03/2013 01:00:00.000", Some("11/03/2013 08:00:00.000"), 480),
            ("11/03/2013 01:30:00.000", Some("11/03/2013 08:30:00.001"), 480),
            ("11/03/2013 01:30:00.000", Some("11/03/2013 08:29:59.999"), 420),
            ("11/03/2013 02:00:00.000", None, 480),
            ("12/31/2013 23:59:59.999", None, 480),
        ],
    );
    let utc = |text: &str| pacific.utc_to_moment(time(text)).bias_minutes;
    assert_eq!(utc("03/10/2013 09:59:59.999"), 480);
    assert_eq!(utc("03/10/2013 10:00:00.000"), 420);
    assert_eq!(utc("11/03/2013 08:59:59.999"), 420);
    assert_eq!(utc("11/03/2013 09:00:00.000"), 480);
    // Central Europe: the last Sunday, at 02:00 and 03:00.
    let berlin = zone(-60, [0, 10, 0, 5, 3, 0, 0, 0], [0, 3, 0, 5, 2, 0, 0, 0], -60);
    check(
        &berlin,
        &[
            ("03/31/2024 01:59:59.999", None, -60),
            ("03/31/2024 03:00:00.000", None, -120),
            ("10/27/2024 02:59:59.999", None, -120),
            ("10/27/2024 03:00:00.000", None, -60),
            ("03/30/2025 03:00:00.000", None, -120),
            ("10/26/2025 03:00:00.000", None, -60),
        ],
    );
}

#[test]
fn the_changes_within_a_time_range_are_listed() {
    let changes = |zone: TimeZone, begin: &str, end: &str, max: usize| {
        let found = zone.changes(time(begin), time(end), max);
        found.iter().map(|moment| (moment.utc, moment.bias_minutes)).collect::<Vec<_>>()
    };
    let (march, november) = ((time("03/10/2013 10:00:00.000"), 420), (time("11/03/2013 09:00:00.000"), 480));
    assert_eq!(
        changes(pacific(), "01/01/2013 00:00:00.000", "01/01/2014 00:00:00.000", 9),
        [march, november]
    );
    assert_eq!(changes(pacific(), "01/01/2013 00:00:00.000", "01/01/2014 00:00:00.000", 1), [march]);
    assert_eq!(changes(pacific(), "03/10/2013 10:00:00.000", "11/03/2013 09:00:00.000", 9), []);
    assert_eq!(
        changes(pacific(), "03/10/2013 09:59:59.000", "11/03/2013 09:00:01.000", 9),
        [march, november]
    );
    assert_eq!(changes(sydney(), "01/01/2013 00:00:00.000", "01/01/2014 00:00:00.000", 9).len(), 2);
    assert_eq!(changes(TimeZone::utc(), "01/01/2013 00:00:00.000", "01/01/2014 00:00:00.000", 9), []);
    assert_eq!(pacific().changes(FileTime(i64::MIN), FileTime(i64::MAX), 5).len(), 5);
}

#[test]
fn changes_in_the_southern_hemisphere_are_applied() {
    check(
        &sydney(),
        &[
            ("01/01/2024 00:00:00.000", None, -660),
            ("04/07/2024 01:59:59.999", None, -660),
            ("04/07/2024 02:30:00.000", None, -660),
            ("04/07/2024 02:30:00.000", Some("04/06/2024 15:30:00.000"), -600),
            ("04/07/2024 03:00:00.000", None, -600),
            ("10/06/2024 01:59:59.999", None, -600),
            ("10/06/2024 02:30:00.000", None, -600),
            ("10/06/2024 03:00:00.000", None, -660),
            ("12/31/2024 23:59:59.999", None, -660),
        ],
    );
}

#[test]
fn unusual_rules_are_applied() {
    // Dates with a year occur once; before the first one, the other bias was in force.
    let once = zone(0, [2013, 10, 0, 27, 2, 0, 0, 0], [2013, 3, 0, 31, 1, 0, 0, 0], -60);
    check(
        &once,
        &[
            ("07/01/2000 00:00:00.000", None, 0),
            ("03/31/2013 00:59:59.999", None, 0),
            ("03/31/2013 02:00:00.000", None, -60),
            ("10/27/2013 00:59:59.999", None, -60),
            ("10/27/2013 02:00:00.000", None, 0),
            ("07/01/2020 00:00:00.000", None, 0),
        ],
    );
    let ends_only = zone(0, [2013, 4, 0, 7, 3, 0, 0, 0], [2014, 10, 0, 5, 2, 0, 0, 0], -60);
    check(
        &ends_only,
        &[
            ("07/01/2000 00:00:00.000", None, -60),
            ("07/01/2013 00:00:00.000", None, 0),
            ("07/01/2020 00:00:00.000", None, -60),
        ],
    );
    // Winter time is defined as daylight time with a larger bias, so the hour repeats when it begins.
    let greater = zone(0, [0, 3, 0, 5, 1, 0, 0, 0], [0, 10, 0, 5, 2, 0, 0, 0], 60);
    check(
        &greater,
        &[
            ("07/01/2024 00:00:00.000", None, 0),
            ("01/01/2024 00:00:00.000", None, 60),
            ("10/27/2024 01:30:00.000", None, 0),
            ("10/27/2024 01:30:00.000", Some("10/27/2024 01:30:00.000"), 60),
        ],
    );
    // Changes at the end of the year, in both directions.
    let new_year = zone(0, [0, 1, 6, 1, 0, 0, 0, 0], [0, 12, 5, 5, 23, 59, 59, 999], -60);
    for local in ["12/31/2021 12:00:00.000", "01/01/2022 12:00:00.000", "06/01/2022 00:00:00.000"] {
        assert_eq!(new_year.local_to_moment(time(local), None).local(), time(local));
    }
}

#[test]
fn an_invalid_rule_is_ignored() {
    let good = [0, 3, 0, 2, 2, 0, 0, 0];
    for bad in [
        [0; 8],
        [0, 13, 0, 2, 2, 0, 0, 0],
        [0, 11, 7, 1, 2, 0, 0, 0],
        [0, 11, 9, 1, 2, 0, 0, 0],
        [0, 11, 0, 0, 2, 0, 0, 0],
        [0, 11, 0, 6, 2, 0, 0, 0],
        [0, 11, 0, 1, 24, 0, 0, 0],
        [0, 11, 0, 1, 2, 60, 0, 0],
        [0, 11, 0, 1, 2, 0, 60, 0],
        [0, 11, 0, 1, 2, 0, 0, 1000],
        [2013, 2, 0, 29, 2, 0, 0, 0],
        [2013, 0, 0, 1, 2, 0, 0, 0],
        [u16::MAX; 8],
    ] {
        for zone in [zone(480, bad, good, -60), zone(480, good, bad, -60)] {
            assert!(!zone.has_daylight_time(), "{bad:?}");
            let moment = zone.local_to_moment(time("07/01/2013 00:00:00.000"), None);
            assert_eq!(moment.bias_minutes, 480);
            assert_eq!(zone.utc_to_moment(moment.utc), moment);
            assert_eq!(zone.name_at(&moment), "standard");
        }
        assert_eq!(TransitionDate::from(bad).to_fields(), bad);
    }
}

#[test]
fn fixed_zones_have_one_bias() {
    let moment = TimeZone::utc().local_to_moment(time("07/01/2013 00:00:00.000"), None);
    assert_eq!(moment.bias_minutes, 0);
    assert_eq!(TimeZone::utc().name_at(&moment), "Coordinated Universal Time");
    let fixed = TimeZone::fixed("CEST", -120);
    assert_eq!(fixed.utc_to_moment(moment.utc).rfc3339(), "2013-07-01T02:00:00.000+02:00");
    assert_eq!(fixed.name_at(&moment), "CEST");
    assert_eq!(TimeZone::default(), TimeZone::utc());

    let argument = |text: &str| pacific().argument_to_moment(TimeArgument::parse(text).unwrap());
    assert_eq!(argument("7/1/2013 5:00 AM").rfc3339(), "2013-07-01T05:00:00.000-07:00");
    assert_eq!(argument("2013-07-01T12:00Z").rfc3339(), "2013-07-01T05:00:00.000-07:00");
}

#[test]
fn indirect_names_are_resolved() {
    for (name, resolved) in [
        ("@tzres.dll,-212", "Pacific Standard Time"),
        ("@tzres.dll,-211", "Pacific Daylight Time"),
        ("@tzres.dll,-112", "Eastern Standard Time"),
        ("@tzres.dll,-111", "Eastern Daylight Time"),
        ("@TZRES.DLL,-322", "W. Europe Standard Time"),
        (r"@%SystemRoot%\system32\tzres.dll,-932;note", "Coordinated Universal Time"),
        ("@tzres.dll,-210", "@tzres.dll,-210"),
        ("@tzres.dll,-65536", "@tzres.dll,-65536"),
        ("@tzres.dll,-", "@tzres.dll,-"),
        ("@tzres.dll,-+212", "@tzres.dll,-+212"),
        ("@other.dll,-212", "@other.dll,-212"),
        ("SA Eastern Standard Time", "SA Eastern Standard Time"),
        ("", ""),
    ] {
        assert_eq!(resolve_name(name), resolved);
    }
    // Binary search finds every id only if the table is sorted.
    let known = (0..=u16::MAX).filter(|number| {
        let name = format!("@tzres.dll,-{number}");
        resolve_name(&name) != name
    });
    assert_eq!(known.count(), 254);
}

fn any_zone() -> impl Strategy<Value = TimeZone> {
    let field = prop_oneof![0_u16..14, any::<u16>()];
    let rule = prop_oneof![
        [Just(0_u16).boxed(), (1_u16..=12).boxed(), (0_u16..7).boxed(), (1_u16..6).boxed()]
            .prop_map(|[year, month, day_of_week, day]| [year, month, day_of_week, day, 2, 0, 0, 0]),
        proptest::array::uniform8(field),
    ];
    let bias = prop_oneof![-900_i32..900, any::<i32>()];
    (bias.clone(), rule.clone(), rule, bias.clone(), bias).prop_map(
        |(bias_minutes, standard, daylight, standard_bias_minutes, daylight_bias_minutes)| TimeZone {
            standard_bias_minutes,
            ..zone(bias_minutes, standard, daylight, daylight_bias_minutes)
        },
    )
}

fn any_time() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        0..2_650_467_744_000_000_000_i64,
        Just(i64::MAX),
        Just(i64::MIN),
        (0..100 * HOUR).prop_map(|units| i64::MAX - units),
        (0..100 * HOUR).prop_map(|units| i64::MIN + units),
    ]
}

proptest! {
    #[test]
    fn the_bias_is_constant_between_changes(
        zone in any_zone().prop_filter("biases of less than a day", |zone| {
            let biases = [zone.bias_minutes, zone.standard_bias_minutes, zone.daylight_bias_minutes];
            biases.iter().all(|minutes| minutes.unsigned_abs() < 24 * 60)
        }),
        begin in 0..2_650_467_744_000_000_000_i64,
        days in 1_i64..1500,
        shares in proptest::collection::vec(0_i64..1000, 1..50),
    ) {
        let end = begin.saturating_add(days * FileTime::PER_DAY);
        let changes = zone.changes(FileTime(begin), FileTime(end), usize::MAX);
        prop_assert!(changes.is_sorted());
        for share in shares {
            let at = FileTime(begin.saturating_add(days * FileTime::PER_DAY / 1000 * share));
            let last = changes.iter().rev().find(|change| change.utc <= at);
            let bias = last.map_or(zone.utc_to_moment(FileTime(begin)).bias_minutes, |change| change.bias_minutes);
            prop_assert_eq!(zone.utc_to_moment(at).bias_minutes, bias, "{:?}", at);
        }
    }

    #[test]
    fn a_local_time_is_preserved(zone in any_zone(), local in any_time(), previous in any::<Option<i64>>()) {
        let moment = zone.local_to_moment(FileTime(local), previous.map(FileTime));
        prop_assert_eq!(moment.local(), FileTime(local));
        prop_assert!(!moment.rfc3339().is_empty() && !zone.name_at(&moment).is_empty());
        let back = zone.utc_to_moment(FileTime(local));
        prop_assert_eq!(back.utc, FileTime(local));
    }

    #[test]
    fn ascending_local_times_have_ascending_utc(
        is_northern in any::<bool>(),
        start in 0..400 * 366 * 24_i64,
        step_minutes in 1_i64..20_000,
    ) {
        let zone = if is_northern { pacific() } else { sydney() };
        // Hours that a change skips or repeats are replaced by the following hours.
        let clear = |local: FileTime| {
            let civil = local.to_civil().unwrap();
            let is_unclear = [3, 4, 10, 11].contains(&civil.month()) && (1..3).contains(&civil.hour());
            local.saturating_add(if is_unclear { 2 * HOUR } else { 0 })
        };
        let first = clear(FileTime(start * HOUR));
        let second = clear(first.saturating_add(step_minutes * FileTime::PER_MINUTE));
        let (earlier, later) = (zone.local_to_moment(first, None), zone.local_to_moment(second, None));
        prop_assert!(earlier.utc < later.utc);
        // The conversion is reversible.
        prop_assert_eq!(zone.utc_to_moment(later.utc), later);
    }

    #[test]
    fn the_repeated_hour_has_ascending_utc(minutes in proptest::collection::btree_set(0_i64..180, 2..40)) {
        // The local times of a log around the end of daylight saving time, whose UTC times are ascending.
        let zone = pacific();
        let start = time("11/03/2013 07:30:00.000");
        let mut previous = None;
        for minute in minutes {
            let utc = start.saturating_add(minute * FileTime::PER_MINUTE);
            let read = zone.local_to_moment(zone.utc_to_moment(utc).local(), previous);
            prop_assert!(previous.is_none_or(|previous| previous < read.utc));
            // The first occurrence is preferred, so a parsed time is never too late.
            prop_assert!(read.utc <= utc);
            previous = Some(read.utc);
        }
    }

    #[test]
    fn the_calendar_agrees_with_jiff(seconds in -377_705_023_201_i64..=253_402_207_200) {
        let unix = jiff::Timestamp::from_second(seconds).unwrap();
        let civil = jiff::tz::TimeZone::UTC.to_datetime(unix);
        let time = FileTime::from_civil(civil);
        prop_assert_eq!(time.since(FileTime::UNIX_EPOCH), seconds * SECOND);
        if civil.year() >= 0 {
            prop_assert_eq!(time.to_civil(), Some(civil));
            prop_assert_eq!(time.to_log_time(), civil.strftime("%m/%d/%Y %H:%M:%S.000").to_string());
        }
    }

    #[test]
    fn any_time_can_be_displayed(units in any_time()) {
        let text = FileTime(units).to_log_time();
        let read = FileTime::parse_log_time(text.as_bytes());
        match FileTime(units).to_civil() {
            Some(_) => prop_assert_eq!(read, Some(FileTime(units).cut_to_milliseconds())),
            None => prop_assert!(read.is_some()),
        }
        prop_assert!(FileTime(units).cut_to_milliseconds().0 <= units);
    }

    #[test]
    fn any_text_is_parsed_or_rejected(text in prop_oneof!["[0-9/:. TZAPM+-]{0,30}", any::<String>()]) {
        let _ = FileTime::parse_log_time(text.as_bytes());
        if let Err(error) = TimeArgument::parse(&text) {
            prop_assert!(error.to_string().contains("write '2/19/2013"));
        }
    }
}
