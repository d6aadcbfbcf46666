//! The files of one process.

use rustix::io::Errno;
use tachograph_perflib::{ErrorCode, Failure, InstanceKey, Rows};

use super::delays::{DelayReader, Delays};
use super::io::{self, Io};
use super::memory::{self, Memory};
use super::process_set::COUNTS;
use super::reader::{Reader, Task, TaskFile, is_gone, is_too_many_files};
use super::stat::{self, Stat};
use super::sums::Last;
use super::table::{
    BLOCK_IO_WAIT_TIME, FROM_DELAYS, FROM_IO, FROM_STATM, FROM_STATUS, HANDLE_COUNT, PRIORITY_BASE,
    RUN_QUEUE_WAIT_TIME, VIRTUAL_BYTES,
};
use super::task_identity::{TaskIdentity, readable};
use super::unchanged_stat::UnchangedStat;
use super::value_error::ValueError;
use super::waits::{ThreadWaits, WaitFiles, Waits};

/// A process and its files, kept between samples.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) task: TaskIdentity,
    pub(super) last: Last<COUNTS>,
    stat: TaskFile,
    unchanged_stat: UnchangedStat,
    /// Whether the process has ended, but has not been reaped.
    is_zombie: bool,
    /// `status` or `statm`.
    memory: TaskFile,
    io: TaskFile,
    handles: TaskFile,
    waits: ThreadWaits,
    at_rest: AtRest,
    /// Whether `memory` is `status` rather than `statm`.
    is_status: bool,
}

/// What the files of a process showed since it last ran. Its own counts cannot change until it runs again. Its memory can
/// change, which `statm` shows at a fifth of the cost of `status`.
#[derive(Debug, Default)]
struct AtRest {
    io: Option<Io>,
    /// The content of `statm` and the memory in `status` at the same time.
    memory: Option<(Statm, Memory)>,
    statm: TaskFile,
}

/// The text of a `statm` file, with zeros at the end.
type Statm = [u8; 128];

/// How instances are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// `name`
    Plain,
    /// `name:pid`
    Numbered,
}

/// The files to read in addition to `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestedFiles {
    pub(super) memory: bool,
    /// Read memory from `status` rather than `statm`.
    status: bool,
    pub(super) io: bool,
    pub(super) handles: bool,
    pub(super) waits: WaitFiles,
    /// Request delays from the kernel.
    pub(super) delays: bool,
    /// Read `stat` even if the process has not run, because other processes can change its priority and its virtual size.
    pub(super) stat: bool,
}

/// The result of reading a stat file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskStat {
    Read(Stat),
    /// The task exists, but its file cannot be parsed.
    Malformed,
    /// The task has ended or is not visible.
    Gone,
}

/// The values of the files other than `stat`; zeros for files that are not requested.
#[derive(Clone, Copy, Debug)]
pub(super) struct Details {
    pub(super) memory: Result<Memory, ValueError>,
    pub(super) io: Result<Io, ValueError>,
    pub(super) handles: Result<u64, ValueError>,
    pub(super) waits: Result<Waits, ValueError>,
    pub(super) delays: Result<Delays, ValueError>,
}

/// Too many files are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyOpenFiles;

impl RequestedFiles {
    pub(super) fn for_rows(rows: &Rows) -> Self {
        let status = rows.wants_any(FROM_STATUS);
        Self {
            memory: status || rows.wants_any(FROM_STATM),
            status,
            io: rows.wants_any(FROM_IO),
            handles: rows.wants(HANDLE_COUNT),
            waits: WaitFiles {
                run_queue: rows.wants(RUN_QUEUE_WAIT_TIME),
                block_io: rows.wants(BLOCK_IO_WAIT_TIME),
            },
            delays: rows.wants_any(FROM_DELAYS),
            stat: rows.wants_any([PRIORITY_BASE, VIRTUAL_BYTES]),
        }
    }
}

impl Process {
    pub(super) fn new(pid: u32) -> Self {
        Self {
            pid,
            task: TaskIdentity::default(),
            last: Last::default(),
            stat: TaskFile::default(),
            unchanged_stat: UnchangedStat::default(),
            is_zombie: false,
            memory: TaskFile::default(),
            io: TaskFile::default(),
            handles: TaskFile::default(),
            waits: ThreadWaits::default(),
            at_rest: AtRest::default(),
            is_status: false,
        }
    }

    /// The identity of the process as the parent of others; `None` before the first read, and for a zombie, which has no
    /// children.
    pub(super) fn identity_as_parent(&self) -> Option<u64> {
        self.task.key().filter(|_| !self.is_zombie).map(|key| key.identity())
    }

    /// Like [`read_stat`](Self::read_stat), but does not read the file again if the process is at rest. `identity_of` returns the
    /// [identity](Self::identity_as_parent) of another process.
    pub(super) fn read_stat_unless_at_rest(
        &mut self,
        reader: &mut Reader,
        naming: Naming,
        identity_of: impl Fn(u32) -> Option<u64>,
    ) -> Result<TaskStat, TooManyOpenFiles> {
        let parent = self.unchanged_stat.parent().and_then(&identity_of);
        match self.unchanged_stat.check(reader, self.pid, parent) {
            Ok(Some(stat)) => return Ok(TaskStat::Read(stat)),
            Err(error) if is_too_many_files(error) => return Err(TooManyOpenFiles),
            // If the process has ended, the stat file shows that, too.
            Ok(None) | Err(_) => {}
        }
        let stat_read = self.read_stat(reader, naming)?;
        if let TaskStat::Read(stat) = &stat_read {
            self.unchanged_stat.remember(stat, identity_of(stat.parent));
        }
        Ok(stat_read)
    }

    /// Reads the stat file and updates the name and identity.
    pub(super) fn read_stat(
        &mut self,
        reader: &mut Reader,
        naming: Naming,
    ) -> Result<TaskStat, TooManyOpenFiles> {
        let was_open = self.stat.is_open();
        let text = match reader.read(&mut self.stat, Task::Process(self.pid), "stat") {
            Ok(text) => text,
            // The process of the open file has ended; its id may have been reused.
            Err(error) if is_gone(error) && was_open => {
                *self = Self::new(self.pid);
                return self.read_stat(reader, naming);
            }
            Err(error) if is_too_many_files(error) => return Err(TooManyOpenFiles),
            Err(error) => {
                if is_gone(error) {
                    *self = Self::new(self.pid);
                }
                return Ok(TaskStat::Gone);
            }
        };
        let Some(line) = stat::parse(text) else {
            if self.task.key().is_none() {
                let name = stat::name(text).map_or(&b""[..], |(name, _)| name);
                self.task.set(name, self.key(name, self.pid.into(), naming));
            }
            return Ok(TaskStat::Malformed);
        };
        let identity = line.stat.identity(self.pid);
        self.is_zombie = line.stat.is_zombie();
        if !self.task.matches(line.name, identity) {
            self.update_identity(line.name, identity, naming);
        }
        Ok(TaskStat::Read(line.stat))
    }

    /// Whether the process still exists.
    pub(super) fn is_alive(&mut self, identity: u64, reader: &mut Reader, naming: Naming) -> bool {
        match self.read_stat(reader, naming) {
            Ok(TaskStat::Gone) => false,
            Ok(_) => self.task.has_identity(identity),
            Err(TooManyOpenFiles) => true,
        }
    }

    #[cold]
    fn update_identity(&mut self, name: &[u8], identity: u64, naming: Naming) {
        if self.task.has_identity(identity) {
            // Files that the kernel denied may be readable now that the process has executed another program.
            for task_file in [&mut self.memory, &mut self.io, &mut self.handles] {
                task_file.retry();
            }
        } else {
            self.last = Last::default();
            self.close_details();
            self.waits = ThreadWaits::default();
        }
        self.task.set(name, self.key(name, identity, naming));
    }

    fn key(&self, name: &[u8], identity: u64, naming: Naming) -> InstanceKey {
        let name = readable(name);
        match naming {
            Naming::Plain => InstanceKey::new(name, self.pid, identity),
            Naming::Numbered => InstanceKey::new(format!("{name}:{}", self.pid), self.pid, identity),
        }
    }

    /// Reads the requested files of a process except `stat`; `None` if the process has ended in the meantime.
    pub(super) fn details(
        &mut self,
        reader: &mut Reader,
        delays: &mut DelayReader,
        requested: RequestedFiles,
        stat: Option<&Stat>,
        page_bytes: u64,
    ) -> Result<Option<Details>, TooManyOpenFiles> {
        let all_open = (self.memory.is_open() || !requested.memory)
            && (self.io.is_open() || self.at_rest.io.is_some() || !requested.io)
            && (self.handles.is_open() || !requested.handles)
            && (self.waits.is_open() || !requested.waits.any())
            && !requested.delays
            && self.is_status == requested.status;
        let read = self.read_details(reader, requested, stat, page_bytes);
        let read = read.and_then(|details| match requested.delays {
            true => Ok(Details { delays: delays.read(self.pid)?, ..details }),
            false => Ok(details),
        });
        let details = match read {
            Ok(details) => details,
            Err(error) if is_too_many_files(error) => return Err(TooManyOpenFiles),
            Err(_) => return Ok(None),
        };
        // If the process still exists, newly opened files and delays belong to it rather than to a later process with the same id.
        // This is not checked if its stat file cannot stay open.
        if !all_open
            && self.stat.is_open()
            && let Err(error) = reader.read(&mut self.stat, Task::Process(self.pid), "stat")
        {
            if is_gone(error) {
                *self = Self::new(self.pid);
            }
            return Ok(None);
        }
        Ok(Some(details))
    }

    /// Reads the requested files except `stat`. An error means that the process has ended or that too many files are open.
    fn read_details(
        &mut self,
        reader: &mut Reader,
        requested: RequestedFiles,
        stat: Option<&Stat>,
        page_bytes: u64,
    ) -> Result<Details, Errno> {
        let (threads, is_running) = stat.map_or((0, true), |stat| (stat.threads, stat.state == b'R'));
        let task = Task::Process(self.pid);
        let mut details = Details {
            memory: Ok(Memory::default()),
            io: Ok(Io::default()),
            handles: Ok(0),
            waits: Ok(Waits::default()),
            delays: Ok(Delays::default()),
        };
        if requested.waits.any() {
            details.waits = self.waits.read(reader, self.pid, threads, requested.waits)?;
        }
        // A process that does not run, and has not run since the last sample, is at rest.
        let is_at_rest = requested.waits.run_queue
            && details.waits.is_ok()
            && !self.waits.has_run
            && !is_running
            && reader.is_procfs();
        if !is_at_rest {
            (self.at_rest.io, self.at_rest.memory) = (None, None);
        }
        if requested.memory {
            if self.is_status != requested.status {
                self.memory.close();
                self.is_status = requested.status;
            }
            details.memory = if !requested.status {
                parsed(reader.read(&mut self.memory, task, "statm"), |text| {
                    memory::parse_statm(text, page_bytes)
                })?
            } else if is_at_rest {
                self.status_at_rest(reader)?
            } else {
                parsed(reader.read(&mut self.memory, task, "status"), memory::parse_status)?
            };
        }
        if requested.io {
            details.io = match self.at_rest.io {
                Some(io) => Ok(io),
                None => parsed(reader.read(&mut self.io, task, "io"), io::parse)?,
            };
            if is_at_rest {
                self.at_rest.io = details.io.ok();
            }
        }
        if requested.handles {
            let count = if reader.size_is_count() {
                reader.size(&mut self.handles, task, "fd")
            } else {
                reader.count(&mut self.handles, task, "fd")
            };
            details.handles = parsed(count, Some)?;
        }
        Ok(details)
    }

    /// The memory of a process at rest: `status` is read only if `statm` has changed.
    fn status_at_rest(&mut self, reader: &mut Reader) -> Result<Result<Memory, ValueError>, Errno> {
        let task = Task::Process(self.pid);
        let text = reader.read(&mut self.at_rest.statm, task, "statm")?;
        let mut statm = [0; size_of::<Statm>()];
        let length = text.len().min(statm.len());
        statm[..length].copy_from_slice(&text[..length]);
        if let Some((last, memory)) = self.at_rest.memory
            && last == statm
        {
            return Ok(Ok(memory));
        }
        let memory = parsed(reader.read(&mut self.memory, task, "status"), memory::parse_status)?;
        self.at_rest.memory = memory.ok().map(|memory| (statm, memory));
        Ok(memory)
    }

    /// Closes all files except `stat`; returns how many.
    fn close_details(&mut self) -> usize {
        self.at_rest.io = None;
        self.at_rest.memory = None;
        let files = [&mut self.memory, &mut self.io, &mut self.handles].into_iter().map(TaskFile::close);
        files.sum::<usize>() + self.at_rest.statm.close() + self.waits.close()
    }

    /// Closes all files; returns how many.
    pub(super) fn close_all(&mut self) -> usize {
        self.stat.close() + self.unchanged_stat.close() + self.close_details()
    }
}

/// The parsed content of a file. The outer error means that the task has ended or that too many files are open.
#[inline]
pub(super) fn parsed<T, U>(
    read: Result<T, Errno>,
    parse: impl FnOnce(T) -> Option<U>,
) -> Result<Result<U, ValueError>, Errno> {
    match read {
        Ok(text) => Ok(parse(text).ok_or(ValueError::Malformed)),
        Err(error) if is_gone(error) || is_too_many_files(error) => Err(error),
        Err(error) => Ok(Err(ValueError::from_errno(error))),
    }
}

impl From<TooManyOpenFiles> for Failure {
    fn from(_: TooManyOpenFiles) -> Self {
        Self::new(ErrorCode::NO_DATA, "/proc: too many files are open (RLIMIT_NOFILE)")
    }
}
