//! Logs to which the values of a query are written.

use std::path::Path;

use tachograph_pdh::{Format, LogHandle, LogType, PdhStatus, Query, Value, access};

use crate::fake_machine::{Machine, log_source, query_of};

const WRITE_NEW: u32 = access::WRITE | access::CREATE_NEW;
const PATHS: [&str; 2] = [r"\Process(*)\Ticks/sec", r"\System\Context Switches/sec"];

fn open(path: &Path, bits: u32, log_type: u32, query: &Query) -> Result<LogHandle, PdhStatus> {
    LogHandle::open(path, bits, log_type, Some(query), 0, None)
}

#[test]
fn log_types_have_their_codes() {
    for number in 0..=8 {
        assert_eq!(LogType::from_code(number).map(LogType::code), Some(number));
    }
    assert_eq!(LogType::from_code(9), None);
}

#[test]
fn invalid_arguments_of_open_are_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    let machine = Machine::new();
    let (query, _) = machine.query(&PATHS);
    let status = |bits, log_type| open(&path, bits, log_type, &query).err();
    for bits in [
        0,
        access::WRITE,
        access::CREATE_NEW,
        WRITE_NEW | access::READ,
        access::WRITE | 5,
        access::READ | access::CREATE_NEW,
        access::UPDATE | access::CREATE_ALWAYS,
        WRITE_NEW | 0x1000_0000,
        // A caption flag without a caption.
        WRITE_NEW | access::USER_STRING,
        // A circular log without a size.
        WRITE_NEW | access::CIRCULAR,
    ] {
        assert_eq!(status(bits, 8), Some(PdhStatus::INVALID_ARGUMENT), "{bits:#x}");
    }
    for log_type in [0, 3, 4, 5, 6, 7, 9, u32::MAX] {
        assert_eq!(status(WRITE_NEW, log_type), Some(PdhStatus::LOG_TYPE_NOT_FOUND), "{log_type}");
    }
    let circular = LogHandle::open(&path, WRITE_NEW | access::CIRCULAR, 1, Some(&query), 1, None);
    assert_eq!(circular.err(), Some(PdhStatus::INVALID_ARGUMENT));
    assert_eq!(LogHandle::open(&path, WRITE_NEW, 8, None, 0, None).err(), Some(PdhStatus::INVALID_ARGUMENT));
    assert_eq!(status(access::WRITE | access::OPEN_EXISTING, 8), Some(PdhStatus::FILE_NOT_FOUND));
    assert_eq!(status(access::READ | access::OPEN_EXISTING, 0), Some(PdhStatus::FILE_NOT_FOUND));
    let nowhere = folder.path().join("no/folder/a.blg");
    assert_eq!(open(&nowhere, WRITE_NEW, 8, &query).err(), Some(PdhStatus::FILE_NOT_FOUND));
    // No file remains in the folder.
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

#[test]
fn written_logs_round_trip() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, log_type) in [("a.blg", LogType::Binary), ("a.csv", LogType::Csv), ("a.tsv", LogType::Tsv)] {
        let path = Machine::new().log(&folder.path().join(name), log_type.code(), &PATHS);
        let read =
            LogHandle::open(&path, access::READ | access::OPEN_EXISTING, 0, None, 0, None).expect("a log");
        assert_eq!(read.log_type(), log_type);
        let bytes = std::fs::metadata(&path).expect("a file").len();
        assert_eq!(read.size(), Ok(bytes), "{name}");
        let source = read.source().expect("a reader").clone();
        let (mut query, ids) = query_of(&source, &PATHS[1..]);
        query.collect().expect("a record");
        query.collect().expect("a record");
        let value = query.formatted_value(ids[0], Format::DOUBLE).expect("a value").value;
        assert_eq!(value, Value::Double(10.0), "{name}");
        let mut read = read;
        assert_eq!(read.update(&mut query, None), Err(PdhStatus::INVALID_HANDLE));
        assert_eq!(read.close(), Ok(()));
        // An existing file is kept.
        let (other, _) = Machine::new().query(&PATHS);
        let status = open(&path, WRITE_NEW, log_type.code(), &other).err();
        assert_eq!(status, Some(PdhStatus::FILE_ALREADY_EXISTS), "{name}");
        assert_eq!(std::fs::metadata(&path).expect("a file").len(), bytes, "{name}");
    }
}

/// As documented for PdhUpdateLog, each call writes one record, and a comment must not be empty.
#[test]
fn update_writes_one_record_per_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.tsv");
    let machine = Machine::new();
    let (mut query, _) = machine.query(&PATHS);
    let mut log = open(&path, WRITE_NEW, 2, &query).expect("a log");
    assert!(log.source().is_none());
    assert_eq!(log.update(&mut query, Some("")), Err(PdhStatus::INVALID_ARGUMENT));
    assert_eq!(log.update(&mut query, Some("a comment")), Ok(()));
    machine.after(1, |_| {});
    assert_eq!(log.update(&mut query, None), Ok(()));
    let size = log.size().expect("a size");
    assert_eq!(size, std::fs::metadata(&path).expect("a file").len());
    log.close().expect("complete log");
    assert_eq!(log_source(path).time_range().expect("a range").samples, 2);
    // A failed collection is not written, and a log without a record is removed.
    let path = folder.path().join("b.blg");
    let (mut query, _) = machine.query(&[r"\Process(nobody)\Ticks/sec"]);
    let mut log = open(&path, WRITE_NEW, 8, &query).expect("a log");
    assert_eq!(log.update(&mut query, None), Err(PdhStatus::NO_DATA));
    log.close().expect("close log");
    assert!(!path.exists());
}

#[test]
fn appended_records_must_match_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, log_type) in [("a.blg", 8), ("a.csv", 1)] {
        let path = folder.path().join(name);
        let machine = Machine::new();
        let earlier = Machine::new();
        machine.log(&path, log_type, &PATHS);
        let bits = access::WRITE | access::OPEN_EXISTING;
        machine.after(1, |_| {});
        // A sample that is earlier than the last one of the log, because the clock went backwards.
        let (mut query, _) = earlier.query(&PATHS);
        let mut log = open(&path, bits, log_type, &query).expect("a log");
        assert_eq!(log.update(&mut query, None), Err(PdhStatus::INCORRECT_APPEND_TIME), "{name}");
        drop(log);
        // Other counters.
        let (mut query, _) = machine.query(&PATHS[1..]);
        let mut log = open(&path, bits, log_type, &query).expect("a log");
        assert_eq!(log.update(&mut query, None), Err(PdhStatus::UNMATCHED_APPEND_COUNTER), "{name}");
        drop(log);
        assert_eq!(log_source(path.clone()).time_range().expect("a range").samples, 5, "{name}");
        // The same counters can be appended in each of the access modes.
        let modes = [
            bits,
            access::WRITE | access::OPEN_ALWAYS,
            access::UPDATE | access::OPEN_EXISTING,
            access::WRITE | access::CREATE_ALWAYS | access::APPEND,
        ];
        for (bits, count) in modes.into_iter().zip(6..) {
            machine.after(1, |_| {});
            let (mut query, _) = machine.query(&PATHS);
            let mut log = open(&path, bits, log_type, &query).expect("a log");
            assert_eq!(log.update(&mut query, None), Ok(()), "{name}");
            log.close().expect("complete log");
            assert_eq!(log_source(path.clone()).time_range().expect("a range").samples, count, "{name}");
        }
        // The log is replaced.
        machine.after(1, |_| {});
        let (mut query, _) = machine.query(&PATHS[1..]);
        let mut log = open(&path, access::WRITE | access::CREATE_ALWAYS, log_type, &query).expect("a log");
        log.update(&mut query, None).expect("a record");
        log.close().expect("complete log");
        assert_eq!(log_source(path).time_range().expect("a range").samples, 1, "{name}");
    }
}

#[test]
fn the_size_of_logs_is_limited() {
    let folder = tempfile::tempdir().expect("a folder");
    let machine = Machine::new();
    let (mut query, _) = machine.query(&PATHS);
    let small = WRITE_NEW | access::MAX_IS_BYTES;
    let path = folder.path().join("a.csv");
    let mut log = LogHandle::open(&path, small, 1, Some(&query), 2000, None).expect("a log");
    let full = (0..1000).find_map(|_| {
        machine.after(1, |_| {});
        log.update(&mut query, None).err()
    });
    assert_eq!(full, Some(PdhStatus::LOG_FILE_TOO_SMALL));
    assert!(std::fs::metadata(&path).expect("a file").len() <= 2000);
    log.close().expect("close log");
    // A circular log continues.
    let path = folder.path().join("a.blg");
    let bits = small | access::CIRCULAR;
    let mut log = LogHandle::open(&path, bits, 8, Some(&query), 100_000, None).expect("a log");
    for _ in 0..1000 {
        machine.after(1, |_| {});
        log.update(&mut query, None).expect("a record");
    }
    log.close().expect("complete log");
    assert!(std::fs::metadata(&path).expect("a file").len() <= 100_000);
    let samples = log_source(path).time_range().expect("a range").samples;
    assert!((10..1000).contains(&samples), "{samples}");
    // The unit of the size is a megabyte, unless MAX_IS_BYTES is set.
    let path = folder.path().join("b.csv");
    let mut log = LogHandle::open(&path, WRITE_NEW, 1, Some(&query), 1, None).expect("a log");
    for _ in 0..100 {
        machine.after(1, |_| {});
        log.update(&mut query, None).expect("a record");
    }
}

/// Copying from log to log writes only the counters of the query, every record, and unchanged raw values.
#[test]
fn a_query_of_a_log_can_be_written_to_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let machine = Machine::new();
    let wide = [PATHS[0], PATHS[1], r"\LogicalDisk(/)\% Free Space"];
    let source = log_source(machine.log(&folder.path().join("a.blg"), 8, &wide));
    let (mut query, _) = query_of(&source, &PATHS);
    let path = folder.path().join("b.blg");
    let mut log = open(&path, WRITE_NEW, 8, &query).expect("a log");
    let mut records = 0;
    while log.update(&mut query, None) == Ok(()) {
        records += 1;
    }
    assert_eq!(log.update(&mut query, None), Err(PdhStatus::NO_MORE_DATA));
    log.close().expect("complete log");
    let copy = log_source(path);
    assert_eq!((records, copy.time_range()), (5, source.time_range()));
    assert_eq!(copy.objects(None, 400), Ok(vec!["Process".to_owned(), "System".to_owned()]));
    let [(mut ours, our_ids), (mut theirs, their_ids)] = [query_of(&copy, &PATHS), query_of(&source, &PATHS)];
    while theirs.collect() == Ok(()) {
        ours.collect().expect("a record for each sample");
        assert_eq!(ours.raw_array(our_ids[0]), theirs.raw_array(their_ids[0]));
        assert_eq!(ours.raw_value(our_ids[1]), theirs.raw_value(their_ids[1]));
    }
    // Values of a text log are formatted, and are written as formatted values.
    let text = log_source(machine.log(&folder.path().join("a.csv"), 1, &PATHS));
    let (mut query, _) = query_of(&text, &PATHS[1..]);
    let path = folder.path().join("c.blg");
    let mut log = open(&path, WRITE_NEW, 8, &query).expect("a log");
    while log.update(&mut query, None) == Ok(()) {}
    log.close().expect("complete log");
    let copy = log_source(path);
    let [(mut ours, our_ids), (mut theirs, their_ids)] =
        [query_of(&copy, &PATHS[1..]), query_of(&text, &PATHS[1..])];
    while theirs.collect() == Ok(()) {
        ours.collect().expect("a record for each sample");
        let value = |query: &Query, id| query.formatted_value(id, Format::DOUBLE).map(|value| value.value);
        assert_eq!(value(&ours, our_ids[0]).ok(), value(&theirs, their_ids[0]).ok());
    }
}
