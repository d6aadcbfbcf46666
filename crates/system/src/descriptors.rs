//! How many files may stay open, and under which numbers.
//!
//! This is a library: the limit of open files (`RLIMIT_NOFILE`) belongs to the process that uses it, and is never changed
//! here. Most of what the limit allows is left to the rest of the process, and so are the low numbers: a program that calls
//! `select` can use numbers below `FD_SETSIZE` (1,024) only. Files that find no room are opened for each reading.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, getrlimit};

/// What is left to the rest of the process: this share of a low limit, and at most this many of a high one.
const RESERVE: (u64, u64) = (4, 2048);

/// Files that stay open get numbers from this one on, where the limit allows.
const FD_SETSIZE: u64 = 1024;

/// The room for files that stay open, shared by all that keep files open.
#[derive(Clone, Debug)]
pub(crate) struct Descriptors(Arc<Room>);

#[derive(Debug)]
struct Room {
    kept: AtomicU64,
    most: AtomicU64,
    /// The lowest number that a kept file gets.
    lowest: i32,
}

/// A descriptor that stays open and takes a place of the room.
#[derive(Debug)]
pub(crate) struct Kept {
    file: OwnedFd,
    room: Descriptors,
}

impl Descriptors {
    /// The room of this process, by the limit that was in force at the first call.
    pub(crate) fn of_this_process() -> Self {
        static ROOM: OnceLock<Descriptors> = OnceLock::new();
        ROOM.get_or_init(|| Self::of_limit(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))).clone()
    }

    fn of_limit(limit: u64) -> Self {
        let reserve = (limit - limit / RESERVE.0).min(RESERVE.1);
        Self::with_room(limit - reserve, (limit / 2).min(FD_SETSIZE) as i32)
    }

    fn with_room(most: u64, lowest: i32) -> Self {
        Self(Arc::new(Room { kept: AtomicU64::new(0), most: AtomicU64::new(most), lowest }))
    }

    /// Gives the file a place, under another number, or hands it back where there is no room.
    pub(crate) fn keep(&self, file: OwnedFd) -> Result<Kept, OwnedFd> {
        // A count that is too high for a moment only has another file opened for each reading.
        if self.0.kept.fetch_add(1, Ordering::Relaxed) < self.0.most.load(Ordering::Relaxed)
            && let Ok(file) = fcntl_dupfd_cloexec(&file, self.0.lowest)
        {
            return Ok(Kept { file, room: self.clone() });
        }
        self.0.kept.fetch_sub(1, Ordering::Relaxed);
        Err(file)
    }

    /// A share of the room: how many files a reader that counts its own may keep open.
    pub(crate) fn share(&self, of: u64) -> u64 {
        self.0.most.load(Ordering::Relaxed) / of
    }

    /// The rest of the process has used what was left: fewer files than now are kept open, and the caller closes some.
    pub(crate) fn crowded(&self) {
        let kept = self.0.kept.load(Ordering::Relaxed);
        self.0.most.store(kept.saturating_sub(32), Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn kept(&self) -> u64 {
        self.0.kept.load(Ordering::Relaxed)
    }

    /// Room for this many, whatever the system's limit is.
    #[cfg(test)]
    pub(crate) fn only(most: u64) -> Self {
        Self::with_room(most, 0)
    }
}

/// The same open file under a number that leaves low ones to the rest of the process, where the limit allows.
pub(crate) fn with_high_number(file: OwnedFd) -> OwnedFd {
    fcntl_dupfd_cloexec(&file, Descriptors::of_this_process().0.lowest).unwrap_or(file)
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

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn most_of_a_limit_is_left_to_the_process() {
        for (limit, most, lowest) in [
            (0, 0, 0),
            (64, 16, 32),
            (1024, 256, 512),
            (4096, 2048, 1024),
            (1 << 20, (1 << 20) - 2048, 1024),
            (u64::MAX, u64::MAX - 2048, 1024),
        ] {
            let Descriptors(room) = Descriptors::of_limit(limit);
            assert_eq!((room.most.load(Ordering::Relaxed), room.lowest), (most, lowest), "{limit}");
        }
    }

    #[test]
    fn kept_files_have_high_numbers() {
        let room = Descriptors::with_room(1, 500);
        let open = || OwnedFd::from(std::fs::File::open("/dev/null").expect("a file"));
        let kept = room.keep(open()).expect("room");
        assert!(kept.as_fd().as_raw_fd() >= 500);
        let returned = room.keep(open()).expect_err("no room");
        assert!(returned.as_raw_fd() < 500);
        drop(kept);
        assert!(room.keep(returned).is_ok());
        assert_eq!(room.kept(), 0);
    }
}
