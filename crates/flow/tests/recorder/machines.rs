//! Recording several machines into an archive.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_flow::Sink as _;
use tachograph_flow::record::{ArchiveRecordOptions, ArchiveRecorder, MachinesArchive};
use tachograph_logs::archive::{complete_files, machine_folders};

use crate::archive::{disk, options};
use crate::fixture::{MILLISECOND, Machine};
use crate::whole::{PATHS, shown};

const MACHINES: [&str; 3] = ["web1", "web2", "db"];

/// The groups of a machine, under another name.
fn named(groups: &[Group], machine: &str) -> Vec<Group> {
    let rename = |group: &Group| {
        let set = CounterSet { machine: machine.into(), ..CounterSet::clone(&group.set) };
        Group { set: Arc::new(set), ..group.clone() }
    };
    groups.iter().map(rename).collect()
}

/// The samples of a machine in an archive.
fn read(folder: &Path, machine: &str) -> Vec<Sample> {
    let mut reader = tachograph_logs::open(&folder.join(format!("machine={machine}"))).expect("an archive");
    let (mut samples, mut sample) = (Vec::new(), Sample::default());
    while reader.next(&mut sample).expect("a sample") {
        samples.push(sample.clone());
    }
    samples
}

#[test]
fn each_machine_has_its_samples_and_segments() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = ArchiveRecordOptions { segment_time: Duration::from_secs(600), ..options(folder.path()) };
    let names: Vec<Arc<str>> = MACHINES.iter().map(|name| Arc::from(*name)).collect();
    let mut recorder = MachinesArchive::create(&options, &names, &disk()).expect("room");
    // The folder of a machine is locked.
    let one = ArchiveRecordOptions { machine: "web2".to_owned(), ..options.clone() };
    assert!(ArchiveRecorder::create(one, disk()).is_err());

    let machines = MACHINES.map(|_| Machine::new(&["ann", "bob:7"]));
    let mut sources = machines.each_ref().map(|machine| machine.source(&PATHS));
    let mut expected: Vec<Vec<Sample>> = vec![Vec::new(); MACHINES.len()];
    for minute in 0..90 {
        let mut all = Sample::default();
        for (index, source) in sources.iter_mut().enumerate() {
            let mut sample = Sample::default();
            source.collect(&mut sample);
            // Their values differ.
            machines[index].advance(60_000 * MILLISECOND);
            (0..index).for_each(|_| machines[index].advance(0));
            let is_away = index == 1 && (20..30).contains(&minute);
            if index == 0 {
                all.copy_head(&sample);
            }
            if !is_away {
                all.groups.extend(named(&sample.groups, MACHINES[index]));
                expected[index].push(sample);
            }
        }
        recorder.push(&all).expect("room");
    }
    recorder.finish().expect("room");
    assert_eq!(recorder.take_notices(), []);
    assert_eq!((recorder.summary().samples, recorder.dropped()), (90, 0));
    assert_eq!(machine_folders(&folder.path().join("A")).expect("folders").len(), MACHINES.len());
    let mut ends = Vec::new();
    for (machine, expected) in MACHINES.iter().zip(&expected) {
        let samples = read(&folder.path().join("A"), machine);
        assert_eq!(shown(&samples), shown(expected), "{machine}");
        let files = complete_files(&folder.path().join("A").join(format!("machine={machine}")));
        let files = files.expect("files");
        assert!((9..=11).contains(&files.len()), "{machine}: {}", files.len());
        ends.push(files[0].last);
    }
    ends.sort_unstable();
    ends.dedup();
    assert!(ends.len() > 1, "the segments of all machines end at the same time: {ends:?}");
}
