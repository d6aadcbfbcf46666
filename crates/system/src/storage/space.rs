//! The space of file systems: `statfs`, which for another machine's may take for ever.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long all file systems that may hang are waited for in one collection.
pub(super) const PATIENCE: Duration = Duration::from_millis(100);

/// How many may hang at the same time: threads that wait for them.
const MOST_THREADS: usize = 16;

/// What a file system says of its space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Space {
    pub(super) block_bytes: u64,
    pub(super) blocks: u64,
    /// Free blocks, those kept for root among them.
    pub(super) free: u64,
    /// Free blocks that anybody may use.
    pub(super) available: u64,
    pub(super) inodes: u64,
    pub(super) free_inodes: u64,
}

/// Asks the file system at a path.
type Ask = dyn Fn(&Path) -> io::Result<Space> + Send + Sync;

/// How mounted folders are looked at. Tests put something else in its place.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) space: Arc<Ask>,
    pub(super) is_folder: fn(&Path) -> bool,
    /// The numbers of a block device's file.
    pub(super) block_device: fn(&Path) -> Option<(u32, u32)>,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").finish_non_exhaustive()
    }
}

impl Seen {
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
        // Some answer with a negative number when root's reserve is in use.
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

    /// What is used and what anybody may use: the whole but for root's reserve.
    pub(super) fn usable_bytes(&self) -> u64 {
        self.used_bytes().saturating_add(self.available_bytes())
    }

    pub(super) fn used_inodes(&self) -> u64 {
        self.inodes.saturating_sub(self.free_inodes)
    }
}

/// An answer that came from a thread.
pub(super) struct Answer {
    pub(super) number: u64,
    pub(super) space: io::Result<Space>,
    pub(super) took: Duration,
}

/// Threads that ask file systems that may hang: as many as hang, and one more, up to [`MOST_THREADS`].
#[derive(Debug)]
pub(super) struct Threads {
    shared: Arc<Desk>,
    seen: Seen,
}

#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    asked: Condvar,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    questions: VecDeque<(u64, Arc<PathBuf>)>,
    answers: Vec<Answer>,
    idle: usize,
    threads: usize,
    is_closed: bool,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").finish_non_exhaustive()
    }
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, seen: &Seen) {
        let mut state = self.state();
        loop {
            if state.is_closed {
                break;
            }
            let Some((number, path)) = state.questions.pop_front() else {
                state.idle += 1;
                state = self.asked.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
                continue;
            };
            drop(state);
            let start = Instant::now();
            let space = (seen.space)(&path);
            let took = start.elapsed();
            state = self.state();
            state.answers.push(Answer { number, space, took });
            self.answered.notify_all();
        }
        state.threads -= 1;
    }
}

impl Threads {
    pub(super) fn new(seen: Seen) -> Self {
        Self { shared: Arc::default(), seen }
    }

    /// Has this path asked; the answer will carry the number.
    pub(super) fn ask(&self, number: u64, path: &Arc<PathBuf>) {
        let mut state = self.shared.state();
        state.questions.push_back((number, Arc::clone(path)));
        if state.questions.len() > state.idle && state.threads < MOST_THREADS {
            let (desk, seen) = (Arc::clone(&self.shared), self.seen.clone());
            let made = thread::Builder::new()
                .name("statfs".into())
                .stack_size(64 << 10)
                .spawn(move || desk.work(&seen));
            // Without a thread the question waits, and its asker's patience ends.
            state.threads += usize::from(made.is_ok());
        }
        self.shared.asked.notify_one();
    }

    /// Hands out the answers that are there. Where there are none, waits for one until the deadline; `false` when that
    /// is over.
    pub(super) fn answers(&self, deadline: Instant, mut then: impl FnMut(Answer)) -> bool {
        let mut state = self.shared.state();
        while state.answers.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.shared.answered.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.answers.drain(..).for_each(&mut then);
        true
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.shared.state().threads
    }
}

impl Drop for Threads {
    /// Threads that wait for a file system end when it answers: there is no way to call them back.
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.is_closed = true;
        state.questions.clear();
        drop(state);
        self.shared.asked.notify_all();
    }
}
