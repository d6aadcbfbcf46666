//! Instances that appear and disappear, equal names, and values that could not be read.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, Row, TICKS, counter, failed, raw, rows};
use crate::run::{Folder, row};

/// The row of a process: its processor time in tenths of a second.
fn process(name: &str, second: i64, tenths: i64) -> Row {
    (name.to_owned(), vec![raw(tenths * TICKS / 10, second * TICKS)])
}

fn log() -> LogFixture {
    LogFixture::new("WEB1").column("Process", counter("% Processor Time", CounterType::TIMER_100NS))
}

/// `a` is always present, `b` in samples 1, 2, 4 and 5.
fn appearing_and_disappearing() -> Folder {
    let folder = Folder::new();
    let mut log = log();
    for second in 0..6 {
        let mut rows = vec![process("a", second, second)];
        if !matches!(second, 0 | 3) {
            rows.push(process("b", second, 5 * second));
        }
        log.at(second, vec![rows]);
    }
    log.write(&folder.path("in.blg"));
    folder
}

#[test]
fn an_absent_instance_is_neither_value_nor_error() {
    let folder = appearing_and_disappearing();
    let rows = folder.stats(&["in.blg"]);
    let figures = |path: &str| ["values", "errors", "average"].map(|key| row(&rows, path)[key].to_string());
    assert_eq!(figures(r"\Process(a)\% Processor Time"), ["5", "0", "10"]);
    // Only the intervals from sample 1 to 2 and from 4 to 5 count: values are not paired across the absence.
    assert_eq!(figures(r"\Process(b)\% Processor Time"), ["2", "0", "50"]);
}

#[test]
fn the_column_of_an_absent_instance_is_blank() {
    let folder = appearing_and_disappearing();
    let text = folder.prints(["relog", "in.blg", "-o", "-"]);
    let cells: Vec<_> = text.lines().skip(1).map(|line| line.rsplit(',').next().expect("a cell")).collect();
    let blank = r#"" ""#;
    assert_eq!(cells, [blank, blank, r#""50""#, blank, blank, r#""50""#]);
    folder.relog(["in.blg", "-o", "in.csv"]);
    let rows = folder.stats(&["in.csv"]);
    let b = row(&rows, r"\Process(b)\% Processor Time");
    assert_eq!((&b["values"], &b["errors"]), (&2.into(), &0.into()));
}

#[test]
fn a_copy_keeps_absent_instances() {
    let folder = appearing_and_disappearing();
    folder.relog(["in.blg", "-o", "copy.blg"]);
    assert_eq!(folder.stats(&["copy.blg"]), folder.stats(&["in.blg"]));
    folder.relog(["in.blg", "-b", "2024-03-05T10:00:03", "-o", "cut.blg"]);
    assert_eq!(
        folder.stats(&["cut.blg", "-c", r"\Process(b)\*"]),
        folder.stats(&["in.blg", "-b", "2024-03-05T10:00:03", "-c", r"\Process(b)\*"])
    );
}

#[test]
fn equal_names_are_numbered() {
    let folder = Folder::new();
    let mut log = log();
    for second in 0..3 {
        log.at(
            second,
            vec![vec![
                process("w3wp", second, second),
                process("w3wp#1", second, 2 * second),
                process("w3wp#2", second, 3 * second),
            ]],
        );
    }
    log.write(&folder.path("in.blg"));
    let rows = folder.stats(&["in.blg"]);
    let shown: Vec<_> = rows
        .iter()
        .map(|row| ["instance", "index", "average", "parent"].map(|key| row[key].to_string()).join(" "))
        .collect();
    assert_eq!(shown, [r#""w3wp" 1 20 null"#, r#""w3wp" 2 30 null"#, r#""w3wp" 0 10 null"#]);
    assert_eq!(rows[0]["path"], r"\\WEB1\Process(w3wp#1)\% Processor Time");
    // A text log has the same paths.
    folder.relog(["in.blg", "-o", "in.csv"]);
    let paths = |rows: &[serde_json::Value]| rows.iter().map(|row| row["path"].clone()).collect::<Vec<_>>();
    assert_eq!(paths(&folder.stats(&["in.csv"])), paths(&rows));
}

#[test]
fn instances_have_parents() {
    let folder = Folder::new();
    let mut log =
        LogFixture::new("WEB1").column("Thread", counter("Priority Current", CounterType::RAWCOUNT));
    log.at(0, vec![rows(&[("sql/0", [raw(8, 0)]), ("sql/1", [raw(9, 0)])])]);
    log.write(&folder.path("in.blg"));
    let rows = folder.stats(&["in.blg"]);
    let shown = ["parent", "instance", "index", "path"].map(|key| rows[1][key].to_string());
    assert_eq!(shown, [r#""sql""#, r#""1""#, "0", r#""\\\\WEB1\\Thread(sql/1)\\Priority Current""#]);
}

#[test]
fn errors_are_counted_and_blank() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1").value_of(
        "PhysicalDisk",
        "0 C:",
        counter("Disk Reads/sec", CounterType::COUNTER_COUNTER),
    );
    for second in 0..6 {
        let value = if second == 3 { failed() } else { raw(second * 10, second * TICKS) };
        log.at(second, vec![crate::log_fixture::one(value)]);
    }
    log.write(&folder.path("in.blg"));
    let rows = folder.stats(&["in.blg"]);
    let figures = ["values", "errors", "average", "last"].map(|key| rows[0][key].to_string());
    // The errors are the intervals before and after the failed value.
    assert_eq!(figures, ["3", "2", "10", "10"]);
    let text = folder.prints(["relog", "in.blg", "-o", "-"]);
    let cells: Vec<_> = text.lines().skip(1).map(|line| line.rsplit(',').next().expect("a cell")).collect();
    let (blank, ten) = (r#"" ""#, r#""10""#);
    assert_eq!(cells, [blank, ten, ten, blank, blank, ten]);
    folder.relog(["in.blg", "-o", "copy.blg"]);
    assert_eq!(folder.stats(&["copy.blg"]), rows);
}

#[test]
fn a_number_after_a_blank_is_part_of_the_name() {
    let folder = Folder::new();
    let mut log =
        LogFixture::new("WEB1").column("Network Interface", counter("Packets", CounterType::RAWCOUNT));
    let value = |value: i64| [raw(value, 0)];
    for second in 0..2 {
        let adapters =
            [("Intel", value(1)), ("Intel #2", value(2)), ("Intel#1", value(3)), ("Intel#01", value(4))];
        log.at(second, vec![rows(&adapters)]);
    }
    log.write(&folder.path("in.blg"));
    folder.relog(["in.blg", "-o", "in.csv"]);
    for name in ["in.blg", "in.csv"] {
        let rows = folder.stats(&[name]);
        let mut shown: Vec<_> = rows
            .iter()
            .map(|row| (row["last"].as_i64(), row["instance"].as_str(), row["index"].as_i64()))
            .collect();
        shown.sort();
        let expected = [(1, "Intel", 0), (2, "Intel #2", 0), (3, "Intel", 1), (4, "Intel#01", 0)];
        assert_eq!(
            shown,
            expected.map(|(last, name, index)| (Some(last), Some(name), Some(index))),
            "{name}"
        );
    }
}
