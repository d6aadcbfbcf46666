//! The space of file systems, from `statfs`, which can block forever on remote file systems.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use tachograph_counters::IgnorePoison;

/// The maximum time that one collection waits for all file systems that can block.
pub(super) const MAX_WAIT: Duration = Duration::from_millis(100);

/// The maximum number of threads that query file systems that can block.
const MAX_THREADS: usize = 16;

/// The space of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Space {
    pub(super) block_bytes: u64,
    pub(super) blocks: u64,
    /// Free blocks, including root's reserve.
    pub(super) free: u64,
    /// Free blocks without root's reserve.
    pub(super) available: u64,
    pub(super) inodes: u64,
    pub(super) free_inodes: u64,
}

/// Queries the file system at a path.
type Statfs = dyn Fn(&Path) -> io::Result<Space> + Send + Sync;

/// The system calls on mounted folders. Tests replace them.
#[derive(Clone)]
pub(super) struct FileSystemCalls {
    pub(super) space: Arc<Statfs>,
    pub(super) is_folder: fn(&Path) -> bool,
    /// Major and minor number of a block device's file.
    pub(super) block_device: fn(&Path) -> Option<(u32, u32)>,
}

impl std::fmt::Debug for FileSystemCalls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileSystemCalls").finish_non_exhaustive()
    }
}

impl FileSystemCalls {
    pub(super) fn of_this_machine() -> Self {
        Self { space: Arc::new(space), is_folder: Path::is_dir, block_device }
    }
}

fn space(path: &Path) -> io::Result<Space> {
    let found = rustix::fs::statvfs(path)?;
    Ok(Space {
        block_bytes: if found.f_frsize > 0 { found.f_frsize } else { found.f_bsize },
        blocks: found.f_blocks,
        free: found.f_bfree.min(found.f_blocks),
        // Some file systems report a negative number while root's reserve is in use.
        available: if found.f_bavail > found.f_blocks { 0 } else { found.f_bavail },
        inodes: found.f_files,
        free_inodes: found.f_ffree,
    })
}

fn block_device(path: &Path) -> Option<(u32, u32)> {
    let found = rustix::fs::stat(path).ok()?;
    let is_block = rustix::fs::FileType::from_raw_mode(found.st_mode) == rustix::fs::FileType::BlockDevice;
    is_block.then(|| (rustix::fs::major(found.st_rdev), rustix::fs::minor(found.st_rdev)))
}

impl Space {
    pub(super) fn size_bytes(&self) -> u64 {
        self.blocks.saturating_mul(self.block_bytes)
    }

    pub(super) fn free_bytes(&self) -> u64 {
        self.free.saturating_mul(self.block_bytes)
    }

    pub(super) fn available_bytes(&self) -> u64 {
        self.available.saturating_mul(self.block_bytes)
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.size_bytes().saturating_sub(self.free_bytes())
    }

    /// The size without root's reserve: used and available.
    pub(super) fn usable_bytes(&self) -> u64 {
        self.used_bytes().saturating_add(self.available_bytes())
    }

    pub(super) fn used_inodes(&self) -> u64 {
        self.inodes.saturating_sub(self.free_inodes)
    }
}

/// A file system's answer to a request.
pub(super) struct Answer {
    /// The id of the request.
    pub(super) id: u64,
    pub(super) space: io::Result<Space>,
    /// The duration of the system call.
    pub(super) took: Duration,
}

/// Threads that query file systems that can block. If no thread is idle, a request spawns another, up to
/// [`MAX_THREADS`].
#[derive(Debug)]
pub(super) struct StatfsThreads {
    queue: Arc<StatfsQueue>,
    calls: FileSystemCalls,
}

#[derive(Default)]
struct StatfsQueue {
    state: Mutex<State>,
    /// Notified of requests, and when the queue is closed.
    requested: Condvar,
    /// Notified of answers.
    answered: Condvar,
}

#[derive(Default)]
struct State {
    /// The ids and mount points of requests.
    requests: VecDeque<(u64, Arc<PathBuf>)>,
    answers: Vec<Answer>,
    /// The number of threads that wait for a request.
    idle: usize,
    threads: usize,
    is_closed: bool,
}

impl std::fmt::Debug for StatfsQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatfsQueue").finish_non_exhaustive()
    }
}

impl StatfsQueue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().ignore_poison()
    }

    /// Processes requests until the queue is closed. Runs on a thread of its own.
    fn work(&self, calls: &FileSystemCalls) {
        let mut state = self.state();
        loop {
            if state.is_closed {
                break;
            }
            let Some((id, path)) = state.requests.pop_front() else {
                state.idle += 1;
                state = self.requested.wait(state).ignore_poison();
                state.idle -= 1;
                continue;
            };
            drop(state);
            let start = Instant::now();
            let space = (calls.space)(&path);
            let took = start.elapsed();
            state = self.state();
            state.answers.push(Answer { id, space, took });
            self.answered.notify_all();
        }
        state.threads -= 1;
    }
}

impl StatfsThreads {
    pub(super) fn new(calls: FileSystemCalls) -> Self {
        Self { queue: Arc::default(), calls }
    }

    /// Requests the space at a path. The answer contains `id`.
    pub(super) fn request(&self, id: u64, path: &Arc<PathBuf>) {
        let mut state = self.queue.state();
        state.requests.push_back((id, Arc::clone(path)));
        if state.requests.len() > state.idle && state.threads < MAX_THREADS {
            let (queue, calls) = (Arc::clone(&self.queue), self.calls.clone());
            let spawned = thread::Builder::new()
                .name("statfs".into())
                .stack_size(64 << 10)
                .spawn(move || queue.work(&calls));
            // If no thread can be spawned, the request stays queued.
            state.threads += usize::from(spawned.is_ok());
        }
        self.queue.requested.notify_one();
    }

    /// Passes all answers to `then`; if there are none, waits for the first one. Returns `false` if none arrives before the deadline.
    pub(super) fn answers(&self, deadline: Instant, mut then: impl FnMut(Answer)) -> bool {
        let mut state = self.queue.state();
        while state.answers.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.queue.answered.wait_timeout(state, left).ignore_poison().0;
        }
        state.answers.drain(..).for_each(&mut then);
        true
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.queue.state().threads
    }
}

impl Drop for StatfsThreads {
    /// A blocked thread cannot be interrupted; it ends when its file system answers.
    fn drop(&mut self) {
        let mut state = self.queue.state();
        state.is_closed = true;
        state.requests.clear();
        drop(state);
        self.queue.requested.notify_all();
    }
}
