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

/// What is done after segments were converted.
#[derive(Clone, Copy)]
pub(super) struct Tasks {
    pub(super) retention: Retention,
    pub(super) is_merged: bool,
    pub(super) now: FileTime,
    /// The time by which files are old.
    pub(super) retention_now: FileTime,
}

/// Converts segments on a thread, one after another.
#[derive(Default)]
pub(super) struct Worker {
    thread: Option<JoinHandle<Outcome>>,
    /// The segments of the thread.
    converting: Vec<PathBuf>,
    /// Complete segments that are not converted yet, in order.
    segments: Vec<PathBuf>,
    stops_merging: Arc<AtomicBool>,
    /// The folders of dates whose merging has failed, until the recorder is started again.
    unmergeable: Vec<PathBuf>,
    files: u64,
    bytes: u64,
    /// The last sample that was converted.
    last_sample: Option<LastSample>,
    /// Messages are not repeated.
    last: Option<ArchiveNotice>,
}

#[derive(Default)]
struct Outcome {
    notices: Vec<ArchiveNotice>,
    /// Segments that could not be converted.
    left: Vec<PathBuf>,
    /// The folders of dates whose merging has failed.
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

    /// Number of complete files that were made.
    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// Their size in bytes when they were made.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Lets the thread end soon: a merge in progress is abandoned.
    pub(super) fn stop_merging(&self) {
        self.stops_merging.store(true, Ordering::Relaxed);
    }

    /// Starts the thread, unless it is running: then the segments are converted by the next one.
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
            // Too many threads: later.
            Err(_) => self.segments = kept,
        }
        notices
    }

    /// The messages of a thread that has ended.
    pub(super) fn poll(&mut self) -> Vec<ArchiveNotice> {
        match self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            true => self.join(),
            false => Vec::new(),
        }
    }

    /// Waits for the thread.
    pub(super) fn join(&mut self) -> Vec<ArchiveNotice> {
        let Some(joined) = self.thread.take().map(JoinHandle::join) else { return Vec::new() };
        let converting = std::mem::take(&mut self.converting);
        let outcome = joined.unwrap_or_else(|_| Outcome {
            // Those that were converted exist no more, and are skipped then.
            left: converting,
            notices: vec![ArchiveNotice::NotMaintained(
                "the thread that converts segments has failed: it is started again with the next segment"
                    .to_owned(),
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

    /// The messages, without the one that was the last of the thread before.
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

/// Converts segments in order. After an error the others are left, since files must be in the order of time.
fn convert(store: &ArchiveStore, segments: Vec<PathBuf>, outcome: &mut Outcome) {
    let mut segments = segments.into_iter();
    while let Some(segment) = segments.next() {
        match store.convert(&segment, &mut outcome.last_sample) {
            Ok(converted) => {
                outcome.files += converted.files.len() as u64;
                outcome.bytes += converted.bytes;
                outcome.notices.extend(converted.problems.into_iter().map(ArchiveNotice::Damaged));
            }
            // It was removed by hand.
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
                    // The other dates are merged nevertheless, and this one is not tried after each segment.
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
