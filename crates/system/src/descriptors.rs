//! The file descriptors that this library may keep open.
//!
//! The limit of open files (`RLIMIT_NOFILE`) belongs to the process and is never changed here. A part of it is
//! reserved for the rest of the process. So are the low descriptors, because `select` works only below `FD_SETSIZE`
//! (1,024). Files beyond this library's limit are opened for each read.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, getrlimit};

/// This library may use at least one `SHARE`th of the limit.
const SHARE: u64 = 4;
/// The maximum number of descriptors that are reserved for the rest of the process.
const MAX_RESERVE: u64 = 2048;

/// The lowest descriptor of files that stay open, if the limit allows.
const FD_SETSIZE: u64 = 1024;

/// A limit of open files, shared by all readers.
#[derive(Clone, Debug)]
pub(crate) struct Descriptors(Arc<Limit>);

#[derive(Debug)]
struct Limit {
    /// The number of files that stay open.
    open: AtomicU64,
    max: AtomicU64,
    /// The lowest descriptor for a file that stays open.
    lowest: i32,
}

/// A file that stays open and counts against the limit.
#[derive(Debug)]
pub(crate) struct RetainedFile {
    file: OwnedFd,
    descriptors: Descriptors,
}

impl Descriptors {
    /// The limit of this process, from `RLIMIT_NOFILE` at the first call.
    pub(crate) fn of_this_process() -> Self {
        static SHARED: OnceLock<Descriptors> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::for_limit(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)))
            .clone()
    }

    fn for_limit(limit: u64) -> Self {
        let reserve = (limit - limit / SHARE).min(MAX_RESERVE);
        Self::with_max(limit - reserve, (limit / 2).min(FD_SETSIZE) as i32)
    }

    fn with_max(max: u64, lowest: i32) -> Self {
        Self(Arc::new(Limit { open: AtomicU64::new(0), max: AtomicU64::new(max), lowest }))
    }

    /// Keeps a file open under a high descriptor; returns the file if the limit is reached.
    pub(crate) fn retain(&self, file: OwnedFd) -> Result<RetainedFile, OwnedFd> {
        // The count may briefly be too high. Then a file is not retained although it could be, which is harmless.
        if self.0.open.fetch_add(1, Ordering::Relaxed) < self.0.max.load(Ordering::Relaxed)
            && let Ok(file) = fcntl_dupfd_cloexec(&file, self.0.lowest)
        {
            return Ok(RetainedFile { file, descriptors: self.clone() });
        }
        self.0.open.fetch_sub(1, Ordering::Relaxed);
        Err(file)
    }

    /// The limit divided by `divisor`, for a reader that counts its own files.
    pub(crate) fn share(&self, divisor: u64) -> u64 {
        self.0.max.load(Ordering::Relaxed) / divisor
    }

    /// Lowers the limit below the number of open files, because the process has run out of descriptors. The caller
    /// must then close some files.
    pub(crate) fn shrink(&self) {
        let open = self.0.open.load(Ordering::Relaxed);
        self.0.max.store(open.saturating_sub(32), Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(crate) fn open_files(&self) -> u64 {
        self.0.open.load(Ordering::Relaxed)
    }

    /// A limit that no other reader shares.
    #[cfg(test)]
    pub(crate) fn unshared(max: u64) -> Self {
        Self::with_max(max, 0)
    }
}

/// Moves a file to a high descriptor, if the limit allows, so that the low ones remain for the rest of the process.
pub(crate) fn with_high_descriptor(file: OwnedFd) -> OwnedFd {
    fcntl_dupfd_cloexec(&file, Descriptors::of_this_process().0.lowest).unwrap_or(file)
}

impl AsFd for RetainedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for RetainedFile {
    fn drop(&mut self) {
        self.descriptors.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_part_of_the_limit_is_reserved_for_the_rest_of_the_process() {
        for (limit, max, lowest) in [
            (0, 0, 0),
            (64, 16, 32),
            (1024, 256, 512),
            (4096, 2048, 1024),
            (1 << 20, (1 << 20) - 2048, 1024),
            (u64::MAX, u64::MAX - 2048, 1024),
        ] {
            let Descriptors(actual) = Descriptors::for_limit(limit);
            assert_eq!((actual.max.load(Ordering::Relaxed), actual.lowest), (max, lowest), "{limit}");
        }
    }

    #[test]
    fn retained_files_have_high_descriptors() {
        let descriptors = Descriptors::with_max(1, 500);
        let open = || OwnedFd::from(std::fs::File::open("/dev/null").expect("a file"));
        let retained = descriptors.retain(open()).expect("below the limit");
        assert!(retained.as_fd().as_raw_fd() >= 500);
        let returned = descriptors.retain(open()).expect_err("limit reached");
        assert!(returned.as_raw_fd() < 500);
        drop(retained);
        assert!(descriptors.retain(returned).is_ok());
        assert_eq!(descriptors.open_files(), 0);
    }
}
