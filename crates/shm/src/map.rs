//! Memory that is shared through a file, as atomic words.
//!
//! If another process truncates a mapped file, reading beyond the new end raises SIGBUS, which would end the reader's
//! process. So a reader uses a guard ([`Mapping::guarded`]), which reports the truncation.

#![allow(unsafe_code, reason = "mapped memory, file locks")]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use crate::bus_error::{self, Truncated};
use crate::cell::CacheLine;
use crate::layout::{LINE_BYTES, LINE_WORDS, PAGE};
use crate::stripe;

/// A mapped file, or anonymous memory.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<AtomicU64>,
    /// Size in bytes, a multiple of a page.
    length: usize,
    /// The size of the file in bytes. Only this part of the mapping may be accessed.
    backed: AtomicUsize,
}

// SAFETY: the memory is accessed through atomic words only, and unmapped when the mapping is dropped.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes of the file for writing. The file may be shorter: only its first `backed` bytes may be accessed.
    pub(crate) fn writable(file: &File, length: usize, backed: usize) -> io::Result<Self> {
        register_fork_handler();
        Self::map(Some(file), libc::PROT_READ | libc::PROT_WRITE, length, backed)
    }

    /// Maps `length` bytes of the file for reading. The file must have at least this size.
    pub(crate) fn read_only(file: &File, length: usize) -> io::Result<Self> {
        Self::map(Some(file), libc::PROT_READ, length, length)
    }

    /// Anonymous memory, which forked children share.
    pub(crate) fn anonymous(length: usize) -> io::Result<Self> {
        register_fork_handler();
        Self::map(None, libc::PROT_READ | libc::PROT_WRITE, length, length)
    }

    fn map(file: Option<&File>, protection: i32, length: usize, backed: usize) -> io::Result<Self> {
        let length = length.max(1).next_multiple_of(PAGE);
        let (kind, descriptor) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1),
        };
        // SAFETY: the kernel chooses the address; existing mappings are not affected.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, kind, descriptor, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        match NonNull::new(start.cast()) {
            Some(start) => Ok(Self { start, length, backed: AtomicUsize::new(backed) }),
            None => Err(io::Error::other("the kernel mapped the file at address 0")),
        }
    }

    /// The words of the mapping that the file backs.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let words = self.backed.load(Ordering::Acquire).min(self.length) / 8;
        // SAFETY: these words are mapped as long as `self` lives. Atomic words may be changed by others.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), words) }
    }

    /// The size of the file in bytes.
    pub(crate) fn backed_bytes(&self) -> usize {
        self.backed.load(Ordering::Acquire)
    }

    /// The size of the mapping in bytes.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Sets the size of the file in bytes.
    pub(crate) fn set_backed(&self, bytes: usize) {
        self.backed.store(bytes.min(self.length), Ordering::Release);
    }

    /// Calls `read`, which may access this mapping; fails if the file was truncated before the end of the accessed words.
    pub(crate) fn read_guarded<T>(&self, read: impl FnOnce(&[AtomicU64]) -> T) -> Result<T, Truncated> {
        let start = self.start.as_ptr() as usize;
        bus_error::read_guarded(start, start + self.length, || read(self.words()))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `map` mapped this memory, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Cache lines of a mapping. They keep the mapping alive.
#[derive(Clone, Debug)]
pub(crate) struct MappedLines<O> {
    start: NonNull<CacheLine>,
    count: usize,
    _owner: O,
}

// SAFETY: a line consists of atomic words in a mapping that lives as long as `_owner`.
unsafe impl<O: Send> Send for MappedLines<O> {}
// SAFETY: as above.
unsafe impl<O: Sync> Sync for MappedLines<O> {}

/// An owner of a mapping.
pub(crate) trait MappingOwner {
    /// The mapping, which is the same as long as the owner or a clone of it lives.
    fn mapping(&self) -> &Arc<Mapping>;
}

impl<O: MappingOwner> MappedLines<O> {
    /// `count` lines from byte offset `at`; `None` if the file does not have them, or the offset is not aligned to a
    /// line.
    pub(crate) fn new(owner: O, at: usize, count: usize) -> Option<Self> {
        let words = owner.mapping().words();
        let lines = words.get(at / 8..)?.get(..count.checked_mul(LINE_WORDS)?)?;
        let start = NonNull::new(lines.as_ptr().cast_mut().cast::<CacheLine>())?;
        (at.is_multiple_of(LINE_BYTES)).then_some(Self { start, count, _owner: owner })
    }
}

impl<O> Deref for MappedLines<O> {
    type Target = [CacheLine];

    #[inline]
    fn deref(&self) -> &[CacheLine] {
        // SAFETY: `new` checked that the lines exist, and `_owner` keeps the mapping alive.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

/// A cache line of a mapping. It keeps the mapping alive.
#[derive(Clone, Debug)]
pub(crate) struct MappedLine<O> {
    start: NonNull<CacheLine>,
    _owner: O,
}

// SAFETY: as for `MappedLines`.
unsafe impl<O: Send> Send for MappedLine<O> {}
// SAFETY: as above.
unsafe impl<O: Sync> Sync for MappedLine<O> {}

impl<O: MappingOwner> MappedLine<O> {
    /// The line at byte offset `at`; `None` as for [`MappedLines::new`].
    pub(crate) fn new(owner: O, at: usize) -> Option<Self> {
        let MappedLines { start, _owner, .. } = MappedLines::new(owner, at, 1)?;
        Some(Self { start, _owner })
    }
}

impl<O> Deref for MappedLine<O> {
    type Target = CacheLine;

    #[inline]
    fn deref(&self) -> &CacheLine {
        // SAFETY: as for `MappedLines`.
        unsafe { self.start.as_ref() }
    }
}

/// Checks that a file of `to` bytes does not exceed the limit of file sizes (`RLIMIT_FSIZE`), which would kill the
/// process (SIGXFSZ).
///
/// # Errors
///
/// `EFBIG` if `to` exceeds the limit.
pub(crate) fn check_limit(to: usize) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel fills the structure.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0 && (to as u64) > limit.rlim_cur {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    Ok(())
}

/// Extends the file and allocates its disk space, so that writing to the mapping cannot fail.
///
/// # Errors
///
/// The disk is full, or `to` exceeds the [limit](check_limit).
pub(crate) fn reserve(file: &File, from: usize, to: usize) -> io::Result<()> {
    check_limit(to)?;
    let length = to.saturating_sub(from);
    if length == 0 {
        return Ok(());
    }
    loop {
        // SAFETY: the call changes only the file's size and blocks.
        let code =
            unsafe { libc::posix_fallocate(file.as_raw_fd(), from as libc::off_t, length as libc::off_t) };
        match code {
            0 => return Ok(()),
            libc::EINTR => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// Moves an open file to a free descriptor, if any, of at least 1024 (`FD_SETSIZE`), or at least half the descriptor
/// limit if that is lower. The program that uses the reader may call `select`, which supports only lower descriptors.
pub(crate) fn with_high_descriptor(file: File) -> File {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills the structure.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let min_descriptor = (limit.rlim_cur / 2).min(libc::FD_SETSIZE as u64) as libc::c_int;
    // SAFETY: the call creates a new descriptor, and does not change the file.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, min_descriptor) } {
        ..0 => file,
        // SAFETY: the descriptor has just been created, and nothing else owns it.
        descriptor => unsafe { File::from_raw_fd(descriptor) },
    }
}

/// Locks the file until this process and all forked children have closed it. The lock is a write lock: a process that can only
/// read the file can neither take such a lock nor prevent others from taking it.
pub(crate) fn take_write_lock(file: &File) -> io::Result<()> {
    let lock = whole_file_lock(libc::F_WRLCK);
    // SAFETY: the kernel reads the structure.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const lock) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether another open file has the [write lock](take_write_lock); `true` if this is unknown. Takes no lock.
pub(crate) fn is_write_locked(file: &File) -> bool {
    let mut conflict = whole_file_lock(libc::F_RDLCK);
    // SAFETY: the kernel reads the structure, and writes a conflicting lock to it.
    let code = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut conflict) };
    code != 0 || conflict.l_type != libc::F_UNLCK as libc::c_short
}

fn whole_file_lock(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// Nanoseconds since boot, including suspended time.
pub(crate) fn boot_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

pub(crate) fn effective_user() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::geteuid() }
}

/// Registers a fork handler that resets the indexes of stripes in forked children.
fn register_fork_handler() {
    static ONCE: Once = Once::new();
    extern "C" fn after_fork_in_child() {
        stripe::after_fork_in_child();
    }
    ONCE.call_once(|| {
        // SAFETY: the handler only stores to statics and to this thread's variables.
        unsafe { libc::pthread_atfork(None, None, Some(after_fork_in_child)) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_file_is_reported_to_the_reader() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(3 * PAGE as u64).expect("its length");
        let map = Mapping::read_only(&file, 3 * PAGE).expect("a mapping");
        assert_eq!(map.read_guarded(|words| words[PAGE / 8 * 2].load(Ordering::Relaxed)), Ok(0));
        file.set_len(PAGE as u64).expect("its length");
        let read = |words: &[AtomicU64]| words[PAGE / 8 * 2].load(Ordering::Relaxed);
        assert_eq!(map.read_guarded(read), Err(Truncated));
        // The mapping now reads as zeros; other files are not affected.
        assert_eq!(map.read_guarded(read), Ok(0));
        let other = tempfile::tempfile().expect("a file");
        other.set_len(PAGE as u64).expect("its length");
        let other_map = Mapping::read_only(&other, PAGE).expect("a mapping");
        assert_eq!(other_map.read_guarded(|words| words[0].load(Ordering::Relaxed)), Ok(0));
    }

    #[test]
    fn a_nested_guard_does_not_affect_the_outer_one() {
        let [first, second] = [0, 1].map(|_| {
            let file = tempfile::tempfile().expect("a file");
            file.set_len(PAGE as u64).expect("its length");
            let map = Mapping::read_only(&file, PAGE).expect("a mapping");
            (file, map)
        });
        let outer = first.1.read_guarded(|words| {
            second.0.set_len(0).expect("its length");
            let inner = second.1.read_guarded(|words| words[0].load(Ordering::Relaxed));
            assert_eq!(inner, Err(Truncated));
            words[0].load(Ordering::Relaxed)
        });
        assert_eq!(outer, Ok(0));
    }

    #[test]
    fn reserving_space_fails_before_it_is_used() {
        let file = tempfile::tempfile().expect("a file");
        reserve(&file, 0, PAGE).expect("space");
        assert_eq!(file.metadata().expect("its size").len(), PAGE as u64);
        assert!(reserve(&file, 0, usize::MAX / 2).is_err());
    }
}
