//! Full disks: the recording ends with an error, and its logs are complete up to the last sample.

use tachograph_counters::sample::Sample;
use tachograph_flow::Sink;
use tachograph_flow::record::{AtMax, Existing, RecordOptions, Recorder, Suffix};
use tachograph_logs::Format;

use crate::fixture::{Disk, MILLISECOND, Machine, options, read};
use crate::whole::{PATHS, record, shown};

/// Records until the disk is full; returns the samples and the error.
fn filled(machine: &Machine, recorder: &mut Recorder<Disk>) -> (Vec<Sample>, String) {
    let mut source = machine.source(&PATHS);
    let mut taken = Vec::new();
    loop {
        let mut sample = Sample::default();
        source.collect(&mut sample);
        machine.advance(100 * MILLISECOND);
        if let Err(error) = recorder.push(&sample) {
            recorder.finish().expect("writing is not retried");
            return (taken, error.to_string());
        }
        taken.push(sample);
    }
}

/// Sizes of disks that become full within a buffer of a BLG, and around the end of a buffer.
fn rooms() -> impl Iterator<Item = u64> {
    (0..60).map(|step| 20_000 + step * 997).chain([0, 10, 65_536, 65_537, 70_000, 131_071, 131_072, 140_000])
}

/// The times of the samples of all logs. Asserts that no log is damaged.
#[track_caller]
fn times(disk: &Disk) -> Vec<i64> {
    let times = disk.names().into_iter().flat_map(|name| {
        let (samples, problems) = read(&disk.file(&name));
        assert!(
            problems == 0 && !samples.is_empty(),
            "{name}: {} samples, {problems} problems",
            samples.len()
        );
        samples.into_iter().map(|sample| sample.at.utc.0)
    });
    times.collect()
}

fn times_of(samples: &[Sample]) -> Vec<i64> {
    samples.iter().map(|sample| sample.at.utc.0).collect()
}

#[test]
fn a_log_is_complete_up_to_the_last_sample() {
    for (name, format) in [("a.blg", Format::Blg), ("a.csv", Format::Csv)] {
        for (room, max_bytes) in rooms().flat_map(|room| [(room, None), (room, Some(1 << 16))]) {
            let (machine, disk) = (Machine::new(&["ann", "bob"]), Disk::with_room(room));
            let options = RecordOptions { format, existing: Existing::Append, ..options(name) };
            // A size limit causes small buffers.
            let limited = RecordOptions { max_bytes, at_max: AtMax::Circular, ..options.clone() };
            let is_limited = max_bytes.is_some() && format == Format::Blg;
            if is_limited && room > 60_000 {
                continue;
            }
            let mut recorder =
                disk.recorder(if is_limited { limited } else { options.clone() }).expect("a new file");
            let (taken, error) = filled(&machine, &mut recorder);
            assert!(error.starts_with(&format!("{name}: ")), "{error}");
            if taken.is_empty() {
                assert!(disk.names().is_empty(), "a log without samples is removed");
                continue;
            }
            assert_eq!(times(&disk), times_of(&taken), "{room}");
            if format == Format::Blg {
                assert_eq!(shown(&read(&disk.file(name)).0), shown(&taken), "{room}");
            }
            assert_eq!(recorder.summary().bytes, disk.file(name).len() as u64);
            assert_eq!(recorder.summary().samples, taken.len() as u64);
            if is_limited {
                continue;
            }
            // The disk has room again.
            disk.set_room(None);
            let mut recorder = disk.recorder(options).expect("the log");
            let more = record(&machine, &mut recorder, 3).expect("disk space");
            recorder.finish().expect("disk space");
            assert_eq!(times(&disk), [times_of(&taken), times_of(&more)].concat(), "{room}");
        }
    }
}

#[test]
fn a_log_keeps_its_samples_when_appending_fails() {
    for (name, format) in [("a.blg", Format::Blg), ("a.csv", Format::Csv)] {
        for room in (0..3000_u64).step_by(61) {
            let (machine, disk) = (Machine::new(&["ann", "bob"]), Disk::default());
            let options = RecordOptions { format, existing: Existing::Append, ..options(name) };
            let mut recorder = disk.recorder(options.clone()).expect("a new file");
            let mut taken = record(&machine, &mut recorder, 7).expect("disk space");
            recorder.finish().expect("disk space");
            let before = disk.file(name);
            disk.set_room(Some(before.len() as u64 + room));
            let mut recorder = disk.recorder(options).expect("the log");
            let more = filled(&machine, &mut recorder).0;
            if more.is_empty() {
                assert_eq!(disk.file(name), before);
            }
            taken.extend(more);
            assert_eq!(times(&disk), times_of(&taken), "{room}");
        }
    }
}

#[test]
fn the_last_segment_is_complete() {
    for (name, format) in [("a.blg", Format::Blg), ("a.csv", Format::Csv)] {
        for room in rooms().map(|room| room * 3) {
            let (machine, disk) = (Machine::new(&["ann", "bob"]), Disk::with_room(room));
            let mut options = RecordOptions { format, suffix: Suffix::Number, ..options(name) };
            (options.max_bytes, options.at_max) = (Some(40_000), AtMax::NewSegment);
            let mut recorder = disk.recorder(options).expect("a new file");
            let taken = filled(&machine, &mut recorder).0;
            let (on_disk, summary) = (times(&disk), recorder.summary());
            // The disk can be full when a segment is completed, after its last sample was written.
            assert!(
                on_disk.starts_with(&times_of(&taken)) && on_disk.len() as u64 == summary.samples,
                "{room}"
            );
            let bytes: usize = disk.names().iter().map(|name| disk.file(name).len()).sum();
            assert!(taken.is_empty() || summary.bytes == bytes as u64, "{room}");
        }
    }
}
