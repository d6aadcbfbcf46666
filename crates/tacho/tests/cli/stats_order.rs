//! `stats --sort`, `--top` and `--group-by`.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, TICKS, counter, raw, rows};
use crate::run::Folder;

/// Processes with a rate and a count. Their rates are 5, 1 and 3; their counts increase in the order of their names.
fn processes() -> Folder {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .column("Process", counter("Reads/sec", CounterType::BULK_COUNT))
        .column("Process", counter("Handle Count", CounterType::RAWCOUNT))
        .column("Process", counter("ID Process", CounterType::RAWCOUNT));
    for second in 0..5 {
        let rate = |rate: i64| [raw(rate * second, second * TICKS)];
        let count = |count: i64| [raw(count + second, 0)];
        log.at(
            second,
            vec![
                rows(&[
                    ("_Total", rate(9)),
                    ("Idle", rate(50)),
                    ("a", rate(5)),
                    ("b", rate(1)),
                    ("b#1", rate(3)),
                ]),
                rows(&[
                    ("_Total", count(1000)),
                    ("Idle", count(0)),
                    ("a", count(10)),
                    ("b", count(20)),
                    ("b#1", count(30)),
                ]),
                rows(&[("a", [raw(7, 0)]), ("b", [raw(8, 0)]), ("b#1", [raw(9, 0)])]),
            ],
        );
    }
    log.write(&folder.path("in.blg"));
    folder
}

/// `INSTANCE COUNTER AVERAGE` of each row.
fn order(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let rows = folder.stats(&[&["in.blg"], arguments].concat());
    let text = |row: &serde_json::Value| {
        let path = row["path"].as_str().expect("a path");
        let label = path.split(['(', ')']).nth(1).expect("an instance");
        format!("{label} {} {}", row["counter"].as_str().expect("a counter"), row["average"])
    };
    rows.iter().map(text).collect()
}

#[test]
fn rows_are_ranked_within_each_counter() {
    let folder = processes();
    let counters = ["-c", r"\Process(*)\Reads/sec", r"\Process(*)\Handle Count"];
    assert_eq!(
        order(&folder, &[&counters[..], &["--sort", "average"]].concat()),
        [
            "b#1 Handle Count 32",
            "b Handle Count 22",
            "a Handle Count 12",
            "_Total Handle Count 1002",
            "Idle Handle Count 2",
            "a Reads/sec 5",
            "b#1 Reads/sec 3",
            "b Reads/sec 1",
            "Idle Reads/sec 50",
            "_Total Reads/sec 9",
        ]
    );
    let top = ["b#1 Handle Count 32", "b Handle Count 22", "a Reads/sec 5", "b#1 Reads/sec 3"];
    for key in ["average", "maximum", "Last", "p50", "p95", "minimum"] {
        assert_eq!(order(&folder, &[&counters[..], &["--sort", key, "--top", "2"]].concat()), top, "{key}");
    }
    assert_eq!(order(&folder, &[&counters[..], &["--top", "2"]].concat()), top);
    let slope = ["--sort", "slope", "--slope", "--top", "1"];
    assert_eq!(order(&folder, &[&counters[..], &slope].concat()).len(), 2);
}

#[test]
fn time_without_a_process_is_reported_if_it_is_larger_than_a_row() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .column("Process", counter("Reads/sec", CounterType::BULK_COUNT))
        .column("Process", counter("Handle Count", CounterType::RAWCOUNT));
    for second in 0..5 {
        let rate = |rate: i64| [raw(rate * second, second * TICKS)];
        let rates = [
            ("_Exited", rate(4)),
            ("_Total", rate(14)),
            ("_Unattributed", rate(2)),
            ("a", rate(5)),
            ("b", rate(3)),
        ];
        let counts = rates.map(|(name, _)| (name, [raw(if name == "a" { 7 } else { 0 }, 0)]));
        log.at(second, vec![rows(&rates), rows(&counts)]);
    }
    log.write(&folder.path("in.blg"));
    let exited = "--top omits _Exited, processes that started or ended between two samples: Reads/sec";
    let unattributed = "--top omits _Unattributed, what belongs to no visible process: Reads/sec";
    for (arguments, expected) in [
        (&["--top", "1"][..], vec![]),
        (&["--top", "2"], vec![format!("{exited}, average 4 /s")]),
        (&["--top", "2", "--raw-numbers"], vec![format!("{exited}, average 4")]),
        (&["--top", "2", "--sort", "reads/sec", "-f", "json"], vec![format!("{exited}, average 4 /s")]),
        (&["--top", "2", "--sort", "p95"], vec![format!("{exited}, p95 4 /s")]),
        (&["--top", "2", "--every", "2s"], vec![format!("{exited}, average 4 /s in a time range")]),
        (&["--top", "2", "--sort", "values"], vec![]),
        (&["--sort", "average"], vec![]),
        (&["--top", "2", r"\Process(b)\*", r"\Process(_*)\*"], vec![format!("{exited}, average 4 /s")]),
        (&["--top", "2", r"\Process(_Exited)\*", r"\Process(*)\*"], vec![]),
        (
            &["--top", "1", r"\Process(_Total)\Handle Count", r"\Process(_*)\Reads/sec"],
            vec![format!("{exited}, average 4 /s"), format!("{unattributed}, average 2 /s")],
        ),
    ] {
        let ran = folder.run([&["stats", "in.blg"], arguments].concat());
        assert_eq!(ran.status, 0, "{ran:?}");
        let notices: Vec<_> = ran.stderr.lines().map(|line| line.trim_start_matches("tacho: ")).collect();
        assert_eq!(notices, expected, "{arguments:?}");
    }
}

#[test]
fn totals_that_a_path_names_are_ranked() {
    let folder = processes();
    let top = ["--sort", "maximum", "--top", "2"];
    let total = ["-c", r"\Process(_total)\Reads/sec"];
    assert_eq!(order(&folder, &[&total[..], &top].concat()), ["_Total Reads/sec 9"]);
    // The other total has no rank.
    let both = ["-c", r"\Process(_Total)\Reads/sec", r"\Process(*)\Reads/sec"];
    assert_eq!(order(&folder, &[&both[..], &top].concat()), ["_Total Reads/sec 9", "a Reads/sec 5"]);
    let by_counter = ["--sort", "Reads/sec", "--top", "1"];
    assert_eq!(order(&folder, &[&total[..], &by_counter].concat()), ["_Total Reads/sec 9"]);
    folder.run(["stats", "in.blg", r"\Process(Idle*)\Reads/sec", "--top", "1"]).fails_with(
        2,
        "--top omits totals, identifiers and sets without instances, and the logs have values only of these; name a total or \
         a set in a path (-c), or omit --top",
    );
}

#[test]
fn instances_can_be_sorted_by_a_counter() {
    let folder = processes();
    let counters = ["-c", r"\Process(*)\Reads/sec", r"\Process(*)\Handle Count"];
    for key in ["reads/sec", r"\Process(*)\Reads/sec"] {
        assert_eq!(
            order(&folder, &[&counters[..], &["--sort", key, "--top", "2"]].concat()),
            ["a Handle Count 12", "a Reads/sec 5", "b#1 Handle Count 32", "b#1 Reads/sec 3"]
        );
    }
}

#[test]
fn names_are_summed() {
    let folder = processes();
    assert_eq!(
        order(&folder, &["--group-by", "name", "--top", "3"]),
        [
            "b Handle Count 54",
            "a Handle Count 12",
            // Ids are not ranked.
            "a Reads/sec 5",
            "b Reads/sec 4",
        ]
    );
    // The segments of a log, read together, have the same sums as the whole log.
    folder.relog(["in.blg", "-e", "2024-03-05T10:00:02", "-o", "1.blg"]);
    folder.relog(["in.blg", "-b", "2024-03-05T10:00:02", "-o", "2.blg"]);
    let whole = folder.stats(&["in.blg", "--group-by", "name"]);
    assert_eq!(folder.stats(&["1.blg", "2.blg", "--group-by", "name"]), whole);
    // The sums are also columns of CSV, and are computed for each time range.
    let csv = folder.prints(["stats", "in.blg", "--group-by", "name", "-f", "csv"]);
    assert_eq!(csv.lines().count(), 1 + whole.len());
    assert!(!csv.contains("b#1"), "{csv}");
    let every = folder.stats(&["in.blg", "--group-by", "name", "--every", "2s", "--top", "1"]);
    let begins: Vec<_> = every.iter().map(|row| row["begin"].as_str().expect("a time")).collect();
    assert_eq!((every.len(), begins.is_sorted()), (3 * 2, true));
}

/// Processes that are present for the whole log, for a part of it, and for a single interval.
fn short_lived_processes() -> Folder {
    let folder = Folder::new();
    let mut log =
        LogFixture::new("WEB1").column("Process", counter("% Processor Time", CounterType::TIMER_100NS));
    for second in 0..=100 {
        // Ticks of 100 ns: `share` percent of the time.
        let busy = |share: i64| [raw(share * second * TICKS / 100, second * TICKS)];
        let mut present = vec![("idle", busy(0)), ("long", busy(20)), ("_Total", busy(50))];
        present.extend((50..=51).contains(&second).then(|| ("flash", busy(100))));
        present.extend((0..=30).contains(&second).then(|| ("part", busy(60))));
        log.at(second, vec![rows(&present)]);
    }
    log.write(&folder.path("in.blg"));
    folder
}

#[test]
fn averages_are_ranked_by_the_time_in_which_an_instance_was_present() {
    let folder = short_lived_processes();
    // 20 % of 100 s is more than 60 % of 30 s, and that is more than 100 % of 1 s. The averages themselves are exact.
    let expected = ["long % Processor Time 20", "part % Processor Time 60", "flash % Processor Time 100"];
    for sort in [&["--sort", "average"][..], &[], &["--sort", "% Processor Time"]] {
        let arguments = [sort, &["--top", "3"]].concat();
        assert_eq!(order(&folder, &arguments), expected, "{sort:?}");
        let table = folder.prints([&["stats", "in.blg"][..], &arguments].concat());
        assert!(
            table.ends_with("which counts the time an instance was present.\n") && table.contains("values"),
            "{table}"
        );
    }
    // Maxima are not weighted by time.
    let peaks = order(&folder, &["--sort", "maximum", "--top", "3"]);
    assert_eq!(peaks[0], "flash % Processor Time 100");
    // The order must not depend on --only-active.
    assert_eq!(order(&folder, &["--top", "3", "--only-active"]), expected);
    // In a time range in which all processes are present, the order is that of the averages.
    let window = ["-b", "2024-03-05T10:00:51", "-e", "2024-03-05T10:00:52", "--top", "2"];
    assert_eq!(order(&folder, &window), ["flash % Processor Time 100", "long % Processor Time 20"]);
    let table = folder.prints([&["stats", "in.blg"][..], &window].concat());
    assert!(!table.contains("was present"), "{table}");
}

#[test]
fn the_sorted_percentile_is_shown() {
    let folder = processes();
    for sort in ["p90", "P90.0"] {
        let table = folder.prints(["stats", "in.blg", "--sort", sort]);
        assert!(table.lines().next().is_some_and(|heading| heading.contains(" p90 ")), "{table}");
    }
    assert!(!folder.prints(["stats", "in.blg", "--sort", "p50.0"]).contains("p90"));
}

#[test]
fn sets_without_instances_have_no_rank() {
    let folder = Folder::new();
    crate::log_fixture::mixed("WEB1", 0, 5).write(&folder.path("in.blg"));
    let counters: Vec<_> = order(&folder, &["--top", "1"]);
    assert_eq!(counters.len(), 2, "{counters:?}");
}

#[test]
fn unknown_orders_are_refused() {
    let folder = processes();
    for (arguments, message) in [
        (
            &["--sort", "Writes/sec"][..],
            "--sort 'Writes/sec': no such counter in the result; name one of its counters, or last, average, minimum, \
             maximum, a percentile (p95), values or errors",
        ),
        (
            &["--sort", "Writes/sec", "--every", "2s", "-f", "json"],
            "--sort 'Writes/sec': no such counter in the result; name one of its counters, or last, average, minimum, \
             maximum, a percentile (p95), values or errors",
        ),
        (
            &["--sort", "pinf"],
            "--sort 'pinf': no such counter in the result; name one of its counters, or last, average, minimum, \
             maximum, a percentile (p95), values or errors",
        ),
        (&["--sort", "slope"], "--sort slope needs --slope"),
        (&["--sort", "p99.5"], "--sort p99.5 needs --percentile 99.5"),
        (
            &["--sort", "path", "--top", "2"],
            "--top needs an order: use --sort with a counter or a figure such as average",
        ),
        (
            &["--top", "0"],
            "--top 0: must be a whole number, 1 or more; 'tacho stats --help' lists the options",
        ),
    ] {
        folder.run([&["stats", "in.blg"], arguments].concat()).fails_with(2, message);
    }
}

#[test]
fn totals_idle_and_ended_processes_have_no_rank() {
    let folder = Folder::new();
    let mut log =
        LogFixture::new("WEB1").column("Process", counter("% Processor Time", CounterType::TIMER_100NS));
    for second in 0..=4 {
        let busy = |share: i64| [raw(share * second * TICKS / 100, second * TICKS)];
        let shares = [("_Total", 200), ("Idle", 90), ("_Exited", 80), ("_Unattributed", 70), ("own", 5)];
        log.at(second, vec![rows(&shares.map(|(name, share)| (name, busy(share))))]);
    }
    log.write(&folder.path("in.blg"));
    assert_eq!(order(&folder, &["--top", "3"]), ["own % Processor Time 5"]);
    assert_eq!(order(&folder, &["--sort", "average"])[0], "own % Processor Time 5");
}

#[test]
fn ids_of_several_processes_have_no_average() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1")
        .column("Process", counter("ID Process", CounterType::RAWCOUNT))
        .column("Process", counter("Creating Process ID", CounterType::RAWCOUNT));
    for second in 0..4 {
        let ids = [("stays", [raw(100, 0)]), ("restarts", [raw(if second < 2 { 200 } else { 400 }, 0)])];
        log.at(second, vec![rows(&ids), rows(&[("stays", [raw(1, 0)]), ("restarts", [raw(second + 1, 0)])])]);
    }
    log.write(&folder.path("in.blg"));
    let table = folder.prints(["stats", "in.blg", "--group-by", "name"]);
    assert!(!table.contains("300"), "ids are averaged: {table}");
    let table = folder.prints(["stats", "in.blg"]);
    let cells = |start: &str| {
        let line = table.lines().find(|line| line.contains(start)).unwrap_or_default();
        line.rsplit("ID").next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(cells(r"(restarts)\ID Process").contains("several"), "{table}");
    assert!(cells(r"(stays)\ID Process").contains("100 100 100 100"), "{table}");
    for row in folder.stats(&["in.blg"]) {
        let is_single = row["instance"] == "stays";
        assert_eq!(row["average"].is_null(), !is_single, "{row}");
    }
}
