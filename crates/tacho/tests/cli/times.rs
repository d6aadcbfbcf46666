//! Times: `-b` and `-e` in every form, time zones, and the end of daylight saving time within a log.

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;

use crate::log_fixture::{LogFixture, START, TICKS, counter, mixed, one, raw};
use crate::run::Folder;

/// The seconds of the samples in a time range.
#[track_caller]
fn seconds(folder: &Folder, window: &[&str]) -> Vec<String> {
    let text = folder.prints([&["relog", "in.blg", "-o", "-"], window].concat());
    text.lines().skip(1).map(|line| line[18..20].to_owned()).collect()
}

#[test]
fn all_forms_of_a_time_are_accepted() {
    let folder = Folder::new();
    mixed("WEB1", 0, 10).write(&folder.path("in.blg"));
    for begin in [
        &["-b", "3/5/2024 10:00:07 AM"][..],
        &["-b", "03/05/2024 10:00:07"],
        &["-b", "3/5/2024", "10:00:07", "AM"],
        &["-b", "3/5/2024", "10:00:07"],
        &["-b", "3/5/2024 10:00:07am"],
        &["-b", "2024-03-05T10:00:07"],
        &["-b", "2024-03-05 10:00:07"],
        &["-b", "2024-03-05", "10:00:07"],
        &["--begin", "2024-03-05T10:00:06.5"],
        &["-b", "2024-03-05T09:00:07Z"],
        &["-b", "2024-03-05T01:00:07-08:00"],
        &["-b", "2024-03-05T10:00:07+01:00"],
        &["-b", "3/5/24 10:00:07"],
        &["-b", "3/5/24", "10:00:07", "AM"],
        // On the day on which the log starts.
        &["-b", "10:00:07"],
        &["-b", "10:00:06.5 am"],
        &["-b", "10:00:07", "AM"],
    ] {
        assert_eq!(seconds(&folder, begin), ["07", "08", "09"], "{begin:?}");
    }
    assert_eq!(seconds(&folder, &["-e", "3/5/2024", "10:00:02", "AM"]), ["00", "01"]);
    assert_eq!(seconds(&folder, &["-b", "10:00:02", "-e", "10:00:04"]), ["02", "03"]);
    assert_eq!(seconds(&folder, &["-b", "3/5/2024", "10:00:02", "-e", "3/5/2024", "10:00:04"]), ["02", "03"]);
}

#[test]
fn times_count_from_the_ends_of_the_log() {
    let folder = Folder::new();
    mixed("WEB1", 0, 10).write(&folder.path("in.blg"));
    assert_eq!(seconds(&folder, &["-b", "-2s"]), ["07", "08", "09"]);
    assert_eq!(seconds(&folder, &["-b", "-3s", "-e", "-1s"]), ["06", "07"]);
    assert_eq!(seconds(&folder, &["-b", "+3s", "-e", "+2s"]), ["03", "04"]);
    assert_eq!(seconds(&folder, &["--begin=-2s"]), ["07", "08", "09"]);
    folder
        .run(["stats", "in.blg", "-b", "-2x"])
        .fails_with(2, "-b: '2x': not a duration: write 30s, 5m, 1h, 1d, or [[hh:]mm:]ss");
}

#[test]
fn the_end_is_exclusive() {
    let folder = Folder::new();
    mixed("WEB1", 0, 5).write(&folder.path("in.blg"));
    assert_eq!(seconds(&folder, &["-e", "2024-03-05T10:00:03"]), ["00", "01", "02"]);
    assert_eq!(seconds(&folder, &["-e", "2024-03-05T10:00:03.001"]), ["00", "01", "02", "03"]);
}

#[test]
fn invalid_times_are_refused() {
    let folder = Folder::new();
    mixed("WEB1", 0, 2).write(&folder.path("in.blg"));
    let forms = "; write '2/19/2013 6:50:17 PM' or '2013-02-19T18:50:17' for a local time, '2013-02-19T18:50:17-08:00' \
                 for one with its offset from UTC, '14:05' for a time on the first day of the logs, '-10m' for ten minutes before their end";
    for (option, text, why) in [
        ("-b", "yesterday", "the time is invalid at character 1"),
        ("-e", "2/30/2024", "there is no day 30 of month 2 in the year 2024"),
        ("-b", "2024-13-01", "there is no day 1 of month 13 in the year 2024"),
        ("-b", "3/5/2024 25:00:00", "there is no time of day 25:00:00"),
        ("-b", "3/5/2024 13:00 PM", "the hour before AM or PM is 1 to 12, not 13"),
        ("-e", "", "the time is empty"),
    ] {
        folder
            .run(["stats", "in.blg", option, text])
            .fails_with(2, &format!("{option} '{text}': {why}{forms}"));
    }
}

#[test]
fn empty_time_ranges_are_refused() {
    let folder = Folder::new();
    mixed("WEB1", 0, 5).write(&folder.path("in.blg"));
    for (begin, end) in [
        ("2024-03-05T10:00:03", "2024-03-05T10:00:03"),
        ("3/5/2024 10:00:03 AM", "2024-03-05 10:00:02"),
        ("2024-03-05T09:00:03Z", "2024-03-05T10:00:03+01:00"),
    ] {
        let line = format!("-b '{begin}' is not before -e '{end}': the time range is empty");
        for arguments in [&["stats", "in.blg"][..], &["relog", "in.blg", "-o", "out.blg"]] {
            folder.run([arguments, &["-b", begin, "-e", end]].concat()).fails_with(2, &line);
        }
    }
    // A local time and a UTC time can only be compared in the time zone of the log.
    assert_eq!(seconds(&folder, &["-b", "2024-03-05T10:00:02", "-e", "2024-03-05T09:00:04Z"]), ["02", "03"]);
}

/// A log of the night in which daylight saving time ends in Central Europe: a sample every half hour from 01:00 (+02:00).
fn autumn() -> Folder {
    let folder = Folder::new();
    let mut log =
        LogFixture::new("WEB1").value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT));
    log.zone = TimeZone {
        bias_minutes: -60,
        standard_name: "W. Europe Standard Time".to_owned(),
        standard_date: [0, 10, 0, 5, 3, 0, 0, 0].into(),
        standard_bias_minutes: 0,
        daylight_name: "W. Europe Daylight Time".to_owned(),
        daylight_date: [0, 3, 0, 5, 2, 0, 0, 0].into(),
        daylight_bias_minutes: -60,
    };
    let evening = FileTime::parse_log_time(b"10/26/2024 23:00:00.000").expect("a time");
    let from = evening.0 - START;
    for half_hour in 0..8 {
        log.at(from / TICKS + half_hour * 1800, vec![one(raw(half_hour, 0))]);
    }
    log.write(&folder.path("in.blg"));
    folder
}

#[test]
fn daylight_saving_time_ends_within_a_log() {
    let folder = autumn();
    let text = folder.prints(["relog", "in.blg", "-o", "-", "-f", "json"]);
    let times: Vec<_> = text.lines().map(|line| line[20..38].to_owned()).collect();
    assert_eq!(
        times,
        [
            "01:00:00.000+02:00",
            "01:30:00.000+02:00",
            "02:00:00.000+02:00",
            "02:30:00.000+02:00",
            "02:00:00.000+01:00",
            "02:30:00.000+01:00",
            "03:00:00.000+01:00",
            "03:30:00.000+01:00",
        ]
    );
    let listed = folder.prints(["relog", "in.blg"]);
    assert!(listed.contains("UTC       2024-10-26T23:00:00.000Z to 2024-10-27T02:30:00.000Z\n"), "{listed}");
    assert!(listed.contains("samples   8, typical interval 30:00\n"), "{listed}");
    // A UTC offset distinguishes the two hours, also in a copy.
    let window = ["-b", "2024-10-27T02:00:00+01:00", "-e", "2024-10-27T03:00:00+01:00"];
    folder.relog(["in.blg", "-o", "copy.blg"]);
    for log in ["in.blg", "copy.blg"] {
        let rows = folder.stats(&[&[log], &window[..]].concat());
        assert_eq!((&rows[0]["minimum"], &rows[0]["maximum"]), (&4.into(), &5.into()), "{log}");
        assert_eq!(rows[0]["first_time"], "2024-10-27T02:00:00.000+01:00");
    }
}

#[test]
fn a_time_without_a_date_is_on_the_first_day_of_the_logs() {
    let folder = Folder::new();
    let day = 24 * 3600;
    for (name, start) in [("in.blg", day), ("first.blg", 0)] {
        let mut log = LogFixture::new("WEB1").column("Set", counter("X", CounterType::RAWCOUNT));
        for half_day in 0..4 {
            log.at(start + half_day * day / 2, vec![crate::log_fixture::rows(&[("a", [raw(half_day, 0)])])]);
        }
        log.write(&folder.path(name));
    }
    let values = |logs: &[&str], window: &[&str]| folder.stats(&[logs, window].concat())[0]["values"].clone();
    // One sample at 10:00 of the first day, and three from 22:00 on.
    assert_eq!(values(&["in.blg"], &["-b", "9:00", "-e", "21:00"]), 1);
    assert_eq!(values(&["in.blg"], &["-b", "21:00"]), 3);
    // The other log starts a day earlier. The order of the arguments is irrelevant.
    let expected = values(&["in.blg", "first.blg"], &["-e", "2024-03-05T21:00"]);
    assert_eq!(values(&["in.blg", "first.blg"], &["-e", "21:00"]), expected);
    for (time, why) in [
        ("25:00", "there is no time of day 25:00:00"),
        ("13:00 PM", "the hour before AM or PM is 1 to 12, not 13"),
    ] {
        let ran = folder.run(["stats", "in.blg", "-b", time]);
        assert!(
            ran.status == 2 && ran.stderr.starts_with(&format!("tacho: -b '{time}': {why}; ")),
            "{ran:?}"
        );
    }
}
