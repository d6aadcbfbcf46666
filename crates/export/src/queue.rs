//! The queue on disk between sampling and sending.
//!
//! A queue is a folder with segments (`0000000001.queue` and so on) and the file `position`, which stores how far the
//! oldest segment was sent. A segment is a sequence of entries:
//!
//! ```text
//! body_bytes: u32  uncompressed_bytes: u32  samples: u32  crc: u32  body: [u8; body_bytes], compressed with zstd
//! ```
//!
//! in little endian; `crc` is the CRC-32 of the three words before it and of the body. `samples` is 1 in the last body
//! of a sample, else 0. An incomplete entry that a crash leaves at the end of a segment is skipped; each process starts
//! a new segment. Entries are not synced, so a power failure can lose those that the kernel has not written yet.

mod files;
mod state;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use tachograph_counters::IgnorePoison;

use crate::error::ExportError;
use files::{Cursor, EntryHeader};
use state::State;

/// A segment that has reached this size gets no more entries.
const SEGMENT_BYTES: u64 = 4 << 20;
/// The lowest value of a queue's `max_bytes`, so that several segments fit.
pub(crate) const MIN_BYTES: u64 = 4 * SEGMENT_BYTES;
/// The maximum size of the body of an entry, both compressed and uncompressed.
const MAX_BODY_BYTES: usize = 64 << 20;
/// A batch whose body has reached this size gets no more entries.
const BATCH_BYTES: usize = 1 << 20;

/// A queue of request bodies, which one thread fills and another one empties.
#[derive(Debug)]
pub(crate) struct Queue {
    folder: PathBuf,
    max_bytes: u64,
    state: Mutex<State>,
    /// Notified when there is something to send, and when the queue is closed.
    changed: Condvar,
    /// The file `lock`, which is locked while this process uses the queue.
    _lock: File,
}

/// Bodies that are sent together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The bodies, concatenated.
    pub(crate) body: Vec<u8>,
    /// The number of samples whose last body is in this batch.
    pub(crate) samples: u64,
    /// The number of entries.
    pub(crate) entries: usize,
    begin: Cursor,
    end: Cursor,
}

/// The samples that wait in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
}

impl Queue {
    /// Opens a queue, including the entries that an earlier process left in it. Creates the folder with mode 700 if it
    /// is missing.
    pub(crate) fn open(folder: &Path, max_bytes: u64) -> Result<Self, ExportError> {
        files::create_folder(folder).map_err(ExportError::queue(folder))?;
        let lock_path = folder.join("lock");
        let lock = File::create(&lock_path).map_err(ExportError::queue(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ExportError::QueueInUse(folder.to_owned())),
            Err(TryLockError::Error(error)) => return Err(ExportError::Queue(lock_path, error)),
        }
        let state = State::read(folder).map_err(ExportError::queue(folder))?;
        let queue = Self {
            folder: folder.to_owned(),
            max_bytes: max_bytes.max(MIN_BYTES),
            state: Mutex::new(state),
            changed: Condvar::new(),
            _lock: lock,
        };
        queue.state.lock().ignore_poison().make_room(folder, queue.max_bytes, 0);
        Ok(queue)
    }

    /// Adds a body. `samples` is 1 for the last body of a sample, else 0. If the queue is full, the oldest segments are
    /// dropped and their samples are counted in [`take_dropped`](Self::take_dropped).
    pub(crate) fn push(&self, body: &[u8], samples: u32) -> io::Result<()> {
        let mut state = self.state.lock().ignore_poison();
        let entry = state.compress(body, samples)?;
        state.make_room(&self.folder, self.max_bytes, entry.len() as u64);
        let written = state.append(&self.folder, &entry, samples);
        drop(state);
        self.changed.notify_all();
        written
    }

    /// Returns the next batch; waits for one if the queue is empty. `None` if the queue was closed and is empty, or if
    /// its deadline has passed. The batch has at most `max_entries` entries. It stays in the queue until
    /// [`remove`](Self::remove) is called.
    pub(crate) fn next(&self, max_entries: usize) -> io::Result<Option<Batch>> {
        let mut state = self.state.lock().ignore_poison();
        loop {
            if state.is_expired() {
                return Ok(None);
            }
            let batch = state.next_batch(&self.folder, max_entries)?;
            if batch.entries > 0 {
                return Ok(Some(batch));
            }
            if state.is_closed() {
                return Ok(None);
            }
            state = self.changed.wait(state).ignore_poison();
        }
    }

    /// Removes a batch that was sent. Does nothing if the batch was dropped in the meantime.
    pub(crate) fn remove(&self, batch: &Batch) -> io::Result<()> {
        self.state.lock().ignore_poison().remove(&self.folder, batch)
    }

    /// Whether a batch is still in the queue.
    pub(crate) fn has(&self, batch: &Batch) -> bool {
        self.state.lock().ignore_poison().has(batch)
    }

    /// The number of samples that were dropped since the last call of [`take_dropped`](Self::take_dropped).
    pub(crate) fn dropped(&self) -> u64 {
        self.state.lock().ignore_poison().dropped
    }

    /// Returns the number of samples that were dropped because the queue was full or damaged, and resets it to 0.
    pub(crate) fn take_dropped(&self) -> u64 {
        std::mem::take(&mut self.state.lock().ignore_poison().dropped)
    }

    /// The samples that wait in the queue.
    pub(crate) fn backlog(&self) -> Backlog {
        self.state.lock().ignore_poison().backlog()
    }

    /// Closes the queue: [`next`](Self::next) returns `None` once the queue is empty, or from `deadline` on.
    pub(crate) fn close(&self, deadline: Instant) {
        self.state.lock().ignore_poison().deadline = Some(deadline);
        self.changed.notify_all();
    }

    /// Waits for `pause`. Once the queue is closed, waits at most for another `max_pause_if_closed`, and not beyond the
    /// deadline. Returns false if the deadline has passed.
    pub(crate) fn wait(&self, pause: Duration, max_pause_if_closed: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.state.lock().ignore_poison();
        while state.deadline.is_none() {
            let Some(rest) = until.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())
            else {
                return true;
            };
            state = self.changed.wait_timeout(state, rest).ignore_poison().0;
        }
        let end = state.deadline.unwrap_or(until).min(Instant::now() + max_pause_if_closed.min(pause));
        drop(state);
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        !self.state.lock().ignore_poison().is_expired()
    }

    /// Removes all segments if the queue is empty.
    pub(crate) fn remove_sent_segments(&self) -> io::Result<()> {
        self.state.lock().ignore_poison().remove_sent_segments(&self.folder)
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Batch {
    fn add(&mut self, header: EntryHeader, body: &[u8], end: Cursor) {
        self.body.extend_from_slice(body);
        self.samples += u64::from(header.samples);
        self.entries += 1;
        self.end = end;
    }
}

/// Removes a file; a missing file is not an error.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
