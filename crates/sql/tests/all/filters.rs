//! Filters select the same rows whether DataFusion applies them or the reader does, and data that is not needed is not read.

use std::path::PathBuf;

use crate::answers::{query, try_query};
use crate::generated::{TempFolder, recording, write};
use crate::log_fixture::mixed;

/// Pairs of equivalent filters. The first is applied while reading; DataFusion applies the second to all rows.
const FILTERS: [(&str, &str); 12] = [
    (r#""set" = 'Process'"#, r#"concat("set", '') = 'Process' AND num IS NOT DISTINCT FROM num"#),
    (
        "counter IN ('Counter 3', 'Counter 5')",
        "(counter = 'Counter 3' OR counter = 'Counter 5') AND time = time",
    ),
    ("instance LIKE 'worker1%'", "instance LIKE 'worker1%' AND time = time"),
    ("instance IS NULL", "instance IS NULL AND time = time"),
    ("parent IS NOT NULL", "parent IS NOT NULL AND time = time"),
    ("NOT (instance = 'worker2')", "NOT (instance = 'worker2' AND time = time)"),
    (
        r#""set" <> 'Memory' AND counter > 'Counter 3'"#,
        r#""set" <> 'Memory' AND counter > 'Counter 3' AND time = time"#,
    ),
    ("machine = 'web-1'", "machine = 'web-1' AND time = time"),
    ("date = '2026-11-26'", "CAST(time AS DATE) = '2026-11-26'"),
    (
        "time >= '2026-11-25T23:59:59Z' AND time < '2026-11-26T00:00:31Z'",
        "CAST(time AS BIGINT) >= 1795651199000000 AND CAST(time AS BIGINT) < 1795651231000000",
    ),
    (
        "time = '2026-11-26T00:00:00Z' OR counter = 'Counter 1'",
        "CAST(time AS BIGINT) = 1795651200000000 OR counter = 'Counter 1'",
    ),
    (
        "kind = 'ratio' AND type LIKE 'PERF_100NS%'",
        "kind = 'ratio' AND type LIKE 'PERF_100NS%' AND time = time",
    ),
];

#[test]
fn pushed_down_filters_select_the_same_rows_as_plain_ones() {
    let folder = TempFolder::new();
    let archive = folder.0.join("archive");
    write(&archive, &recording(1, 90), 3000);
    let inputs = [archive];
    let figures = r#"count(*), count(num), count(status), sum(CAST(num AS DECIMAL(38,0))), count(DISTINCT concat("set", counter, instance)), min(time), max(time)"#;
    let mut selected = 0;
    for (pushed, plain) in FILTERS {
        let [pushed_rows, plain_rows] = [pushed, plain]
            .map(|filter| query(&inputs, &format!("SELECT {figures} FROM samples WHERE {filter}")));
        assert_eq!(pushed_rows.batch.columns(), plain_rows.batch.columns(), "{pushed}");
        let rows = pushed_rows.integers(0)[0].expect("a count");
        let all = query(&inputs, "SELECT count(*) FROM samples").integers(0)[0].expect("a count");
        assert!(rows <= all);
        selected += i32::from(rows > 0 && rows < all);
    }
    assert!(selected >= 10, "only {selected} filters select a part of the rows");
}

#[test]
fn filters_select_the_same_rows_of_logs_and_archives() {
    let folder = TempFolder::new();
    let (log, archive) = (folder.0.join("a.blg"), folder.0.join("archive"));
    let fixture = mixed("WEB1", 0, 300);
    fixture.write(&log);
    write(&archive, &fixture.samples, 400);
    for filter in [
        r#""set" = 'Processor'"#,
        "counter = '% Processor Time' AND instance = '_Total'",
        "counter IN ('Available Bytes', 'Avg. Disk sec/Read')",
        "machine = 'WEB1' AND date = '2024-03-05'",
        "machine = 'WEB2'",
        "time > '2024-03-05T09:01:00Z' AND time <= '2024-03-05T09:02:00Z'",
        "time BETWEEN '2024-03-05T09:01:00Z' AND '2024-03-05T09:01:10Z' AND counter LIKE '%Time'",
        "date > '2024-03-05'",
    ] {
        let sql = format!(
            r#"SELECT "set", counter, instance, count(*) AS rows, count(num) AS intervals, average(*) FROM samples WHERE {filter}
               GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"#
        );
        let [of_log, of_archive] =
            [&log, &archive].map(|input: &PathBuf| query(std::slice::from_ref(input), &sql).batch);
        assert_eq!(of_log.columns(), of_archive.columns(), "{filter}");
    }
}

/// Number of bytes that a query reads on one thread. With several threads, each would open the file.
#[track_caller]
fn bytes_read(inputs: &[PathBuf], sql: &str) -> u64 {
    try_query(inputs, sql, 1).unwrap_or_else(|failure| panic!("{sql}: {}", failure.message())).bytes_read
}

/// Queries one counter over one minute of an hour.
#[test]
fn row_groups_outside_a_time_range_are_not_read() {
    let folder = TempFolder::new();
    let archive = folder.0.join("archive");
    write(&archive, &mixed("WEB1", 0, 4000).samples, 700);
    let inputs = [archive];
    // Counting rows reads only footers.
    let footer = bytes_read(&inputs, "SELECT count(*) FROM samples");
    let average = "SELECT average(*) FROM samples WHERE counter = 'Available Bytes'";
    let all = bytes_read(&inputs, average) - footer;
    let range = "time BETWEEN '2024-03-05T09:10:00Z' AND '2024-03-05T09:11:00Z'";
    let minute = bytes_read(&inputs, &format!("{average} AND {range}")) - footer;
    assert!(footer > 0 && minute > 0 && minute < all / 10, "{minute} of {all}");
    // Columns that are not needed are not read.
    let everything = bytes_read(&inputs, "SELECT * FROM samples") - footer;
    assert!(all < everything * 9 / 10, "{all} of {everything}");
    // Files whose names exclude the time, the date or the machine are not opened.
    for filter in ["time < '2024-03-05T08:59:59Z'", "date <> '2024-03-05'", "machine = 'WEB2'"] {
        assert_eq!(bytes_read(&inputs, &format!("{average} AND {filter}")), 0, "{filter}");
    }
}

#[test]
fn the_inventory_lists_machines_and_counters() {
    let folder = TempFolder::new();
    let (log, archive) = (folder.0.join("a.blg"), folder.0.join("archive"));
    mixed("WEB1", 0, 60).write(&log);
    write(&archive, &mixed("WEB2", 0, 60).samples, 400);
    let inputs = [log, archive];
    let machines = query(&inputs, "SELECT machine, samples, files FROM machines ORDER BY machine");
    assert_eq!(machines.texts(0), [Some("WEB1".to_owned()), Some("WEB2".to_owned())]);
    assert_eq!(machines.integers(1), [Some(60), Some(60)]);
    assert_eq!(machines.integers(2), [Some(1), Some(1)]);
    let counters = query(&inputs, r#"SELECT machine, "set", counter, kind FROM counters ORDER BY 1, 2, 3"#);
    assert_eq!(counters.rows(), 10);
    assert_eq!(counters.texts(2)[0].as_deref(), Some("% Committed Bytes In Use"));
    assert_eq!(counters.texts(3)[0].as_deref(), Some("mean"));
    let times = query(&inputs, "SELECT CAST(last_time - first_time AS VARCHAR) FROM machines");
    assert_eq!(times.rows(), 2);
}
