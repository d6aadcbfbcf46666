//! Values that are read from a database are those that were written.

use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, InstanceTable};
use tachograph_counters::{CounterType, RawValue, Status};
use tachograph_logs::sql::SqlStart;
use tachograph_logs::{Format, open};

use super::{assert_equal, expected, name_in, read, try_read, try_write, write};
use crate::archive::generated::{TempFolder, recording};

/// 2024-03-05 09:00:00.123 UTC.
const START: i64 = 133_541_028_001_230_000;

/// A sample of one set with these instances, each with one value.
fn sample(second: i64, machine: &str, set: &str, rows: &[(Option<&str>, &str, u32, RawValue)]) -> Sample {
    let mut description = CounterSet::new(machine, set, Extent::Columns);
    description.counters = vec![Counter::new("% \"Time\"; -- '", CounterType::AVERAGE_TIMER, i64::MAX)];
    let mut table = InstanceTable::default();
    let mut group = Group::new(Arc::new(description));
    let instances = rows.iter().map(|(parent, name, index, _)| table.intern(*parent, name, *index)).collect();
    group.set_rows(&instances);
    group.values.extend(rows.iter().map(|(.., raw)| *raw));
    let utc = FileTime(START + second * 10_000_000);
    Sample { at: Moment { utc, bias_minutes: -60 }, groups: vec![group], ..Sample::default() }
}

fn plain(second: i64) -> Sample {
    sample(second, "WEB1", "Disk", &[(None, "C:", 0, RawValue::new(second, 2 * second))])
}

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
    let extremes =
        [0, 1, -1, i64::MIN, i64::MAX, 1 << 31, 1 << 32, -(1 << 31), u64::MAX as i64, 0x1234_5678_9ABC_DEF0];
    let mut rows = Vec::new();
    let names: Vec<String> =
        (0..extremes.len()).map(|index| format!("it's \"{index}\" Füße 日本 🦀 ; DROP TABLE x")).collect();
    for (index, (name, value)) in names.iter().zip(extremes).enumerate() {
        let parent = (index % 2 == 0).then_some("elter \\ 'n'");
        let raw = RawValue { multi_count: [1, 0, u32::MAX][index % 3], ..RawValue::new(value, !value) };
        rows.push((parent, name.as_str(), index as u32 % 3, raw));
        rows.push((parent, name.as_str(), 3, RawValue::new(value.wrapping_mul(7), value)));
    }
    let trailing = RawValue::new(5, 6);
    rows.extend([
        (None, "blank ", 0, trailing),
        (None, "blank", 0, trailing),
        (None, "", 0, trailing),
        (None, "1e5", 0, trailing),
    ]);
    let samples: Vec<_> = (0..3).map(|second| sample(second, "wéb-1", "Sét'; --", &rows)).collect();
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
    let reader = open(&names[1]).expect("the log can be opened");
    let facts = reader.facts();
    assert_eq!((facts.format, facts.zone.bias_minutes), (Format::Sql, -60));
    assert_eq!(facts.zone.standard_name, "W. Europe Standard Time");
}

#[test]
fn an_existing_log_is_refused_replaced_or_continued() {
    let folder = TempFolder::new();
    let (name, other) = (name_in(&folder, "a.db", "log"), name_in(&folder, "a.db", "other"));
    let samples: Vec<_> = (0..6).map(plain).collect();
    write(&name, &samples[..2]);
    write(&other, &samples);
    let refused = try_write(&name, SqlStart::New, &samples).expect_err("the log exists");
    assert_eq!(refused.io_error().map(std::io::Error::kind), Some(std::io::ErrorKind::AlreadyExists));
    try_write(&name, SqlStart::Append, &samples[2..4]).expect("appended");
    assert_equal(&read(&name), &expected(&samples[..4]));
    let earlier = try_write(&name, SqlStart::Append, &samples[3..]).expect_err("an equal time").to_string();
    assert!(earlier.contains("cannot append: the log ends at 2024-03-05 09:00:03:123 UTC"), "{earlier}");
    assert_equal(&read(&name), &expected(&samples[..4]));
    try_write(&name, SqlStart::Replace, &samples[5..]).expect("replaced");
    assert_equal(&read(&name), &expected(&samples[5..]));
    assert_equal(&read(&other), &expected(&samples));
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
    let zone = tachograph_counters::time_zone::TimeZone::fixed("", 0);
    let writer = tachograph_logs::sql::SqlLogWriter::open(&super::parsed(&name), &zone, SqlStart::Replace);
    drop(writer.expect("the database can be written"));
    assert_equal(&read(&name), &expected(&[plain(0)]));
}

#[test]
fn samples_are_visible_after_a_flush_and_the_file_is_single_at_the_end() {
    use tachograph_logs::LogWriter as _;
    let folder = TempFolder::new();
    let name = name_in(&folder, "a.db", "log");
    let zone = tachograph_counters::time_zone::TimeZone::fixed("", 0);
    let mut writer = tachograph_logs::sql::SqlLogWriter::open(&super::parsed(&name), &zone, SqlStart::New)
        .expect("written");
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
