//! Several logs of one machine are read as one.

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_counters::set::Counter;

use crate::log_fixture::{LogFixture, START, TICKS, counter, mixed, one, raw, rows};
use crate::run::{Folder, row};

const CALLS: &str = r"\System\System Calls/sec";

/// A log of a rate: a raw value per second, starting at `from`.
fn calls(from: i64, values: &[i64]) -> LogFixture {
    let mut log =
        LogFixture::new("WEB1").value("System", counter("System Calls/sec", CounterType::BULK_COUNT));
    for (second, &value) in (from..).zip(values) {
        log.at(second, vec![one(raw(value, second * TICKS))]);
    }
    log
}

#[test]
fn the_interval_between_two_files_is_included() {
    let folder = Folder::new();
    calls(0, &[0, 10, 30]).write(&folder.path("1.blg"));
    calls(3, &[60, 100]).write(&folder.path("2.blg"));
    let rows = folder.stats(&["2.blg", "1.blg"]);
    assert_eq!((&rows[0]["values"], &rows[0]["average"]), (&4.into(), &25.into()));
    assert_eq!(rows[0]["errors"], 0);
}

#[test]
fn a_negative_difference_across_files_is_an_error() {
    let folder = Folder::new();
    calls(0, &[0, 10, 30]).write(&folder.path("1.blg"));
    calls(3, &[5, 45]).write(&folder.path("2.blg"));
    let rows = folder.stats(&["1.blg", "2.blg"]);
    let figures = ["values", "errors", "minimum", "maximum"].map(|key| rows[0][key].to_string());
    assert_eq!(figures, ["3", "1", "10", "40"]);
}

#[test]
fn values_before_and_after_a_restart_are_not_paired() {
    let folder = Folder::new();
    calls(0, &[0, 10, 30]).write(&folder.path("1.blg"));
    let mut second = calls(3, &[60, 100]);
    second.boot_time = Some(FileTime(START + 2 * TICKS));
    let mut after =
        LogFixture::new("WEB1").value("System", counter("System Calls/sec", CounterType::BULK_COUNT));
    after.boot_time = second.boot_time;
    after.at(3, vec![one(raw(60, 3 * TICKS))]).at(4, vec![one(raw(100, 4 * TICKS))]);
    after.write(&folder.path("2.blg"));
    let rows = folder.stats(&["1.blg", "2.blg"]);
    assert_eq!((&rows[0]["values"], &rows[0]["maximum"]), (&3.into(), &40.into()));
    folder.relog(["1.blg", "2.blg", "-o", "both.csv"]);
    let text = folder.text("both.csv");
    assert_eq!(text.lines().nth(4), Some("\"03/05/2024 10:00:03.000\",\" \""), "{text}");
}

#[test]
fn overlapping_files_are_merged_in_order() {
    let folder = Folder::new();
    let mut even = calls(0, &[]);
    let mut odd = calls(0, &[]);
    for second in 0..6 {
        let log = if second % 2 == 0 { &mut even } else { &mut odd };
        log.at(second, vec![one(raw(second * second, second * TICKS))]);
    }
    even.write(&folder.path("even.blg"));
    odd.write(&folder.path("odd.blg"));
    folder.relog(["odd.blg", "even.blg", "-o", "all.csv"]);
    let text = folder.text("all.csv");
    let cells: Vec<_> = text.lines().skip(1).map(|line| line.rsplit(',').next().expect("a cell")).collect();
    assert_eq!(cells, [r#"" ""#, r#""1""#, r#""3""#, r#""5""#, r#""7""#, r#""9""#]);
    let rows = folder.stats(&["odd.blg", "even.blg"]);
    assert_eq!((&rows[0]["values"], &rows[0]["average"]), (&5.into(), &5.into()));
}

#[test]
fn equal_times_are_an_error_with_both_file_names() {
    let folder = Folder::new();
    calls(0, &[0, 10, 30]).write(&folder.path("1.blg"));
    calls(2, &[30, 40]).write(&folder.path("2.blg"));
    let expected = "1.blg and 2.blg both contain a sample of the same machine at 2024-03-05T10:00:02.000+01:00: omit one \
                    of them, or select separate time ranges of them with -b and -e";
    folder.run(["stats", "1.blg", "2.blg"]).fails_with(1, expected);
    folder
        .run(["relog", "2.blg", "1.blg", "-o", "x.csv"])
        .fails_with(1, &expected.replace("1.blg and 2.blg", "2.blg and 1.blg"));
    assert_eq!(folder.names(), ["1.blg", "2.blg"]);
    folder
        .run(["stats", "1.blg", "1.blg"])
        .fails_with(1, &expected.replace("2.blg", "1.blg").replace(":02.", ":00."));
}

#[test]
fn two_recordings_of_one_machine_are_merged_side_by_side() {
    let folder = Folder::new();
    calls(0, &[0, 10, 30]).write(&folder.path("calls.blg"));
    let mut processes =
        LogFixture::new("WEB1").column("Process", counter("Page Faults/sec", CounterType::COUNTER_COUNTER));
    for second in 0..4 {
        processes.at(second, vec![rows(&[("a", [raw(second * 5, second * TICKS)])])]);
    }
    processes.write(&folder.path("processes.blg"));
    let of = |log: &str| folder.stats(&[log]);
    let apart = [of("processes.blg"), of("calls.blg")].concat();
    for order in [["calls.blg", "processes.blg"], ["processes.blg", "calls.blg"]] {
        assert_eq!(folder.stats(&order), apart);
        let ran = folder.relog([&order[..], &["-y", "-o", "both.blg"]].concat());
        assert_eq!(ran.stderr, "tacho: both.blg: 4 samples written\n");
        assert_eq!(folder.stats(&["both.blg"]), apart);
        let window = ["-b", "2024-03-05T10:00:01", "-e", "2024-03-05T10:00:03"];
        let rows = folder.stats(&[&order[..], &window[..]].concat());
        assert!(rows.iter().all(|row| row["values"] == 2), "{rows:#?}");
    }
    let text = folder.relog(["calls.blg", "processes.blg", "-o", "-"]).stdout;
    let cells: Vec<_> = text.lines().skip(1).map(|line| line.split_once(',').expect("cells").1).collect();
    assert_eq!(cells, [r#"" "," ""#, r#""10","5""#, r#""20","5""#, r#"" ","5""#]);

    // A counter in both logs is an error, even if only one log uses a wildcard.
    let mut one_process = LogFixture::new("web1").value_of(
        "process",
        "a",
        counter("page faults/sec", CounterType::COUNTER_COUNTER),
    );
    one_process.at(2, vec![one(raw(1, 0))]).write(&folder.path("one.blg"));
    let ran = folder.run(["stats", "processes.blg", "one.blg"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("both contain a sample of the same machine"), "{}", ran.stderr);
    assert_eq!(folder.run(["stats", "calls.blg", "one.blg"]).status, 0);
}

#[test]
fn different_counters_are_merged_with_blanks() {
    let folder = Folder::new();
    calls(0, &[0, 10]).write(&folder.path("calls.blg"));
    let mut memory =
        LogFixture::new("web1").value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT));
    memory.at_half(7).write(&folder.path("memory.blg"));
    folder.relog(["calls.blg", "memory.blg", "-o", "-"]);
    assert_eq!(
        folder.prints(["relog", "calls.blg", "memory.blg", "-o", "-"]),
        "\"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)\",\"\\\\WEB1\\System\\System Calls/sec\",\
         \"\\\\web1\\Memory\\Available Bytes\"\r\n\
         \"03/05/2024 10:00:00.000\",\" \",\" \"\r\n\
         \"03/05/2024 10:00:00.500\",\" \",\"7\"\r\n\
         \"03/05/2024 10:00:01.000\",\"10\",\" \"\r\n"
    );
    let rows = folder.stats(&["calls.blg", "memory.blg"]);
    assert_eq!(row(&rows, CALLS)["values"], 1);
    assert_eq!(row(&rows, r"\Memory\Available Bytes")["last"], 7);
}

#[test]
fn a_log_without_samples_changes_nothing() {
    let folder = Folder::new();
    mixed("WEB1", 0, 3).write(&folder.path("full.blg"));
    folder.relog(["full.blg", "-o", "full.csv"]);
    folder.write("empty.csv", folder.text("full.csv").lines().next().expect("a header"));
    folder.run(["stats", "empty.csv"]).fails_with(1, "empty.csv: no samples");
    assert_eq!(folder.stats(&["empty.csv", "full.blg"]), folder.stats(&["full.blg"]));
    folder.relog(["empty.csv", "full.blg", "-o", "both.csv"]);
    assert_eq!(folder.text("both.csv").lines().count(), 4);
}

#[test]
fn rates_use_the_clock_of_each_log() {
    let folder = Folder::new();
    calls(0, &[0, 10, 30]).write(&folder.path("1.blg"));
    // The clock frequency of the second log is ten times that of the first.
    let fast = Counter::new("System Calls/sec", CounterType::BULK_COUNT, 10 * TICKS);
    let mut second = LogFixture::new("WEB1").value("System", fast);
    second.boot_time = Some(FileTime(START + 2 * TICKS));
    for at in 3..6 {
        second.at(at, vec![one(raw(50 * at, at * 10 * TICKS))]);
    }
    second.write(&folder.path("2.blg"));
    let rows = folder.stats(&["1.blg", "2.blg"]);
    // The counter increases by 30 in two seconds, and by 100 in two seconds.
    assert_eq!((&rows[0]["average"], &rows[0]["values"]), (&32.5.into(), &4.into()));
    folder.relog(["1.blg", "2.blg", "-o", "both.csv"]);
    let text = folder.text("both.csv");
    let cells: Vec<_> = text.lines().skip(1).map(|line| line.rsplit(',').next().expect("a cell")).collect();
    assert_eq!(cells, [r#"" ""#, r#""10""#, r#""20""#, r#"" ""#, r#""50""#, r#""50""#]);
    let why = r"a BLG stores one clock per counter, and that of '\\WEB1\System\System Calls/sec' changes from 10000000 to 100000000 ticks per second (the machine was restarted): relog the logs separately, or to CSV";
    folder.run(["relog", "1.blg", "2.blg", "-o", "both.blg"]).fails_with(1, &format!("both.blg: {why}"));
    folder.run(["relog", "2.blg", "-a", "-o", "1.blg"]).fails_with(1, &format!("1.blg: {why}"));
}

impl LogFixture {
    /// A log with one sample half a second after the start.
    fn at_half(&mut self, value: i64) -> &mut Self {
        let at = self.zone.utc_to_moment(FileTime(START + TICKS / 2));
        self.at_moment(at, vec![one(raw(value, 0))])
    }
}
