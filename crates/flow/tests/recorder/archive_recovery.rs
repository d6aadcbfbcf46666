//! Segments that cannot be converted: none of their samples disappears without a message.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_flow::Sink as _;
use tachograph_flow::archive::Retention;
use tachograph_flow::record::{ArchiveNotice, ArchiveRecorder, DiskFiles};
use tachograph_logs::LogWriter as _;
use tachograph_logs::archive::{ArchiveOptions, ArchiveWriter, complete_files};

use crate::archive::{LATER, Sampler, TestDisk, disk, options, read, record, store, times};
use crate::fixture::MILLISECOND;
use crate::whole::shown;

/// A disk on which, after the first `count` files, `failures` attempts to create a file fail.
fn full_disk(count: u64, failures: u64) -> Arc<TestDisk> {
    Arc::new(TestDisk { created: Arc::new(Mutex::new((count, failures))), ..TestDisk::default() })
}

/// Records samples for 2 hours into two segments, which cannot be converted, and into a third segment.
fn leave_segments(folder: &Path, sampler: &mut Sampler) -> Vec<PathBuf> {
    let full = full_disk(0, u64::MAX);
    let mut recorder =
        ArchiveRecorder::with_files(DiskFiles, options(folder), full.clone()).expect("disk space");
    record(&mut recorder, sampler, 7);
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
        writer.write(sample).expect("disk space");
    }
    writer.finish().expect("disk space");
}

#[test]
fn segments_after_one_that_cannot_be_converted_wait_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    leave_segments(folder.path(), &mut sampler);
    // Only creating the first file fails.
    let full = full_disk(0, 1);
    let mut recorder = ArchiveRecorder::with_files(DiskFiles, options(folder.path()), full).expect("a start");
    record(&mut recorder, &mut sampler, 4);
    recorder.finish().expect("disk space");
    drop(recorder);
    assert!(store(folder.path(), disk()).segments().expect("a folder").is_empty());
    assert_eq!(shown(&read(folder.path())), shown(&sampler.samples));
}

#[test]
fn a_segment_before_a_file_that_was_added_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    let segments = leave_segments(folder.path(), &mut sampler);
    let added: Vec<Sample> = (0..2).map(|_| sampler.take()).collect();
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
    assert_eq!(times(&kept), times(&sampler.samples[..7]));
    record(&mut recorder, &mut sampler, 2);
    recorder.finish().expect("disk space");
    assert_eq!(times(&read(folder.path())), times(&sampler.samples[7..]));
}

#[test]
fn a_segment_that_was_already_converted_is_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    leave_segments(folder.path(), &mut sampler);
    // The recorder was killed before it removed the segments; the last one has one more sample.
    write(folder.path(), &sampler.samples[..6]);
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("a start");
    let notices = recorder.take_notices();
    assert!(matches!(notices[..], [ArchiveNotice::Recovered { samples: 1, .. }]), "{notices:?}");
    recorder.finish().expect("disk space");
    assert_eq!(shown(&read(folder.path())), shown(&sampler.samples));
}

#[test]
fn a_truncated_file_does_not_stop_the_recorder() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    leave_segments(folder.path(), &mut sampler);
    write(folder.path(), &sampler.samples[..6]);
    let store = store(folder.path(), disk());
    let files = complete_files(store.folder()).expect("files");
    let last = &files.last().expect("a file").path;
    let bytes = std::fs::read(last).expect("a file");
    std::fs::write(last, &bytes[..bytes.len() - 1]).expect("disk space");
    // A folder that has the name of a segment.
    std::fs::create_dir(store.open_folder().join("20240301-000000.000-x.blg")).expect("a folder");
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("a start");
    let notices = recorder.take_notices();
    assert!(notices.iter().any(|it| it.to_string().contains(&last.display().to_string())), "{notices:?}");
    record(&mut recorder, &mut sampler, 3);
    recorder.finish().expect("disk space");
    drop(recorder);
    // The samples of the truncated file are in the segments that were kept.
    let kept = std::fs::read_dir(store.open_folder()).expect("a folder");
    let kept = kept.filter(|entry| {
        entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".overlap"))
    });
    assert!(kept.count() > 0);
    std::fs::remove_file(last).expect("a file");
    let found = times(&read(folder.path()));
    assert!(found.ends_with(&times(&sampler.samples[6..])), "{found:?}");
}

#[test]
fn a_date_that_cannot_be_merged_does_not_block_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    // Two dates with several files each, then a third one.
    record(&mut recorder, &mut sampler, 12);
    recorder.finish().expect("disk space");
    drop(recorder);
    let store = store(folder.path(), disk());
    let files = complete_files(store.folder()).expect("files");
    let (broken, whole) = (files[0].path.clone(), files[3].path.parent().expect("a folder").to_path_buf());
    let bytes = std::fs::read(&broken).expect("a file");
    std::fs::write(&broken, &bytes[..bytes.len() - 1]).expect("disk space");
    sampler.machine.advance(FileTime::PER_DAY);
    let mut merging = options(folder.path());
    merging.is_merged = true;
    let mut recorder = ArchiveRecorder::create(merging, disk()).expect("a start");
    let mut notices = Vec::new();
    // Wait until the worker is idle, because `finish` skips work that has not been started.
    for _ in 0..3 {
        record(&mut recorder, &mut sampler, 3);
        while !recorder.is_idle() {
            std::thread::yield_now();
        }
        notices.extend(recorder.take_notices());
    }
    let merged = std::fs::read_dir(&whole).expect("a folder").count();
    assert_eq!(merged, 1, "{notices:?}");
    // The recording reports the damaged file when it starts, and when it cannot merge the files of that date.
    assert_eq!(notices.len(), 2, "{notices:?}");
    let name = broken.display().to_string();
    assert!(notices.iter().all(|notice| notice.to_string().contains(&name)), "{notices:?}");
}

#[test]
fn files_of_the_maximum_size_are_not_merged_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::from_hour(12);
    sampler.step = 1000 * MILLISECOND;
    let samples: Vec<Sample> = (0..1100).map(|_| sampler.take()).collect();
    // Each sample is a row group, and a file has at most 512 row groups.
    let each = ArchiveOptions { block_values: 1, ..ArchiveOptions::new(options(folder.path()).zone) };
    let mut writer = ArchiveWriter::new(&folder.path().join("A"), each);
    samples.iter().for_each(|sample| writer.write(sample).expect("disk space"));
    writer.finish().expect("disk space");
    let store = store(folder.path(), disk());
    assert_eq!(complete_files(store.folder()).expect("files").len(), 3);
    assert_eq!(store.dates_to_merge(LATER).expect("folders"), Vec::<PathBuf>::new());
    write(folder.path(), &[sampler.take()]);
    let dates = store.dates_to_merge(LATER).expect("folders");
    assert_eq!(dates.len(), 1, "the second to last file is not full");
    store.merge(&dates[0], &|| false).expect("disk space");
    assert_eq!(complete_files(store.folder()).expect("files").len(), 1);
    assert_eq!(times(&read(folder.path())), times(&sampler.samples));
}

#[test]
fn cleaning_the_merge_folder_never_removes_the_only_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::from_hour(12);
    let samples: Vec<Sample> = (0..4).map(|_| sampler.take()).collect();
    write(folder.path(), &samples[..2]);
    let store = store(folder.path(), disk());
    write(folder.path(), &samples[2..]);
    let files = complete_files(store.folder()).expect("files");
    // The second file is only in the merge folder. A file in the date folder is unreadable.
    let date = files[0].path.parent().expect("a folder");
    let merge = store.open_folder().join("merge").join(store.folder().file_name().expect("a name"));
    let merge = merge.join(date.file_name().expect("a name"));
    std::fs::create_dir_all(&merge).expect("disk space");
    let copy = merge.join(files[1].path.file_name().expect("a name"));
    std::fs::rename(&files[1].path, &copy).expect("disk space");
    let unreadable = date.join("other.parquet");
    std::os::unix::fs::symlink("other.parquet", &unreadable).expect("disk space");
    store.clean_merge_folder().expect_err("a link to itself cannot be read");
    assert!(copy.exists());
    std::fs::remove_file(unreadable).expect("a link");
    store.clean_merge_folder().expect("readable files");
    assert!(!copy.exists());
    assert_eq!(times(&read(folder.path())), times(&samples));
}

#[test]
fn no_file_is_removed_if_the_clock_is_years_ahead() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    write(folder.path(), &(0..6).map(|_| sampler.take()).collect::<Vec<_>>());
    let mut options = options(folder.path());
    options.retention = Retention { age: Some(Duration::from_secs(2 * 86_400)), bytes: None };
    let restarted = options.clone();
    let mut recorder = ArchiveRecorder::create(options, disk()).expect("a start");
    sampler.machine.step(3650 * FileTime::PER_DAY);
    record(&mut recorder, &mut sampler, 5);
    recorder.finish().expect("disk space");
    let notices = recorder.take_notices();
    assert!(matches!(notices[..], [ArchiveNotice::ClockAhead { .. }]), "{notices:?}");
    assert_eq!(times(&read(folder.path())), times(&sampler.samples));
    drop(recorder);
    // The clock is set right, and the recorder is restarted: age counts from the clock, not from the samples of the future.
    let mut right = Sampler::new();
    right.machine.step(FileTime::PER_DAY);
    let mut recorder = ArchiveRecorder::create(restarted, disk()).expect("a start");
    record(&mut recorder, &mut right, 5);
    recorder.finish().expect("disk space");
    let notices = recorder.take_notices();
    assert!(matches!(notices[..], [ArchiveNotice::ClockBehind { .. }]), "{notices:?}");
    assert_eq!(times(&read(folder.path())), times(&sampler.samples));
}
