//! Recordings whose counters are grouped differently from sample to sample.

use std::fs::File;

use tachograph_flow::Selection;
use tachograph_flow::live::{LiveOptions, LiveSource};
use tachograph_logs::LogReader as _;
use tachograph_logs::blg::BlgReader;
use tachograph_monitor::LiveBoard;
use tachograph_perflib::{FREQUENCY, Registry};

use super::super::live_feed::{Live, LiveFeed};
use super::super::machine::{Machine, Process};
use super::*;

const TICKS: &str = r"\Process(*)\Ticks/sec";
const ID: &str = r"\Process(*)\ID Process";

fn paths(paths: &[&str]) -> Vec<PathPattern> {
    paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect()
}

fn machine() -> Machine {
    let machine = Machine::default();
    machine.set(&[Process::new("a", 1), Process::new("b", 2)]);
    machine
}

fn begin(file: &Path, recorded: &[&str]) -> ActiveRecording {
    let zone = TimeZone::utc();
    ActiveRecording::begin(file, false, Duration::from_secs(1), &zone, FREQUENCY, &paths(recorded))
        .expect("a new file")
}

#[test]
fn an_unknown_extension_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a.foo", "a.json"] {
        let file = folder.path().join(name);
        let zone = TimeZone::utc();
        let begun = ActiveRecording::begin(&file, false, Duration::from_secs(1), &zone, FREQUENCY, &[]);
        let error = begun.err().expect("refused").to_string();
        assert!(error.ends_with("unknown format: use a name that ends in .blg, .csv or .tsv"), "{error}");
        assert!(!file.exists());
    }
    for name in ["a.BLG", "without"] {
        begin(&folder.path().join(name), &[]);
        assert!(folder.path().join(name).exists());
    }
}

/// Takes and records a sample of these paths. Returns the number of counters of each group.
fn record(source: &mut LiveSource, recording: &mut ActiveRecording, sampled: &[&str]) -> Vec<usize> {
    source.set_paths(&paths(sampled));
    let mut sample = Sample::default();
    source.collect(&mut sample);
    recording.push(&sample).expect("written");
    sample.groups.iter().map(|group| group.set.counters.len()).collect()
}

/// The samples of a log: the raw values of each counter.
fn read(file: &Path) -> Vec<Vec<(String, Vec<i64>)>> {
    let mut reader = BlgReader::new(File::open(file).expect("a file")).expect("a log");
    let mut sample = Sample::default();
    let mut read = Vec::new();
    while reader.next(&mut sample).expect("a sample") {
        let counters = sample.groups.iter().map(|group| {
            assert_eq!(group.set.counters.len(), 1);
            (
                group.set.counters[0].name.to_string(),
                group.values.iter().map(|value| value.first).collect::<Vec<_>>(),
            )
        });
        read.push(counters.collect());
    }
    read
}

fn counter(name: &str, values: &[i64]) -> (String, Vec<i64>) {
    (name.to_owned(), values.to_vec())
}

/// A chart has another counter of the recorded set. After the set is registered again, both counters are in one group.
#[test]
fn a_counter_is_recorded_again_after_a_restart_of_its_publisher() {
    let (machine, folder) = (machine(), tempfile::tempdir().expect("a folder"));
    let file = folder.path().join("a.blg");
    let mut recording = begin(&file, &[ID]);
    let (mut source, _) =
        LiveSource::open(&machine.registry(), &paths(&[ID]), LiveOptions::default()).expect("this machine");
    assert_eq!(record(&mut source, &mut recording, &[ID]), [1]);
    assert_eq!(record(&mut source, &mut recording, &[ID, TICKS]), [1, 1]);
    // Restarted between two checks.
    source.set_registry(&machine.registry());
    assert_eq!(record(&mut source, &mut recording, &[ID, TICKS]), [2]);
    // Absent during a check.
    let registry = machine.registry();
    source.set_registry(&Arc::new(Registry::new("FAKE", registry.clock().clone())));
    assert!(record(&mut source, &mut recording, &[ID, TICKS]).is_empty());
    source.set_registry(&registry);
    assert_eq!(record(&mut source, &mut recording, &[ID, TICKS]), [2]);
    recording.finish().expect("written");
    let recorded = [&[1, 2][..], &[1, 2], &[1, 2], &[], &[1, 2]];
    assert_eq!(read(&file), recorded.map(|values| vec![counter("ID Process", values)]));
}

#[test]
fn recorded_wildcards_keep_their_instances() {
    let (machine, folder) = (machine(), tempfile::tempdir().expect("a folder"));
    let file = folder.path().join("a.blg");
    let recorded = [r"\Process(a*)\ID Process", r"\Process(b*)\ID Process"];
    let mut recording = begin(&file, &recorded);
    let (mut source, _) = LiveSource::open(&machine.registry(), &paths(&recorded), LiveOptions::default())
        .expect("this machine");
    record(&mut source, &mut recording, &recorded);
    source.set_registry(&machine.registry());
    record(&mut source, &mut recording, &recorded);
    recording.finish().expect("written");
    let sample = vec![counter("ID Process", &[1]), counter("ID Process", &[2])];
    assert_eq!(read(&file), [sample.clone(), sample]);
}

/// A counter is sampled only for a recording. When the next recording starts, the other counters of its set are
/// regrouped.
#[test]
fn a_new_recording_has_the_counters_of_the_charts() {
    let (machine, folder) = (machine(), tempfile::tempdir().expect("a folder"));
    let files = ["a.blg", "b.blg"].map(|name| folder.path().join(name));
    let charted = paths(&[TICKS, ID]);
    let (board, _) =
        LiveBoard::open(&machine.registry(), &charted, 20, LiveOptions::default()).expect("this machine");
    let live = Live {
        board,
        unmatched: |_: &Selection| Vec::new(),
        reason: |_, _| None,
        name: "FAKE".to_owned(),
        about: String::new(),
        zone: TimeZone::utc(),
        frequency: FREQUENCY,
        properties: None,
    };
    let mut feed = LiveFeed::new(live, charted, Duration::from_secs(1));
    feed.collect();
    feed.record(&files[0], false);
    // Charts of earlier views are sampled, but not recorded.
    feed.set_background(paths(&[TICKS]));
    feed.set_paths(paths(&[ID]));
    feed.collect();
    feed.record(&files[1], false);
    feed.collect();
    feed.collect();
    feed.finish().expect("written");
    let both = vec![counter("Ticks/sec", &[1, 2]), counter("ID Process", &[1, 2])];
    assert_eq!(read(&files[0]), [both.clone(), both]);
    assert_eq!(read(&files[1]), vec![vec![counter("ID Process", &[1, 2])]; 3]);
}
