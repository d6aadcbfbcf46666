//! The thread that converts segments, and removes and merges files.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tachograph_counters::IgnorePoison as _;
use tachograph_counters::civil::FileTime;
use tachograph_logs::LogError;

use super::ArchiveNotice;
use super::pool::{Job, Pool};
use crate::FlowError;
use crate::archive::{ArchiveStore, LastSample, Retention};

/// The tasks of a worker after it has converted segments.
#[derive(Clone, Copy)]
pub(super) struct Tasks {
    pub(super) retention: Retention,
    pub(super) is_merged: bool,
    /// The free space, in bytes, that a merge must leave.
    pub(super) min_free_bytes: u64,
    pub(super) now: FileTime,
    /// The time relative to which the age of files is computed.
    pub(super) retention_now: FileTime,
}

/// Converts segments on a thread of a pool, one at a time, and then maintains the archive.
pub(super) struct Worker {
    pool: Arc<Pool>,
    thread: Option<Job<Outcome>>,
    segments: Arc<Segments>,
    stops_merging: Arc<AtomicBool>,
    /// The date folders that could not be merged. They are not tried again until the recorder is restarted.
    unmergeable: Vec<PathBuf>,
    files: u64,
    bytes: u64,
    lost_samples: u64,
    /// The last sample that was converted.
    last_sample: Option<LastSample>,
    /// The last notice of the previous thread, which is not repeated.
    last_notice: Option<ArchiveNotice>,
}

/// Complete segments that are not converted yet, in order. A segment is removed from the list after its conversion.
#[derive(Default)]
struct Segments(Mutex<VecDeque<Complete>>);

/// A complete segment.
#[derive(Clone)]
struct Complete {
    path: PathBuf,
    /// The number of samples that this recorder has written into it; 0 for a segment of an earlier recorder.
    samples: u64,
}

impl Segments {
    fn push(&self, segment: Complete) {
        self.0.lock().ignore_poison().push_back(segment);
    }

    fn first(&self) -> Option<Complete> {
        self.0.lock().ignore_poison().front().cloned()
    }

    fn remove_first(&self) {
        self.0.lock().ignore_poison().pop_front();
    }
}

#[derive(Default)]
struct Outcome {
    notices: Vec<ArchiveNotice>,
    /// Whether a segment could not be converted. Later segments are not converted either, because files must be added in
    /// chronological order.
    has_failed: bool,
    /// The date folders that could not be merged.
    unmergeable: Vec<PathBuf>,
    files: u64,
    bytes: u64,
    /// The number of samples of segments that were deleted or damaged.
    lost_samples: u64,
    /// The last sample that was converted.
    last_sample: Option<LastSample>,
}

impl Worker {
    /// A worker that uses the threads of this pool.
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        Self {
            pool,
            thread: None,
            segments: Arc::default(),
            stops_merging: Arc::default(),
            unmergeable: Vec::new(),
            files: 0,
            bytes: 0,
            lost_samples: 0,
            last_sample: None,
            last_notice: None,
        }
    }

    /// Adds a segment with this number of samples; 0 if it is unknown. The running thread converts it or, if that thread is
    /// about to end, the next thread.
    pub(super) fn push(&mut self, path: PathBuf, samples: u64) {
        self.segments.push(Complete { path, samples });
    }

    /// Whether no thread has been started since the last one was joined.
    pub(super) fn is_idle(&self) -> bool {
        self.thread.is_none()
    }

    /// Whether no thread is running or waiting for the pool.
    pub(super) fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(Job::is_finished)
    }

    /// Number of complete files that were created.
    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// The total size in bytes of the complete files when they were created.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of samples of segments that were deleted or damaged before they were converted.
    pub(super) fn lost_samples(&self) -> u64 {
        self.lost_samples
    }

    /// Abandons a merge in progress. The thread ends after it has converted the segments.
    pub(super) fn stop_merging(&self) {
        self.stops_merging.store(true, Ordering::Relaxed);
    }

    /// Starts the thread, unless it is still running. If all threads of the pool are in use, it starts when one is free.
    pub(super) fn start(&mut self, store: &ArchiveStore, tasks: Tasks) -> Vec<ArchiveNotice> {
        let notices = self.poll();
        if self.thread.is_some() {
            return notices;
        }
        let (store, segments) = (store.clone(), Arc::clone(&self.segments));
        let stops = Arc::clone(&self.stops_merging);
        stops.store(false, Ordering::Relaxed);
        let unmergeable = self.unmergeable.clone();
        let pool = Arc::clone(&self.pool);
        // If the thread cannot be started, or fails, the next conversion reads the last sample from the last file.
        let last_sample = self.last_sample.take();
        let work = move || {
            let mut outcome = Outcome { last_sample, ..Outcome::default() };
            convert(&store, &segments, &mut outcome);
            let outcome = Mutex::new(outcome);
            // A merge can take longer than a segment, so segments are converted in between.
            let is_stopped = || {
                convert(&store, &segments, &mut outcome.lock().ignore_poison());
                stops.load(Ordering::Relaxed)
            };
            maintain(&store, tasks, &unmergeable, &pool, &is_stopped, &outcome);
            outcome.into_inner().ignore_poison()
        };
        // If the thread cannot be started now, the next call retries.
        self.thread = self.pool.start(work).ok();
        notices
    }

    /// Returns the notices of the thread if it has ended.
    pub(super) fn poll(&mut self) -> Vec<ArchiveNotice> {
        match self.thread.as_ref().is_some_and(Job::is_finished) {
            true => self.join(),
            false => Vec::new(),
        }
    }

    /// Waits for the thread, and returns its notices.
    pub(super) fn join(&mut self) -> Vec<ArchiveNotice> {
        let Some(joined) = self.thread.take().map(Job::join) else { return Vec::new() };
        let outcome = joined.unwrap_or_else(|| Outcome {
            notices: vec![ArchiveNotice::NotMaintained(
                "the thread that converts segments failed; it is restarted with the next segment".to_owned(),
            )],
            ..Outcome::default()
        });
        self.unmergeable.extend_from_slice(&outcome.unmergeable);
        self.add_outcome(outcome)
    }

    /// Waits for the thread, and converts the remaining segments.
    pub(super) fn finish(&mut self, store: &ArchiveStore) -> Vec<ArchiveNotice> {
        let mut notices = self.join();
        let mut outcome = Outcome { last_sample: self.last_sample.take(), ..Outcome::default() };
        convert(store, &self.segments, &mut outcome);
        notices.extend(self.add_outcome(outcome));
        notices
    }

    /// Counts the files that a thread has created. Returns the thread's notices, except for the last notice of the previous thread.
    fn add_outcome(&mut self, outcome: Outcome) -> Vec<ArchiveNotice> {
        self.files += outcome.files;
        self.bytes += outcome.bytes;
        self.lost_samples += outcome.lost_samples;
        self.last_sample = outcome.last_sample;
        let mut notices = outcome.notices;
        let last = notices.last().cloned();
        notices.retain(|notice| self.last_notice.as_ref() != Some(notice));
        self.last_notice = last;
        notices
    }
}

/// The notice about a segment that could not be converted.
pub(super) fn not_converted(segment: &Path, error: &FlowError) -> ArchiveNotice {
    ArchiveNotice::NotConverted(match error {
        FlowError::Log(error) if error.path().is_none() => format!("{}: {error}", segment.display()),
        error => error.to_string(),
    })
}

/// Converts segments in order, up to the first one that fails.
fn convert(store: &ArchiveStore, segments: &Segments, outcome: &mut Outcome) {
    while let Some(segment) = segments.first().filter(|_| !outcome.has_failed) {
        let Complete { path: segment, samples } = segment;
        match store.convert(&segment, &mut outcome.last_sample) {
            Ok(converted) => {
                outcome.lost_samples += samples.saturating_sub(converted.samples);
                outcome.files += converted.files.len() as u64;
                outcome.bytes += converted.bytes;
                outcome.notices.extend(converted.problems.into_iter().map(ArchiveNotice::Damaged));
            }
            Err(FlowError::Log(error)) if error.is_not_found() && !segment.exists() => {
                outcome.lost_samples += samples;
                outcome.notices.push(ArchiveNotice::SegmentDeleted(segment));
            }
            Err(error) => {
                outcome.notices.push(not_converted(&segment, &error));
                outcome.has_failed = true;
                return;
            }
        }
        segments.remove_first();
    }
}

/// Removes old files, and merges the files of past days.
fn maintain(
    store: &ArchiveStore,
    tasks: Tasks,
    unmergeable: &[PathBuf],
    pool: &Pool,
    is_stopped: &(dyn Fn() -> bool + Sync),
    outcome: &Mutex<Outcome>,
) {
    let is_busy =
        |error: &LogError| error.io_error().is_some_and(|error| error.kind() == ErrorKind::ResourceBusy);
    let work = || -> Result<(), FlowError> {
        let _lock = match store.lock_files() {
            // 'tacho archive compact' is running.
            Err(error) if is_busy(&error) => return Ok(()),
            lock => lock?,
        };
        store.remove_old(tasks.retention, tasks.retention_now)?;
        store.clean_merge_folder()?;
        if !tasks.is_merged {
            return Ok(());
        }
        let mut dates = store.dates_to_merge(tasks.now)?;
        dates.retain(|date| !unmergeable.contains(date));
        if dates.is_empty() {
            return Ok(());
        }
        // Merges take long, so some threads are left to convert the segments of other machines. If too many threads are busy with
        // merges, these days are merged after a later segment.
        let Some(_merging) = pool.start_long() else { return Ok(()) };
        store.check_exchange()?;
        for date in dates {
            // A merged file is not larger than the files that it replaces.
            let needed = tasks.min_free_bytes.saturating_add(folder_bytes(&date));
            if store.free_bytes().is_ok_and(|free| free < needed) {
                continue;
            }
            match store.merge(&date, is_stopped) {
                Ok(_) => {}
                Err(FlowError::Stopped) => return Ok(()),
                // Continue with other dates, and do not retry this one after each segment.
                Err(error) => {
                    let mut outcome = outcome.lock().ignore_poison();
                    outcome.notices.push(not_maintained(&error));
                    outcome.unmergeable.push(date);
                }
            }
        }
        Ok(())
    };
    if let Err(error) = work() {
        outcome.lock().ignore_poison().notices.push(not_maintained(&error));
    }
}

/// The total size in bytes of the files in a folder. Files whose size cannot be read are not counted.
fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}

fn not_maintained(error: &FlowError) -> ArchiveNotice {
    ArchiveNotice::NotMaintained(error.to_string())
}
