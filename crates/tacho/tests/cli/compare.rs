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
        // The rows of two machines name neither.
        let path = row["path"].as_str().expect("a path").trim_start_matches('\\');
        let machine = row["machine"].as_str().map(|machine| format!(r"{machine}\")).unwrap_or_default();
        let path = path.strip_prefix(&machine).expect("the machine");
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
    let range = "2024-03-05 10:00:00.000 to 2024-03-05 10:00:03.000, 3.000 s, 4 samples";
    assert_eq!(
        lines[..3],
        [format!("before: a.blg, {range}"), format!("after: b.blg, {range}"), String::new()]
    );
    let lines = &lines[3..];
    assert_eq!(lines[0], "counter before after difference ratio values before values after");
    assert!(lines[1].contains("only after"), "{table}");
    assert_eq!(lines[3], r"\\web1\Memory\Free 500 250 -250 / 2.00 4 4");
    let notes = lines[7..].join(" ");
    assert!(notes.starts_with("Sorted by weight:") && notes.ends_with("5 of 8 rows."), "{table}");
    let table = folder.prints(["compare", "a.blg", "b.blg", "--sort", "ratio", "--top", "3"]);
    let line = |index: usize| {
        table.lines().nth(3 + index).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line(1), r"\\web1\Disk(e:)\Transfers/sec 0 /s 1 /s +1 /s from 0 other 3 3");
    assert_eq!(line(3), r"\\web1\Disk(d:)\Transfers/sec 40 /s 40 /s 0 /s same 3 3");
}

/// Rounding of the last binary digits is no change.
#[test]
fn a_difference_that_no_displayed_digit_shows_is_zero() {
    let folder = Folder::new();
    for (name, share) in [("a.blg", 999_000_000_000i64), ("b.blg", 999_000_000_001)] {
        let mut log = LogFixture::new("WEB1").column("Queue", counter("% Used", CounterType::RAW_FRACTION));
        for second in 0..3 {
            log.at(second, vec![rows(&[("all", [raw(share, 1_000_000_000_000)])])]);
        }
        log.write(&folder.path(name));
    }
    for logs in [["a.blg", "b.blg"], ["b.blg", "a.blg"]] {
        let table = folder.prints(["compare", logs[0], logs[1]]);
        let row = table.lines().find(|line| line.contains("% Used")).expect("a row");
        let row = row.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row, r"\\WEB1\Queue(all)\% Used 99.9 % 99.9 % 0 points same 3 3");
    }
}

/// The paths and averages of the lines of a table without the first three and the notes; an empty line separates the totals.
fn lines_of_table(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let table = folder.prints([&["compare", "a.blg", "b.blg"], arguments].concat());
    let lines = table.lines().skip(4).take_while(|line| !line.starts_with("Sorted"));
    let mut lines: Vec<_> = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines.pop().as_deref(), Some(""), "an empty line before the notes");
    lines
}

#[test]
fn the_table_begins_with_totals_whether_or_not_they_changed() {
    let folder = Folder::new();
    for (name, faults) in [("a.blg", 1), ("b.blg", 100)] {
        let mut log = LogFixture::new("WEB1")
            .value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT))
            .value("Memory", counter("Page Faults/sec", CounterType::BULK_COUNT))
            .column("Network Interface", counter("Bytes Total/sec", CounterType::BULK_COUNT))
            .column("PhysicalDisk", counter("Disk Bytes/sec", CounterType::BULK_COUNT))
            .column("Pressure Stall", counter("% Some Stall Time", CounterType::RAW_FRACTION));
        for second in 0..4 {
            let rate = |rate: i64| [raw(rate * second, second * TICKS)];
            let interfaces = [("lo", rate(9)), ("eth0", rate(8)), ("eth1", rate(2))];
            let disks = [("vda", rate(faults)), ("_Total", rate(faults))];
            let stalls = [("cpu", [raw(30 + faults / 10, 1000)])];
            let memory = [one(raw(4096, 0)), one(rate(faults)[0])];
            let [available, faults] = memory;
            log.at(second, vec![available, faults, rows(&interfaces), rows(&disks), rows(&stalls)]);
        }
        log.write(&folder.path(name));
    }
    let lines = lines_of_table(&folder, &["--wide"]);
    // `_Total` repeats the only disk, so it is only among the totals.
    let expected = [
        r"\\WEB1\Memory\Available Bytes 4.00 KiB 4.00 KiB 0 B same 4 4",
        r"\\WEB1\PhysicalDisk(_Total)\Disk Bytes/sec 1 B/s 100 B/s +99 B/s x 100 3 3",
        r"\\WEB1\Network Interface(eth0)\Bytes Total/sec 8 B/s 8 B/s 0 B/s same 3 3",
        r"\\WEB1\Pressure Stall(cpu)\% Some Stall Time 3.00 % 4.00 % +1.00 points x 1.33 4 4",
    ];
    assert_eq!(lines[..4], expected);
    assert!(lines[4].is_empty());
    assert!(!lines[5..].iter().any(|line| line.contains("_Total")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("PhysicalDisk(vda)")), "{lines:#?}");
    // Selected counters have no totals.
    assert!(!lines_of_table(&folder, &[r"\Memory\*"]).iter().any(String::is_empty));
}

#[test]
fn a_path_that_only_one_log_has_is_compared() {
    let folder = two_logs();
    let path = r"\Disk(new)\Transfers/sec";
    let ran = folder.run(["compare", "a.blg", "b.blg", path]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.contains("only after"), "{}", ran.stdout);
    assert!(folder.prints(["compare", "b.blg", "a.blg", path]).contains("only before"));
    let rows = compared(&folder, &["a.blg", "b.blg", r"\Disk(n*)\*", r"\Disk(old)\*"]);
    assert_eq!(rows.len(), 2, "{rows:#?}");
    assert!(rows.contains(&r"Disk(new)\Transfers/sec null 3 null null".to_owned()), "{rows:#?}");
    assert!(rows.contains(&r"Disk(old)\Transfers/sec 3 null null null".to_owned()), "{rows:#?}");
    let message = r"'\Disk(ne)\Transfers/sec' is in neither log: did you mean the instance 'new'?";
    folder.run(["compare", "b.blg", "a.blg", r"\Disk(ne)\Transfers/sec"]).fails_with(2, message);
    let ran = folder.run(["compare", "b.blg", "a.blg", path, r"\Disk(ne)\Transfers/sec"]);
    assert_eq!((ran.status, ran.stderr), (0, format!("tacho: {message}\n")));
}

#[test]
fn logs_in_the_wrong_order_are_reported() {
    let folder = Folder::new();
    for (name, start) in [("a.blg", 0), ("b.blg", 60)] {
        let mut log =
            LogFixture::new("WEB1").value("Memory", counter("Available Bytes", CounterType::LARGE_RAWCOUNT));
        for second in start..start + 3 {
            log.at(second, vec![one(raw(second, 0))]);
        }
        log.write(&folder.path(name));
    }
    let ran = folder.run(["compare", "b.blg", "a.blg"]);
    let message = "tacho: the first log is the later one: name the earlier log first to see changes in the order of time\n";
    assert_eq!((ran.status, ran.stderr.as_str()), (0, message));
    assert_eq!(folder.run(["compare", "a.blg", "b.blg"]).stderr, "");
    assert_eq!(folder.run(["compare", "a.blg", "a.blg"]).stderr, "");
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

#[test]
fn two_machines_are_compared() {
    let folder = Folder::new();
    log(&folder, "a.blg", "WEB1", 500, &[("c:", 10)]);
    log(&folder, "b.blg", "WEB2", 250, &[("c:", 40)]);
    // The rows of two machines name neither.
    let table = folder.prints(["compare", "a.blg", "b.blg"]);
    assert!(table.starts_with("before: a.blg, \\\\WEB1, 2024-03-05 "), "{table}");
    assert!(table.contains("\nafter: b.blg, \\\\WEB2, 2024-03-05 "), "{table}");
    assert!(table.contains("\n\\Disk(c:)\\Transfers/sec "), "{table}");
    let rows = folder.prints(["compare", "a.blg", "b.blg", "-f", "json"]);
    let rows: serde_json::Value = serde_json::from_str(&rows).expect("JSON");
    assert_eq!((&rows[0]["path"], &rows[0]["machine"]), (&r"\Disk(c:)\Transfers/sec".into(), &().into()));
    // Machines of one log.
    folder.relog(["a.blg", "-o", "all", "-f", "archive"]);
    folder.relog(["b.blg", "-o", "all", "-f", "archive", "-a"]);
    folder.run(["compare", "all"]).fails_with(
        2,
        "name two logs, the earlier one first: 'tacho compare BEFORE AFTER'; the folders of its machines are logs, as in \
         'tacho compare all/machine=WEB1 all/machine=WEB2'",
    );
    folder.relog(["a.blg", "b.blg", "-o", "both.blg"]);
    folder.run(["compare", "both.blg"]).fails_with(
        2,
        r"name two logs, the earlier one first: 'tacho compare BEFORE AFTER'; 'tacho relog both.blg -c '\\WEB1\*\*' '\\WEB1\*(*)\*' -o WEB1.blg' writes a log of one of its machines",
    );
}

/// A process: its name, its id, the second of its start, and its reads per second.
type ComparedProcess = (&'static str, i64, i64, i64);

/// A log of these processes over three seconds.
fn process_log(folder: &Folder, name: &str, machine: &str, processes: &[ComparedProcess]) {
    let mut log = LogFixture::new(machine)
        .column("Process", counter("Reads/sec", CounterType::BULK_COUNT))
        .column("Process", counter("Writes/sec", CounterType::BULK_COUNT))
        .column("Process", counter("ID Process", CounterType::RAWCOUNT))
        .column("Process", counter("Elapsed Time", CounterType::ELAPSED_TIME));
    for second in 0..4 {
        let column = |value: &dyn Fn(&ComparedProcess) -> tachograph_counters::RawValue| {
            processes.iter().map(|process| (process.0.to_owned(), vec![value(process)])).collect()
        };
        log.at(
            second,
            vec![
                column(&|process| raw(process.3 * second, second * TICKS)),
                column(&|process| raw(2 * process.3 * second, second * TICKS)),
                column(&|process| raw(process.1, 0)),
                column(&|process| raw(process.2 * TICKS, second * TICKS)),
            ],
        );
    }
    log.write(&folder.path(name));
}

const READS: &str = r"\Process(*)\Reads/sec";

/// `INSTANCE BEFORE AFTER (INSTANCES BEFORE, INSTANCES AFTER)` of each row with reads.
fn compared_reads(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let text = folder.prints([&["compare", "a.blg", "b.blg", "-f", "json"], arguments].concat());
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    let reads = rows.iter().filter(|row| row["counter"] == "Reads/sec");
    reads
        .map(|row| {
            let counts = format!("({}, {})", row["instances_before"], row["instances_after"]);
            let index = row["index"].as_u64().filter(|index| *index > 0);
            let index = index.map(|index| format!("#{index}")).unwrap_or_default();
            let name = row["instance"].as_str().unwrap_or_default();
            format!("{name}{index} {} {} {counts}", row["before"], row["after"])
        })
        .collect()
}

#[test]
fn different_processes_with_the_same_number_are_summed() {
    let folder = Folder::new();
    let before = [
        ("bash", 10, -50, 5),
        ("bash#1", 11, -40, 20),
        ("sshd", 5, -90, 3),
        ("vi", 7, -5, 1),
        ("vi#1", 8, -5, 2),
    ];
    process_log(&folder, "a.blg", "WEB1", &before);
    // Another bash#1, and another sshd. Both vi still run.
    let after = [
        ("bash", 10, -50, 5),
        ("bash#1", 99, -2, 900),
        ("sshd", 6, -1, 6),
        ("vi", 7, -5, 1),
        ("vi#1", 8, -5, 3),
    ];
    process_log(&folder, "b.blg", "WEB1", &after);
    let expected = ["bash 25 905 (2, 2)", "sshd 3 6 (1, 1)", "vi#1 2 3 (1, 1)", "vi 1 1 (1, 1)"];
    assert_eq!(compared_reads(&folder, &[]), expected);
    // The ids are known even if they are not selected; the time of the start is then not.
    assert_eq!(compared_reads(&folder, &[READS]), expected);
    let by_number = compared_reads(&folder, &["--group-by", "instance"]);
    assert_eq!(by_number[0], "bash#1 20 900 (1, 1)");
    assert_eq!(by_number.len(), 5);
    let by_name = compared_reads(&folder, &["--group-by", "name"]);
    assert_eq!(by_name, ["bash 25 905 (1, 1)", "sshd 3 6 (1, 1)", "vi 3 4 (1, 1)"]);
}

#[test]
fn a_process_that_was_started_later_is_another_one() {
    let folder = Folder::new();
    process_log(&folder, "a.blg", "WEB1", &[("bash", 10, -50, 5), ("bash#1", 11, -40, 20)]);
    // The ids are the same, but bash#1 has started half a minute later: after the machine was restarted, for example.
    process_log(&folder, "b.blg", "WEB1", &[("bash", 10, -50, 5), ("bash#1", 11, -5, 30)]);
    assert_eq!(compared_reads(&folder, &[]), ["bash 25 35 (2, 2)"]);
    assert_eq!(compared_reads(&folder, &[READS]), ["bash#1 20 30 (1, 1)", "bash 5 5 (1, 1)"]);
    // The wall clock was set by a few seconds between the logs.
    process_log(&folder, "b.blg", "WEB1", &[("bash", 10, -47, 5), ("bash#1", 11, -37, 30)]);
    assert_eq!(compared_reads(&folder, &[]), ["bash#1 20 30 (1, 1)", "bash 5 5 (1, 1)"]);
    // On another machine, all processes are others.
    process_log(&folder, "b.blg", "WEB2", &[("bash", 10, -50, 5), ("bash#1", 11, -40, 30)]);
    assert_eq!(compared_reads(&folder, &[]), ["bash 25 35 (2, 2)"]);
}

#[test]
fn names_with_different_numbers_of_instances_are_summed() {
    let folder = Folder::new();
    process_log(&folder, "a.blg", "WEB1", &[("bash", 10, -50, 5), ("bash#1", 11, -40, 20), ("cp", 4, -1, 1)]);
    process_log(&folder, "b.blg", "WEB1", &[("bash", 10, -50, 5), ("rm", 4, -1, 1), ("rm#1", 9, -1, 1)]);
    assert_eq!(compared_reads(&folder, &[]), ["bash 25 5 (2, 1)", "rm null 2 (0, 2)", "cp 1 null (1, 0)"]);
    // Without ids, the numbers of instances decide.
    let folder = Folder::new();
    for (name, disks) in [("a.blg", &["sd", "sd#1", "nv", "nv#1"][..]), ("b.blg", &["sd", "sd#1", "nv"])] {
        let mut log = LogFixture::new("WEB1").column("Disk", counter("Reads/sec", CounterType::BULK_COUNT));
        for second in 0..3 {
            let rows = disks.iter().map(|disk| ((*disk).to_owned(), vec![raw(40 * second, second * TICKS)]));
            log.at(second, vec![rows.collect()]);
        }
        log.write(&folder.path(name));
    }
    assert_eq!(compared_reads(&folder, &[]), ["nv 80 40 (2, 1)", "sd#1 40 40 (1, 1)", "sd 40 40 (1, 1)"]);
}

#[test]
fn the_table_has_a_row_per_instance() {
    let folder = Folder::new();
    process_log(
        &folder,
        "a.blg",
        "WEB1",
        &[("bash", 10, -50, 5), ("bash#1", 11, -40, 20), ("sshd", 5, -90, 300)],
    );
    process_log(
        &folder,
        "b.blg",
        "WEB1",
        &[("bash", 10, -50, 5), ("bash#1", 99, -2, 900), ("sshd", 6, -1, 30)],
    );
    let table = |arguments: &[&str]| -> Vec<String> {
        let text = folder.prints([&["compare", "a.blg", "b.blg"], arguments].concat());
        text.lines().skip(3).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let lines = table(&[]);
    assert_eq!(lines[0], "counter before after difference ratio more instances values before values after");
    assert_eq!(lines[1], r"\\WEB1\Process(bash#*)\Writes/sec 50 /s 1.81 k/s +1.76 k/s x 36.2 +1 2, 2 3 3");
    assert_eq!(lines[2], r"\\WEB1\Process(sshd)\Writes/sec 600 /s 60 /s -540 /s / 10.0 +1 other 3 3");
    assert_eq!(lines[3], "", "{lines:#?}");
    let note = lines[4..].join(" ");
    for part in [
        "2 of 2 instances, each with",
        "(--all-counters shows all 6)",
        "NAME#*: the sum",
        "other: another process",
    ] {
        assert!(note.contains(part), "{note}");
    }
    assert_eq!(table(&["--all-counters"])[1..].iter().filter(|line| line.starts_with(r"\\WEB1")).count(), 6);
    assert_eq!(table(&["--sort", "path"])[1..].iter().filter(|line| line.starts_with(r"\\WEB1")).count(), 6);
    // All counters of a single instance.
    let sshd = table(&[r"\Process(sshd)\*"]);
    assert_eq!(sshd[1..].iter().filter(|line| line.starts_with(r"\\WEB1")).count(), 3, "{sshd:#?}");
}
