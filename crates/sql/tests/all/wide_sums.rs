//! Sums above 2^63 are correct with the SQL of docs/archive.md.

use std::path::PathBuf;
use std::process::Command;

use tachograph_counters::{CounterType, RawValue};

use crate::answers::query;
use crate::generated::{TempFolder, write};
use crate::log_fixture::{LogFixture, counter, one};

/// The difference of an interval. The sum of three such differences exceeds 2^63.
const STEP: i64 = 4_000_000_000_000_000_000;

/// Writes an archive with a counter that is reset before each large step; returns it with the counter's exact rate per second.
fn write_wide_archive(folder: &TempFolder) -> (PathBuf, f64) {
    let mut log = LogFixture::new("WEB1").value("Memory", counter("Bytes/sec", CounterType::BULK_COUNT));
    let mut seconds = 0;
    for second in 0..10 {
        let first = if second % 2 == 0 { 7 } else { 7 + STEP };
        log.at(second, vec![one(RawValue::new(first, second * 10_000_000))]);
        seconds += second % 2;
    }
    let archive = folder.0.join("archive");
    write(&archive, &log.samples, 3);
    // There are five steps in five seconds. The decreases between them are resets, which belong to no interval.
    assert_eq!(seconds, 5);
    (archive, STEP as f64)
}

/// The SQL of docs/archive.md for DataFusion, which is the query for Spark with three replacements.
fn documented() -> String {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/archive.md"))
        .expect("docs/archive.md");
    let spark = &page[page.find("\nSpark (").expect("the SQL for Spark")..];
    let sql =
        spark.split("```sql\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of SQL");
    sql.replace('`', "\"")
        .replace(
            "max_by(CASE kind WHEN 'elapsed' THEN num - den END, time)",
            "last_value(CASE kind WHEN 'elapsed' THEN num - den END ORDER BY time)",
        )
        .replace("FROM archive", "FROM samples")
}

#[test]
fn sums_across_2_to_the_63_do_not_wrap() {
    let folder = TempFolder::new();
    let (archive, expected) = write_wide_archive(&folder);
    let inputs = [archive];
    let sum = query(&inputs, "SELECT CAST(sum(CAST(num AS DECIMAL(38,0))) AS VARCHAR) FROM samples");
    assert_eq!(sum.texts(0), [Some((i128::from(STEP) * 5).to_string())]);
    assert!(i128::from(STEP) * 5 > i128::from(i64::MAX));
    assert_eq!(query(&inputs, "SELECT average FROM averages").doubles(0), [Some(expected)]);
    assert_eq!(query(&inputs, "SELECT average(*) FROM samples").doubles(0), [Some(expected)]);
    let documented = query(&inputs, &documented());
    assert_eq!(documented.doubles(5), [Some(expected)]);
}

/// Runs other engines with the Python of `TACHO_ARCHIVE_PYTHON`.
#[test]
fn sums_in_other_engines_do_not_wrap() {
    let Some(python) = std::env::var_os("TACHO_ARCHIVE_PYTHON") else {
        eprintln!("skipped: TACHO_ARCHIVE_PYTHON does not name a Python with duckdb and chdb");
        return;
    };
    let folder = TempFolder::new();
    let (archive, expected) = write_wide_archive(&folder);
    let ran = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wide_sums_oracle.py"))
        .arg(&archive)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/archive.md"))
        .output()
        .expect("the Python of TACHO_ARCHIVE_PYTHON starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).expect("UTF-8");
    let found: Vec<(&str, f64)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(engine, average)| (engine, average.parse().expect("a number")))
        .collect();
    assert!(found.iter().any(|(engine, _)| *engine == "duckdb"), "{text}");
    for (engine, average) in found {
        assert!((average - expected).abs() <= 1e-12 * expected, "{engine}: {average}, not {expected}");
    }
}
