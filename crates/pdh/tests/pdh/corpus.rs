//! Real logs written by Windows, in the folder that the environment variable TACHO_CORPUS names; they are not part of the
//! repository.

use std::path::PathBuf;

use tachograph_pdh::{
    DataSource, Format, PdhStatus, Query, RawCounter, Value, calculate_from_raw, compute_statistics,
};

use crate::fake_machine::query_of;

/// A file of the corpus; `None`, with a notice, if TACHO_CORPUS is not set.
fn corpus(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TACHO_CORPUS") else {
        eprintln!("skipped: no corpus (set TACHO_CORPUS to its folder)");
        return None;
    };
    Some(PathBuf::from(folder).join(name))
}

fn double(value: Value) -> f64 {
    match value {
        Value::Double(double) => double,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_recording_of_windows_has_the_expected_values() {
    let Some(path) = corpus("BasicPerfCounters.blg") else { return };
    let source = DataSource::of_logs(vec![path]).expect("a log");
    assert_eq!(source.machines(), Ok(vec![r"\\GEORGIS3".to_owned()]));
    let range = source.time_range().expect("a range");
    assert_eq!(range.samples, 601);
    assert_eq!(range.end.since(range.start) / 10_000_000, 9 * 60 + 59);
    let paths =
        [r"\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read", r"\\georgis3\processor(_total)\% processor time"];
    let expanded = source.expand_wild_card_path(r"\PhysicalDisk(*)\Avg. Disk Bytes/Read", 0).expect("paths");
    assert!(
        expanded.contains(&r"\\GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read".to_owned()),
        "{expanded:?}"
    );
    let (mut query, ids) = query_of(&source, &paths);
    let mut raws: [Vec<RawCounter>; 2] = Default::default();
    let (mut values, mut last) = (0, f64::NAN);
    while query.collect() == Ok(()) {
        for (raws, id) in raws.iter_mut().zip(&ids) {
            raws.push(query.raw_value(*id).expect("a raw value"));
        }
        if let Ok(value) = query.formatted_value(ids[1], Format::DOUBLE) {
            (values, last) = (values + 1, double(value.value));
        }
    }
    assert_eq!(query.collect(), Err(PdhStatus::NO_MORE_DATA));
    assert_eq!((raws[0].len(), values), (601, 600));
    let statistics = |number: usize| {
        let kind = query.kind(ids[number]).expect("an existing counter");
        compute_statistics(&kind, Format::DOUBLE, 0, &raws[number]).expect("numbers")
    };
    assert_eq!(double(statistics(0).mean.value), 5309.188746893078);
    let assert_near =
        |got: f64, expected: f64| assert!((got - expected).abs() <= expected * 1e-9, "{got} {expected}");
    let busy = statistics(1);
    assert_near(double(busy.mean.value), 11.52740315);
    assert_near(double(busy.minimum.value), 1.568819282);
    assert_near(double(busy.maximum.value), 53.90787244);
    assert_near(last, 32.81577859);
    // One pair of raw values, formatted without the query.
    let kind = query.kind(ids[1]).expect("an existing counter");
    let value =
        calculate_from_raw(&kind, Format::DOUBLE, &raws[1][600], Some(&raws[1][599])).expect("a value");
    assert_eq!(double(value.value), last);
    let record = source.read_raw_log_record(range.end).expect("a record");
    assert!(record.bytes.len() > 100);
}

#[test]
fn a_windows_log_of_whole_objects_is_readable() {
    let Some(path) = corpus("SampleLog.blg") else { return };
    let source = DataSource::of_logs(vec![path]).expect("a log");
    assert_eq!(source.time_range().expect("a range").samples, 11);
    let objects = source.objects(None, 400).expect("names");
    assert_eq!(objects.len(), 8, "{objects:?}");
    for object in &objects {
        let items = source.object_items(None, object, 400).expect("items");
        assert!(!items.counters.is_empty(), "{object}");
    }
    // Windows' V1 indexes.
    assert_eq!(source.name_by_index(None, 6).as_deref(), Ok("% Processor Time"));
    assert_eq!(source.index_by_name(None, "system up time"), Ok(674));
    assert_eq!(source.name_by_index(None, 999_999), Err(PdhStatus::STRING_NOT_FOUND));
    // Every counter of every set, for all instances.
    let mut query = Query::open(&source, 0);
    let paths = source.expand_wild_card_path(r"\*(*)\*", tachograph_pdh::NO_EXPAND_INSTANCES).expect("paths");
    for path in &paths {
        query.add_counter(path, 0).expect(path);
    }
    let ids: Vec<_> = query.counters().collect();
    let mut counts = Vec::new();
    while query.collect() == Ok(()) {
        let count = |id| query.formatted_array(id, Format::DOUBLE).map_or(0, |items| items.len());
        counts.push(ids.iter().map(|id| count(*id)).sum::<usize>());
    }
    assert_eq!(counts.len(), 11);
    // Two-sample types have values from the second record on.
    assert!(counts[0] > 0 && counts[1..].iter().all(|count| *count > counts[0]), "{counts:?}");
}

#[test]
fn a_text_log_with_the_extension_of_binary_logs_is_rejected() {
    let Some(path) = corpus("CorruptBlg.blg") else { return };
    assert_eq!(DataSource::of_logs(vec![path]).err(), Some(PdhStatus::UNKNOWN_LOG_FORMAT));
}
