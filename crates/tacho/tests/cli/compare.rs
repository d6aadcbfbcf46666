//! `tacho compare`.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, TICKS, counter, mixed, one, raw, rows};
use crate::run::Folder;

/// A log of the disks that `disks` names, each with its transfers per second, and a free memory.
fn log(folder: &Folder, name: &str, machine: &str, free: i64, disks: &[(&str, i64)]) {
    let mut log = LogFixture::new(machine)
        .value("Memory", counter("Free", CounterType::RAWCOUNT))
        .column("Disk", counter("Transfers/sec", CounterType::BULK_COUNT))
        .column("Disk", counter("ID Process", CounterType::RAWCOUNT));
    for second in 0..4 {
        let rates: Vec<_> =
            disks.iter().map(|(disk, rate)| (*disk, [raw(rate * second, second * TICKS)])).collect();
        let ids: Vec<_> = disks.iter().map(|(disk, rate)| (*disk, [raw(*rate, 0)])).collect();
        log.at(second, vec![one(raw(free, 0)), rows(&rates), rows(&ids)]);
    }
    log.write(&folder.path(name));
}

/// Two logs of the same machine.
fn two_logs() -> Folder {
    let folder = Folder::new();
    log(&folder, "a.blg", "WEB1", 500, &[("c:", 10), ("d:", 40), ("e:", 0), ("old", 3), ("same", 7)]);
    log(&folder, "b.blg", "web1", 250, &[("C:", 40), ("d:", 40), ("e:", 1), ("new", 3), ("same", 7)]);
    folder
}

/// `PATH BEFORE AFTER DIFFERENCE RATIO` of each row.
fn compared(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let text = folder.prints([&["compare", "-f", "json"], arguments].concat());
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    let text = |row: &serde_json::Value| {
        let path = row["path"].as_str().expect("a path").trim_start_matches('\\');
        let (_, path) = path.split_once('\\').expect("a machine");
        format!("{path} {} {} {} {}", row["before"], row["after"], row["difference"], row["ratio"])
    };
    rows.iter().map(text).collect()
}

#[test]
fn the_largest_change_is_first() {
    let folder = two_logs();
    let expected = [
        // From 0.
        r"Disk(e:)\Transfers/sec 0 1 1 null",
        r"Memory\Free 500 250 -250 0.5",
        r"Disk(d:)\Transfers/sec 40 40 0 1",
        r"Disk(same)\Transfers/sec 7 7 0 1",
        // Names of instances can differ in case only, so these are two disks.
        r"Disk(c:)\Transfers/sec 10 null null null",
        r"Disk(C:)\Transfers/sec null 40 null null",
        r"Disk(new)\Transfers/sec null 3 null null",
        r"Disk(old)\Transfers/sec 3 null null null",
    ];
    let mut rows = compared(&folder, &["a.blg", "b.blg"]);
    // Equal paths in lower case, in any order.
    rows[4..6].sort_by_key(|row| row.contains("C:"));
    assert_eq!(rows, expected);
    assert_eq!(compared(&folder, &["a.blg", "b.blg", "--top", "2"]), expected[..2]);
    let memory = compared(&folder, &["b.blg", "a.blg", "-c", r"\Memory\*"]);
    assert_eq!(memory, [r"Memory\Free 250 500 250 2"]);
    // A log after the paths of -c.
    assert_eq!(compared(&folder, &["b.blg", "-c", r"\Memory\*", "a.blg"]), memory);
}

#[test]
fn averages_are_those_of_stats() {
    let folder = Folder::new();
    mixed("WEB1", 0, 30).write(&folder.path("a.blg"));
    mixed("WEB1", 31, 47).write(&folder.path("b.blg"));
    let text = folder.prints(["compare", "a.blg", "b.blg", "-f", "json"]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    assert!(!rows.is_empty());
    for (file, key) in [("a.blg", "before"), ("b.blg", "after")] {
        for row in folder.stats(&[file]) {
            let compared = rows.iter().find(|other| other["path"] == row["path"]).expect("a row");
            assert_eq!(compared[key], row["average"], "{row}");
            assert_eq!(compared[format!("values_{key}")], row["values"]);
        }
    }
    let changes: Vec<_> = rows
        .iter()
        .map(|row| {
            (row["after"].as_f64().expect("a number") / row["before"].as_f64().expect("a number")).ln().abs()
        })
        .collect();
    assert!(changes.windows(2).all(|pair| pair[0] >= pair[1]), "{changes:?}");
    let csv = folder.prints(["compare", "a.blg", "b.blg", "-f", "csv"]);
    assert_eq!(csv.lines().count(), rows.len() + 1);
    assert!(
        csv.starts_with("path,machine,set,parent,instance,index,counter,type,unit,before,after,"),
        "{csv}"
    );
}

#[test]
fn the_table_says_what_changed() {
    let folder = two_logs();
    let table = folder.prints(["compare", "a.blg", "b.blg", "--top", "5"]);
    let lines: Vec<_> =
        table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[0], "counter before after difference ratio values before values after");
    assert_eq!(lines[1], r"\\web1\Disk(e:)\Transfers/sec 0 /s 1 /s +1 /s from 0 3 3");
    assert_eq!(lines[2], r"\\web1\Memory\Free 500 250 -250 / 2.00 4 4");
    assert_eq!(lines[3], r"\\web1\Disk(d:)\Transfers/sec 40 /s 40 /s 0 /s same 3 3");
    assert!(lines[5].contains("only"), "{table}");
    assert_eq!(lines.last().map(String::as_str), Some("5 of 8 rows."));
}

#[test]
fn two_machines_are_compared_by_path_and_names_can_be_summed() {
    let folder = Folder::new();
    log(&folder, "a.blg", "WEB1", 1, &[("d", 10), ("d#1", 20)]);
    log(&folder, "b.blg", "WEB2", 2, &[("d#1", 60)]);
    let rows = compared(&folder, &["a.blg", "b.blg", "--group-by", "name"]);
    assert_eq!(rows, [r"Disk(d)\Transfers/sec 30 60 30 2", r"Memory\Free 1 2 1 2"]);
}

#[test]
fn two_logs_are_needed() {
    let folder = two_logs();
    let message = "name two logs, the earlier one first: 'tacho compare BEFORE AFTER'; 'tacho relog' cuts and merges logs";
    folder.run(["compare", "a.blg"]).fails_with(2, message);
    folder.run(["compare", "a.blg", "b.blg", "-c", "a.blg"]).fails_with(2, message);
    let range = ["compare", "a.blg", "b.blg", "-b", "11:00"];
    folder.run(range).fails_with(
        1,
        "a.blg: no samples in this time range; 'tacho list FILE' shows the time range of a log",
    );
}
