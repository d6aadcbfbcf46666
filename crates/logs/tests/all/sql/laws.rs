//! Values that are read from a database are those that were written.

use tachograph_counters::{RawValue, Status};
use tachograph_logs::open;
use tachograph_logs::sql::SqlStart;

use super::{
    assert_equal, assert_starts, expected, extremes, name_in, open_writer, plain, read, sample, try_read,
    try_write, write,
};
use crate::archive::generated::{TempFolder, recording};

#[test]
fn values_of_all_counter_types_are_read_back() {
    for seed in 0..2 {
        let folder = TempFolder::new();
        let samples = recording(seed, 50);
        let name = name_in(&folder, "a.db", "log");
        write(&name, &samples);
        assert_equal(&read(&name), &expected(&samples));
    }
}

#[test]
fn names_and_extreme_values_are_read_back() {
    let folder = TempFolder::new();
    let samples = extremes();
    let name = name_in(&folder, "quo'te.sqlite", "lög's \"name\"; --");
    write(&name, &samples);
    assert_equal(&read(&name), &expected(&samples));
}

#[test]
fn instances_and_machines_can_come_and_go() {
    let folder = TempFolder::new();
    let raw = |value| RawValue::new(value, 0);
    let mut samples = vec![
        sample(0, "A", "Process", &[(None, "x", 0, raw(1)), (None, "x", 1, raw(2))]),
        sample(1, "A", "Process", &[(None, "x", 0, raw(3))]),
        sample(
            2,
            "A",
            "Process",
            &[(None, "y", 0, raw(4)), (None, "x", 0, RawValue::error(Status::NO_DATA))],
        ),
        sample(3, "A", "Process", &[(None, "x", 0, raw(5)), (None, "x", 1, raw(6))]),
    ];
    let other = sample(3, "B", "Process", &[(None, "x", 0, raw(7))]);
    samples[3].groups.extend(other.groups);
    let name = name_in(&folder, "a.db", "log");
    write(&name, &samples);
    assert_equal(&read(&name), &expected(&samples));
    let (found, _) = try_read(&name).expect("the log can be read");
    let rows: Vec<_> = found.iter().map(|sample| sample.groups[0].instances.len()).collect();
    assert_eq!(rows, [2, 1, 1, 2], "an instance without values is absent");
}

#[test]
fn a_database_has_several_logs() {
    let folder = TempFolder::new();
    let names: Vec<_> =
        ["first", "second", "third"].iter().map(|log| name_in(&folder, "a.db", log)).collect();
    let logs: Vec<_> = (0..3).map(|seed| recording(seed, 20)).collect();
    for (name, samples) in names.iter().zip(&logs) {
        write(name, samples);
    }
    for (name, samples) in names.iter().zip(&logs) {
        assert_equal(&read(name), &expected(samples));
    }
    let error = open(&name_in(&folder, "a.db", "fourth")).err().expect("no such log").to_string();
    assert!(error.contains("no log 'fourth' in the database; it has: first, second, third"), "{error}");
}

#[test]
fn an_existing_log_is_refused_replaced_or_continued() {
    let folder = TempFolder::new();
    assert_starts(&name_in(&folder, "a.db", "log"), &name_in(&folder, "a.db", "other"));
    // Counters of the database are used again.
    let connection = rusqlite::Connection::open(folder.0.join("a.db")).expect("a database");
    let count = |table: &str| -> i64 {
        connection.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| row.get(0)).expect("a count")
    };
    assert_eq!((count("CounterDetails"), count("DisplayToID"), count("CounterData")), (1, 2, 7));
}

#[test]
fn a_log_is_replaced_only_with_its_first_samples() {
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    write(&name, &[plain(0)]);
    try_write(&name, SqlStart::Replace, &[]).map(drop).expect("an empty log");
    assert_equal(&read(&name), &[]);
    write(&name_in(&folder, "b.db", "log"), &[plain(0)]);
    let name = name_in(&folder, "b.db", "log");
    let writer = open_writer(&name, SqlStart::Replace);
    drop(writer.expect("the database can be written"));
    assert_equal(&read(&name), &expected(&[plain(0)]));
}

#[test]
fn samples_are_visible_after_a_flush_and_the_file_is_single_at_the_end() {
    use tachograph_logs::LogWriter as _;
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    let mut writer = open_writer(&name, SqlStart::New).expect("written");
    let samples: Vec<_> = (0..4).map(plain).collect();
    for (index, sample) in samples.iter().enumerate() {
        writer.write(sample).expect("written");
        if index > 0 {
            assert_equal(&read(&name), &expected(&samples[..index]));
        }
        writer.flush().expect("committed");
        assert_equal(&read(&name), &expected(&samples[..=index]));
    }
    writer.finish().expect("committed");
    drop(writer);
    let files: Vec<_> = std::fs::read_dir(&folder.0)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(files, ["a.db"]);
    assert_equal(&read(&name), &expected(&samples));
}

/// The mode of a file belongs to its owner. A refused file is unchanged.
#[test]
fn a_database_with_other_tables_keeps_its_journal_mode() {
    let folder = TempFolder::new();
    let open = || rusqlite::Connection::open(folder.0.join("a.db")).expect("a database");
    let mode =
        || -> String { open().query_row("PRAGMA journal_mode", [], |row| row.get(0)).expect("a mode") };
    let set = |statements: &str| open().execute_batch(statements).expect(statements);
    let name = name_in(&folder, "a.db", "log");
    write(&name, &[plain(0)]);
    assert_eq!(mode(), "delete");
    // As after a writer was killed.
    set("PRAGMA journal_mode = WAL");
    try_write(&name, SqlStart::Append, &[plain(1)]).expect("appended");
    assert_eq!(mode(), "delete");
    set("CREATE TABLE accounts (id); PRAGMA journal_mode = WAL");
    try_write(&name, SqlStart::Append, &[plain(2)]).expect("appended");
    assert_eq!(mode(), "wal");
    set("PRAGMA journal_mode = DELETE");
    try_write(&name, SqlStart::Append, &[plain(3)]).expect("appended");
    assert_eq!(mode(), "delete");
    set("DROP TABLE CounterData; CREATE VIEW CounterData AS SELECT 1 AS GUID; PRAGMA journal_mode = WAL");
    try_write(&name, SqlStart::Append, &[plain(4)]).expect_err("a view");
    assert_eq!(mode(), "wal");
}

#[test]
fn a_writer_stops_when_another_one_replaces_its_log() {
    use tachograph_logs::LogWriter as _;
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    let mut writer = open_writer(&name, SqlStart::New).expect("written");
    writer.write(&plain(0)).and_then(|()| writer.flush()).expect("committed");
    // A program that ignores the lock.
    let other = rusqlite::Connection::open(folder.0.join("a.db")).expect("a database");
    other
        .execute_batch("UPDATE DisplayToID SET GUID = 'another' WHERE DisplayString = 'log'")
        .expect("replaced");
    let written = writer.write(&plain(1)).and_then(|()| writer.flush());
    let error = written.expect_err("the log is another one").to_string();
    assert!(error.contains("another program has deleted or replaced the log"), "{error}");
    drop((writer, other));
    assert_equal(&read(&name), &[]);
}

#[test]
fn a_log_has_one_writer_at_a_time() {
    use tachograph_logs::LogWriter as _;
    let folder = TempFolder::new();
    let names = [name_in(&folder, "a.db", "one"), name_in(&folder, "a.db", "two")];
    let mut writers = names.each_ref().map(|name| {
        let mut writer = open_writer(name, SqlStart::New).expect("a lock of its own");
        writer.write(&plain(0)).and_then(|()| writer.flush()).expect("committed");
        writer
    });
    for start in [SqlStart::Append, SqlStart::Replace, SqlStart::ReplaceAtEnd] {
        let error = try_write(&names[0], start, &[plain(5)]).expect_err("the log is being written");
        assert_eq!(error.io_error().map(std::io::Error::kind), Some(std::io::ErrorKind::ResourceBusy));
    }
    for writer in &mut writers {
        writer.write(&plain(1)).and_then(|()| writer.finish()).expect("committed");
    }
    drop(writers);
    for name in &names {
        assert_equal(&read(name), &expected(&[plain(0), plain(1)]));
        // The lock ends with its writer. The lock file of a killed writer does not matter.
        try_write(name, SqlStart::Append, &[plain(2)]).expect("appended");
    }
    assert_eq!(std::fs::read_dir(&folder.0).expect("a folder").count(), 1);
}

#[test]
fn a_database_that_another_program_has_locked_is_not_called_a_log_that_is_written() {
    let folder = TempFolder::new();
    write(&name_in(&folder, "a.db", "log"), &[plain(0)]);
    let other = rusqlite::Connection::open(folder.0.join("a.db")).expect("a database");
    other.execute_batch("BEGIN EXCLUSIVE").expect("a lock");
    let error =
        open_writer(&name_in(&folder, "a.db", "two"), SqlStart::New).err().expect("a locked database");
    assert!(error.to_string().contains("another program has locked the database"), "{error}");
    assert!(!error.io_error().is_some_and(tachograph_logs::output_file::is_locked), "{error:?}");
}

#[test]
fn a_log_is_replaced_when_the_new_one_is_complete() {
    use tachograph_logs::LogWriter as _;
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    write(&name, &[plain(0)]);
    let begin = || {
        let mut writer = open_writer(&name, SqlStart::ReplaceAtEnd).expect("written");
        writer.write(&plain(5)).and_then(|()| writer.flush()).expect("committed");
        assert!(writer.keeps_replaced());
        assert_equal(&read(&name), &expected(&[plain(0)]));
        writer.write(&plain(6)).expect("written");
        writer
    };
    let connection = || rusqlite::Connection::open(folder.0.join("a.db")).expect("a database");
    let count = |table: &str| -> i64 {
        connection()
            .query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| row.get(0))
            .expect("a count")
    };
    // The incomplete log is removed.
    drop(begin());
    assert_eq!((count("DisplayToID"), count("CounterData")), (1, 1));
    assert_equal(&read(&name), &expected(&[plain(0)]));
    // As after a writer was killed.
    connection()
        .execute_batch(
            "INSERT INTO DisplayToID (GUID, RunID, DisplayString) VALUES ('killed', -1, 'log (incomplete)')",
        )
        .expect("a log");
    let mut writer = begin();
    writer.finish().expect("committed");
    assert!(!writer.keeps_replaced());
    drop(writer);
    assert_eq!((count("DisplayToID"), count("CounterData")), (1, 2));
    assert_equal(&read(&name), &expected(&[plain(5), plain(6)]));
    // A log that somebody has given this name is kept.
    let other = name_in(&folder, "a.db", "log (incomplete)");
    write(&other, &[plain(7)]);
    try_write(&name, SqlStart::ReplaceAtEnd, &[plain(8)]).expect("replaced");
    assert_equal(&read(&other), &expected(&[plain(7)]));
    assert_equal(&read(&name), &expected(&[plain(8)]));
}
