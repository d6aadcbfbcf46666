//! Damaged and malicious databases are refused, or read as far as possible, within bounds.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use tachograph_counters::sample::{Group, Sample};
use tachograph_logs::sql::SqlStart;

use super::{expected, name_in, try_read, try_write, values_of, write};
use crate::archive::generated::{TempFolder, recording};

#[track_caller]
fn error_of(name: &Path) -> String {
    try_read(name).map(|(samples, _)| samples.len()).expect_err("cannot be read").to_string()
}

/// The samples and problems of a log after changes with SQL, or the error.
fn after(statements: &str) -> Result<(Vec<Sample>, Vec<String>), String> {
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    write(&name, &recording(1, 10));
    let connection = Connection::open(folder.0.join("a.db")).expect("a database");
    connection.execute_batch(statements).expect("the statements run");
    drop(connection);
    try_read(&name).map_err(|error| error.to_string())
}

#[track_caller]
fn assert_refused(statements: &str, why: &str) {
    let error = after(statements).map(|(samples, _)| samples.len()).expect_err("cannot be read");
    assert!(error.contains(why), "{statements}: {error}");
}

#[test]
fn missing_tables_and_views_are_refused() {
    for table in ["CounterData", "CounterDetails", "DisplayToID"] {
        assert_refused(&format!("DROP TABLE {table}"), &format!("the table {table} is missing"));
        // The view is endless.
        assert_refused(
            &format!(
                "DROP TABLE {table}; CREATE VIEW {table} AS WITH RECURSIVE endless(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM \
                 endless) SELECT x AS GUID FROM endless"
            ),
            &format!("the table {table} is not an ordinary table"),
        );
        // Computing a generated column can take hours for one row.
        assert_refused(
            &format!("ALTER TABLE {table} ADD COLUMN slow AS (instr(hex(zeroblob(250000)), 'x')) VIRTUAL"),
            &format!("the table {table} is not an ordinary table"),
        );
    }
    assert_refused("ALTER TABLE CounterData RENAME COLUMN FirstValueA TO x", "FirstValueA");
    let folder = TempFolder::new();
    let file = folder.0.join("other.db");
    Connection::open(&file).expect("a database").execute_batch("CREATE TABLE t (a)").expect("a table");
    let error = error_of(&file);
    assert!(
        error.contains("not a database of performance logs: the table CounterDetails is missing"),
        "{error}"
    );
}

#[test]
fn invalid_descriptions_are_refused() {
    for (statements, why) in [
        ("UPDATE CounterDetails SET CounterType = 'x'", "CounterID 1: no CounterType"),
        ("UPDATE CounterDetails SET CounterType = 4294967296", "impossible CounterType"),
        (
            "UPDATE CounterDetails SET InstanceIndex = -1 WHERE InstanceName IS NOT NULL",
            "impossible InstanceIndex",
        ),
        (
            "UPDATE CounterDetails SET InstanceName = x'00ff' WHERE InstanceName IS NOT NULL",
            "InstanceName is not a text",
        ),
        ("UPDATE CounterDetails SET CounterName = x'41'", "no CounterName"),
        ("UPDATE CounterDetails SET ObjectName = printf('%.5000c', 'x')", "longer than 1024 characters"),
        ("UPDATE CounterDetails SET ObjectName = printf('%.2000000c', 'x')", "longer than 1 MiB"),
        ("UPDATE DisplayToID SET GUID = x'00'", "has no GUID"),
        ("DELETE FROM DisplayToID", "no log 'log' in the database; it has no logs"),
    ] {
        assert_refused(statements, why);
    }
}

#[test]
fn invalid_rows_are_skipped() {
    let whole = after("").expect("the log can be read").0.len();
    assert_eq!(whole, 10);
    for statements in [
        "UPDATE CounterData SET FirstValueA = 4294967296",
        "UPDATE CounterData SET FirstValueA = 'x'",
        "UPDATE CounterData SET FirstValueB = x'00'",
        "UPDATE CounterData SET FirstValueA = 1.5",
        "UPDATE CounterData SET CounterID = -CounterID",
    ] {
        let (samples, problems) = after(statements).expect("the log can be read");
        assert!(samples.iter().all(|sample| values_of(sample).1.is_empty()), "{statements}");
        assert!(!problems.is_empty(), "{statements}");
    }
    let (samples, problems) =
        after("UPDATE CounterData SET CounterDateTime = x'00'").expect("the log can be read");
    assert_eq!((samples.len(), problems.len()), (0, 10));
    // Invalid values in columns that are not needed are ignored.
    let (samples, problems) = after(
        "UPDATE CounterData SET MultiCount = 'x', CounterValue = 'x';
         UPDATE DisplayToID SET MinutesToUTC = 9999999, TimeZoneName = x'00', NumberOfRecords = -5, RunID = 'x', LogStartTime = 7",
    )
    .expect("the log can be read");
    assert_eq!((samples.len(), problems), (10, Vec::new()));
}

/// In imported tables, numbers can be texts, which are sorted in another order.
#[test]
fn tables_whose_numbers_are_texts_end_the_log() {
    let (samples, problems) = after(&with_types(["TEXT"; 3])).expect("the log can be opened");
    assert_eq!(samples.len(), 0);
    assert!(problems.len() == 1 && problems[0].contains("a RecordIndex is not an integer"), "{problems:?}");
    // Other columns can be texts.
    let (samples, problems) = after(&with_types(["TEXT", "int", "TEXT"])).expect("the log can be opened");
    assert_eq!((expected(&samples), problems), (expected(&recording(1, 10)), Vec::new()));
}

#[test]
fn impossible_indexes_are_refused_or_skipped() {
    for (value, count) in [
        ("-9223372036854775808 + RecordIndex", 10),
        ("9223372036854775797 + RecordIndex", 10),
        ("NULL", 0),
        ("x'00'", 0),
    ] {
        let changed = with_types([""; 3]);
        let (samples, problems) = after(&format!("{changed} UPDATE CounterData SET RecordIndex = {value}"))
            .expect("the log can be opened");
        assert_eq!((samples.len(), problems.is_empty()), (count, count > 0), "{value}: {problems:?}");
    }
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    write(&name, &recording(1, 2));
    let change = |statement: &str| {
        Connection::open(folder.0.join("a.db"))
            .and_then(|database| database.execute_batch(statement))
            .expect(statement);
    };
    change("UPDATE CounterDetails SET CounterID = 2147483647 WHERE CounterID = 1");
    let samples = recording(2, 400);
    let later: Vec<_> = samples[300..]
        .iter()
        .map(|sample| Sample { groups: renamed(&sample.groups), ..sample.clone() })
        .collect();
    let error = try_write(&name, SqlStart::Append, &later).expect_err("no free id").to_string();
    assert!(error.contains("no free CounterID"), "{error}");
    change("UPDATE CounterData SET RecordIndex = 9223372036854775807 - RecordIndex");
    let error = try_write(&name, SqlStart::Append, &samples[300..]).expect_err("no next index").to_string();
    assert!(error.contains("impossible RecordIndex"), "{error}");
}

/// The groups with another name of their set.
fn renamed(groups: &[Group]) -> Vec<Group> {
    let rename = |group: &Group| {
        let mut set = (*group.set).clone();
        set.name = format!("{} of another kind", set.name).into();
        Group { set: set.into(), ..group.clone() }
    };
    groups.iter().map(rename).collect()
}

/// A folder with a log in `a.db`, to whose second sample this many counters were added. The names of their instances and
/// parents are SQL expressions of the id `i`.
fn with_counters(count: u32, instance: &str, parent: &str) -> TempFolder {
    let folder = TempFolder::new();
    write(&name_in(&folder, "a.db", "log"), &recording(1, 1));
    let connection = Connection::open(folder.0.join("a.db")).expect("a database");
    let statements = format!(
        "BEGIN;
         WITH RECURSIVE n(i) AS (SELECT 1000000 UNION ALL SELECT i + 1 FROM n LIMIT {count})
         INSERT INTO CounterDetails (CounterID, MachineName, ObjectName, CounterName, CounterType, DefaultScale, InstanceName,
         ParentName) SELECT i, 'm', 'o', 'c', 65536, 0, {instance}, {parent} FROM n;
         INSERT INTO CounterData (GUID, CounterID, RecordIndex, CounterDateTime, CounterValue, FirstValueA, FirstValueB)
         SELECT (SELECT GUID FROM DisplayToID), CounterID, 2, '2024-03-05 09:00:00:000', 0, 0, 0 FROM CounterDetails
         WHERE CounterID >= 1000000;
         COMMIT;"
    );
    connection.execute_batch(&statements).expect("rows");
    folder
}

/// Statements that create `CounterData` again with other types of `CounterID`, `RecordIndex` and `FirstValueA`.
fn with_types([id, index, first]: [&str; 3]) -> String {
    format!(
        "CREATE TABLE copy AS SELECT * FROM CounterData; DROP TABLE CounterData;
         CREATE TABLE CounterData (GUID, CounterID {id}, RecordIndex {index}, CounterDateTime, CounterValue, FirstValueA {first}, \
         FirstValueB, SecondValueA, SecondValueB, MultiCount);
         INSERT INTO CounterData SELECT * FROM copy;"
    )
}

#[test]
fn names_are_bounded() {
    let folder = with_counters(9001, "i || printf('%.4000c', 'x')", "i || printf('%.4000c', 'x')");
    let error = error_of(&name_in(&folder, "a.db", "log"));
    assert!(error.contains("the names of instances and counters take more than 64 MiB"), "{error}");
    // A writer ignores the counters of others beyond the bound.
    write(&name_in(&folder, "a.db", "other"), &recording(1, 1));
}

#[test]
fn other_files_are_refused() {
    let folder = TempFolder::new();
    fs::write(folder.0.join("text.db"), "this is a text, and not a database".repeat(100)).expect("a file");
    fs::write(folder.0.join("empty.db"), "").expect("a file");
    fs::create_dir(folder.0.join("folder.db")).expect("a folder");
    for (file, why) in [
        ("text.db", "not an SQLite database"),
        ("empty.db", "the table CounterDetails is missing"),
        ("folder.db", ""),
        ("absent.db", "No such file"),
        ("absent.dsn", "only SQLite databases are supported"),
    ] {
        let error = error_of(&name_in(&folder, file, "log"));
        assert!(error.contains(why), "{file}: {error}");
    }
    let text = try_write(&name_in(&folder, "text.db", "log"), SqlStart::New, &recording(1, 1))
        .expect_err("not a database");
    assert!(text.to_string().contains("not an SQLite database"), "{text}");
    assert!(!folder.0.join("absent.db").exists(), "reading creates no file");
    // An empty file is an empty database.
    write(&name_in(&folder, "empty.db", "log"), &recording(1, 1));
}

#[test]
fn a_truncated_or_damaged_file_causes_no_panic() {
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    let samples = recording(2, 8);
    write(&name, &samples);
    let whole = fs::read(folder.0.join("a.db")).expect("the file");
    let whole_log = expected(&samples);
    let assert_whole_or_reported = |bytes: &[u8], what: String| {
        fs::write(folder.0.join("a.db"), bytes).expect("a file");
        // A refusal is fine, too.
        if let Ok((found, problems)) = try_read(&name) {
            assert!(!problems.is_empty() || expected(&found) == whole_log, "{what}: undetected");
        }
    };
    for length in (0..whole.len()).step_by(whole.len() / 97) {
        assert_whole_or_reported(&whole[..length], format!("cut to {length} bytes"));
    }
    for offset in (0..whole.len()).step_by(whole.len() / 97 + 1) {
        let mut bytes = whole.clone();
        bytes[offset] ^= 0xFF;
        fs::write(folder.0.join("a.db"), bytes).expect("a file");
        // SQLite has no checksums, so changed numbers are undetected.
        let _ = try_read(&name);
    }
}

#[test]
fn too_many_counters_are_refused() {
    let folder = with_counters(1_100_001, "i", "NULL");
    let error = error_of(&name_in(&folder, "a.db", "log"));
    assert!(error.contains("more than 1048576 counters"), "{error}");
}

/// Each counter has an instance of its own, so each would be a group.
#[test]
fn too_many_lists_of_instances_are_refused() {
    for (counters, is_refused) in [(50_000, false), (70_000, true)] {
        let folder = with_counters(counters, "i", "NULL");
        let connection = Connection::open(folder.0.join("a.db")).expect("a database");
        let update = "UPDATE CounterDetails SET CounterName = 'c' || CounterID WHERE CounterID >= 1000000";
        connection.execute_batch(update).expect("rows");
        drop(connection);
        let name = name_in(&folder, "a.db", "log");
        match is_refused {
            true => {
                let error = error_of(&name);
                assert!(error.contains("more than 65536 different lists of instances"), "{error}");
            }
            false => assert!(try_read(&name).is_ok()),
        }
    }
}

#[test]
fn a_locked_database_is_reported() {
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    write(&name, &recording(1, 1));
    let connection = Connection::open(folder.0.join("a.db")).expect("a database");
    connection.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    let error = try_read(&name).expect_err("locked");
    assert_eq!(error.io_error().map(std::io::Error::kind), Some(std::io::ErrorKind::TimedOut), "{error}");
    connection.execute_batch("COMMIT").expect("no lock");
    try_read(&name).expect("no longer locked");
}

/// A file in which each interior page of a table refers many times to the next one, so that few pages have endless rows.
#[test]
fn endless_rows_are_refused() {
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    write(&name, &recording(1, 2));
    let connection = Connection::open(folder.0.join("a.db")).expect("a database");
    let few = "DELETE FROM CounterData WHERE rowid > (SELECT min(rowid) + 2 FROM CounterData); DROP TABLE copy; VACUUM";
    connection.execute_batch(&format!("{} {few}", with_types([""; 3]))).expect("a table without a key");
    let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, u32>(0)).expect(query);
    let page_bytes = number("PRAGMA page_size") as usize;
    let root = number("SELECT rootpage FROM sqlite_master WHERE name = 'CounterData'") as usize;
    drop(connection);
    let path = folder.0.join("a.db");
    let mut file = fs::read(&path).expect("the file");
    let pages = file.len() / page_bytes;
    let root_start = (root - 1) * page_bytes;
    let leaf = file[root_start..][..page_bytes].to_vec();
    assert_eq!(leaf[0], 13, "the table has one page");
    // An interior page whose children are all the same page.
    let interior = |child: u32| {
        let cells: u16 = 300;
        let mut page = vec![0; page_bytes];
        page[0] = 5;
        page[3..5].copy_from_slice(&cells.to_be_bytes());
        let start = page_bytes - usize::from(cells) * 7;
        page[5..7].copy_from_slice(&u16::try_from(start).expect("small").to_be_bytes());
        page[8..12].copy_from_slice(&child.to_be_bytes());
        for cell in 0..cells {
            let at = start + usize::from(cell) * 7;
            page[12 + usize::from(cell) * 2..][..2]
                .copy_from_slice(&u16::try_from(at).expect("small").to_be_bytes());
            page[at..at + 4].copy_from_slice(&child.to_be_bytes());
            // The key, a number of variable length.
            page[at + 4..at + 7].copy_from_slice(&[0x81, 0x80 | (cell >> 7) as u8, cell as u8 & 0x7F]);
        }
        page
    };
    const LEVELS: usize = 10;
    for level in 1..LEVELS {
        file.extend(interior(u32::try_from(pages + level + 1).expect("few pages")));
    }
    file.extend(leaf);
    file[root_start..][..page_bytes].copy_from_slice(&interior(u32::try_from(pages + 1).expect("few pages")));
    file[28..32].copy_from_slice(&u32::try_from(pages + LEVELS).expect("few pages").to_be_bytes());
    fs::write(&path, file).expect("the file");
    let error = error_of(&name);
    assert!(error.contains("more rows than the file has room for"), "{error}");
}
