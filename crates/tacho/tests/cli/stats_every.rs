//! `stats --every`, and figures that are computed on request.

use serde_json::Value;
use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, TICKS, counter, failed, mixed, one, raw, rows};
use crate::run::{Folder, row};

/// Twenty minutes with a sample every 7 s. Process `b` is absent for five minutes, and cannot be read in one sample.
fn twenty_minutes() -> Folder {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT))
        .column("Process", counter("Reads/sec", CounterType::BULK_COUNT));
    for second in (0..1200).step_by(7) {
        let value = raw(second * second / 10, second * TICKS);
        let b = if second == 700 { failed() } else { raw(3 * second, second * TICKS) };
        let processes = match second {
            300..600 => rows(&[("a", [value])]),
            _ => rows(&[("a", [value]), ("b", [b])]),
        };
        log.at(second, vec![one(raw(1000 + second % 90, 0)), processes]);
    }
    log.write(&folder.path("in.blg"));
    folder
}

/// The keys and values of a row, except the bounds of its time range.
fn figures(row: &Value) -> Vec<(String, Value)> {
    let object = row.as_object().expect("an object");
    object
        .iter()
        .filter(|(key, _)| *key != "begin" && *key != "end")
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

#[test]
fn each_row_equals_stats_of_its_time_range() {
    let folder = twenty_minutes();
    let extra = ["--percentile", "5,99.9", "--deviation", "--slope", "--maximum-time"];
    for length in ["5m", "100", "0:07:30", "1h"] {
        let all = folder.stats(&[&["in.blg", "--every", length], &extra[..]].concat());
        let mut begins: Vec<_> = all.iter().map(|row| row["begin"].as_str().expect("a time")).collect();
        assert!(begins.is_sorted());
        begins.dedup();
        let mut count = 0;
        for begin in begins {
            let of_range: Vec<_> = all.iter().filter(|row| row["begin"] == begin).collect();
            let end = of_range[0]["end"].as_str().expect("a time");
            let window = folder.stats(&[&["in.blg", "-b", begin, "-e", end], &extra[..]].concat());
            assert_eq!(
                of_range.iter().map(|row| figures(row)).collect::<Vec<_>>(),
                window.iter().map(figures).collect::<Vec<_>>(),
                "{begin}"
            );
            count += of_range.len();
        }
        assert_eq!(count, all.len());
    }
    let all = folder.stats(&["in.blg", "--every", "5m"]);
    // From 10:05 to 10:10, there is no process b.
    let paths_of = |begin: &str| all.iter().filter(|row| row["begin"] == begin).count();
    let times = ["10:00", "10:05", "10:10", "10:15"].map(|time| format!("2024-03-05T{time}:00.000+01:00"));
    assert_eq!(times.map(|time| paths_of(&time)), [3, 2, 3, 3]);
}

#[test]
fn the_table_has_a_row_per_time_range() {
    let folder = twenty_minutes();
    assert_eq!(
        folder.prints(["stats", "in.blg", "--every", "10m", "-c", r"\Process(*)\*"]),
        r"from                 counter                        last  average   minimum  maximum      p50     p95     p99  values  errors
2024-03-05 10:00:00  \\WEB1\Process(a)\Reads/sec  118 /s  59.5 /s  0.571 /s   118 /s  59.6 /s  113 /s  118 /s      85       0
2024-03-05 10:00:00  \\WEB1\Process(b)\Reads/sec    3 /s     3 /s      3 /s     3 /s     3 /s    3 /s    3 /s      42       0
2024-03-05 10:10:00  \\WEB1\Process(a)\Reads/sec  239 /s   179 /s    120 /s   239 /s   178 /s  233 /s  239 /s      86       0
2024-03-05 10:10:00  \\WEB1\Process(b)\Reads/sec    3 /s     3 /s      3 /s     3 /s     3 /s    3 /s    3 /s      83       0
"
    );
    assert_eq!(folder.prints(["stats", "in.blg", "--every", "1d", "-c", r"\Memory\*"]).lines().count(), 2);
}

#[test]
fn additional_columns_are_shown_on_request() {
    let folder = Folder::new();
    mixed("WEB1", 0, 12).write(&folder.path("in.blg"));
    let plain = folder.prints(["stats", "in.blg", "-c", r"\System\*"]);
    let with = ["stats", "in.blg", "-c", r"\System\*", "--percentile", "99.9,1", "--percentile", "50"];
    let table = folder.prints([&with[..], &["--deviation", "--slope", "--maximum-time"]].concat());
    let words =
        |text: &str| text.lines().next().expect("a header").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words(&plain), "counter last average minimum maximum p50 p95 p99 values errors");
    assert_eq!(
        words(&table),
        "counter last average minimum maximum time of maximum p1 p50 p95 p99 p99.9 deviation slope/h values errors"
    );
    let csv = folder.prints([&with[..], &["-f", "csv", "--maximum-time", "--slope"]].concat());
    let header = csv.lines().next().expect("a header");
    assert!(header.ends_with(",first_time,last_time,p99.9,p1,slope_per_hour,maximum_time"), "{header}");
    let plain = folder.prints(["stats", "in.blg", "-c", r"\System\*", "-f", "csv"]);
    let (first, with_figures) = (plain.lines().nth(1).expect("a row"), csv.lines().nth(1).expect("a row"));
    assert!(with_figures.starts_with(&format!("{first},")), "{with_figures}");
}

#[test]
fn figures_of_known_values_are_correct() {
    let folder = Folder::new();
    let mut log =
        LogFixture::new("WEB1").value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT));
    for (second, value) in (0..).zip([2, 4, 4, 4, 5, 5, 7, 9]) {
        log.at(second, vec![one(raw(value, 0))]);
    }
    log.write(&folder.path("in.blg"));
    let options = ["--deviation", "--slope", "--percentile", "0,12.5,13,100", "--maximum-time"];
    let found = folder.stats(&[&["in.blg"], &options[..]].concat());
    let found = row(&found, r"\Memory\Available Bytes");
    let close = |key: &str, expected: f64| {
        let value = found[key].as_f64().expect("a number");
        assert!((value - expected).abs() <= expected.abs() * 1e-12, "{key}: {value}");
    };
    close("standard_deviation", (32.0f64 / 7.0).sqrt());
    close("slope_per_hour", 34.0 / 42.0 * 3600.0);
    assert_eq!(found["maximum_time"], "2024-03-05T10:00:07.000+01:00");
    assert_eq!(["p0", "p12.5", "p13", "p100"].map(|key| found[key].as_f64()), [2.0, 2.0, 4.0, 9.0].map(Some));
}

#[test]
fn figures_over_segments_are_those_of_the_whole_log() {
    let folder = twenty_minutes();
    folder.relog(["in.blg", "-e", "2024-03-05T10:08:20", "-o", "1.blg"]);
    folder.relog(["in.blg", "-b", "2024-03-05T10:08:20", "-e", "2024-03-05T10:13", "-o", "2.blg"]);
    folder.relog(["in.blg", "-b", "2024-03-05T10:13", "-o", "3.blg"]);
    let options = ["--percentile", "5,99.9", "--deviation", "--slope", "--maximum-time"];
    for every in [&[][..], &["--every", "5m"]] {
        let whole = folder.stats(&[&["in.blg"], &options[..], every].concat());
        assert_eq!(folder.stats(&[&["1.blg", "2.blg", "3.blg"], &options[..], every].concat()), whole);
    }
}

#[test]
fn impossible_requests_are_refused() {
    let folder = twenty_minutes();
    for (arguments, message) in [
        (
            &["--every", "5m", "--across", "machines"][..],
            "--every and --across cannot be used together: use one of them; 'tacho stats --help' lists the options",
        ),
        (
            &["--percentile", "101"],
            "--percentile 101: must be a number from 0 to 100; 'tacho stats --help' lists the options",
        ),
        (
            &["--every", "5x"],
            "--every 5x: not a duration: write 30s, 5m, 1h, 1d, or [[hh:]mm:]ss; 'tacho stats --help' lists the options",
        ),
    ] {
        folder.run([&["stats", "in.blg"], arguments].concat()).fails_with(2, message);
    }
    // Nothing is printed before the failure.
    let ran = folder.run(["stats", "in.blg", "--every", "5m", "-f", "json", "-b", "2025-01-01"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, ""), "{ran:?}");
}
