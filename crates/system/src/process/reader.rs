//! Reading the files of processes and threads, which stay open as long as there is room.

use std::fmt::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, fstat, fstatfs, open, openat, seek};
use rustix::io::{Errno, pread};

use crate::Roots;
use crate::descriptors::{Descriptors, Kept};

/// After a refusal, so many readings are refused without asking again.
const REFUSED_FOR: u8 = 30;

/// More than any file of a process that is read here.
const MAX_BYTES: usize = 1 << 20;

/// Reads the files of processes and threads, relative to an open `/proc`.
#[derive(Debug)]
pub(super) struct Reader {
    proc: OwnedFd,
    path: String,
    buffer: Vec<u8>,
    entries: Vec<MaybeUninit<u8>>,
    descriptors: Descriptors,
    /// Whether this is the kernel's own /proc, where a folder's links count what is in it.
    is_procfs: bool,
    sizes_count: bool,
}

/// Whose files are read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// A process, or all of its threads.
    Process(u32),
    /// One thread of a process.
    Thread(u32, u32),
}

/// The place of a file that may be open.
#[derive(Debug, Default)]
pub(super) struct Place {
    file: Option<Kept>,
    /// So many more readings fail without trying: the kernel refused it a moment ago.
    refused: u8,
}

impl Reader {
    /// A reader of `/proc`.
    ///
    /// # Errors
    ///
    /// When it cannot be opened.
    pub(super) fn new(roots: &Roots, descriptors: Descriptors) -> Result<Self, Errno> {
        let proc = open(&roots.proc, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let is_procfs = fstatfs(&proc)?.f_type == rustix::fs::PROC_SUPER_MAGIC;
        let own = openat(&proc, "self/fd", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        let size = own.and_then(fstat).map_or(0, |stat| stat.st_size);
        Ok(Self {
            proc,
            path: String::with_capacity(64),
            buffer: vec![0; 8192],
            entries: Vec::with_capacity(32 << 10),
            descriptors,
            is_procfs,
            sizes_count: is_procfs && size > 0,
        })
    }

    /// Whether the size of the folder `fd` is the number of open files (Linux 6.2 and later).
    pub(super) fn sizes_count(&self) -> bool {
        self.sizes_count
    }

    pub(super) fn descriptors(&self) -> &Descriptors {
        &self.descriptors
    }

    /// The content of a file of a task.
    ///
    /// # Errors
    ///
    /// `ESRCH` or `ENOENT` when the task is gone, or what the kernel says.
    #[inline]
    pub(super) fn read(&mut self, place: &mut Place, task: Task, name: &str) -> Result<&[u8], Errno> {
        let length = match &place.file {
            Some(kept) => {
                let length = fill(kept, &mut self.buffer);
                length.inspect_err(|&error| place.failed(error))?
            }
            None => self
                .open_and(place, task, name, OFlags::RDONLY, |file, reader| fill(file, &mut reader.buffer))?,
        };
        Ok(&self.buffer[..length])
    }

    /// How many entries a folder of a process has as its size says it (`fd`, since Linux 6.2; no permission is needed).
    pub(super) fn size(&mut self, place: &mut Place, task: Task, name: &str) -> Result<u64, Errno> {
        self.stat(place, task, name).map(|stat| stat.st_size as u64)
    }

    /// The numbers of the threads of a process, as they come.
    pub(super) fn threads(
        &mut self,
        place: &mut Place,
        process: u32,
        numbers: &mut Vec<u32>,
    ) -> Result<(), Errno> {
        numbers.clear();
        let task = Task::Process(process);
        let is_procfs = self.is_procfs;
        self.folder(place, task, "task", |folder, entries| {
            if is_procfs {
                match fstat(folder)?.st_nlink {
                    // The folder of a process that is gone has no threads.
                    ..=2 => return Err(Errno::SRCH),
                    3 => {
                        numbers.push(process);
                        return Ok(());
                    }
                    _ => {}
                }
            }
            seek(folder, SeekFrom::Start(0))?;
            list(folder, entries, |name| numbers.extend(pid(name)))
        })
    }

    /// How many numbers there are among the names of a folder of a task (`fd`).
    pub(super) fn count(&mut self, place: &mut Place, task: Task, name: &str) -> Result<u64, Errno> {
        let mut count = 0;
        self.folder(place, task, name, |folder, entries| {
            seek(folder, SeekFrom::Start(0))?;
            list(folder, entries, |name| count += u64::from(pid(name).is_some()))
        })?;
        Ok(count)
    }

    fn folder(
        &mut self,
        place: &mut Place,
        task: Task,
        name: &str,
        read: impl FnOnce(BorrowedFd<'_>, &mut Vec<MaybeUninit<u8>>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        match &place.file {
            Some(kept) => {
                let told = read(kept.as_fd(), &mut self.entries);
                told.inspect_err(|&error| place.failed(error))
            }
            None => self.open_and(place, task, name, OFlags::RDONLY | OFlags::DIRECTORY, |file, reader| {
                read(file.as_fd(), &mut reader.entries)
            }),
        }
    }

    fn stat(&mut self, place: &mut Place, task: Task, name: &str) -> Result<rustix::fs::Stat, Errno> {
        match &place.file {
            Some(kept) => fstat(kept).inspect_err(|&error| place.failed(error)),
            None => self.open_and(place, task, name, OFlags::PATH, |file, _| fstat(file)),
        }
    }

    /// The numbers among the names of `/proc`, in rising order.
    pub(super) fn processes(&mut self, numbers: &mut Vec<u32>) -> Result<(), Errno> {
        numbers.clear();
        seek(&self.proc, SeekFrom::Start(0))?;
        list(&self.proc, &mut self.entries, |name| numbers.extend(pid(name)))?;
        // The kernel lists processes in this order already.
        if !numbers.is_sorted() {
            numbers.sort_unstable();
        }
        numbers.dedup();
        Ok(())
    }

    fn locate(&mut self, task: Task, name: &str) {
        self.path.clear();
        // Writing to a string does not fail.
        let _ = write!(self.path, "{task}/{name}");
    }

    #[cold]
    fn open_and<T>(
        &mut self,
        place: &mut Place,
        task: Task,
        name: &str,
        flags: OFlags,
        then: impl FnOnce(&OwnedFd, &mut Self) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        if place.refused > 0 {
            place.refused -= 1;
            return Err(Errno::ACCESS);
        }
        self.locate(task, name);
        let file = openat(&self.proc, self.path.as_str(), flags | OFlags::CLOEXEC, Mode::empty());
        let told = file.and_then(|file| Ok((then(&file, self)?, file)));
        let (told, file) = told.inspect_err(|&error| place.failed(error))?;
        place.file = self.descriptors.keep(file).ok();
        Ok(told)
    }
}

impl Place {
    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Closes the file; the next reading opens it.
    pub(super) fn close(&mut self) {
        self.file = None;
        self.refused = 0;
    }

    /// Asks again even if the kernel refused it a moment ago.
    pub(super) fn forgive(&mut self) {
        self.refused = 0;
    }

    fn failed(&mut self, error: Errno) {
        self.file = None;
        if matches!(error, Errno::ACCESS | Errno::PERM) {
            self.refused = REFUSED_FOR;
        }
    }
}

/// Whether the task that was to be read is no more.
pub(super) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::SRCH | Errno::NOENT)
}

/// Whether too many files are open.
pub(super) fn is_crowded(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE)
}

#[inline]
fn fill(file: impl AsFd, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    loop {
        match pread(&file, &mut buffer[..], 0) {
            // The kernel makes these files as a whole: what fits is all in one piece.
            Ok(length) if length < buffer.len() || length >= MAX_BYTES => return Ok(length),
            Ok(_) => buffer.resize(buffer.len() * 2, 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

fn list(
    folder: impl AsFd,
    entries: &mut Vec<MaybeUninit<u8>>,
    mut each: impl FnMut(&[u8]),
) -> Result<(), Errno> {
    let capacity = entries.capacity();
    entries.resize_with(capacity, MaybeUninit::uninit);
    let mut names = RawDir::new(folder, entries);
    while let Some(entry) = names.next() {
        each(entry?.file_name().to_bytes());
    }
    Ok(())
}

/// A number as /proc writes those of tasks.
fn pid(name: &[u8]) -> Option<u32> {
    if !name.first()?.is_ascii_digit() {
        return None;
    }
    crate::scan::number(name).and_then(|number| u32::try_from(number).ok())
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(pid) => write!(f, "{pid}"),
            Self::Thread(pid, tid) => write!(f, "{pid}/task/{tid}"),
        }
    }
}
