//! Maintenance while an archive is recorded: conversion during a merge, the space that a merge needs, deleted segments.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use tachograph_counters::civil::FileTime;
use tachograph_flow::Sink as _;
use tachograph_flow::record::{
    ArchiveNotice, ArchiveRecordOptions, ArchiveRecorder, DiskFiles, LogChange, MovedLog, NextLog,
};
use tachograph_logs::archive::{complete_files, entries};

use crate::archive::{Hook, Sampler, TestDisk, disk, options, read, record, store, times};
use crate::fixture::{Disk, MILLISECOND};

/// Records samples of two dates into two files each. The next samples are from a third date.
fn two_dates(folder: &Path) -> (Sampler, Vec<PathBuf>) {
    let mut sampler = Sampler::new();
    let mut recorder = ArchiveRecorder::create(options(folder), disk()).expect("disk space");
    record(&mut recorder, &mut sampler, 12);
    recorder.finish().expect("disk space");
    drop(recorder);
    sampler.machine.advance(FileTime::PER_DAY);
    let dates = store(folder, disk()).dates_to_merge(crate::archive::LATER).expect("folders");
    assert_eq!(dates.len(), 2);
    (sampler, dates)
}

fn merging(folder: &Path) -> ArchiveRecordOptions {
    ArchiveRecordOptions { is_merged: true, ..options(folder) }
}

fn wait(recorder: &ArchiveRecorder) {
    while !recorder.is_idle() {
        std::thread::yield_now();
    }
}

/// The number of files of each date.
fn counts(dates: &[PathBuf]) -> Vec<usize> {
    dates.iter().map(|date| entries(date).expect("a folder").len()).collect()
}

fn is_in_merge_folder(path: &Path) -> bool {
    path.iter().any(|name| name == "merge")
}

/// A disk on which the first merge waits, and the operations on it.
struct GatedDisk {
    disk: TestDisk,
    begun: Receiver<()>,
    resume: Sender<()>,
    operations: Arc<Mutex<Vec<(String, PathBuf)>>>,
}

fn gated_disk() -> GatedDisk {
    let ((begin, begun), (resume, resumed)) = (channel(), channel());
    let operations = Arc::new(Mutex::new(Vec::new()));
    let gate = Mutex::new(Some((begin, resumed)));
    let log = Arc::clone(&operations);
    let hook = move |name: &str, path: &Path| {
        log.lock().expect("no panic").push((name.to_owned(), path.to_path_buf()));
        if name == "create"
            && is_in_merge_folder(path)
            && let Some((begin, resumed)) = gate.lock().expect("no panic").take()
        {
            begin.send(()).expect("the test waits");
            resumed.recv().expect("the test continues");
        }
    };
    GatedDisk {
        disk: TestDisk { hook: Hook(Arc::new(hook)), ..TestDisk::default() },
        begun,
        resume,
        operations,
    }
}

#[test]
fn segments_are_converted_while_files_are_merged() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut sampler, dates) = two_dates(folder.path());
    let GatedDisk { disk, begun, resume, operations } = gated_disk();
    let mut recorder =
        ArchiveRecorder::with_files(DiskFiles, merging(folder.path()), Arc::new(disk)).expect("disk space");
    // Samples are 20 minutes apart, so the first three are in a segment.
    record(&mut recorder, &mut sampler, 4);
    begun.recv().expect("a merge");
    record(&mut recorder, &mut sampler, 3);
    resume.send(()).expect("the merge waits");
    wait(&recorder);
    let operations = operations.lock().expect("no panic");
    let exchange = operations
        .iter()
        .position(|(name, path)| name == "exchange" && path.is_dir() && dates.contains(path));
    let before = &operations[..exchange.expect("a merge")];
    let is_in_date_folder = |path: &Path| {
        path.iter().any(|name| name.to_string_lossy().starts_with("date=")) && !is_in_merge_folder(path)
    };
    let converted = before.iter().filter(|(name, path)| name == "rename" && is_in_date_folder(path)).count();
    assert_eq!(converted, 2, "{before:?}");
    drop(operations);
    assert_eq!(counts(&dates), [1, 1]);
    recorder.finish().expect("disk space");
    assert_eq!(recorder.take_notices(), []);
    assert_eq!(times(&read(folder.path())), times(&sampler.samples));
}

#[test]
fn a_merge_is_abandoned_when_the_recording_pauses() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut sampler, dates) = two_dates(folder.path());
    let before = counts(&dates);
    let GatedDisk { disk, begun, resume, operations } = gated_disk();
    let free = Arc::clone(&disk.free);
    let merging = ArchiveRecordOptions { min_free_bytes: 1000, ..merging(folder.path()) };
    let mut recorder = ArchiveRecorder::with_files(DiskFiles, merging, Arc::new(disk)).expect("disk space");
    record(&mut recorder, &mut sampler, 4);
    begun.recv().expect("a merge");
    free.store(0, Ordering::Relaxed);
    record(&mut recorder, &mut sampler, 1);
    resume.send(()).expect("the merge waits");
    wait(&recorder);
    let is_date = |path: &PathBuf| dates.contains(path);
    assert!(
        !operations.lock().expect("no panic").iter().any(|(name, path)| name == "exchange" && is_date(path))
    );
    assert_eq!(counts(&dates), before);
    assert!(!store(folder.path(), crate::archive::disk()).open_folder().join("merge").exists());
}

#[test]
fn files_are_merged_only_if_there_is_room_for_the_merged_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut sampler, dates) = two_dates(folder.path());
    let before = counts(&dates);
    let disk = TestDisk { free: Arc::new(AtomicU64::new(1500)), ..TestDisk::default() };
    let merging = ArchiveRecordOptions { min_free_bytes: 1000, ..merging(folder.path()) };
    let mut recorder =
        ArchiveRecorder::with_files(DiskFiles, merging, Arc::new(disk.clone())).expect("disk space");
    record(&mut recorder, &mut sampler, 4);
    wait(&recorder);
    assert_eq!(counts(&dates), before, "each file has more than 500 bytes");
    disk.free.store(1 << 20, Ordering::Relaxed);
    record(&mut recorder, &mut sampler, 3);
    wait(&recorder);
    assert_eq!(counts(&dates), [1, 1]);
    assert_eq!(recorder.take_notices(), []);
}

#[test]
fn nothing_is_merged_if_the_disk_cannot_exchange_folders() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut sampler, dates) = two_dates(folder.path());
    let before = counts(&dates);
    let GatedDisk { disk, operations, .. } = gated_disk();
    let disk = TestDisk { can_exchange: false, ..disk };
    let mut recorder =
        ArchiveRecorder::with_files(DiskFiles, merging(folder.path()), Arc::new(disk)).expect("disk space");
    let mut notices = Vec::new();
    for _ in 0..3 {
        record(&mut recorder, &mut sampler, 3);
        wait(&recorder);
        notices.extend(recorder.take_notices());
    }
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].to_string().contains("cannot exchange two folders"), "{}", notices[0]);
    let operations = operations.lock().expect("no panic");
    assert!(
        !operations.iter().any(|(name, path)| name == "create" && is_in_merge_folder(path)),
        "{operations:?}"
    );
    assert_eq!(counts(&dates), before);
    let open = store(folder.path(), crate::archive::disk()).open_folder();
    let left = entries(&open).expect("a folder").into_iter().filter(|path| path.is_dir()).count();
    assert_eq!(left, 0);
}

#[test]
fn a_paused_recording_does_not_convert_at_every_sample() {
    let folder = tempfile::tempdir().expect("a folder");
    let created = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&created);
    let hook = move |name: &str, _: &Path| {
        counter.fetch_add(u64::from(name == "create"), Ordering::Relaxed);
    };
    let disk = TestDisk {
        free: Arc::new(AtomicU64::new(2000)),
        created: Arc::new(Mutex::new((0, u64::MAX))),
        hook: Hook(Arc::new(hook)),
        ..TestDisk::default()
    };
    let options = ArchiveRecordOptions { min_free_bytes: 1000, ..options(folder.path()) };
    let mut recorder =
        ArchiveRecorder::with_files(DiskFiles, options, Arc::new(disk.clone())).expect("disk space");
    let mut sampler = Sampler::from_hour(12);
    sampler.step = 1000 * MILLISECOND;
    record(&mut recorder, &mut sampler, 2);
    disk.free.store(999, Ordering::Relaxed);
    for _ in 0..30 {
        record(&mut recorder, &mut sampler, 1);
        wait(&recorder);
    }
    assert_eq!(created.load(Ordering::Relaxed), 3, "at the first sample, and every 10 seconds");
}

#[test]
fn an_open_segment_that_is_deleted_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    let mut sampler = Sampler::from_hour(12);
    record(&mut recorder, &mut sampler, 2);
    let segments = store(folder.path(), disk()).segments().expect("a folder");
    let [segment] = &segments[..] else { panic!("{segments:?}") };
    std::fs::remove_file(segment).expect("a file");
    record(&mut recorder, &mut sampler, 1);
    let moved =
        MovedLog { path: segment.clone(), samples: 2, change: LogChange::Deleted, next: NextLog::SameName };
    let notices = recorder.take_notices();
    assert_eq!(notices, [ArchiveNotice::SegmentMoved(moved)]);
    assert!(notices[0].to_string().contains("deleted the open segment with 2 samples"), "{}", notices[0]);
    recorder.finish().expect("disk space");
    assert_eq!(recorder.take_notices(), []);
    assert_eq!((recorder.summary().samples, recorder.summary().lost_samples), (3, 2));
    assert_eq!(times(&read(folder.path())), times(&sampler.samples[2..]));
}

/// A segment whose first sample cannot be written is not reported as deleted by another program, and the recording does not
/// resume for a single sample that fits.
#[test]
fn a_recording_on_a_full_disk_pauses_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = Disk::with_room(0);
    let storage = Arc::new(TestDisk::default());
    let mut recorder =
        ArchiveRecorder::with_files(disk.clone(), options(folder.path()), storage).expect("a start");
    let mut sampler = Sampler::from_hour(12);
    sampler.step = 1000 * MILLISECOND;
    let mut record_with_room = |room: u64| {
        disk.set_room(Some(room));
        record(&mut recorder, &mut sampler, 1);
        while !recorder.is_idle() {
            std::thread::yield_now();
        }
        recorder.take_notices()
    };
    let is_full = |notice: &ArchiveNotice| matches!(notice, ArchiveNotice::Full { .. });
    let notices: Vec<_> = (0..15).flat_map(|_| record_with_room(0)).collect();
    assert!(notices.len() == 1 && is_full(&notices[0]), "{notices:?}");
    // Every fourth sample does not fit.
    let rooms = (0..25).map(|second| if second % 4 == 3 { 0 } else { 1 << 30 });
    let notices: Vec<_> = rooms.flat_map(&mut record_with_room).collect();
    assert!(notices.contains(&ArchiveNotice::Resumed), "{notices:?}");
    assert!(notices.iter().filter(|notice| is_full(notice)).count() <= 3, "{notices:?}");
}

#[test]
fn a_damaged_file_is_reported_when_the_recording_continues() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut sampler, _) = two_dates(folder.path());
    let files = complete_files(store(folder.path(), disk()).folder()).expect("files");
    let damaged = &files[1].path;
    std::fs::write(damaged, "").expect("a writable file");
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("a start");
    let notices = recorder.take_notices();
    let [ArchiveNotice::Damaged(what)] = &notices[..] else { panic!("{notices:?}") };
    assert!(what.contains(&damaged.display().to_string()) && what.ends_with("move the file away"), "{what}");
    record(&mut recorder, &mut sampler, 2);
    recorder.finish().expect("disk space");
    assert_eq!(recorder.take_notices(), []);
}

/// Its times are unknown, so it cannot overlap with the new samples.
#[test]
fn a_damaged_file_with_a_name_of_another_form_does_not_delay_conversions() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut sampler, _) = two_dates(folder.path());
    let files = complete_files(store(folder.path(), disk()).folder()).expect("files");
    let date = files[files.len() - 1].path.parent().expect("a folder");
    std::fs::write(date.join("notes.parquet"), "a text").expect("a writable folder");
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("a start");
    let notices = recorder.take_notices();
    assert!(
        matches!(&notices[..], [ArchiveNotice::Damaged(what)] if what.contains("notes.parquet")),
        "{notices:?}"
    );
    record(&mut recorder, &mut sampler, 2);
    recorder.finish().expect("disk space");
    assert_eq!(recorder.take_notices(), []);
    assert_eq!(store(folder.path(), disk()).segments().expect("a folder"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_segment_that_is_deleted_before_its_conversion_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    // The first conversion fails.
    let disk = TestDisk { created: Arc::new(Mutex::new((0, 1))), ..TestDisk::default() };
    let mut recorder = ArchiveRecorder::with_files(DiskFiles, options(folder.path()), Arc::new(disk.clone()))
        .expect("disk space");
    let mut sampler = Sampler::from_hour(12);
    record(&mut recorder, &mut sampler, 4);
    wait(&recorder);
    let segments = store(folder.path(), Arc::new(disk)).segments().expect("a folder");
    std::fs::remove_file(&segments[0]).expect("a file");
    recorder.finish().expect("disk space");
    let notices = recorder.take_notices();
    assert!(
        matches!(&notices[..], [ArchiveNotice::NotConverted(_), ArchiveNotice::SegmentDeleted(path)] if *path == segments[0]),
        "{notices:?}"
    );
    assert_eq!((recorder.summary().samples, recorder.summary().lost_samples), (4, 3));
    assert_eq!(times(&read(folder.path())), times(&sampler.samples[3..]));
}
