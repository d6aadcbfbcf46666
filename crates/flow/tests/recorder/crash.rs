//! Killing the recorder between and during writes.

use tachograph_counters::sample::Sample;
use tachograph_flow::Sink;
use tachograph_flow::record::{AtMax, RecordOptions, Suffix};
use tachograph_logs::Format;

use crate::fixture::{Change, Disk, Files, MILLISECOND, Machine, apply, options, try_read};
use crate::whole::{PATHS, shown};

/// Records samples. Returns each sample with the number of changes to the disk after it was recorded.
fn recorded(disk: &Disk, options: RecordOptions) -> (Vec<Sample>, Vec<usize>) {
    let machine = Machine::new(&["ann", "bob"]);
    let mut recorder = disk.recorder(options).expect("a new file");
    let mut source = machine.source(&PATHS);
    let (mut taken, mut safe) = (Vec::new(), Vec::new());
    for number in 0..60 {
        if number % 9 == 4 {
            let workers: Vec<_> = (0..number % 5 * 8).map(|worker| format!("worker {worker}")).collect();
            machine.set_workers(&workers.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let mut sample = Sample::default();
        source.collect(&mut sample);
        recorder.push(&sample).expect("disk space");
        taken.push(sample);
        safe.push(disk.changes().len());
        machine.advance(100 * MILLISECOND);
    }
    recorder.finish().expect("disk space");
    (taken, safe)
}

/// Parts of a change, as if the recorder was killed while it wrote: one byte, some bytes, or all bytes but one.
fn cuts(change: &Change) -> Vec<Change> {
    let Change::Written(path, at, bytes) = change else { return Vec::new() };
    let lengths = [1, 7, bytes.len() / 3, bytes.len() / 2, bytes.len().saturating_sub(1)];
    let cut = |length: &usize| {
        (*length < bytes.len()).then(|| Change::Written(path.clone(), *at, bytes[..*length].to_vec()))
    };
    lengths.iter().filter_map(cut).collect()
}

/// The readable samples of all files, in order.
fn read_all(files: &Files) -> Vec<Sample> {
    // A file without a complete header has no sample.
    files.values().flat_map(|file| try_read(file).map(|(samples, _)| samples).unwrap_or_default()).collect()
}

#[track_caller]
fn check_every_kill(options: RecordOptions) {
    let format = options.format;
    let disk = Disk::default();
    let (taken, safe) = recorded(&disk, options);
    let expected = shown(&taken);
    let mut files = Files::new();
    let changes = disk.changes();
    for (number, change) in changes.iter().enumerate() {
        let min = safe.iter().filter(|&&changes_before| changes_before <= number).count();
        for cut in cuts(change).iter().map(Some).chain([None]) {
            let mut files = files.clone();
            if let Some(cut) = cut {
                apply(&mut files, cut, None);
            }
            let samples = read_all(&files);
            assert!(samples.len() >= min, "change {number}: {} of {min} samples", samples.len());
            assert!(samples.len() <= min + 1, "change {number}: {} of {min} samples", samples.len());
            if format == Format::Blg {
                assert_eq!(shown(&samples), expected[..samples.len()], "change {number}");
            }
        }
        apply(&mut files, change, None);
    }
    assert_eq!(read_all(&files).len(), taken.len());
}

#[test]
fn a_killed_blg_recording_is_readable() {
    let mut small = options("a.blg");
    // The buffers are so small that samples extend into the next buffer.
    small.max_bytes = Some(1 << 17);
    check_every_kill(small);
}

#[test]
fn killed_segments_are_readable() {
    let mut segments = options("a.blg");
    segments.suffix = Suffix::Number;
    segments.segment_time = Some(std::time::Duration::from_millis(1500));
    segments.max_bytes = Some(65_536);
    segments.at_max = AtMax::NewSegment;
    check_every_kill(segments);
}

#[test]
fn a_killed_text_recording_is_readable() {
    check_every_kill(RecordOptions { format: Format::Csv, ..options("a.csv") });
}
