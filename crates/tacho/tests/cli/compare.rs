//! `tacho compare`.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, TICKS, counter, mixed, one, raw, rows};
use crate::run::Folder;

/// A log with the transfers per second of these disks, and the free memory.
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
fn the_most_important_change_is_first() {
    let folder = two_logs();
    let expected = [
        // A disk that occurs in only one log counts as 0 in the other: asinh(40 / 10) = 2.1. Two names can differ
        // only in case.
        r"Disk(C:)\Transfers/sec null 40 null null",
        r"Disk(c:)\Transfers/sec 10 null null null",
        // A count: asinh(500) - asinh(250) = 0.69.
        r"Memory\Free 500 250 -250 0.5",
        // asinh(3 / 10) = 0.296.
        r"Disk(new)\Transfers/sec null 3 null null",
        r"Disk(old)\Transfers/sec 3 null null null",
        // From 0, but only to one per second: asinh(1 / 10) = 0.1.
        r"Disk(e:)\Transfers/sec 0 1 1 null",
        r"Disk(d:)\Transfers/sec 40 40 0 1",
        r"Disk(same)\Transfers/sec 7 7 0 1",
    ];
    assert_eq!(compared(&folder, &["a.blg", "b.blg"]), expected);
    assert_eq!(compared(&folder, &["a.blg", "b.blg", "--top", "2"]), expected[..2]);
    let memory = compared(&folder, &["b.blg", "a.blg", "-c", r"\Memory\*"]);
    assert_eq!(memory, [r"Memory\Free 250 500 250 2"]);
    // A log can follow the paths of -c, and a path can be among the logs.
    assert_eq!(compared(&folder, &["b.blg", "-c", r"\Memory\*", "a.blg"]), memory);
    assert_eq!(compared(&folder, &["b.blg", "a.blg", r"\Memory\*"]), memory);
}

#[test]
fn rows_are_sorted_by_another_figure() {
    let folder = two_logs();
    let first = |order: &str| compared(&folder, &["a.blg", "b.blg", "--sort", order, "--top", "1"]).concat();
    assert_eq!(first("ratio"), r"Disk(e:)\Transfers/sec 0 1 1 null");
    assert_eq!(first("difference"), r"Memory\Free 500 250 -250 0.5");
    assert_eq!(first("before"), r"Memory\Free 500 250 -250 0.5");
    assert_eq!(first("after"), r"Memory\Free 500 250 -250 0.5");
    let paths = compared(&folder, &["a.blg", "b.blg", "--sort", "path"]);
    let mut sorted = paths.clone();
    sorted.sort_by_key(|row| row.to_lowercase());
    assert_eq!(paths.len(), 8);
    assert_eq!(paths.last(), sorted.last());
    folder
        .run(["compare", "a.blg", "b.blg", "--sort", "size"])
        .fails_with(
            2,
            "--sort size: must be weight, ratio, difference, before, after or path; 'tacho compare --help' lists the options",
        );
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
    let csv = folder.prints(["compare", "a.blg", "b.blg", "-f", "csv"]);
    assert_eq!(csv.lines().count(), rows.len() + 1);
    assert!(
        csv.starts_with("path,machine,set,parent,instance,index,counter,type,unit,before,after,"),
        "{csv}"
    );
}

#[test]
fn the_table_shows_what_changed() {
    let folder = two_logs();
    let table = folder.prints(["compare", "a.blg", "b.blg", "--top", "5"]);
    let lines: Vec<_> =
        table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines[0], "counter before after difference ratio values before values after");
    assert!(lines[1].contains("only after"), "{table}");
    assert_eq!(lines[3], r"\\web1\Memory\Free 500 250 -250 / 2.00 4 4");
    assert!(
        lines
            .last()
            .is_some_and(|note| note.starts_with("Sorted by weight:") && note.ends_with("5 of 8 rows.")),
        "{table}"
    );
    let table = folder.prints(["compare", "a.blg", "b.blg", "--sort", "ratio", "--top", "3"]);
    let line = |index: usize| {
        table.lines().nth(index).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line(1), r"\\web1\Disk(e:)\Transfers/sec 0 /s 1 /s +1 /s from 0 3 3");
    assert_eq!(line(3), r"\\web1\Disk(d:)\Transfers/sec 40 /s 40 /s 0 /s same 3 3");
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
fn the_rates_of_a_short_life_are_multiplied_by_its_part_of_the_log() {
    let folder = Folder::new();
    for (name, has_ended) in [("a.blg", false), ("b.blg", true)] {
        let mut log =
            LogFixture::new("WEB1").column("Process", counter("Reads/sec", CounterType::BULK_COUNT));
        for second in 0..=40 {
            let at = |rate: i64| [raw(rate * second, second * TICKS)];
            let mut processes = vec![("steady", at(if has_ended { 60 } else { 20 }))];
            if has_ended && second >= 39 {
                processes.push(("brief", at(200)));
            }
            log.at(second, vec![rows(&processes)]);
        }
        log.write(&folder.path(name));
    }
    let expected = [
        // asinh(60 / 10) - asinh(20 / 10) = 1.05.
        r"Process(steady)\Reads/sec 20 60 40 3",
        // In one of 40 intervals: asinh(200 / 40 / 10) = 0.48; without the weight it would be 3.69.
        r"Process(brief)\Reads/sec null 200 null null",
    ];
    assert_eq!(compared(&folder, &["a.blg", "b.blg"]), expected);
    assert_eq!(compared(&folder, &["a.blg", "b.blg", "--sort", "after"])[0], expected[1]);
}

#[test]
fn sets_that_repeat_others_are_omitted_unless_selected() {
    let folder = Folder::new();
    for name in ["a.blg", "b.blg"] {
        let handles = || counter("Handles", CounterType::RAWCOUNT);
        let sets = ["Process", "Process V2", "Thread", "Processor"];
        let mut log = sets.iter().fold(LogFixture::new("WEB1"), |log, set| log.column(set, handles()));
        for second in 0..2 {
            log.at(second, sets.iter().map(|_| rows(&[("one", [raw(5, 0)])])).collect());
        }
        log.write(&folder.path(name));
    }
    // No log has Processor Information, which Processor repeats.
    let shown = [r"Process(one)\Handles 5 5 0 1", r"Processor(one)\Handles 5 5 0 1"];
    assert_eq!(compared(&folder, &["a.blg", "b.blg"]), shown);
    let thread = compared(&folder, &["a.blg", "b.blg", r"\Thread(*)\*"]);
    assert_eq!(thread, [r"Thread(one)\Handles 5 5 0 1"]);
    let table = folder.prints(["compare", "a.blg", "b.blg"]);
    let note = r"Without sets that repeat others: Process V2 (see Process), Thread (see Process) ('\Process V2(*)\*' selects it).";
    assert!(table.split_whitespace().collect::<Vec<_>>().join(" ").contains(note), "{table}");
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
        "a.blg: no samples in this time range; its samples are from 2024-03-05 10:00:00.000 to 2024-03-05 10:00:03.000",
    );
}
