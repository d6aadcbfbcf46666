//! Checks that hold for any bytes, one function per fuzz target. They also run on the checked-in seeds as a plain
//! test (crates/logs/tests/all/seeds.rs).

#![allow(dead_code, unreachable_pub, reason = "each target uses one function of this module")]

use std::io::Cursor;

use tachograph_counters::path::CounterPath;
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::raw::Log;
use tachograph_logs::{LogReader, open_stream};

/// Asserts that every sample has all values of its rows and columns, and that reading ends, also from saved positions.
fn read_all(reader: &mut dyn LogReader) {
    let mut sample = Sample::default();
    let mut marks = Vec::new();
    loop {
        marks.extend(if marks.len() < 8 { reader.mark() } else { None });
        if !reader.next(&mut sample).expect("bytes in memory can be read") {
            break;
        }
        for group in &sample.groups {
            assert_eq!(group.values.len(), group.instances.len() * group.set.counters.len());
        }
    }
    for mark in marks.iter().rev() {
        if reader.seek(mark).expect("bytes in memory can be read") {
            reader.next(&mut sample).expect("bytes in memory can be read");
        }
    }
    while reader.next(&mut sample).expect("bytes in memory can be read") {}
    for problem in reader.problems().list() {
        assert!(!problem.to_string().is_empty());
    }
}

/// Input: a file that may be a BLG.
pub fn blg(data: &[u8]) {
    match open_stream(Cursor::new(data.to_vec())) {
        Ok(mut reader) => read_all(&mut *reader),
        Err(error) => assert!(error.is_corrupt(), "{error}"),
    }
}

/// Input: a file that may be one of an archive. Samples are complete up to the first damage, which ends reading.
pub fn archive(data: &[u8]) {
    archive_rows(data);
    let mut reader = match tachograph_logs::archive::ArchiveReader::new(Cursor::new(data.to_vec())) {
        Ok(reader) => reader,
        Err(error) => return assert!(error.is_corrupt(), "{error}"),
    };
    let mut sample = Sample::default();
    loop {
        match reader.next(&mut sample) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return assert!(error.is_corrupt(), "{error}"),
        }
        for group in &sample.groups {
            assert_eq!(group.values.len(), group.instances.len() * group.set.counters.len());
        }
    }
}

/// Reads all rows of a file that may be one of an archive, and every other eleven of them: each column has all of them.
fn archive_rows(data: &[u8]) {
    use tachograph_logs::archive::{ARCHIVE_COLUMNS, ArchiveRows, ColumnValues, Present, RowGroupSpan};
    let path = std::path::Path::new("x.parquet");
    let Ok(mut file) = ArchiveRows::new(Cursor::new(data), path) else { return };
    let spans: Vec<RowGroupSpan> = file.row_groups().collect();
    for (index, RowGroupSpan { rows, .. }) in spans.into_iter().enumerate() {
        let Ok(group) = file.row_group(index) else { continue };
        let parts: Vec<_> = (0..rows).step_by(22).map(|start| start..rows.min(start + 11)).collect();
        for wanted in [std::slice::from_ref(&(0..rows)), &parts] {
            let expected: usize = wanted.iter().map(|range| range.len()).sum();
            for column in ARCHIVE_COLUMNS {
                let sum = |runs: &[(Option<u32>, usize)]| runs.iter().map(|(_, len)| len).sum::<usize>();
                let found = match file.column(&group, column, wanted) {
                    Ok(ColumnValues::Texts(texts)) => sum(&texts.runs),
                    Ok(ColumnValues::Doubles(doubles)) => sum(&doubles.runs),
                    Ok(ColumnValues::Numbers(numbers)) if numbers.present == Present::None => expected,
                    Ok(ColumnValues::Numbers(numbers)) => numbers.values.len(),
                    Err(error) => {
                        assert!(error.is_corrupt(), "{error}");
                        continue;
                    }
                };
                assert_eq!(found, expected, "{column:?}");
            }
        }
    }
}

/// Asserts that a log decoded by the raw layer survives encoding and decoding.
pub fn blg_raw(data: &[u8]) {
    let Ok(log) = Log::decode(data) else { return };
    let bytes = log.encode();
    let again = Log::decode(&bytes).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(again == log, "the log decodes differently after encoding");
    assert!(again.encode() == bytes, "the log encodes differently after decoding");
}

/// Input: a file that may be a CSV or TSV log: unchanged, and after a header, which a fuzzer rarely finds.
pub fn text(data: &[u8]) {
    blg(data);
    let header = br#""(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\M\S\A","\\M\S(i)\B""#;
    blg(&[&header[..], b"\r\n", data].concat());
    blg(&[b"\"(PDH-TSV 4.0)\"\t", data].concat());
}

/// Input: a file that may be lines of JSON: unchanged, after a line, and as the values of a line.
pub fn json(data: &[u8]) {
    let line = br#"{"time":"2013-02-19T18:50:17.844-08:00","values":{"\\M\S\A":1,"\\M\S(i)\B":null}}"#;
    blg(data);
    blg(&[&line[..], b"\n", data].concat());
    blg(&[&line[..line.len() - 2], b",", data, b"}}\n", line].concat());
}

/// Input: a file that may be an SQLite database with logs, and lines that may be rows of PDH's tables (see [`sql_rows`]).
pub fn sql(data: &[u8]) {
    let folder = SqlFolder::new();
    let file = folder.0.join("a.db");
    std::fs::write(&file, data).expect("a writable folder");
    read_sql(&file);
    let rows = folder.0.join("b.db");
    sql_rows(data, &rows);
    read_sql(&rows);
}

/// A folder for one input.
struct SqlFolder(std::path::PathBuf);

impl SqlFolder {
    fn new() -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tachograph-fuzz-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a writable folder");
        Self(folder)
    }
}

impl Drop for SqlFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes a database whose tables have the rows of a text: a row per line, its values separated by tabs. The first value is
/// the table, `C` (`CounterDetails`), `D` (`DisplayToID`) or `V` (`CounterData`); an empty value is NULL.
fn sql_rows(data: &[u8], file: &std::path::Path) {
    let database = rusqlite::Connection::open(file).expect("a new database");
    // The tables of another program can have any types and no keys.
    let tables = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
        CREATE TABLE CounterDetails (CounterID, MachineName, ObjectName, CounterName, CounterType, DefaultScale, InstanceName,
            InstanceIndex, ParentName, ParentObjectID, TimeBaseA, TimeBaseB);
        CREATE TABLE DisplayToID (GUID, RunID, DisplayString, LogStartTime, LogStopTime, NumberOfRecords, MinutesToUTC,
            TimeZoneName);
        CREATE TABLE CounterData (GUID, CounterID, RecordIndex, CounterDateTime, CounterValue, FirstValueA, FirstValueB,
            SecondValueA, SecondValueB, MultiCount);
        BEGIN;";
    database.execute_batch(tables).expect("new tables");
    for line in data.split(|&byte| byte == b'\n').take(1000) {
        let mut values = line.split(|&byte| byte == b'\t').map(sql_value);
        let (table, columns) = match values.next() {
            Some(rusqlite::types::Value::Text(table)) if table == "C" => ("CounterDetails", 12),
            Some(rusqlite::types::Value::Text(table)) if table == "D" => ("DisplayToID", 8),
            Some(rusqlite::types::Value::Text(table)) if table == "V" => ("CounterData", 10),
            _ => continue,
        };
        let row: Vec<_> =
            values.chain(std::iter::repeat(rusqlite::types::Value::Null)).take(columns).collect();
        let marks = vec!["?"; columns].join(", ");
        let insert = format!("INSERT INTO {table} VALUES ({marks})");
        database.execute(&insert, rusqlite::params_from_iter(row)).expect("a row of any values");
    }
    database.execute_batch("COMMIT").expect("committed");
}

fn sql_value(bytes: &[u8]) -> rusqlite::types::Value {
    use rusqlite::types::Value;
    match std::str::from_utf8(bytes) {
        Ok("") => Value::Null,
        Ok(text) => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(integer), _) => Value::Integer(integer),
            (_, Ok(real)) if !real.is_nan() => Value::Real(real),
            _ => Value::Text(text.to_owned()),
        },
        Err(_) => Value::Blob(bytes.to_vec()),
    }
}

/// Reads the log `log` of a database up to its end or to an error.
fn read_sql(file: &std::path::Path) {
    let name = std::path::PathBuf::from(format!("SQL:{}!log", file.display()));
    let mut reader = match tachograph_logs::open(&name) {
        Ok(reader) => reader,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut sample = Sample::default();
    // A damaged database can be cyclic for SQLite, so that the number of samples is not bounded by the size of the file.
    for _ in 0..100_000 {
        match reader.next(&mut sample) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return assert!(!error.to_string().is_empty()),
        }
        for group in &sample.groups {
            assert_eq!(group.values.len(), group.instances.len() * group.set.counters.len());
        }
    }
    for problem in reader.problems().list() {
        assert!(!problem.to_string().is_empty());
    }
}

/// Asserts that a path that parses is printed as an equal path.
pub fn path(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(path) = CounterPath::parse(text) else { return };
    let printed = path.to_string();
    let again = CounterPath::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
    assert_eq!(again, path, "{printed}");
}
