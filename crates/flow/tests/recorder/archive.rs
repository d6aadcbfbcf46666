//! Recording into an archive: kills and power failures at every operation, pauses, retention, locks.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::archive::{ArchiveStore, Removed, Retention};
use tachograph_flow::record::{ArchiveNotice, ArchiveRecordOptions, ArchiveRecorder, DiskFiles, LogFiles};
use tachograph_flow::sinks::{StatisticsOptions, StatisticsSink};
use tachograph_flow::{FlowError, Sink as _};
use tachograph_logs::archive::{DiskStorage, Storage, StorageFile, complete_files};

use crate::archive_disk::{Operation, RecordedDisk, replay, volatile};
use crate::fixture::{MILLISECOND, Machine, START};
use crate::whole::{PATHS, shown};

/// A disk with a given number of free bytes, on which sync has no effect.
#[derive(Clone, Debug)]
pub(crate) struct TestDisk {
    pub(crate) free: Arc<AtomicU64>,
    /// How often the free space was determined.
    pub(crate) checks: Arc<AtomicU64>,
    /// The number of files that can be created before a creation fails for lack of space, and the number of creations
    /// that then fail.
    pub(crate) created: Arc<Mutex<(u64, u64)>>,
    pub(crate) can_exchange: bool,
    pub(crate) hook: Hook,
}

/// Called with the name and the path of an operation before it is performed.
#[derive(Clone)]
pub(crate) struct Hook(pub(crate) Arc<HookFunction>);

pub(crate) type HookFunction = dyn Fn(&str, &Path) + Send + Sync;

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hook")
    }
}

impl Default for TestDisk {
    fn default() -> Self {
        let free = Arc::new(AtomicU64::new(u64::MAX));
        let hook = Hook(Arc::new(|_, _| {}));
        let created = Arc::new(Mutex::new((u64::MAX, 0)));
        Self { free, checks: Arc::default(), created, can_exchange: true, hook }
    }
}

struct Unsynced(Box<dyn StorageFile>);

impl Write for Unsynced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl StorageFile for Unsynced {
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl Storage for TestDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        (self.hook.0)("create", path);
        let mut created = self.created.lock().expect("no panic");
        match &mut *created {
            (0, 0) => {}
            (0, failures) => {
                *failures -= 1;
                return Err(io::ErrorKind::StorageFull.into());
            }
            (count, _) => *count -= 1,
        }
        Ok(Box::new(Unsynced(DiskStorage.create(path)?)))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        DiskStorage.create_folder(path)
    }

    fn sync_folder(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.hook.0)("rename", to);
        DiskStorage.rename(from, to)
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        (self.hook.0)("exchange", other);
        match self.can_exchange {
            true => DiskStorage.exchange(one, other),
            false => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        DiskStorage.remove(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        DiskStorage.remove_folder(path)
    }

    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        self.checks.fetch_add(1, Ordering::Relaxed);
        Ok(self.free.load(Ordering::Relaxed))
    }
}

/// A time after all samples.
pub(crate) const LATER: FileTime = FileTime(START.0 + 10 * FileTime::PER_DAY);

const MINUTE: i64 = 60_000 * MILLISECOND;

pub(crate) fn options(folder: &Path) -> ArchiveRecordOptions {
    let mut options = ArchiveRecordOptions::new(folder.join("A"), "FAKE", Duration::from_secs(60));
    options.segment_time = Duration::from_secs(3600);
    options.min_free_bytes = 0;
    options.zone = TimeZone::fixed("Pacific Standard Time", 480);
    options.is_merged = false;
    options
}

pub(crate) fn disk() -> Arc<dyn Storage> {
    Arc::new(TestDisk::default())
}

pub(crate) fn store(folder: &Path, storage: Arc<dyn Storage>) -> ArchiveStore {
    ArchiveStore::new(&folder.join("A"), "FAKE", storage).expect("a short name")
}

/// Takes samples of a machine, every 20 minutes by default.
pub(crate) struct Sampler {
    pub(crate) machine: Machine,
    source: tachograph_flow::live::LiveSource,
    pub(crate) samples: Vec<Sample>,
    /// Time between two samples.
    pub(crate) step: i64,
}

impl Sampler {
    /// From 22:00 UTC.
    pub(crate) fn new() -> Self {
        Self::from_hour(22)
    }

    pub(crate) fn from_hour(hour: i64) -> Self {
        let machine = Machine::new(&["ann", "bob"]);
        let source = machine.source(&PATHS);
        machine.advance((hour - 9) * 60 * MINUTE);
        Self { machine, source, samples: Vec::new(), step: 20 * MINUTE }
    }

    pub(crate) fn take(&mut self) -> Sample {
        if self.samples.len() % 5 == 3 {
            let more = self.samples.len().to_string();
            self.machine.set_workers(&["ann", "bob", &more]);
        }
        let mut sample = Sample::default();
        self.source.collect(&mut sample);
        self.machine.advance(self.step);
        self.samples.push(sample.clone());
        sample
    }
}

/// The samples of the archive in a folder.
pub(crate) fn read(folder: &Path) -> Vec<Sample> {
    let mut reader = match tachograph_logs::open(&folder.join("A")) {
        Ok(reader) => reader,
        Err(error) if error.is_not_found() || error.is_corrupt() => return Vec::new(),
        Err(error) => panic!("{error}"),
    };
    let (mut samples, mut sample) = (Vec::new(), Sample::default());
    while reader.next(&mut sample).expect("readable files") {
        samples.push(sample.clone());
    }
    samples
}

pub(crate) fn times(samples: &[Sample]) -> Vec<i64> {
    samples.iter().map(|sample| sample.at.utc.0).collect()
}

pub(crate) fn record<L: LogFiles + Clone>(
    recorder: &mut ArchiveRecorder<L>,
    sampler: &mut Sampler,
    count: usize,
) {
    for _ in 0..count {
        recorder.push(&sampler.take()).expect("disk space");
    }
}

/// Performs and returns all operations of a recording over midnight, of a second recording, and of merging.
fn recorded(is_synced: bool) -> (Vec<Operation>, Vec<Sample>) {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = RecordedDisk::new(folder.path());
    let mut sampler = Sampler { step: 40 * MINUTE, ..Sampler::new() };
    for count in [5, 2] {
        let options = ArchiveRecordOptions { is_synced, ..options(folder.path()) };
        let mut recorder =
            ArchiveRecorder::with_files(disk.clone(), options, Arc::new(disk.clone())).expect("disk space");
        for _ in 0..count {
            let sample = sampler.take();
            recorder.push(&sample).expect("disk space");
            disk.push(Operation::Recorded(sample.at.utc.0));
        }
        recorder.finish().expect("disk space");
        let notices = recorder.take_notices();
        assert_eq!(notices, [], "{is_synced}");
    }
    let store = store(folder.path(), Arc::new(disk.clone()));
    let now = sampler.samples.last().expect("samples").at.utc;
    for date in store.dates_to_merge(now).expect("folders") {
        let merged = store.merge(&date, &|| false).expect("disk space");
        assert!(merged.files.0 > 1 && merged.files.1 == 1, "{merged:?}");
    }
    assert_eq!(shown(&read(folder.path())), shown(&sampler.samples));
    (disk.operations(), sampler.samples)
}

/// For each prefix of the operations, simulates a kill (nothing is lost) and power failures (some unsynced operations
/// are lost). Each durable sample must be found exactly once, before and after a recorder is restarted.
#[track_caller]
fn check_every_power_failure(is_synced: bool) {
    let (operations, samples) = recorded(is_synced);
    let mut durable = BTreeSet::new();
    for length in 0..=operations.len() {
        let done = &operations[..length];
        // Kills between the writes of a sample are tested in `crates/logs`.
        if let (Some(Operation::Write(last, ..)), Some(Operation::Write(next, ..))) =
            (done.last(), operations.get(length))
            && last == next
        {
            continue;
        }
        let volatile = volatile(done);
        let all: BTreeSet<usize> = volatile.iter().flatten().copied().collect();
        let mut losses = vec![all.clone(), BTreeSet::new()];
        for group in &volatile {
            let one: BTreeSet<usize> = group.iter().copied().collect();
            losses.push(all.difference(&one).copied().collect());
            losses.push(one);
        }
        let recorded: BTreeSet<i64> = done
            .iter()
            .filter_map(|it| if let Operation::Recorded(time) = it { Some(*time) } else { None })
            .collect();
        for (index, lost) in losses.iter().enumerate() {
            let folder = tempfile::tempdir().expect("a folder");
            replay(folder.path(), done, lost);
            let context = format!("after {length} operations, the last {:?}; lost {lost:?}", done.last());
            let check = |found: &[Sample], when: &str| {
                let times = times(found);
                assert!(times.is_sorted_by(|one, other| one < other), "{when}: {times:?} {context}");
                let found: BTreeSet<i64> = times.into_iter().collect();
                let missing: Vec<_> = durable.difference(&found).collect();
                assert!(missing.is_empty(), "{when}: {missing:?} {context}");
                if lost.is_empty() || is_synced {
                    let missing: Vec<_> = recorded.difference(&found).collect();
                    assert!(missing.is_empty(), "{when}: {missing:?} {context}");
                }
                found
            };
            let before = check(&read(folder.path()), "before recovery");
            let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("a recovery");
            recorder.finish().expect("disk space");
            drop(recorder);
            let after = read(folder.path());
            assert_eq!(check(&after, "after recovery"), before, "{context}");
            let open = store(folder.path(), disk()).open_folder();
            let kept: Vec<_> = std::fs::read_dir(open)
                .into_iter()
                .flatten()
                .map(|entry| entry.expect("an entry").file_name())
                .filter(|name| name.to_string_lossy().ends_with(".overlap"))
                .collect();
            assert!(kept.is_empty(), "{kept:?} {context}");
            // The values are also equal.
            let expected: Vec<_> =
                samples.iter().filter(|sample| before.contains(&sample.at.utc.0)).cloned().collect();
            assert_eq!(shown(&after), shown(&expected), "{context}");
            if index == 0 {
                durable.extend(before);
            }
        }
    }
    assert_eq!(durable.len(), samples.len());
}

#[test]
fn power_failures_lose_no_durable_sample() {
    check_every_power_failure(false);
}

#[test]
fn power_failures_lose_no_synced_sample() {
    check_every_power_failure(true);
}

/// The statistics of the archive in a folder, as text with all digits.
fn statistics(folder: &Path) -> Vec<String> {
    let query = tachograph_flow::query::LogQuery::new(vec![folder.to_path_buf()]);
    let mut pipeline = query.samples().expect("an archive");
    let mut sink = StatisticsSink::new(StatisticsOptions::default());
    tachograph_flow::run(&mut *pipeline.source, &mut sink, || {}).expect("an archive");
    sink.rows().into_iter().map(|row| format!("{} {:?}", row.path, row.summary)).collect()
}

#[test]
fn statistics_do_not_depend_on_segments_and_merging() {
    let mut found = Vec::new();
    for minutes in [20, 60, 1440] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut options = options(folder.path());
        options.segment_time = Duration::from_secs(minutes * 60);
        let mut sampler = Sampler::new();
        let mut recorder = ArchiveRecorder::create(options, disk()).expect("disk space");
        record(&mut recorder, &mut sampler, 12);
        // Open segments are read as well.
        let open = statistics(&folder.path().join("A"));
        recorder.finish().expect("disk space");
        assert_eq!(statistics(&folder.path().join("A")), open);
        drop(recorder);
        let store = store(folder.path(), disk());
        for date in store.dates_to_merge(LATER).expect("folders") {
            store.merge(&date, &|| false).expect("disk space");
        }
        assert_eq!(complete_files(store.folder()).expect("files").len(), 2, "one file per date");
        assert_eq!(statistics(&folder.path().join("A")), open);
        found.push(open);
    }
    assert_eq!(found[0], found[2]);
    assert_eq!(found[1], found[2]);
}

#[test]
fn a_merge_that_is_stopped_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    record(&mut recorder, &mut sampler, 12);
    recorder.finish().expect("disk space");
    let store = store(folder.path(), disk());
    let before = complete_files(store.folder()).expect("files");
    let date = store.dates_to_merge(LATER).expect("folders").remove(0);
    let calls = AtomicU64::new(0);
    let stopped = store.merge(&date, &|| calls.fetch_add(1, Ordering::Relaxed) >= 3);
    assert!(matches!(stopped, Err(FlowError::Stopped)), "{stopped:?}");
    assert_eq!(complete_files(store.folder()).expect("files"), before);
    assert!(!store.open_folder().join("merge").exists());
}

#[test]
fn a_reader_continues_while_files_are_converted_merged_and_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    record(&mut recorder, &mut sampler, 8);
    let mut reader = tachograph_logs::open(&folder.path().join("A")).expect("an archive");
    let (mut found, mut sample) = (Vec::new(), Sample::default());
    assert!(reader.next(&mut sample).expect("a sample"));
    found.push(sample.clone());
    let mark = reader.mark().expect("a position");
    recorder.finish().expect("disk space");
    drop(recorder);
    let store = store(folder.path(), disk());
    for date in store.dates_to_merge(LATER).expect("folders") {
        store.merge(&date, &|| false).expect("disk space");
    }
    while reader.next(&mut sample).expect("readable files") {
        found.push(sample.clone());
    }
    assert_eq!(shown(&found), shown(&sampler.samples[..8]));
    // A position in a file that has since been merged is found by its time.
    for mut reader in [reader, tachograph_logs::open(&folder.path().join("A")).expect("an archive")] {
        assert!(reader.seek(&mark).expect("readable files"));
        assert!(reader.next(&mut sample).expect("readable files"));
        assert_eq!(sample.at, sampler.samples[1].at);
        let mark = reader.mark().expect("a position");
        assert!(reader.next(&mut sample).expect("readable files"));
        assert!(reader.seek(&mark).expect("readable files"));
        assert!(reader.next(&mut sample).expect("readable files"));
        assert_eq!(sample.at, sampler.samples[2].at);
    }
}

#[test]
fn old_files_are_removed_by_age_and_by_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    record(&mut recorder, &mut sampler, 12);
    recorder.finish().expect("disk space");
    let store = store(folder.path(), disk());
    let files = complete_files(store.folder()).expect("files");
    assert_eq!(files.len(), 4);
    let sizes: Vec<u64> =
        files.iter().map(|file| std::fs::metadata(&file.path).expect("a file").len()).collect();
    let now = sampler.samples[11].at.utc;
    assert_eq!(store.remove_old(Retention::default(), now).expect("files"), Removed::default());
    // The last sample is from 22:40 in the first file and from 23:40 in the second; the current time is 01:40.
    let age = Retention { age: Some(Duration::from_secs(3 * 3600 - 60)), bytes: None };
    assert_eq!(store.remove_old(age, now).expect("files"), Removed { files: 1, bytes: sizes[0] });
    let bytes = Retention { age: None, bytes: Some(sizes[2] + sizes[3]) };
    assert_eq!(store.remove_old(bytes, now).expect("files"), Removed { files: 1, bytes: sizes[1] });
    assert!(!files[0].path.parent().expect("a folder").exists(), "the first date has no file");
    let nothing = Retention { age: None, bytes: Some(0) };
    assert_eq!(store.remove_old(nothing, now).expect("files"), Removed { files: 1, bytes: sizes[2] });
    assert_eq!(times(&read(folder.path())), times(&sampler.samples[9..]));
}

#[test]
fn a_recording_pauses_while_there_is_too_little_space() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = TestDisk { free: Arc::new(AtomicU64::new(2000)), can_exchange: false, ..TestDisk::default() };
    let options = ArchiveRecordOptions { min_free_bytes: 1000, ..options(folder.path()) };
    let mut recorder =
        ArchiveRecorder::with_files(DiskFiles, options, Arc::new(disk.clone())).expect("disk space");
    let mut sampler = Sampler::from_hour(12);
    record(&mut recorder, &mut sampler, 2);
    assert_eq!(recorder.take_notices(), []);
    disk.free.store(999, Ordering::Relaxed);
    record(&mut recorder, &mut sampler, 3);
    assert_eq!(recorder.take_notices(), [ArchiveNotice::Paused { free: 999, min: 1000 }], "once");
    // Recording continues only when slightly more than the limit is free.
    disk.free.store(1010, Ordering::Relaxed);
    record(&mut recorder, &mut sampler, 1);
    assert_eq!(recorder.take_notices(), []);
    disk.free.store(1100, Ordering::Relaxed);
    record(&mut recorder, &mut sampler, 2);
    assert_eq!(recorder.take_notices(), [ArchiveNotice::Resumed]);
    recorder.finish().expect("disk space");
    assert_eq!((recorder.summary().samples, recorder.dropped()), (4, 4));
    drop(recorder);
    let expected = [&sampler.samples[..2], &sampler.samples[6..]].concat();
    assert_eq!(times(&read(folder.path())), times(&expected));
    let store = store(folder.path(), Arc::new(disk));
    let date = store.dates_to_merge(LATER).expect("folders").remove(0);
    let error = store.merge(&date, &|| false).expect_err("the disk cannot exchange folders");
    assert!(error.to_string().contains("cannot exchange two folders"), "{error}");
    assert_eq!(times(&read(folder.path())), times(&expected));
    assert!(!store.open_folder().join("merge").exists());
}

#[test]
fn a_second_recorder_of_a_machine_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    let second = ArchiveRecorder::create(options(folder.path()), disk());
    let Err(FlowError::Log(error)) = second else { panic!("two recorders") };
    assert_eq!(error.io_error().map(io::Error::kind), Some(io::ErrorKind::ResourceBusy));
    let other = ArchiveRecordOptions { machine: "OTHER".to_owned(), ..options(folder.path()) };
    ArchiveRecorder::create(other, disk()).expect("another machine");
    drop(recorder);
    ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
}

#[test]
fn no_sample_is_added_after_the_clock_was_set_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    record(&mut recorder, &mut sampler, 2);
    recorder.finish().expect("disk space");
    drop(recorder);
    // Another recorder, whose clock is ten minutes slow.
    let mut early = Sampler::new();
    early.machine.step(-10 * MINUTE);
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    record(&mut recorder, &mut early, 4);
    let notices = recorder.take_notices();
    assert!(matches!(notices[..], [ArchiveNotice::ClockBehind { .. }]), "{notices:?}");
    recorder.finish().expect("disk space");
    assert_eq!((recorder.summary().samples, recorder.dropped()), (2, 2));
    drop(recorder);
    let expected = [times(&sampler.samples), times(&early.samples[2..])].concat();
    assert_eq!(times(&read(folder.path())), expected);
    assert!(read(folder.path())[0].at.utc > START);
}

#[test]
fn a_damaged_segment_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sampler = Sampler::new();
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    record(&mut recorder, &mut sampler, 2);
    recorder.finish().expect("disk space");
    drop(recorder);
    let open = store(folder.path(), disk()).open_folder();
    std::fs::write(open.join("20240305-235900.000-x.blg"), "no log").expect("disk space");
    std::fs::write(open.join("20240305-235901.000-x.blg"), "").expect("disk space");
    let mut recorder = ArchiveRecorder::create(options(folder.path()), disk()).expect("disk space");
    let notices = recorder.take_notices();
    let [ArchiveNotice::Damaged(what)] = &notices[..] else { panic!("{notices:?}") };
    assert!(
        what.contains("20240305-235900.000-x.blg.damaged") && what.ends_with("the file was kept"),
        "{what}"
    );
    assert!(open.join("20240305-235900.000-x.blg.damaged").exists());
    assert!(!open.join("20240305-235901.000-x.blg").exists(), "an empty segment is removed");
    record(&mut recorder, &mut sampler, 2);
    recorder.finish().expect("disk space");
    assert_eq!(times(&read(folder.path())), times(&sampler.samples));
}
