//! Memory that is shared through a file, as atomic words.
//!
//! A file that another process cuts while it is mapped ends a process that reads beyond its new end, by SIGBUS. So a reader reads
//! under a guard ([`Mapping::guarded`]), which reports that.

#![allow(unsafe_code, reason = "mapped memory, locks of files")]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use crate::bus_error::{self, WasCut};
use crate::cell::CacheLine;
use crate::layout::{LINE, LINE_BYTES, PAGE};
use crate::stripe;

/// Mapped memory.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<AtomicU64>,
    /// Bytes, a multiple of a page.
    length: usize,
    /// Bytes from the start that may be looked at: what the file has.
    backed: AtomicUsize,
}

// SAFETY: the memory is looked at through atomic words only, and is unmapped when nobody has the mapping any more.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps room for `length` bytes of the file, to write; the file may have less, as long as nobody looks there.
    pub(crate) fn to_write(file: &File, length: usize, backed: usize) -> io::Result<Self> {
        handle_forks();
        Self::map(Some(file), libc::PROT_READ | libc::PROT_WRITE, length, backed)
    }

    /// Maps `length` bytes of the file, all of which it has, to read.
    pub(crate) fn to_read(file: &File, length: usize) -> io::Result<Self> {
        Self::map(Some(file), libc::PROT_READ, length, length)
    }

    /// Memory of this process that nobody else sees; forked children share it.
    pub(crate) fn of_nobody(length: usize) -> io::Result<Self> {
        handle_forks();
        Self::map(None, libc::PROT_READ | libc::PROT_WRITE, length, length)
    }

    fn map(file: Option<&File>, protection: i32, length: usize, backed: usize) -> io::Result<Self> {
        let length = length.max(1).next_multiple_of(PAGE);
        let (kind, descriptor) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1),
        };
        // SAFETY: the kernel chooses the place; nothing that is mapped already is touched.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), length, protection, kind, descriptor, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        match NonNull::new(start.cast()) {
            Some(start) => Ok(Self { start, length, backed: AtomicUsize::new(backed) }),
            None => Err(io::Error::other("the kernel mapped the file at address 0")),
        }
    }

    /// The words that the file has.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        let words = self.backed.load(Ordering::Acquire).min(self.length) / 8;
        // SAFETY: so many words are mapped, and are as long as `self`. Atomic words may change under a reader.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), words) }
    }

    /// How many bytes the file has.
    pub(crate) fn backed(&self) -> usize {
        self.backed.load(Ordering::Acquire)
    }

    /// How many bytes are mapped.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The file has so many bytes now.
    pub(crate) fn set_backed(&self, bytes: usize) {
        self.backed.store(bytes.min(self.length), Ordering::Release);
    }

    /// Runs `look`, which may look at this mapping; an error when the file had been cut short of what it looked at.
    pub(crate) fn guarded<T>(&self, look: impl FnOnce(&[AtomicU64]) -> T) -> Result<T, WasCut> {
        let start = self.start.as_ptr() as usize;
        bus_error::guarded(start, start + self.length, || look(self.words()))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what `map` mapped, and nobody looks at it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

/// Cache lines of a mapping, which they keep.
#[derive(Clone, Debug)]
pub(crate) struct MappedLines<K> {
    start: NonNull<CacheLine>,
    count: usize,
    /// Keeps the mapping.
    _keep: K,
}

// SAFETY: a line is atomic words in a mapping that lives as long as this.
unsafe impl<K: Send> Send for MappedLines<K> {}
// SAFETY: as above.
unsafe impl<K: Sync> Sync for MappedLines<K> {}

/// Who keeps a mapping alive.
pub(crate) trait Keeper {
    /// The mapping, which is the same as long as the keeper or a clone of it lives.
    fn mapping(&self) -> &Arc<Mapping>;
}

impl<K: Keeper> MappedLines<K> {
    /// So many lines from this byte on; `None` where the file does not have them.
    pub(crate) fn new(keep: K, at: usize, count: usize) -> Option<Self> {
        let words = keep.mapping().words();
        let lines = words.get(at / 8..)?.get(..count.checked_mul(LINE)?)?;
        let start = NonNull::new(lines.as_ptr().cast_mut().cast::<CacheLine>())?;
        (at.is_multiple_of(LINE_BYTES)).then_some(Self { start, count, _keep: keep })
    }
}

impl<K> Deref for MappedLines<K> {
    type Target = [CacheLine];

    #[inline]
    fn deref(&self) -> &[CacheLine] {
        // SAFETY: `new` saw that so many lines are there, and `_keep` keeps the mapping.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

/// One cache line of a mapping, which it keeps.
#[derive(Clone, Debug)]
pub(crate) struct MappedLine<K> {
    start: NonNull<CacheLine>,
    _keep: K,
}

// SAFETY: as of `MappedLines`.
unsafe impl<K: Send> Send for MappedLine<K> {}
// SAFETY: as above.
unsafe impl<K: Sync> Sync for MappedLine<K> {}

impl<K: Keeper> MappedLine<K> {
    /// The line at this byte; `None` where the file does not have it.
    pub(crate) fn new(keep: K, at: usize) -> Option<Self> {
        let MappedLines { start, _keep, .. } = MappedLines::new(keep, at, 1)?;
        Some(Self { start, _keep })
    }
}

impl<K> Deref for MappedLine<K> {
    type Target = CacheLine;

    #[inline]
    fn deref(&self) -> &CacheLine {
        // SAFETY: as of `MappedLines`.
        unsafe { self.start.as_ref() }
    }
}

/// Whether this process may write to a file up to this byte: without asking first, the kernel would end the process.
///
/// # Errors
///
/// It may not.
pub(crate) fn check_limit(to: usize) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the kernel fills the structure.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0 && (to as u64) > limit.rlim_cur {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    Ok(())
}

/// Gives the file so many bytes, with room for them on the disk: what is mapped of it can be written to.
///
/// # Errors
///
/// No room, or more than [this process may write to a file](check_limit).
pub(crate) fn reserve(file: &File, from: usize, to: usize) -> io::Result<()> {
    check_limit(to)?;
    let length = to.saturating_sub(from);
    if length == 0 {
        return Ok(());
    }
    loop {
        // SAFETY: only the file's size and blocks change.
        let code =
            unsafe { libc::posix_fallocate(file.as_raw_fd(), from as libc::off_t, length as libc::off_t) };
        match code {
            0 => return Ok(()),
            libc::EINTR => {}
            code => return Err(io::Error::from_raw_os_error(code)),
        }
    }
}

/// The same open file under a number from 1024 on (`FD_SETSIZE`), or in the upper half of a lower limit, where that is free: a
/// reader is a guest in its process, which may call `select`.
pub(crate) fn with_high_number(file: File) -> File {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills the structure.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let lowest = (limit.rlim_cur / 2).min(libc::FD_SETSIZE as u64) as libc::c_int;
    // SAFETY: the call makes a new descriptor, and changes nothing of the file's own.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, lowest) } {
        ..0 => file,
        // SAFETY: the descriptor was made just now, and belongs to nobody else.
        number => unsafe { File::from_raw_fd(number) },
    }
}

/// Locks the file for as long as it is open, here or in a forked child. The lock is one for writing: who can only read the file
/// can neither take such a lock nor keep others from it.
pub(crate) fn lock_to_write(file: &File) -> io::Result<()> {
    let whole = lock_of_the_whole(libc::F_WRLCK);
    // SAFETY: the kernel reads the structure.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const whole) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether somebody else has the file [locked to write](lock_to_write), as far as the kernel tells. Nothing is locked to find out.
pub(crate) fn is_locked_to_write(file: &File) -> bool {
    let mut wanted = lock_of_the_whole(libc::F_RDLCK);
    // SAFETY: the kernel reads the structure, and writes what is in the way of such a lock into it.
    let code = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut wanted) };
    code != 0 || wanted.l_type != libc::F_UNLCK as libc::c_short
}

fn lock_of_the_whole(kind: libc::c_int) -> libc::flock {
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

/// Nanoseconds since the machine was started, suspended time included.
pub(crate) fn boot_nanoseconds() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// The user that this process acts for.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: it has no conditions.
    unsafe { libc::geteuid() }
}

/// Tells the stripes of forked children that they are such.
fn handle_forks() {
    static ONCE: Once = Once::new();
    extern "C" fn in_child() {
        stripe::in_child();
    }
    ONCE.call_once(|| {
        // SAFETY: the handler stores to statics and to this thread's variables only.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_cut_under_a_reader_is_told() {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(3 * PAGE as u64).expect("its length");
        let map = Mapping::to_read(&file, 3 * PAGE).expect("a mapping");
        assert_eq!(map.guarded(|words| words[PAGE / 8 * 2].load(Ordering::Relaxed)), Ok(0));
        file.set_len(PAGE as u64).expect("its length");
        let look = |words: &[AtomicU64]| words[PAGE / 8 * 2].load(Ordering::Relaxed);
        assert_eq!(map.guarded(look), Err(WasCut));
        // The mapping is zeros now, and the next file is another matter.
        assert_eq!(map.guarded(look), Ok(0));
        let other = tempfile::tempfile().expect("a file");
        other.set_len(PAGE as u64).expect("its length");
        let other_map = Mapping::to_read(&other, PAGE).expect("a mapping");
        assert_eq!(other_map.guarded(|words| words[0].load(Ordering::Relaxed)), Ok(0));
    }

    #[test]
    fn a_guard_within_a_guard_ends_alone() {
        let [first, second] = [0, 1].map(|_| {
            let file = tempfile::tempfile().expect("a file");
            file.set_len(PAGE as u64).expect("its length");
            let map = Mapping::to_read(&file, PAGE).expect("a mapping");
            (file, map)
        });
        let outer = first.1.guarded(|words| {
            second.0.set_len(0).expect("its length");
            let inner = second.1.guarded(|words| words[0].load(Ordering::Relaxed));
            assert_eq!(inner, Err(WasCut));
            words[0].load(Ordering::Relaxed)
        });
        assert_eq!(outer, Ok(0));
    }

    #[test]
    fn room_is_asked_for_before_it_is_used() {
        let file = tempfile::tempfile().expect("a file");
        reserve(&file, 0, PAGE).expect("room");
        assert_eq!(file.metadata().expect("its size").len(), PAGE as u64);
        assert!(reserve(&file, 0, usize::MAX / 2).is_err());
    }
}
