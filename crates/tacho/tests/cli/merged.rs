//! A merged BLG has the statistics of its inputs: restarts of the machine, and the start of each log, are preserved.

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;

use crate::log_fixture::{LogFixture, START, TICKS, counter, one, raw, rows};
use crate::run::{Folder, row};

/// A rate, an average, a count and a rate per instance, with a sample per second starting at `from`. Totals start at `first`.
fn log(from: i64, seconds: i64, first: i64, boot_time: Option<FileTime>) -> LogFixture {
    let mut log = LogFixture::new("WEB1")
        .value("System", counter("System Calls/sec", CounterType::BULK_COUNT))
        .value_of("PhysicalDisk", "0 C:", counter("Avg. Disk sec/Read", CounterType::AVERAGE_TIMER))
        .value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT))
        .column("Process", counter("Page Faults/sec", CounterType::COUNTER_COUNTER));
    log.boot_time = boot_time;
    for second in from..from + seconds {
        let up = first + (second - from) * (second - from) * 3;
        let clock = second * TICKS;
        let process = |share: i64| [raw(share * up, clock)];
        log.at(
            second,
            vec![
                one(raw(up, clock)),
                one(raw(up * 70_000, up / 2)),
                one(raw(4096 * (second % 7), 0)),
                rows(&[("svchost", process(1)), ("svchost#1", process(2))]),
            ],
        );
    }
    log
}

fn booted(second: i64) -> Option<FileTime> {
    Some(FileTime(START + second * TICKS))
}

/// Asserts that merging (at once or one by one), copying and appending do not change the statistics.
#[track_caller]
fn assert_same_statistics(folder: &Folder, logs: &[&str]) {
    let apart = folder.stats(logs);
    folder.relog([logs, &["-y", "-o", "both.blg"]].concat());
    assert_eq!(folder.stats(&["both.blg"]), apart, "merged");

    folder.relog(["both.blg", "-y", "-o", "again.blg"]);
    assert_eq!(folder.stats(&["again.blg"]), apart, "copied");
    folder.relog(["again.blg", "-y", "-o", "again.blg"]);
    assert_eq!(folder.stats(&["again.blg"]), apart, "copied twice");

    folder.relog([logs[0], "-y", "-o", "appended.blg"]);
    for log in &logs[1..] {
        folder.relog([log, "-a", "-o", "appended.blg"]);
    }
    assert_eq!(folder.stats(&["appended.blg"]), apart, "appended");

    let [first, rest] = [&logs[..1], &logs[1..]];
    if let [second, third, ..] = rest {
        folder.relog([&first[0], second, &"-y", &"-o", &"two.blg"]);
        assert_eq!(folder.stats(&["two.blg", third]), apart, "merged one by one");
        folder.relog(["two.blg", third, "-y", "-o", "three.blg"]);
        assert_eq!(folder.stats(&["three.blg"]), apart, "merged one by one, last");
        folder.relog(["three.blg", "-y", "-o", "again.blg"]);
        assert_eq!(folder.stats(&["again.blg"]), apart, "merged one by one, copied");
    }

    let text = |log: &[&str]| {
        folder.relog([log, &["-y", "-o", "text.csv"]].concat());
        folder.text("text.csv")
    };
    let expected = text(logs);
    for log in ["both.blg", "again.blg", "appended.blg"] {
        assert_eq!(text(&[log]), expected, "{log} as text");
    }
}

#[test]
fn no_interval_spans_a_restart_between_logs() {
    let folder = Folder::new();
    // The values increase, so only the boot time shows that the machine was restarted.
    log(0, 5, 0, booted(-100)).write(&folder.path("1.blg"));
    log(7, 5, 1000, booted(6)).write(&folder.path("2.blg"));
    log(13, 4, 5000, booted(12)).write(&folder.path("3.blg"));
    for logs in [&["1.blg", "2.blg"][..], &["1.blg", "2.blg", "3.blg"]] {
        assert_same_statistics(&folder, logs);
    }
    let both = folder.stats(&["1.blg", "2.blg"]);
    assert_eq!(row(&both, "System Calls/sec")["values"], 8);
    assert_eq!(row(&both, "System Calls/sec")["maximum"], 21);
}

#[test]
fn a_negative_difference_without_boot_times_is_an_error() {
    let folder = Folder::new();
    log(0, 5, 700, None).write(&folder.path("1.blg"));
    log(7, 5, 0, None).write(&folder.path("2.blg"));
    log(13, 4, 0, None).write(&folder.path("3.blg"));
    for logs in [&["1.blg", "2.blg"][..], &["1.blg", "2.blg", "3.blg"]] {
        assert_same_statistics(&folder, logs);
        let rows = folder.stats(logs);
        // A decrease from one log to the next is counted as an error.
        let errors = |path: &str| row(&rows, path)["errors"].clone();
        assert_eq!(errors("System Calls/sec"), logs.len() - 1);
        assert_eq!(errors("Available Bytes"), 0);
        assert_eq!(row(&rows, "System Calls/sec")["values"], 4 * logs.len() - usize::from(logs.len() == 3));
    }
    // A decrease within one log is counted too.
    let mut falling = log(0, 2, 700, None);
    let last = [raw(0, 2 * TICKS)];
    falling
        .at(
            2,
            vec![
                one(last[0]),
                one(raw(0, 0)),
                one(raw(0, 0)),
                rows(&[("svchost", last), ("svchost#1", last)]),
            ],
        )
        .write(&folder.path("falling.blg"));
    let rows = folder.stats(&["falling.blg"]);
    assert_eq!(row(&rows, "System Calls/sec")["errors"], 1);
}

#[test]
fn values_are_paired_across_logs_without_a_restart() {
    let folder = Folder::new();
    log(0, 5, 0, booted(-100)).write(&folder.path("1.blg"));
    log(5, 5, 48, booted(-100)).write(&folder.path("2.blg"));
    assert_same_statistics(&folder, &["1.blg", "2.blg"]);
    assert_eq!(row(&folder.stats(&["1.blg", "2.blg"]), "System Calls/sec")["values"], 9);
}

#[test]
fn merging_logs_with_and_without_boot_time_keeps_statistics() {
    let folder = Folder::new();
    log(0, 5, 0, booted(-100)).write(&folder.path("1.blg"));
    log(7, 5, 30, None).write(&folder.path("2.blg"));
    log(13, 5, 30, booted(12)).write(&folder.path("3.blg"));
    for logs in [&["1.blg", "2.blg"][..], &["2.blg", "3.blg"], &["1.blg", "2.blg", "3.blg"]] {
        assert_same_statistics(&folder, logs);
    }
}

#[test]
fn time_ranges_of_a_merged_log_have_the_same_statistics() {
    let folder = Folder::new();
    log(0, 5, 700, booted(-100)).write(&folder.path("1.blg"));
    log(7, 5, 0, booted(6)).write(&folder.path("2.blg"));
    folder.relog(["1.blg", "2.blg", "-o", "both.blg"]);
    for (begin, end) in [("03", "09"), ("07", "10"), ("08", "12"), ("00", "08")] {
        let window = ["-b", &format!("2024-03-05T10:00:{begin}"), "-e", &format!("2024-03-05T10:00:{end}")];
        let apart = folder.stats(&[&["1.blg", "2.blg"], &window[..]].concat());
        assert_eq!(folder.stats(&[&["both.blg"], &window[..]].concat()), apart, "{window:?}");
        folder.relog([&["1.blg", "2.blg", "-y", "-o", "cut.blg"], &window[..]].concat());
        assert_eq!(folder.stats(&["cut.blg"]), apart, "{window:?}, cut");
    }
}
