//! `stats --sort`, `--top` and `--group-by`.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, TICKS, counter, raw, rows};
use crate::run::Folder;

/// Processes with a rate and a count. Their rates are 5, 1 and 3, their counts rise in the order of their names.
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
fn figures_are_compared_within_a_counter() {
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
fn a_counter_orders_instances() {
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
            // An id has no sum.
            "a ID Process 7",
            "b ID Process null",
            "a Reads/sec 5",
            "b Reads/sec 4",
        ]
    );
    // Segments have the sums of the whole log.
    folder.relog(["in.blg", "-e", "2024-03-05T10:00:02", "-o", "1.blg"]);
    folder.relog(["in.blg", "-b", "2024-03-05T10:00:02", "-o", "2.blg"]);
    let whole = folder.stats(&["in.blg", "--group-by", "name"]);
    assert_eq!(folder.stats(&["1.blg", "2.blg", "--group-by", "name"]), whole);
    // As columns of CSV, and for each time range.
    let csv = folder.prints(["stats", "in.blg", "--group-by", "name", "-f", "csv"]);
    assert_eq!(csv.lines().count(), 1 + whole.len());
    assert!(!csv.contains("b#1"), "{csv}");
    let every = folder.stats(&["in.blg", "--group-by", "name", "--every", "2s", "--top", "1"]);
    let begins: Vec<_> = every.iter().map(|row| row["begin"].as_str().expect("a time")).collect();
    assert_eq!((every.len(), begins.is_sorted()), (3 * 3, true));
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
