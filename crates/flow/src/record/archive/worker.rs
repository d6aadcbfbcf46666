//! The thread that converts segments, and removes and merges files.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tachograph_counters::civil::FileTime;
use tachograph_logs::LogError;

use super::ArchiveNotice;
use crate::FlowError;
use crate::archive::{ArchiveStore, LastSample, Retention};

/// The tasks after segments are converted.
#[derive(Clone, Copy)]
pub(super) struct Tasks {
    pub(super) retention: Retention,
    pub(super) is_merged: bool,
    pub(super) now: FileTime,
    /// The time by which the age of files is computed.
    pub(super) retention_now: FileTime,
}

/// Runs a thread that converts segments, one at a time, and then maintains the archive.
#[derive(Default)]
pub(super) struct Worker {
    thread: Option<JoinHandle<Outcome>>,
    /// The segments that the thread converts.
    converting: Vec<PathBuf>,
    /// Complete segments that are not converted yet, in order.
    segments: Vec<PathBuf>,
    stops_merging: Arc<AtomicBool>,
    /// The date folders that could not be merged. They are not tried again until the recorder is restarted.
    unmergeable: Vec<PathBuf>,
    files: u64,
    bytes: u64,
    /// The last sample that was converted.
    last_sample: Option<LastSample>,
    /// The last notice of the previous thread, which is not repeated.
    last: Option<ArchiveNotice>,
}

#[derive(Default)]
struct Outcome {
    notices: Vec<ArchiveNotice>,
    /// Segments that could not be converted.
    left: Vec<PathBuf>,
    /// The date folders that could not be merged.
    unmergeable: Vec<PathBuf>,
    files: u64,
    bytes: u64,
    /// The last sample that was converted.
    last_sample: Option<LastSample>,
}

impl Worker {
    /// Adds a segment for the next [`start`](Self::start).
    pub(super) fn keep(&mut self, segment: PathBuf) {
        self.segments.push(segment);
    }

    /// Whether no thread is running.
    pub(super) fn is_idle(&self) -> bool {
        self.thread.is_none()
    }

    /// Whether no thread is running, or it has ended.
    pub(super) fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Number of complete files that were created.
    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// The size of these files in bytes when they were created.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes the thread end soon: a merge in progress is abandoned.
    pub(super) fn stop_merging(&self) {
        self.stops_merging.store(true, Ordering::Relaxed);
    }

    /// Starts the thread, unless it is still running: then the next one converts the segments.
    pub(super) fn start(&mut self, store: &ArchiveStore, tasks: Tasks) -> Vec<ArchiveNotice> {
        let notices = self.poll();
        if self.thread.is_some() {
            return notices;
        }
        let (store, segments) = (store.clone(), std::mem::take(&mut self.segments));
        let (kept, stops) = (segments.clone(), Arc::clone(&self.stops_merging));
        let unmergeable = self.unmergeable.clone();
        // If the thread cannot be started, or fails, the next conversion reads the last file.
        let last_sample = self.last_sample.take();
        let work = move || {
            let mut outcome = Outcome { last_sample, ..Outcome::default() };
            convert(&store, segments, &mut outcome);
            maintain(&store, tasks, &unmergeable, &stops, &mut outcome);
            outcome
        };
        match std::thread::Builder::new().name("archive".to_owned()).spawn(work) {
            Ok(thread) => (self.thread, self.converting) = (Some(thread), kept),
            // The thread cannot be started now; the next call retries.
            Err(_) => self.segments = kept,
        }
        notices
    }

    /// Returns the notices of the thread if it has ended.
    pub(super) fn poll(&mut self) -> Vec<ArchiveNotice> {
        match self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            true => self.join(),
            false => Vec::new(),
        }
    }

    /// Waits for the thread, and returns its notices.
    pub(super) fn join(&mut self) -> Vec<ArchiveNotice> {
        let Some(joined) = self.thread.take().map(JoinHandle::join) else { return Vec::new() };
        let converting = std::mem::take(&mut self.converting);
        let outcome = joined.unwrap_or_else(|_| Outcome {
            // Some can be converted already; these no longer exist and are skipped.
            left: converting,
            notices: vec![ArchiveNotice::NotMaintained(
                "the thread that converts segments failed; it is restarted with the next segment".to_owned(),
            )],
            ..Outcome::default()
        });
        self.segments.splice(0..0, outcome.left);
        self.unmergeable.extend(outcome.unmergeable);
        self.files += outcome.files;
        self.bytes += outcome.bytes;
        self.last_sample = outcome.last_sample;
        self.new_notices(outcome.notices)
    }

    /// Waits for the thread, and converts the remaining segments.
    pub(super) fn finish(&mut self, store: &ArchiveStore) -> Vec<ArchiveNotice> {
        let mut notices = self.join();
        let mut outcome = Outcome { last_sample: self.last_sample.take(), ..Outcome::default() };
        convert(store, std::mem::take(&mut self.segments), &mut outcome);
        self.files += outcome.files;
        self.bytes += outcome.bytes;
        self.segments = outcome.left;
        notices.extend(self.new_notices(outcome.notices));
        notices
    }

    /// Removes the notice that was also the last one of the previous thread.
    fn new_notices(&mut self, mut notices: Vec<ArchiveNotice>) -> Vec<ArchiveNotice> {
        let last = notices.last().cloned();
        notices.retain(|notice| self.last.as_ref() != Some(notice));
        self.last = last;
        notices
    }
}

/// The message for a segment that could not be converted.
pub(super) fn not_converted(segment: &Path, error: &FlowError) -> ArchiveNotice {
    ArchiveNotice::NotConverted(match error {
        FlowError::Log(error) if error.path().is_none() => format!("{}: {error}", segment.display()),
        error => error.to_string(),
    })
}

/// Converts segments in order. After an error, the later ones are not converted, because files must be added in
/// chronological order.
fn convert(store: &ArchiveStore, segments: Vec<PathBuf>, outcome: &mut Outcome) {
    let mut segments = segments.into_iter();
    while let Some(segment) = segments.next() {
        match store.convert(&segment, &mut outcome.last_sample) {
            Ok(converted) => {
                outcome.files += converted.files.len() as u64;
                outcome.bytes += converted.bytes;
                outcome.notices.extend(converted.problems.into_iter().map(ArchiveNotice::Damaged));
            }
            // The segment was removed by hand.
            Err(FlowError::Log(error)) if error.is_not_found() && !segment.exists() => {}
            Err(error) => {
                outcome.notices.push(not_converted(&segment, &error));
                outcome.left.push(segment);
                outcome.left.extend(segments.by_ref());
            }
        }
    }
}

/// Removes old files and merges those of past days.
fn maintain(
    store: &ArchiveStore,
    tasks: Tasks,
    unmergeable: &[PathBuf],
    stops: &AtomicBool,
    outcome: &mut Outcome,
) {
    let is_busy =
        |error: &LogError| error.io_error().is_some_and(|error| error.kind() == ErrorKind::ResourceBusy);
    let mut work = || -> Result<(), FlowError> {
        let _lock = match store.lock_files() {
            // 'tacho archive compact' is running.
            Err(error) if is_busy(&error) => return Ok(()),
            lock => lock?,
        };
        store.remove_old(tasks.retention, tasks.retention_now)?;
        store.clean_merge_folder()?;
        if tasks.is_merged {
            for date in
                store.dates_to_merge(tasks.now)?.into_iter().filter(|date| !unmergeable.contains(date))
            {
                match store.merge(&date, &|| stops.load(Ordering::Relaxed)) {
                    Ok(_) => {}
                    Err(FlowError::Stopped) => return Ok(()),
                    // Continue with other dates, and do not retry this one after each segment.
                    Err(error) => {
                        outcome.notices.push(not_maintained(&error));
                        outcome.unmergeable.push(date);
                    }
                }
            }
        }
        Ok(())
    };
    if let Err(error) = work() {
        outcome.notices.push(not_maintained(&error));
    }
}

fn not_maintained(error: &FlowError) -> ArchiveNotice {
    ArchiveNotice::NotMaintained(error.to_string())
}
