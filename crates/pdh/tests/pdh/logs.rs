//! Queries of logs.

use std::path::Path;

use tachograph_counters::civil::FileTime;
use tachograph_pdh::{DataSource, Format, FormattedValue, LogType, PdhStatus, Query, Value};
use tachograph_perflib::FREQUENCY;

use crate::fake_machine::{Machine, log_source, query_of};

const TYPES: [(&str, u32); 3] = [("a.blg", 8), ("a.csv", 1), ("a.tsv", 2)];

/// The values of a counter in all remaining records; `None` for a missing value.
fn all(query: &mut Query, id: tachograph_pdh::CounterId) -> Vec<Option<f64>> {
    let mut values = Vec::new();
    loop {
        match query.collect() {
            Ok(()) => values.push(match query.formatted_value(id, Format::DOUBLE) {
                Ok(FormattedValue { value: Value::Double(double), .. }) => Some(double),
                _ => None,
            }),
            Err(PdhStatus::NO_MORE_DATA) => return values,
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// A log of the fake machine.
fn recorded(folder: &Path, name: &str, log_type: u32) -> DataSource {
    let paths = [
        r"\System\Context Switches/sec",
        r"\Processor(0)\% Processor Time",
        r"\Process(*)\Ticks/sec",
        r"\LogicalDisk(/)\% Free Space",
    ];
    log_source(Machine::new().log(&folder.join(name), log_type, &paths))
}

#[test]
fn records_have_the_values_and_times_of_their_samples() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, log_type) in TYPES {
        let source = recorded(folder.path(), name, log_type);
        assert!(!source.is_real_time());
        let paths = [
            r"\System\Context Switches/sec",
            r"\Processor(0)\% Processor Time",
            r"\LogicalDisk(/)\% Free Space",
        ];
        let (mut query, ids) = query_of(&source, &paths);
        assert!(!query.is_real_time());
        let range = source.time_range().expect("a range");
        assert_eq!((range.samples, range.end.since(range.start)), (5, 4 * FREQUENCY), "{name}");
        // The time of a collection is that of the record.
        assert_eq!(query.collect_with_time(), Ok(range.start), "{name}");
        assert_eq!(query.raw_value(ids[0]).expect("a raw value").time_stamp, range.start);
        // In the first record, only one-sample types have values.
        let first = [ids[0], ids[1]]
            .map(|id| query.formatted_value(id, Format::DOUBLE).expect_err("no value").status);
        assert_eq!(first, [PdhStatus::INVALID_DATA; 2], "{name}");
        let free = query.formatted_value(ids[2], Format::DOUBLE).map(|value| value.value);
        assert_eq!(free, Ok(Value::Double(25.0)), "{name}");
        assert_eq!(all(&mut query, ids[0]), [Some(10.0); 4], "{name}");
        // The query remains at the end, and its values are unchanged.
        assert_eq!(query.collect(), Err(PdhStatus::NO_MORE_DATA));
        let last = query.formatted_value(ids[1], Format::DOUBLE).map(|value| value.value);
        assert_eq!(last, Ok(Value::Double(50.0)), "{name}");
        assert_eq!(query.raw_value(ids[0]).expect("a raw value").time_stamp, range.end);
    }
}

/// Values in text logs are already formatted, so their counter type needs one sample.
#[test]
fn counters_keep_their_types_in_logs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = r"\System\Context Switches/sec";
    let kind = |name, log_type| {
        let (query, ids) = query_of(&recorded(folder.path(), name, log_type), &[path]);
        let kind = query.kind(ids[0]).expect("an existing counter");
        assert_eq!(query.info(ids[0]).expect("an existing counter").full_path, format!(r"\\FAKE{path}"));
        kind
    };
    assert_eq!(kind("k.blg", 8).counter_type.name(), Some("PERF_COUNTER_BULK_COUNT"));
    assert_eq!(kind("k.csv", 1).counter_type.name(), Some("PERF_DOUBLE_RAW"));
}

#[test]
fn instances_of_logs_can_be_selected() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, log_type) in TYPES {
        let source = recorded(folder.path(), name, log_type);
        let (mut query, ids) = query_of(&source, &[r"\Process(*)\Ticks/sec", r"\Process(init)\Ticks/sec"]);
        let mut counts = Vec::new();
        let mut absent = Vec::new();
        while query.collect() == Ok(()) {
            let values = query.raw_array(ids[0]).unwrap_or_default();
            counts.push(values.iter().filter(|item| !item.value.status.is_error()).count());
            absent.push(query.raw_value(ids[1]).expect("a raw value").status.is_error());
        }
        // The first row of a text log has no value of a rate.
        let first = if log_type == 8 { 3 } else { 0 };
        assert_eq!(counts[1..2], [3], "{name}");
        assert_eq!((counts[0], counts[2], absent[2]), (first, 2, true), "{name}");
        let mut query = Query::open(&source, 0);
        // In a log, an instance that occurs in no sample is an error.
        assert_eq!(
            query.add_counter(r"\Process(nobody)\Ticks/sec", 0),
            Err(PdhStatus::NO_INSTANCE),
            "{name}"
        );
        assert_eq!(query.add_counter(r"\Process(z*)\Ticks/sec", 0), Err(PdhStatus::NO_INSTANCE), "{name}");
        assert_eq!(query.add_counter(r"\Process(init)\ID Process", 0), Err(PdhStatus::NO_COUNTER), "{name}");
        assert_eq!(query.add_counter(r"\Memory\Available Bytes", 0), Err(PdhStatus::NO_OBJECT), "{name}");
        let other = query.add_counter(r"\\other\Process(init)\Ticks/sec", 0);
        assert_eq!(other, Err(PdhStatus::NO_MACHINE), "{name}");
    }
}

/// A column of a text log belongs to one instance. If a cell is blank, the instance has no value.
#[test]
fn blank_cells_are_invalid_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("blank.csv");
    let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\A\\P(a)\\X\",\"\\\\A\\P((b)\\X\",\"\\\\A\\M\\Y\"\r\n\
                \"01/02/2026 03:04:05.000\",\"1\",\" \",\" \"\r\n\
                \"01/02/2026 03:04:06.000\",\" \",\" \",\"4\"\r\n\
                \"01/02/2026 03:04:07.000\",\"5\",\"6\",\" \"\r\n";
    std::fs::write(&path, text).expect("written");
    let source = log_source(path);
    let (mut query, ids) = query_of(&source, &[r"\P(*)\X", r"\P((b)\X", r"\M\Y"]);
    let [all, one, plain] = ids[..] else { panic!("three") };
    let double = |value: f64| Ok(Value::Double(value));
    let blank = Err(PdhStatus::CSTATUS_INVALID_DATA);
    let result = |value: FormattedValue| {
        if value.status.is_error() { Err(value.status) } else { Ok(value.value) }
    };
    let single = |query: &Query, id| match query.formatted_value(id, Format::DOUBLE) {
        Ok(value) => result(value),
        Err(error) => {
            assert_eq!(error.status, PdhStatus::INVALID_DATA);
            Err(error.value_status)
        }
    };
    let array = |query: &Query| {
        let items = query.formatted_array(all, Format::DOUBLE)?;
        Ok(items.into_iter().map(|item| (item.name, result(item.value))).collect::<Vec<_>>())
    };
    let named = |a, b| Ok(vec![("a".to_owned(), a), ("(b".to_owned(), b)]);

    assert_eq!(query.collect(), Ok(()));
    assert_eq!(array(&query), named(double(1.0), blank));
    assert_eq!((single(&query, one), single(&query, plain)), (blank, blank));
    assert_eq!(query.collect(), Ok(()));
    assert_eq!(array(&query), Err(PdhStatus::INVALID_DATA));
    let raw = query.raw_array(all).expect("two");
    assert_eq!(
        raw.iter().map(|item| item.value.status).collect::<Vec<_>>(),
        [PdhStatus::CSTATUS_INVALID_DATA; 2]
    );
    assert_eq!((single(&query, one), single(&query, plain)), (blank, double(4.0)));
    assert_eq!(query.collect(), Ok(()));
    assert_eq!(array(&query), named(double(5.0), double(6.0)));
    assert_eq!((single(&query, one), single(&query, plain)), (double(6.0), blank));
}

#[test]
fn time_ranges_restrict_and_rewind_a_query() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = recorded(folder.path(), "a.blg", 8);
    let (mut query, ids) = query_of(&source, &[r"\System\Context Switches/sec"]);
    let start = source.time_range().expect("a range").start;
    let second = |number: i64| start.saturating_add(number * FREQUENCY);
    // Both ends are included; the first record has no predecessor.
    query.set_time_range(second(1), second(3)).expect("a range");
    assert_eq!(query.collect_with_time(), Ok(second(1)));
    assert!(query.formatted_value(ids[0], Format::DOUBLE).is_err());
    assert_eq!(all(&mut query, ids[0]), [Some(10.0); 2]);
    // Reading restarts at the beginning of the new range, even after the end of the log was reached.
    query.set_time_range(second(4), second(1000)).expect("a range");
    assert_eq!(query.raw_value(ids[0]).expect("a raw value").status, PdhStatus::ITEM_NOT_VALIDATED);
    assert_eq!(query.collect_with_time(), Ok(second(4)));
    assert_eq!(query.collect(), Err(PdhStatus::NO_MORE_DATA));
    query.set_time_range(FileTime(0), FileTime(i64::MAX)).expect("a range");
    assert_eq!(all(&mut query, ids[0]).len(), 5);
    query.set_time_range(second(10), second(11)).expect("a range");
    assert_eq!(query.collect(), Err(PdhStatus::NO_MORE_DATA));
    assert_eq!(query.set_time_range(second(2), second(1)), Err(PdhStatus::INVALID_ARGUMENT));
}

#[test]
fn several_logs_are_one_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let machine = Machine::new();
    let path = r"\System\Context Switches/sec";
    let log = |name: &str, paths: &[&str]| machine.log(&folder.path().join(name), 8, paths);
    let first = log("1.blg", &[path, r"\LogicalDisk(/)\% Free Space"]);
    machine.after(10, |values| values.switches += 110);
    let second = log("2.blg", &[path]);
    // The order of the logs is irrelevant.
    let source = DataSource::of_logs(vec![second, first]).expect("logs");
    assert_eq!(source.log_paths().len(), 2);
    assert_eq!(source.time_range().expect("a range").samples, 10);
    let (mut query, ids) = query_of(&source, &[path, r"\LogicalDisk(/)\% Free Space"]);
    let (mut rates, mut free) = (Vec::new(), Vec::new());
    loop {
        match query.collect() {
            Ok(()) => {}
            Err(end) => break assert_eq!(end, PdhStatus::NO_MORE_DATA),
        }
        rates.push(query.formatted_value(ids[0], Format::DOUBLE).ok().map(|value| value.value));
        free.push(
            query.formatted_value(ids[1], Format::DOUBLE).map_err(|error| error.value_status).map(|_| ()),
        );
    }
    let ten = Some(Value::Double(10.0));
    // Values of the two logs are paired: 120 switches in 11 seconds.
    let across = Some(Value::Double(120.0 / 11.0));
    assert_eq!(rates, [None, ten, ten, ten, ten, across, ten, ten, ten, ten]);
    // The second log does not contain the other counter.
    assert_eq!(free[..5], [Ok(()); 5]);
    assert_eq!(free[5..], [Err(PdhStatus::NO_MACHINE); 5]);
}

/// Logs of several machines are read side by side, at the times of the first machine.
#[test]
fn logs_of_two_machines_are_read_side_by_side() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = r"\System\Context Switches/sec";
    let log = |name: &str| Machine::named(name).log(&folder.path().join(name), 8, &[path]);
    let source = DataSource::of_logs(vec![log("ONE"), log("TWO")]).expect("logs");
    assert_eq!(source.machines(), Ok(vec![r"\\ONE".to_owned(), r"\\TWO".to_owned()]));
    assert_eq!(source.objects(None, 400), Ok(vec!["System".to_owned()]));
    assert_eq!(source.expand_wild_card_path(r"\System\*", 0).map(|paths| paths.len()), Ok(2));
    let (mut query, ids) =
        query_of(&source, &[r"\\one\System\Context Switches/sec", r"\\TWO\System\Context Switches/sec"]);
    let mut records = 0;
    while query.collect() == Ok(()) {
        for id in &ids {
            let value = query.formatted_value(*id, Format::DOUBLE).map(|value| value.value);
            assert_eq!(value.ok(), (records > 0).then_some(Value::Double(10.0)), "{records}");
        }
        records += 1;
    }
    assert_eq!(records, 5);
    // All functions report the times of the first machine.
    let other = Machine::named("LATE");
    other.after(2, |_| {});
    let late = other.log(&folder.path().join("LATE"), 8, &[path]);
    let source = DataSource::of_logs(vec![folder.path().join("ONE"), late]).expect("logs");
    let first = log_source(folder.path().join("ONE"));
    let range = source.time_range().expect("a range");
    assert_eq!(Ok(range), first.time_range());
    let (mut query, _) = query_of(&source, &[r"\\LATE\System\Context Switches/sec"]);
    let mut moments = Vec::new();
    while let Ok(moment) = query.collect_with_time() {
        moments.push(moment);
    }
    assert_eq!((moments.first(), moments.last(), moments.len()), (Some(&range.start), Some(&range.end), 5));
    let record = |at| source.read_raw_log_record(at).expect("a record");
    let last = record(range.end);
    assert_eq!(record(range.end.saturating_add(10 * FREQUENCY)), last);
    assert_ne!(record(range.end.saturating_add(-FREQUENCY)), last);
    assert_eq!(
        source.read_raw_log_record(range.start.saturating_add(-1)),
        Err(PdhStatus::ENTRY_NOT_IN_LOG_FILE)
    );
    // The record has the values of all machines.
    let alone = first.read_raw_log_record(range.end).expect("a record");
    assert!(last.bytes.len() > alone.bytes.len());
    // A path without a machine selects the first machine that has the counter.
    let (query, ids) = query_of(&source, &[path]);
    assert_eq!(
        query.info(ids[0]).expect("an existing counter").full_path,
        r"\\ONE\System\Context Switches/sec"
    );
}

/// Only logs of whole objects have V1 indexes.
#[test]
fn names_have_indexes_only_in_logs_of_whole_objects() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = recorded(folder.path(), "a.blg", 8);
    assert_eq!(source.name_by_index(None, 6), Err(PdhStatus::STRING_NOT_FOUND));
    assert_eq!(source.index_by_name(None, "System"), Err(PdhStatus::STRING_NOT_FOUND));
    assert_eq!(source.index_by_name(Some("other"), "System"), Err(PdhStatus::NO_MACHINE));
}

#[test]
fn counters_can_be_added_between_collections() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = recorded(folder.path(), "a.blg", 8);
    let mut query = Query::open(&source, 0);
    // Without counters no record is read.
    assert_eq!(query.collect(), Err(PdhStatus::NO_DATA));
    let first = query.add_counter(r"\System\Context Switches/sec", 0).expect("an existing counter");
    query.collect().expect("the first record");
    query.collect().expect("the second record");
    let later = query.add_counter(r"\Processor(0)\% Processor Time", 0).expect("an existing counter");
    query.collect().expect("the third record");
    assert!(query.formatted_value(first, Format::DOUBLE).is_ok());
    assert!(query.formatted_value(later, Format::DOUBLE).is_err());
    query.collect().expect("the fourth record");
    let value = query.formatted_value(later, Format::DOUBLE).expect("a value").value;
    assert_eq!(value, Value::Double(50.0));
}

/// Files that are not logs are rejected, as documented for PdhOpenQuery.
#[test]
fn files_that_are_not_logs_are_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let status = |name: &str, bytes: Option<&[u8]>| {
        let path = folder.path().join(name);
        if let Some(bytes) = bytes {
            std::fs::write(&path, bytes).expect("write log");
        }
        DataSource::of_logs(vec![path]).err()
    };
    assert_eq!(status("missing.blg", None), Some(PdhStatus::FILE_NOT_FOUND));
    assert_eq!(status("empty.blg", Some(b"")), Some(PdhStatus::UNKNOWN_LOG_FORMAT));
    assert_eq!(status("text.csv", Some(b"\"a\",\"b\"\r\n")), Some(PdhStatus::UNKNOWN_LOG_FORMAT));
    let whole = recorded(folder.path(), "a.blg", 8);
    let bytes = std::fs::read(&whole.log_paths()[0]).expect("read log");
    assert_eq!(status("cut.blg", Some(&bytes[..200])), Some(PdhStatus::BINARY_LOG_CORRUPT));
    assert_eq!(DataSource::of_logs(vec![]).err(), Some(PdhStatus::INVALID_ARGUMENT));
    assert!(DataSource::of_logs(vec![folder.path().to_path_buf()]).is_err());
    assert_eq!(whole.file_bytes(), Ok(bytes.len() as u64));
}

/// A log that a crash truncated is readable up to its last complete sample.
#[test]
fn truncated_logs_do_not_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let bytes = std::fs::read(&recorded(folder.path(), "a.blg", 8).log_paths()[0]).expect("read log");
    for cut in (0..bytes.len()).step_by(997).chain([bytes.len() - 1]) {
        let path = folder.path().join("cut.blg");
        std::fs::write(&path, &bytes[..cut]).expect("write log");
        let Ok(source) = DataSource::of_logs(vec![path]) else { continue };
        let mut query = Query::open(&source, 0);
        if let Ok(id) = query.add_counter(r"\System\Context Switches/sec", 0) {
            assert!(all(&mut query, id).len() <= 5);
        }
    }
}

#[test]
fn raw_records_are_those_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, log_type) in TYPES {
        let source = recorded(folder.path(), name, log_type);
        let start = source.time_range().expect("a range").start;
        let at = |units| source.read_raw_log_record(start.saturating_add(units));
        assert_eq!(at(-1), Err(PdhStatus::ENTRY_NOT_IN_LOG_FILE), "{name}");
        let first = at(0).expect("a record");
        assert_eq!(first.record_type.code(), log_type);
        // The last sample that is not later than the time.
        assert_eq!(at(FREQUENCY - 1), Ok(first.clone()), "{name}");
        let second = at(FREQUENCY).expect("a record");
        assert_ne!(first, second, "{name}");
        let file = std::fs::read(&source.log_paths()[0]).expect("read log");
        // In a text log, the record is the unchanged line; in a binary log, the bytes of the event in the file.
        let is_in_file = file.windows(second.bytes.len()).any(|window| window == second.bytes);
        assert!(is_in_file, "{name}: {:?}", String::from_utf8_lossy(&second.bytes));
        if first.record_type != LogType::Binary {
            assert!(second.bytes.starts_with(b"\"") && second.bytes.ends_with(b"\""), "{name}");
        }
    }
}
