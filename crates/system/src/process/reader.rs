//! Reads the files of processes and threads. The files stay open if the limit of open files allows.

use std::fmt::{self, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, RawDir, SeekFrom, fstat, fstatfs, open, openat, seek};
use rustix::io::{Errno, pread};

use crate::descriptors::{Descriptors, RetainedFile};
use crate::roots::Roots;

/// After the kernel has denied access, this number of reads fail without an attempt.
const DENIED_READS: u8 = 30;

/// The maximum size of a file; all files read here are smaller.
const MAX_BYTES: usize = 1 << 20;

/// The number of files to close when too many are open.
const CLOSE_AT_ONCE: usize = 32;

/// Reads the files of processes and threads, relative to an open `/proc`.
#[derive(Debug)]
pub(super) struct Reader {
    proc: OwnedFd,
    /// The path of the file that is being opened.
    path: String,
    /// The content of the file that was read last.
    buffer: Vec<u8>,
    /// The buffer for directory entries.
    entries: Vec<MaybeUninit<u8>>,
    descriptors: Descriptors,
    /// Whether this is the real /proc, where the link count of a folder depends on its number of subfolders.
    is_procfs: bool,
    /// Whether the size of the folder `fd` is the number of open files.
    size_is_count: bool,
}

/// A task whose files are read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// A process, with the totals of all its threads.
    Process(u32),
    /// One thread of a process.
    Thread(u32, u32),
}

/// A file of a task, open or not.
#[derive(Debug, Default)]
pub(super) struct TaskFile {
    file: Option<RetainedFile>,
    /// The number of further reads that fail without an attempt, because the kernel has denied access.
    denied_reads: u8,
}

impl Reader {
    /// Opens `/proc`.
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
            size_is_count: is_procfs && size > 0,
        })
    }

    /// Whether this is the real `/proc`.
    pub(super) fn is_procfs(&self) -> bool {
        self.is_procfs
    }

    /// Whether the size of the folder `fd` is the number of open files (Linux 6.2 and later).
    pub(super) fn size_is_count(&self) -> bool {
        self.size_is_count
    }

    /// Closes files of tasks, starting with the last task, so that other files can be opened.
    pub(super) fn make_room<T>(&self, tasks: &mut [T], close: impl Fn(&mut T) -> usize) {
        self.descriptors.shrink();
        let mut closed = 0;
        for task in tasks.iter_mut().rev() {
            closed += close(task);
            if closed >= CLOSE_AT_ONCE {
                break;
            }
        }
    }

    /// Reads a file of a task.
    ///
    /// # Errors
    ///
    /// `ESRCH` or `ENOENT` if the task is gone; `EACCES` if access was recently denied; otherwise the kernel's error.
    #[inline]
    pub(super) fn read(&mut self, task_file: &mut TaskFile, task: Task, name: &str) -> Result<&[u8], Errno> {
        let length = match &task_file.file {
            Some(file) => {
                let length = fill(file, &mut self.buffer);
                length.inspect_err(|&error| task_file.failed(error))?
            }
            None => self.open_and(task_file, task, name, OFlags::RDONLY, |file, reader| {
                fill(file, &mut reader.buffer)
            })?,
        };
        Ok(&self.buffer[..length])
    }

    /// The number of entries in a folder, from its size. For `fd`, this requires Linux 6.2 but no permission.
    pub(super) fn size(&mut self, task_file: &mut TaskFile, task: Task, name: &str) -> Result<u64, Errno> {
        self.stat(task_file, task, name).map(|stat| stat.st_size as u64)
    }

    /// The ids of the threads of a process, in the kernel's order.
    pub(super) fn threads(
        &mut self,
        task_file: &mut TaskFile,
        process: u32,
        ids: &mut Vec<u32>,
    ) -> Result<(), Errno> {
        ids.clear();
        let task = Task::Process(process);
        let is_procfs = self.is_procfs;
        self.folder(task_file, task, "task", |folder, entries| {
            if is_procfs {
                match fstat(folder)?.st_nlink {
                    // The process is gone.
                    ..=2 => return Err(Errno::SRCH),
                    3 => {
                        ids.push(process);
                        return Ok(());
                    }
                    _ => {}
                }
            }
            seek(folder, SeekFrom::Start(0))?;
            list(folder, entries, |name| ids.extend(pid(name)))
        })
    }

    /// The number of entries in a folder whose names are ids (`fd`).
    pub(super) fn count(&mut self, task_file: &mut TaskFile, task: Task, name: &str) -> Result<u64, Errno> {
        let mut count = 0;
        self.folder(task_file, task, name, |folder, entries| {
            seek(folder, SeekFrom::Start(0))?;
            list(folder, entries, |name| count += u64::from(pid(name).is_some()))
        })?;
        Ok(count)
    }

    fn folder(
        &mut self,
        task_file: &mut TaskFile,
        task: Task,
        name: &str,
        read: impl FnOnce(BorrowedFd<'_>, &mut Vec<MaybeUninit<u8>>) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        match &task_file.file {
            Some(file) => {
                let result = read(file.as_fd(), &mut self.entries);
                result.inspect_err(|&error| task_file.failed(error))
            }
            None => {
                self.open_and(task_file, task, name, OFlags::RDONLY | OFlags::DIRECTORY, |file, reader| {
                    read(file.as_fd(), &mut reader.entries)
                })
            }
        }
    }

    fn stat(&mut self, task_file: &mut TaskFile, task: Task, name: &str) -> Result<rustix::fs::Stat, Errno> {
        match &task_file.file {
            Some(file) => fstat(file).inspect_err(|&error| task_file.failed(error)),
            None => self.open_and(task_file, task, name, OFlags::PATH, |file, _| fstat(file)),
        }
    }

    /// The ids of all processes, sorted.
    pub(super) fn processes(&mut self, ids: &mut Vec<u32>) -> Result<(), Errno> {
        ids.clear();
        seek(&self.proc, SeekFrom::Start(0))?;
        list(&self.proc, &mut self.entries, |name| ids.extend(pid(name)))?;
        // The kernel usually lists processes in ascending order.
        if !ids.is_sorted() {
            ids.sort_unstable();
        }
        ids.dedup();
        Ok(())
    }

    #[cold]
    fn open_and<T>(
        &mut self,
        task_file: &mut TaskFile,
        task: Task,
        name: &str,
        flags: OFlags,
        then: impl FnOnce(&OwnedFd, &mut Self) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        if task_file.denied_reads > 0 {
            task_file.denied_reads -= 1;
            return Err(Errno::ACCESS);
        }
        self.path.clear();
        let _ = write!(self.path, "{task}/{name}");
        let file = openat(&self.proc, self.path.as_str(), flags | OFlags::CLOEXEC, Mode::empty());
        let result = file.and_then(|file| Ok((then(&file, self)?, file)));
        let (value, file) = result.inspect_err(|&error| task_file.failed(error))?;
        task_file.file = self.descriptors.retain(file).ok();
        Ok(value)
    }
}

impl TaskFile {
    pub(super) fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Closes the file until the next read; returns the number of closed files.
    pub(super) fn close(&mut self) -> usize {
        self.denied_reads = 0;
        usize::from(self.file.take().is_some())
    }

    /// Makes the next read try again even if the kernel denied access before.
    pub(super) fn retry(&mut self) {
        self.denied_reads = 0;
    }

    fn failed(&mut self, error: Errno) {
        self.file = None;
        if matches!(error, Errno::ACCESS | Errno::PERM) {
            self.denied_reads = DENIED_READS;
        }
    }
}

/// Whether the error means that the task is gone.
pub(super) fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::SRCH | Errno::NOENT)
}

/// Whether the error means that too many files are open.
pub(super) fn is_too_many_files(error: Errno) -> bool {
    matches!(error, Errno::MFILE | Errno::NFILE)
}

#[inline]
fn fill(file: impl AsFd, buffer: &mut Vec<u8>) -> Result<usize, Errno> {
    loop {
        match pread(&file, &mut buffer[..], 0) {
            // The kernel returns these files in a single read if the buffer is large enough.
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

/// Parses the name of a task's folder in /proc.
fn pid(name: &[u8]) -> Option<u32> {
    if !name.first()?.is_ascii_digit() {
        return None;
    }
    crate::scan::parse_number(name).and_then(|number| u32::try_from(number).ok())
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(pid) => write!(f, "{pid}"),
            Self::Thread(pid, tid) => write!(f, "{pid}/task/{tid}"),
        }
    }
}
