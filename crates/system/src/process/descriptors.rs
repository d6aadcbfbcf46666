//! How many files may stay open.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The room for files that stay open, shared by all who keep files of processes open.
///
/// A part of what the limit allows (`RLIMIT_NOFILE`) is left to the rest of the program. When the room runs out, the
/// soft limit is raised in steps up to the hard one; beyond that, files are opened for each reading.
#[derive(Clone, Debug)]
pub(super) struct Descriptors(Arc<Room>);

#[derive(Debug)]
struct Room {
    kept: AtomicU64,
    most: AtomicU64,
    /// Whether the limit may be raised.
    grows: bool,
}

/// A descriptor that stays open and takes a place of the room.
#[derive(Debug)]
pub(super) struct Kept {
    file: OwnedFd,
    room: Descriptors,
}

impl Descriptors {
    /// The room of this program.
    pub(super) fn of_this_program() -> Self {
        Self::with_most(most_of(getrlimit(Resource::Nofile).current), true)
    }

    fn with_most(most: u64, grows: bool) -> Self {
        Self(Arc::new(Room { kept: AtomicU64::new(0), most: AtomicU64::new(most), grows }))
    }

    /// Gives the file a place, or hands it back where there is no room.
    pub(super) fn keep(&self, file: OwnedFd) -> Result<Kept, OwnedFd> {
        // Who counts too many for a moment only makes another open its file anew.
        let kept = self.0.kept.fetch_add(1, Ordering::Relaxed);
        if kept >= self.0.most.load(Ordering::Relaxed) && !self.widen(kept) {
            self.0.kept.fetch_sub(1, Ordering::Relaxed);
            return Err(file);
        }
        Ok(Kept { file, room: self.clone() })
    }

    /// Others took what was left: no more than now are kept open, and the caller closes some.
    pub(super) fn crowded(&self) {
        let kept = self.0.kept.load(Ordering::Relaxed);
        if !self.widen(kept) {
            self.0.most.store(kept.saturating_sub(32), Ordering::Relaxed);
        }
    }

    /// Raises the soft limit, where the hard one allows.
    fn widen(&self, kept: u64) -> bool {
        if !self.0.grows {
            return false;
        }
        let limit = getrlimit(Resource::Nofile);
        let Some(soft) = limit.current else {
            self.0.most.store(u64::MAX, Ordering::Relaxed);
            return true;
        };
        let wanted = soft.max(512).saturating_mul(2);
        let raised = wanted.min(limit.maximum.unwrap_or(u64::MAX));
        let most = most_of(Some(raised));
        if raised <= soft || most <= kept {
            return false;
        }
        if setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum }).is_err() {
            return false;
        }
        self.0.most.store(most, Ordering::Relaxed);
        true
    }

    #[cfg(test)]
    pub(super) fn kept(&self) -> u64 {
        self.0.kept.load(Ordering::Relaxed)
    }

    /// Room for so many, whatever the system's limit is.
    #[cfg(test)]
    pub(super) fn only(most: u64) -> Self {
        Self::with_most(most, false)
    }
}

/// What may be kept of a limit.
fn most_of(limit: Option<u64>) -> u64 {
    limit.map_or(u64::MAX, |limit| limit - (limit / 4).min(256))
}

impl AsFd for Kept {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.room.0.kept.fetch_sub(1, Ordering::Relaxed);
    }
}
