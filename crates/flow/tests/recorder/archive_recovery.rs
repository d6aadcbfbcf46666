//! Segments that cannot be converted: none of their samples disappears without a message.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tachograph_counters::sample::Sample;
use tachograph_flow::Sink as _;
use tachograph_flow::record::{ArchiveNotice, ArchiveRecorder, DiskFiles};
use tachograph_logs::LogWriter as _;
use tachograph_logs::archive::{ArchiveOptions, ArchiveWriter, complete_files};

use crate::archive::{Takes, TestDisk, disk, options, read, record, store, times};
use crate::whole::shown;

/// A disk on which the files after the first `count` cannot be created `failures` times.
fn full_disk(count: u64, failures: u64) -> Arc<TestDisk> {
    Arc::new(TestDisk { created: Arc::new(Mutex::new((count, failures))), ..TestDisk::default() })
}

/// Records samples for 2 hours into two segments, of which none can be converted, and a third one.
fn leave_segments(folder: &Path, takes: &mut Takes) -> Vec<PathBuf> {
    let full = full_disk(0, u64::MAX);
    let mut recorder = ArchiveRecorder::with_files(DiskFiles, options(folder), full.clone()).expect("room");
    record(&mut recorder, takes, 7);
    drop(recorder);
    let segments = store(folder, full).segments().expect("a folder");
    assert_eq!(segments.len(), 3);
    segments
}

/// Writes samples into the archive as another program would.
fn write(folder: &Path, samples: &[Sample]) {
    let zone = options(folder).zone;
    let mut writer = ArchiveWriter::new(&folder.join("A"), ArchiveOptions::new(zone));
    for sample in samples {
        writer.write(sample).expect("room");
    }
    writer.finish().expect("room");
}

#[test]
fn segments_after_one_that_cannot_be_converted_wait_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut takes = Takes::new();
    leave_segments(folder.path(), &mut takes);
    // Only the first file fails.
    let full = full_disk(0, 1);
    let mut recorder = ArchiveRecorder::with_files(DiskFiles, options(folder.path()), full).expect("a start");
    record(&mut recorder, &mut takes, 4);
    recorder.finish().expect("room");
    drop(recorder);
    assert!(store(folder.path(), disk()).segments().expect("a folder").is_empty());
    assert_eq!(shown(&read(folder.path())), shown(&takes.samples));
}

#[test]
fn a_segment_before_a_file_that_was_added_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut takes = Takes::new();
    let segments = leave_segments(folder.path(), &mut takes);
    let added: Vec<Sample> = (0..2).map(|_| takes.take()).collect();
    write(folder.path(), &added);
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("a start");
    let notices = recorder.take_notices();
    assert_eq!(notices.len(), 3, "{notices:?}");
    let mut kept = Vec::new();
    for (segment, notice) in segments.iter().zip(&notices) {
        let path = PathBuf::from(format!("{}.overlap", segment.display()));
        let ArchiveNotice::Damaged(what) = notice else { panic!("{notice:?}") };
        assert!(what.contains(&path.display().to_string()), "{what}");
        let mut reader = tachograph_logs::open(&path).expect("the segment");
        let mut sample = Sample::default();
        while reader.next(&mut sample).expect("the segment") {
            kept.push(sample.clone());
        }
    }
    assert_eq!(times(&kept), times(&takes.samples[..7]));
    record(&mut recorder, &mut takes, 2);
    recorder.finish().expect("room");
    assert_eq!(times(&read(folder.path())), times(&takes.samples[7..]));
}

#[test]
fn a_segment_that_has_a_file_already_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut takes = Takes::new();
    leave_segments(folder.path(), &mut takes);
    // The recorder was killed before it removed the segments; the last one has one more sample.
    write(folder.path(), &takes.samples[..6]);
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("a start");
    let notices = recorder.take_notices();
    assert!(matches!(notices[..], [ArchiveNotice::Recovered { samples: 1, .. }]), "{notices:?}");
    recorder.finish().expect("room");
    assert_eq!(shown(&read(folder.path())), shown(&takes.samples));
}

#[test]
fn a_file_that_is_cut_short_does_not_stop_the_recorder() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut takes = Takes::new();
    leave_segments(folder.path(), &mut takes);
    write(folder.path(), &takes.samples[..6]);
    let store = store(folder.path(), disk());
    let files = complete_files(store.folder()).expect("files");
    let last = &files.last().expect("a file").path;
    let bytes = std::fs::read(last).expect("a file");
    std::fs::write(last, &bytes[..bytes.len() - 1]).expect("room");
    // Something else with the name of a segment.
    std::fs::create_dir(store.open_folder().join("20240301-000000.000-x.blg")).expect("a folder");
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("a start");
    let notices = recorder.take_notices();
    assert!(notices.iter().any(|it| it.to_string().contains(&last.display().to_string())), "{notices:?}");
    record(&mut recorder, &mut takes, 3);
    recorder.finish().expect("room");
    drop(recorder);
    // Its samples are in the segments that were kept.
    let kept = std::fs::read_dir(store.open_folder()).expect("a folder");
    let kept = kept.filter(|entry| {
        entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".overlap"))
    });
    assert!(kept.count() > 0);
    std::fs::remove_file(last).expect("a file");
    let found = times(&read(folder.path()));
    assert!(found.ends_with(&times(&takes.samples[6..])), "{found:?}");
}
