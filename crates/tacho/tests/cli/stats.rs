//! `stats`: table, CSV, text logs, errors.

use tachograph_counters::CounterType;

use crate::log_fixture::{LogFixture, TICKS, counter, failed, mixed, raw, rows};
use crate::run::Folder;

#[test]
fn the_table_is_printed_as_expected() {
    let folder = Folder::new();
    mixed("WEB1", 0, 12).write(&folder.path("in.blg"));
    assert_eq!(
        folder.prints(["stats", "in.blg", "-c", r"\Memory\*", r"\System\*", r"\PhysicalDisk(*)\*"]),
        r"counter                                           last   average   minimum   maximum       p50       p95       p99  values  errors
\\WEB1\Memory\% Committed Bytes In Use          33.0 %    32.9 %    30.9 %    35.1 %    33.0 %    35.1 %    35.1 %      12       0
\\WEB1\Memory\Available Bytes                 3.82 MiB  3.82 MiB  3.81 MiB  3.82 MiB  3.82 MiB  3.82 MiB  3.82 MiB      12       0
\\WEB1\PhysicalDisk(0 C:)\Avg. Disk sec/Read   2.33 ms   2.33 ms   1.75 ms   3.50 ms   2.33 ms   3.50 ms   3.50 ms      11       0
\\WEB1\System\Context Switches/sec            1.00 k/s  1.00 k/s    997 /s  1.00 k/s  1.00 k/s  1.00 k/s  1.00 k/s      11       0
"
    );
    let arguments =
        ["stats", "in.blg", "--raw-numbers", "-c", r"\Memory\*", r"\System\*", r"\PhysicalDisk(*)\*"];
    assert_eq!(
        folder.prints(arguments),
        r"counter                                       unit          last        average    minimum    maximum        p50        p95        p99  values  errors
\\WEB1\Memory\% Committed Bytes In Use        %           32.990         32.904     30.928     35.052     32.990     35.052     35.052      12       0
\\WEB1\Memory\Available Bytes                 bytes    4,002,048  4,001,962.667  4,000,000  4,004,096  4,002,048  4,004,096  4,004,096      12       0
\\WEB1\PhysicalDisk(0 C:)\Avg. Disk sec/Read  seconds    0.00233        0.00233    0.00175     0.0035    0.00233     0.0035     0.0035      11       0
\\WEB1\System\Context Switches/sec            1/s          1,000      1,000.182        997      1,003      1,000      1,003      1,003      11       0
"
    );
}

#[test]
fn csv_has_the_columns_of_json() {
    let folder = Folder::new();
    mixed("WEB1", 0, 12).write(&folder.path("in.blg"));
    let rows = folder.stats(&["in.blg"]);
    let csv = folder.prints(["stats", "in.blg", "-f", "csv"]);
    let mut lines = csv.lines();
    let header: Vec<_> = lines.next().expect("a header").split(',').collect();
    let json = folder.prints(["stats", "in.blg", "-f", "json"]);
    let first = json.lines().nth(1).expect("a row");
    let positions: Vec<_> =
        header.iter().map(|key| first.find(&format!("\"{key}\":")).expect("a key")).collect();
    assert!(positions.is_sorted(), "{header:?} {first}");
    assert_eq!(header.len(), 22);
    for (line, row) in lines.by_ref().zip(&rows) {
        for (cell, key) in line.split(',').zip(&header) {
            let value = match &row[key] {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            assert_eq!(cell, value, "{key} in {line}");
        }
    }
    assert_eq!(csv.lines().count(), rows.len() + 1);
}

#[test]
fn rows_are_sorted_by_path() {
    let folder = Folder::new();
    mixed("WEB1", 0, 3).write(&folder.path("in.blg"));
    let rows = folder.stats(&["in.blg"]);
    let paths: Vec<_> = rows.iter().map(|row| row["path"].as_str().expect("a path").to_lowercase()).collect();
    assert!(paths.is_sorted(), "{paths:#?}");
}

#[test]
fn one_sample_has_counts_but_no_rates() {
    let folder = Folder::new();
    mixed("WEB1", 0, 1).write(&folder.path("in.blg"));
    let rows = folder.stats(&["in.blg"]);
    for row in &rows {
        let expected = if row["set"] == "Memory" { 1 } else { 0 };
        assert_eq!(row["values"], expected, "{row}");
        assert_eq!(row["last"].is_null(), expected == 0);
        assert_eq!(row["average"].is_null(), expected == 0);
    }
    let table = folder.prints(["stats", "in.blg", "-c", r"\System\*"]);
    let cells: Vec<_> = table.lines().nth(1).expect("a row").split_whitespace().skip(2).collect();
    assert_eq!(cells, ["-", "-", "-", "-", "-", "-", "-", "0", "0"]);
}

#[test]
fn text_logs_of_other_tools_are_read() {
    let folder = Folder::new();
    // typeperf's header, LF, a German code page, decimal commas, equal columns.
    let latin: Vec<u8> = "\"(PDH-CSV 4.0)\",\"\\\\HALLE\\Größe(a,b)\\Länge\",\"\\\\HALLE\\Größe(a,b)\\Länge\"\n\
                          \"03/05/2024 10:00:00.000\",\"1,5\",\"1,5\"\n\"03/05/2024 10:00:01.000\",\"2,5\",\" \"\n"
        .chars()
        .map(|character| character as u8)
        .collect();
    folder.write("in.csv", latin);
    let ran = folder.run(["stats", "in.csv", "-f", "json"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(rows[0]["path"], r"\\HALLE\Größe(a,b)\Länge");
    assert_eq!((&rows[0]["average"], &rows[0]["values"]), (&2.into(), &2.into()));
}

#[test]
fn a_counter_in_a_blg_and_a_text_log_has_two_rows() {
    let folder = Folder::new();
    mixed("WEB1", 0, 12).write(&folder.path("all.blg"));
    folder.relog(["all.blg", "-e", "2024-03-05T10:00:06", "-o", "1.blg"]);
    folder.relog(["all.blg", "-b", "2024-03-05T10:00:06", "-o", "2.csv"]);
    let rows = folder.stats(&["1.blg", "2.csv", "-c", r"\System\*"]);
    let shown: Vec<_> =
        rows.iter().map(|row| ["type", "average_kind", "values"].map(|key| row[key].to_string())).collect();
    assert_eq!(rows[0]["path"], rows[1]["path"]);
    let expected =
        [["\"PERF_COUNTER_COUNTER\"", "\"raw\"", "5"], ["\"PERF_DOUBLE_RAW\"", "\"arithmetic\"", "6"]];
    assert!(
        shown.len() == 2 && expected.iter().all(|row| shown.iter().any(|shown| shown == row)),
        "{shown:?}"
    );
}

#[test]
fn samples_without_instances_are_reported() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1").column("Process", counter("Handle Count", CounterType::RAWCOUNT));
    for second in 0..3 {
        log.at(second, vec![Vec::new()]);
    }
    log.write(&folder.path("in.blg"));
    folder.run(["stats", "in.blg"]).fails_with(
        1,
        "in.blg: no values in its samples: no counter set had an instance; 'tacho list FILE' lists its counters",
    );
    folder.run(["stats", "in.blg", "-b", "2025-01-01"]).fails_with(
        1,
        "in.blg: no samples in this time range; its samples are from 2024-03-05 10:00:00.000 to 2024-03-05 10:00:02.000",
    );
}

#[test]
fn errors_are_explained_on_request() {
    let folder = Folder::new();
    let mut log = LogFixture::new("WEB1").column("Disk", counter("Reads/sec", CounterType::BULK_COUNT));
    for second in 0..8 {
        let value = match second {
            2 | 5 => failed(),
            _ => raw(100 * second, second * TICKS),
        };
        log.at(second, vec![rows(&[("bad", [value])])]);
    }
    log.write(&folder.path("in.blg"));
    let table = folder.prints(["stats", "in.blg"]);
    let verbose = folder.prints(["stats", "in.blg", "-v"]);
    let explained = r"
errors of                     status       number                          first                           last
\\WEB1\Disk(bad)\Reads/sec  PDH_NO_DATA (the collection returned no data)  4  2024-03-05T10:00:02.000+01:00  2024-03-05T10:00:06.000+01:00
";
    let shown = verbose.strip_prefix(&table).expect("the table at the start");
    let words = |text: &str| {
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(words(shown), words(explained));
    // The number of errors is that of the column.
    let rows = folder.stats(&["in.blg"]);
    assert_eq!(crate::run::row(&rows, r"\Disk(bad)\Reads/sec")["errors"], 4);
    for format in ["csv", "json"] {
        let ran = folder.run(["stats", "in.blg", "-v", "-f", format]);
        assert_eq!(ran.stdout, folder.prints(["stats", "in.blg", "-f", format]));
        let line = r"tacho: \\WEB1\Disk(bad)\Reads/sec: PDH_NO_DATA (the collection returned no data), 4 times between 2024-03-05T10:00:02.000+01:00 and 2024-03-05T10:00:06.000+01:00";
        assert_eq!(ran.stderr.lines().collect::<Vec<_>>(), [line]);
    }
}

#[test]
fn a_path_among_the_logs_selects_counters() {
    let folder = Folder::new();
    mixed("WEB1", 0, 12).write(&folder.path("in.blg"));
    let selected = folder.stats(&["in.blg", r"\Memory\Available Bytes"]);
    assert_eq!(selected, folder.stats(&["in.blg", "-c", r"\Memory\Available Bytes"]));
    assert_eq!(selected.len(), 1);
    assert_eq!(folder.stats(&[r"\Memory\Available Bytes", "in.blg"]), selected);
    folder
        .run(["stats", r"\Memory\Available Bytes"])
        .fails_with(2, "no log: name one before -c, as in 'tacho stats FILE -c PATH'");
}
