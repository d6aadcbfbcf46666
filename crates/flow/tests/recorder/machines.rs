//! Recording several machines into an archive.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::CounterSet;
use tachograph_flow::Sink as _;
use tachograph_flow::record::{ArchiveRecordOptions, ArchiveRecorder, MachinesArchive};
use tachograph_logs::archive::{Storage, complete_files, machine_folders};

use crate::archive::{TestDisk, disk, options};
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
    let mut recorder = MachinesArchive::create(&options, &names, &disk()).expect("disk space");
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
            // The machines have different numbers of requests, so their values differ.
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
        recorder.push(&all).expect("disk space");
    }
    recorder.finish().expect("disk space");
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

/// Takes a sample of all machines, and advances the time by a minute.
fn next_of_all(
    source: &mut tachograph_flow::live::LiveSource,
    machine: &Machine,
    names: &[Arc<str>],
) -> Sample {
    let mut sample = Sample::default();
    source.collect(&mut sample);
    machine.advance(60_000 * MILLISECOND);
    let groups = std::mem::take(&mut sample.groups);
    sample.groups = names.iter().flat_map(|name| named(&groups, name)).collect();
    sample
}

#[test]
fn free_space_is_checked_once_for_all_machines_and_a_pause_is_reported_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = TestDisk { free: Arc::new(AtomicU64::new(2000)), ..TestDisk::default() };
    let options = ArchiveRecordOptions { min_free_bytes: 1000, ..options(folder.path()) };
    let names: Vec<Arc<str>> = MACHINES.iter().map(|name| Arc::from(*name)).collect();
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let mut recorder = MachinesArchive::create(&options, &names, &storage).expect("disk space");
    let machine = Machine::new(&["ann"]);
    let mut source = machine.source(&PATHS);
    let mut push = |recorder: &mut MachinesArchive, names: &[Arc<str>]| {
        recorder.push(&next_of_all(&mut source, &machine, names)).expect("disk space");
        let notices = recorder.take_notices();
        notices.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert!(push(&mut recorder, &names).is_empty());
    let checks = disk.checks.load(Ordering::Relaxed);
    assert!(push(&mut recorder, &names).is_empty());
    assert_eq!(disk.checks.load(Ordering::Relaxed) - checks, 1);
    disk.free.store(0, Ordering::Relaxed);
    let paused = push(&mut recorder, &names[1..2]);
    assert!(
        matches!(&paused[..], [one] if one.starts_with(r"\\web2: recording is paused: 0 MiB")),
        "{paused:?}"
    );
    let paused = push(&mut recorder, &names);
    let is_merged = |one: &String| one.starts_with(r"\\web1 and another machine: recording is paused");
    assert!(matches!(&paused[..], [one] if is_merged(one)), "{paused:?}");
    disk.free.store(2000, Ordering::Relaxed);
    assert_eq!(push(&mut recorder, &names), [r"\\web1 and 2 other machines: recording has resumed"]);
    recorder.finish().expect("disk space");
}
