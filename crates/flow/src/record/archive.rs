//! Recording samples into an archive.

mod notice;
mod pool;
mod worker;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tachograph_counters::IgnorePoison as _;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::archive::{SegmentName, Storage};
use tachograph_logs::{LogError, io_error_text};

pub use notice::ArchiveNotice;
pub(super) use pool::Pool;
use worker::{Tasks, Worker, not_converted};

use super::{AtMax, DiskFiles, LogFiles, MovedLog, RecordOptions, RecordSummary, Recorder};
use crate::archive::{ArchiveLock, ArchiveStore, Retention};
use crate::{FlowError, Sink};

/// The options of a recording into an archive.
#[derive(Clone, Debug)]
pub struct ArchiveRecordOptions {
    /// The folder of the archive.
    pub folder: PathBuf,
    /// The name of the machine.
    pub machine: String,
    /// The time zone of the samples.
    pub zone: TimeZone,
    /// Ticks per second of the performance counter.
    pub performance_frequency: i64,
    /// Time between two samples.
    pub interval: Duration,
    /// The duration of a segment. Segments end at midnight UTC and at multiples of this duration after it, each shifted later
    /// by `segment_offset`.
    pub segment_time: Duration,
    /// Added to the times at which segments end.
    pub segment_offset: Duration,
    /// The maximum size of a segment in bytes.
    pub segment_bytes: u64,
    /// Whether each sample is synced to disk. Otherwise a power failure loses the open segment.
    pub is_synced: bool,
    /// Which complete files are kept.
    pub retention: Retention,
    /// The free space, in bytes, below which the recording pauses.
    pub min_free_bytes: u64,
    /// Whether the files of past days are merged.
    pub is_merged: bool,
}

impl ArchiveRecordOptions {
    /// The default duration of a segment.
    pub const SEGMENT_TIME: Duration = Duration::from_secs(600);
    /// The default maximum size of a segment in bytes.
    pub const SEGMENT_BYTES: u64 = 1 << 30;
    /// The default free space in bytes below which a recording pauses.
    pub const MIN_FREE_BYTES: u64 = 200 << 20;

    /// Options for a machine in UTC with a performance counter of 10 MHz: segments of ten minutes, and all files are
    /// kept.
    pub fn new(folder: impl Into<PathBuf>, machine: &str, interval: Duration) -> Self {
        Self {
            folder: folder.into(),
            machine: machine.to_owned(),
            zone: TimeZone::fixed("UTC", 0),
            performance_frequency: 10_000_000,
            interval,
            segment_time: Self::SEGMENT_TIME,
            segment_offset: Duration::ZERO,
            segment_bytes: Self::SEGMENT_BYTES,
            is_synced: false,
            retention: Retention::default(),
            min_free_bytes: Self::MIN_FREE_BYTES,
            is_merged: true,
        }
    }
}

/// Minimum time between two attempts to free space while a recording is paused.
const PAUSED_RETRY: i64 = 10 * FileTime::PER_SECOND;

/// Writes samples into an archive.
///
/// When [`push`](Sink::push) returns, the sample is in an open segment, which is a BLG. When a segment has reached its
/// maximum size or duration, a thread converts it to a complete file, removes old files and merges small ones. A
/// process that is killed loses at most the sample that it was writing: the next recorder converts the remaining
/// segments.
///
/// If there is too little free space, the recording pauses: samples are dropped until there is enough again. Files are merged only
/// while there is room for the merged file as well.
pub struct ArchiveRecorder<L: LogFiles + Clone = DiskFiles> {
    files: L,
    options: ArchiveRecordOptions,
    store: ArchiveStore,
    /// The id of the recording.
    recording: String,
    segment: Option<OpenSegment<L>>,
    worker: Worker,
    /// The time of the archive's last sample; earlier samples are dropped.
    last_sample_time: FileTime,
    is_clock_reported: bool,
    /// The time of the last sample, even if it was dropped for lack of space.
    last_seen_time: FileTime,
    /// The time relative to which the age of files is computed. It advances by at most a day per sample, so that no files are
    /// removed because of a wrong clock.
    retention_now: FileTime,
    is_paused: bool,
    /// When a write last failed for lack of space.
    full_since: Option<FileTime>,
    /// When the worker was last started.
    worker_started: FileTime,
    /// Segments that another program deleted or renamed while they were written.
    moved: Arc<Mutex<Vec<MovedLog>>>,
    /// The number of samples in these segments.
    moved_samples: u64,
    dropped_samples: u64,
    summary: RecordSummary,
    notices: Vec<ArchiveNotice>,
    _lock: ArchiveLock,
}

/// The segment that is being written.
struct OpenSegment<L: LogFiles> {
    recorder: Recorder<L>,
    path: PathBuf,
    /// The index of the segment's time range; see [`index_of`](ArchiveRecorder::index_of).
    index: i64,
    /// The number of samples of its former files, which another program deleted or renamed.
    moved_samples: u64,
}

impl ArchiveRecorder<DiskFiles> {
    /// Opens or creates an archive; see [`with_files`](Self::with_files).
    ///
    /// # Errors
    ///
    /// See [`with_files`](Self::with_files).
    pub fn create(options: ArchiveRecordOptions, storage: Arc<dyn Storage>) -> Result<Self, FlowError> {
        Self::with_files(DiskFiles, options, storage)
    }
}

impl<L: LogFiles + Clone> ArchiveRecorder<L> {
    /// Opens or creates an archive, and converts the segments that an earlier recorder has left. Segments are written
    /// through `files`; everything else is changed through `storage`.
    ///
    /// # Errors
    ///
    /// When a folder cannot be created or listed, and [`ErrorKind::ResourceBusy`] if another recorder is writing to the
    /// folder of this machine. A segment that cannot be converted is kept, and reported by a
    /// [notice](Self::take_notices).
    pub fn with_files(
        files: L,
        options: ArchiveRecordOptions,
        storage: Arc<dyn Storage>,
    ) -> Result<Self, FlowError> {
        Self::with_pool(files, options, storage, Pool::new(1))
    }

    /// Like [`with_files`](Self::with_files), with a pool that other recorders share.
    pub(super) fn with_pool(
        files: L,
        options: ArchiveRecordOptions,
        storage: Arc<dyn Storage>,
        pool: Arc<Pool>,
    ) -> Result<Self, FlowError> {
        let store = ArchiveStore::new(&options.folder, &options.machine, storage)?;
        store.create_folders()?;
        let lock = store.lock_recorder()?;
        let mut recorder = Self {
            files,
            store: store.clone(),
            recording: SegmentName::new_recording(),
            segment: None,
            worker: Worker::new(pool),
            last_sample_time: FileTime(i64::MIN),
            is_clock_reported: false,
            last_seen_time: FileTime(i64::MIN),
            retention_now: FileTime(i64::MIN),
            is_paused: false,
            worker_started: FileTime(i64::MIN),
            moved: Arc::default(),
            moved_samples: 0,
            full_since: None,
            dropped_samples: 0,
            summary: RecordSummary { first_file: store.folder().to_path_buf(), ..RecordSummary::default() },
            notices: Vec::new(),
            options,
            _lock: lock,
        };
        recorder.summary.last_file = recorder.summary.first_file.clone();
        recorder.recover()?;
        (recorder.last_seen_time, recorder.retention_now) =
            (recorder.last_sample_time, recorder.last_sample_time);
        Ok(recorder)
    }

    /// Converts the segments of earlier recorders. After an error, the later segments are kept, because files must be added
    /// in chronological order.
    fn recover(&mut self) -> Result<(), FlowError> {
        let mut segments = self.store.segments()?.into_iter();
        let mut last = None;
        for segment in segments.by_ref() {
            match self.store.convert(&segment, &mut last) {
                Ok(converted) => {
                    if converted.samples > 0 {
                        self.notices.push(ArchiveNotice::Recovered { segment, samples: converted.samples });
                    }
                    self.notices.extend(converted.problems.into_iter().map(ArchiveNotice::Damaged));
                }
                Err(error) => {
                    // If the disk is full, nothing is reported: the segment is converted once there is enough space.
                    if !matches!(&error, FlowError::Log(error) if is_full_disk(error)) {
                        self.notices.push(not_converted(&segment, &error));
                    }
                    self.keep_segment(segment);
                    break;
                }
            }
        }
        segments.for_each(|segment| self.keep_segment(segment));
        match self.store.last_time() {
            Ok(last) => {
                self.last_sample_time = self.last_sample_time.max(last.unwrap_or(self.last_sample_time))
            }
            Err(error) => self.notices.push(ArchiveNotice::Damaged(error.to_string())),
        }
        self.report_damaged_files();
        Ok(())
    }

    /// Reports damaged files once, when the recording starts. Errors of listing the files were reported before.
    fn report_damaged_files(&mut self) {
        for error in self.store.damaged_files().unwrap_or_default() {
            let path = error.path().map(|path| path.display().to_string()).unwrap_or_default();
            if !self.notices.iter().any(|notice| notice.to_string().contains(&path)) {
                let what = format!("{error}; its samples cannot be read: move the file away");
                self.notices.push(ArchiveNotice::Damaged(what));
            }
        }
    }

    /// Keeps a segment of an earlier recorder to convert it later.
    fn keep_segment(&mut self, segment: PathBuf) {
        self.last_sample_time = self.last_sample_time.max(last_of_segment(&segment));
        self.worker.push(segment, 0);
    }

    /// The results so far.
    pub fn summary(&self) -> &RecordSummary {
        &self.summary
    }

    /// Number of samples that were not written because there was too little space, or because the clock was set back.
    pub fn dropped(&self) -> u64 {
        self.dropped_samples
    }

    /// The notices since the last call.
    pub fn take_notices(&mut self) -> Vec<ArchiveNotice> {
        self.notices.extend(self.worker.poll());
        std::mem::take(&mut self.notices)
    }

    /// Whether no segment is being converted, and no file is being merged or removed.
    pub fn is_idle(&self) -> bool {
        self.worker.is_done()
    }

    /// The folder of the machine.
    pub fn folder(&self) -> &Path {
        self.store.folder()
    }

    /// The index of the time range to which a time belongs. All samples of a segment are in one range. For the ends of ranges,
    /// see [`ArchiveRecordOptions::segment_time`].
    fn index_of(&self, utc: FileTime) -> i64 {
        let filetime_units = |time: Duration| i64::try_from(time.as_nanos() / 100).unwrap_or(i64::MAX);
        let utc = utc.saturating_sub(filetime_units(self.options.segment_offset));
        let units = filetime_units(self.options.segment_time).clamp(1, FileTime::PER_DAY);
        let per_day = (FileTime::PER_DAY + units - 1) / units;
        let (day, time) = (utc.0.div_euclid(FileTime::PER_DAY), utc.0.rem_euclid(FileTime::PER_DAY));
        day.saturating_mul(per_day).saturating_add(time / units)
    }

    /// The free space in bytes. If it is unknown, the recording pauses when a write fails.
    pub(super) fn free_bytes(&self) -> u64 {
        self.store.free_bytes().unwrap_or(u64::MAX)
    }

    /// Whether there is enough free space; if not, pauses the recording.
    fn has_room(&mut self, now: FileTime, free: u64) -> Result<bool, FlowError> {
        let min = self.options.min_free_bytes;
        // Resuming needs 5 % more, so that the recording does not alternate between the two states.
        let needed = if self.is_paused { min.saturating_add(min / 20) } else { min };
        if free < needed {
            self.pause(now, ArchiveNotice::Paused { free, min })?;
            return Ok(false);
        }
        Ok(true)
    }

    fn pause(&mut self, now: FileTime, notice: ArchiveNotice) -> Result<(), FlowError> {
        self.dropped_samples += 1;
        if !std::mem::replace(&mut self.is_paused, true) {
            self.notices.push(notice);
        }
        self.worker.stop_merging();
        // Converting the segment and removing old files frees space.
        let is_due = now.0.saturating_sub(self.worker_started.0) >= PAUSED_RETRY;
        if self.segment.is_some() || (is_due && self.worker.is_idle()) {
            self.close_segment(now)?;
        }
        Ok(())
    }

    /// Completes the open segment, and has the worker convert it.
    fn close_segment(&mut self, now: FileTime) -> Result<(), FlowError> {
        if let Some(mut segment) = self.segment.take() {
            let finished = segment.recorder.finish();
            let moved = self.report_moved();
            let moved_samples = segment.moved_samples + moved.unwrap_or_default();
            let samples = segment.recorder.summary().samples;
            // A segment without samples was removed, because its first sample could not be written.
            if samples > 0 && (moved.is_none() || segment.path.exists()) {
                self.worker.push(segment.path, samples.saturating_sub(moved_samples));
            }
            match finished {
                Err(FlowError::Log(error)) if is_full_disk(&error) => {}
                outcome => outcome?,
            }
        }
        self.start_worker(now);
        Ok(())
    }

    /// Reports segments that another program deleted or renamed. Returns the number of their samples; `None` if there are no such
    /// segments.
    fn report_moved(&mut self) -> Option<u64> {
        let moved = std::mem::take(&mut *self.moved.lock().ignore_poison());
        let samples = (!moved.is_empty()).then(|| moved.iter().map(|log| log.samples).sum());
        self.moved_samples += samples.unwrap_or_default();
        if let Some(segment) = &mut self.segment {
            segment.moved_samples += samples.unwrap_or_default();
        }
        self.notices.extend(moved.into_iter().map(ArchiveNotice::SegmentMoved));
        samples
    }

    /// Advances `retention_now` by the time since the previous sample, at most a day.
    fn advance_retention(&mut self, at: Moment) {
        let seen = std::mem::replace(&mut self.last_seen_time, at.utc);
        if seen == FileTime(i64::MIN) {
            self.retention_now = at.utc;
            return;
        }
        let gap = at.utc.0.saturating_sub(seen.0);
        if gap > FileTime::PER_DAY && self.options.retention.age.is_some() {
            let previous = Moment { utc: seen, ..at };
            self.notices.push(ArchiveNotice::ClockAhead { now: at, previous });
        }
        self.retention_now = self.retention_now.saturating_add(gap.min(FileTime::PER_DAY));
    }

    fn start_worker(&mut self, now: FileTime) {
        self.worker_started = now;
        let tasks = Tasks {
            retention: self.options.retention,
            is_merged: self.options.is_merged && !self.is_paused,
            min_free_bytes: self.options.min_free_bytes,
            now,
            retention_now: self.retention_now,
        };
        self.notices.extend(self.worker.start(&self.store, tasks));
    }

    fn open_segment(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let name = SegmentName::new(sample.at.utc, &self.recording);
        let path = self.store.open_folder().join(name.as_str());
        let mut options = RecordOptions::new(&path, self.options.interval);
        options.zone = self.options.zone.clone();
        options.performance_frequency = self.options.performance_frequency;
        options.max_bytes = Some(self.options.segment_bytes);
        options.at_max = AtMax::End;
        options.is_synced = self.options.is_synced;
        let mut recorder = Recorder::with_files(self.files.clone(), options, sample.at)?;
        let moved = Arc::clone(&self.moved);
        recorder.on_moved(move |log| moved.lock().ignore_poison().push(log.clone()));
        let index = self.index_of(sample.at.utc);
        self.segment = Some(OpenSegment { recorder, path, index, moved_samples: 0 });
        Ok(())
    }

    /// Writes a sample into the open segment.
    fn write(&mut self, sample: &Sample) -> Result<(), FlowError> {
        if self.segment.is_none() {
            self.open_segment(sample)?;
        }
        let Some(segment) = &mut self.segment else { return Ok(()) };
        let counts = |recorder: &Recorder<L>| (recorder.summary().values, recorder.summary().bytes);
        let before = counts(&segment.recorder);
        segment.recorder.push(sample)?;
        let after = counts(&segment.recorder);
        let is_full = segment.recorder.is_full();
        self.summary.samples += 1;
        self.summary.values += after.0 - before.0;
        self.summary.bytes += after.1 - before.1;
        self.summary.counters = self.summary.counters.max(segment.recorder.summary().counters);
        self.report_moved();
        if is_full {
            self.close_segment(sample.at.utc)?;
        }
        Ok(())
    }
}

/// Whether an error means that the disk or quota is full.
fn is_full_disk(error: &LogError) -> bool {
    let kinds = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded];
    error.io_error().is_some_and(|error| kinds.contains(&error.kind()))
}

/// The time of the last readable sample of a segment.
fn last_of_segment(path: &Path) -> FileTime {
    let mut last = FileTime(i64::MIN);
    let mut sample = Sample::default();
    if let Ok(mut reader) = tachograph_logs::open(path) {
        while matches!(reader.next(&mut sample), Ok(true)) {
            last = last.max(sample.at.utc);
        }
    }
    last
}

impl<L: LogFiles + Clone> ArchiveRecorder<L> {
    /// Like [`push`](Sink::push), but the caller passes the free space in bytes, which is the same for all machines of an
    /// archive.
    pub(super) fn push_with_free(&mut self, sample: &Sample, free: u64) -> Result<(), FlowError> {
        let utc = sample.at.utc;
        self.notices.extend(self.worker.poll());
        if utc <= self.last_sample_time {
            self.dropped_samples += 1;
            // The later samples can be from a time when the clock was wrong.
            self.retention_now = self.retention_now.min(utc);
            if !std::mem::replace(&mut self.is_clock_reported, true) {
                let previous = Moment { utc: self.last_sample_time, ..sample.at };
                self.notices.push(ArchiveNotice::ClockBehind { now: sample.at, previous });
            }
            return Ok(());
        }
        self.advance_retention(sample.at);
        if !self.has_room(utc, free)? {
            return Ok(());
        }
        // On a full disk, small samples can still fit sometimes: without this delay, the recording would alternate between the two
        // states.
        if self.is_paused
            && self.full_since.is_some_and(|since| (0..PAUSED_RETRY).contains(&utc.0.saturating_sub(since.0)))
        {
            return self.pause(utc, ArchiveNotice::Full { why: String::new() });
        }
        let index = self.index_of(utc);
        if self.segment.as_ref().is_some_and(|segment| segment.index != index) {
            self.close_segment(utc)?;
        }
        match self.write(sample) {
            Ok(()) => {}
            Err(FlowError::Log(error)) if is_full_disk(&error) => {
                let why = error.io_error().map(io_error_text).unwrap_or_default();
                self.full_since = Some(utc);
                return self.pause(utc, ArchiveNotice::Full { why });
            }
            Err(error) => return Err(error),
        }
        if std::mem::take(&mut self.is_paused) {
            self.notices.push(ArchiveNotice::Resumed);
        }
        self.last_sample_time = utc;
        self.is_clock_reported = false;
        self.summary.first.get_or_insert(sample.at);
        self.summary.last = Some(sample.at);
        Ok(())
    }
}

impl<L: LogFiles + Clone> Sink for ArchiveRecorder<L> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.push_with_free(sample, self.free_bytes())
    }

    /// Completes and converts the open segment.
    fn finish(&mut self) -> Result<(), FlowError> {
        let now = self.summary.last.map_or(self.last_sample_time, |last| last.utc);
        self.options.is_merged = false;
        self.worker.stop_merging();
        self.close_segment(now)?;
        self.notices.extend(self.worker.finish(&self.store));
        self.summary.files = self.worker.files();
        self.summary.bytes = self.worker.bytes();
        self.summary.lost_samples = self.moved_samples + self.worker.lost_samples();
        Ok(())
    }
}

impl<L: LogFiles + Clone> Drop for ArchiveRecorder<L> {
    fn drop(&mut self) {
        // Wait for the worker before the lock is released.
        self.worker.stop_merging();
        self.notices.extend(self.worker.join());
    }
}
