//! Logs put together in one BLG say the same as the logs apart: restarts of the machine, and where each log began.

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;

use crate::made::{Made, START, TICKS, counter, one, raw, rows};
use crate::run::{Folder, row};

/// A rate, an average, a count and a rate per instance, a raw value per second from `from` on; what counts up begins at
/// `first`.
fn log(from: i64, seconds: i64, first: i64, boot_time: Option<FileTime>) -> Made {
    let mut log = Made::new("WEB1")
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

/// That stats of the logs equals stats of them put together, at once and one after the other; and that of a copy.
#[track_caller]
fn same_together(folder: &Folder, logs: &[&str]) {
    let apart = folder.stats(logs);
    folder.relog([logs, &["-y", "-o", "both.blg"]].concat());
    assert_eq!(folder.stats(&["both.blg"]), apart, "put together");

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
        assert_eq!(folder.stats(&["two.blg", third]), apart, "one after the other");
        folder.relog(["two.blg", third, "-y", "-o", "three.blg"]);
        assert_eq!(folder.stats(&["three.blg"]), apart, "one after the other, put together");
        folder.relog(["three.blg", "-y", "-o", "again.blg"]);
        assert_eq!(folder.stats(&["again.blg"]), apart, "one after the other, put together, copied");
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
fn a_restart_between_the_logs() {
    let folder = Folder::new();
    // Values that only rise: nothing but the start of the machine says that no pair reaches across.
    log(0, 5, 0, booted(-100)).write(&folder.path("1.blg"));
    log(7, 5, 1000, booted(6)).write(&folder.path("2.blg"));
    log(13, 4, 5000, booted(12)).write(&folder.path("3.blg"));
    for logs in [&["1.blg", "2.blg"][..], &["1.blg", "2.blg", "3.blg"]] {
        same_together(&folder, logs);
    }
    let both = folder.stats(&["1.blg", "2.blg"]);
    assert_eq!(row(&both, "System Calls/sec")["values"], 8);
    assert_eq!(row(&both, "System Calls/sec")["maximum"], 21);
}

#[test]
fn a_negative_difference_where_no_start_of_the_machine_is_known() {
    let folder = Folder::new();
    log(0, 5, 700, None).write(&folder.path("1.blg"));
    log(7, 5, 0, None).write(&folder.path("2.blg"));
    log(13, 4, 0, None).write(&folder.path("3.blg"));
    for logs in [&["1.blg", "2.blg"][..], &["1.blg", "2.blg", "3.blg"]] {
        same_together(&folder, logs);
        let rows = folder.stats(logs);
        // What goes back is an error across two logs as it is within one.
        let errors = |path: &str| row(&rows, path)["errors"].clone();
        assert_eq!(errors("System Calls/sec"), logs.len() - 1);
        assert_eq!(errors("Available Bytes"), 0);
        assert_eq!(row(&rows, "System Calls/sec")["values"], 4 * logs.len() - usize::from(logs.len() == 3));
    }
    // Within one log it is an error.
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
fn a_pair_across_logs_of_one_start() {
    let folder = Folder::new();
    log(0, 5, 0, booted(-100)).write(&folder.path("1.blg"));
    log(5, 5, 48, booted(-100)).write(&folder.path("2.blg"));
    same_together(&folder, &["1.blg", "2.blg"]);
    assert_eq!(row(&folder.stats(&["1.blg", "2.blg"]), "System Calls/sec")["values"], 9);
}

#[test]
fn a_start_that_only_one_log_knows() {
    let folder = Folder::new();
    log(0, 5, 0, booted(-100)).write(&folder.path("1.blg"));
    log(7, 5, 30, None).write(&folder.path("2.blg"));
    log(13, 5, 30, booted(12)).write(&folder.path("3.blg"));
    for logs in [&["1.blg", "2.blg"][..], &["2.blg", "3.blg"], &["1.blg", "2.blg", "3.blg"]] {
        same_together(&folder, logs);
    }
}

#[test]
fn windows_over_a_log_put_together() {
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
