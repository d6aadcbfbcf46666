//! The waits of a process: for a processor and for block devices. The kernel keeps them per thread.

use rustix::io::Errno;

use super::cursor::Cursor;
use super::process::parsed;
use super::reader::{Reader, Task, TaskFile, is_gone};
use super::stat;
use super::sums::{Last, Sums};
use super::task_identity::{add_known, update_tasks};
use super::value_error::ValueError;
use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::parse_single_number;

/// The indexes of the numbers of a thread in the sums over threads.
const RUN_QUEUE: usize = 0;
const BLOCK_IO: usize = 1;

/// The waits of the threads of a process, including ended threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Waits {
    /// How long threads were ready to run but had no processor.
    pub(super) run_queue_ns: u64,
    /// How long threads waited for block devices.
    pub(super) block_io_ticks: u64,
}

/// The files of the threads to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitFiles {
    /// `schedstat`
    pub(super) run_queue: bool,
    /// `stat`
    pub(super) block_io: bool,
}

/// The threads of a process and their waits, kept between samples.
#[derive(Debug, Default)]
pub(super) struct ThreadWaits {
    /// The folder `/proc/PID/task`.
    folder: TaskFile,
    /// The ids of the threads in the folder.
    ids: Vec<u32>,
    threads: Vec<ThreadWait>,
    /// Unused entries, whose memory is reused.
    spare: Vec<ThreadWait>,
    /// The waits of all threads, including ended ones.
    sums: Sums<2>,
    /// Whether a thread has run or ended since the last read, or whether this is unknown.
    pub(super) has_run: bool,
}

#[derive(Debug)]
struct ThreadWait {
    id: u32,
    schedstat: TaskFile,
    stat: TaskFile,
    last: Last<2>,
    schedule: Option<Schedule>,
}

/// The numbers of a schedstat file: the time on processors and the time in run queues, in nanoseconds, and the number of times
/// that the thread was given a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Schedule([u64; 3]);

impl WaitFiles {
    pub(super) fn any(self) -> bool {
        self.run_queue || self.block_io
    }
}

impl ThreadWaits {
    /// Reads the waits of all threads. `threads` is their number in the process's stat file. The outer error means that the
    /// process has ended or that too many files are open.
    pub(super) fn read(
        &mut self,
        reader: &mut Reader,
        pid: u32,
        threads: u64,
        files: WaitFiles,
    ) -> Result<Result<Waits, ValueError>, Errno> {
        if threads == 1 {
            self.folder.close();
            self.ids.clear();
            self.ids.push(pid);
        } else if let Err(reason) = parsed(reader.threads(&mut self.folder, pid, &mut self.ids), Some)? {
            return Ok(Err(reason));
        }
        add_known(&mut self.ids, self.threads.iter().map(|thread| thread.id));
        update_tasks(&mut self.threads, &mut self.spare, &self.ids, |thread| thread.id, ThreadWait::new);
        let Self { threads, sums, has_run, .. } = self;
        *has_run = !files.run_queue;
        let mut failure = None;
        threads.retain_mut(|thread| {
            if failure.is_some() {
                return true;
            }
            let before = thread.schedule;
            match thread.read(reader, pid, files, sums) {
                Ok(Ok(())) => *has_run |= before.is_none() || thread.schedule != before,
                // The thread has ended.
                Err(error) if is_gone(error) => {
                    *has_run = true;
                    return false;
                }
                Ok(Err(reason)) => failure = Some(Ok(reason)),
                Err(error) => failure = Some(Err(error)),
            }
            true
        });
        if let Some(failure) = failure {
            return failure.map(Err);
        }
        Ok(Ok(Waits { run_queue_ns: self.sums.get(RUN_QUEUE), block_io_ticks: self.sums.get(BLOCK_IO) }))
    }

    pub(super) fn is_open(&self) -> bool {
        let mut threads = self.threads.iter();
        threads.any(|thread| thread.schedstat.is_open() || thread.stat.is_open())
    }

    /// Closes all files; returns how many.
    pub(super) fn close(&mut self) -> usize {
        self.spare = Vec::new();
        let threads = self.threads.iter_mut().map(|thread| thread.schedstat.close() + thread.stat.close());
        threads.sum::<usize>() + self.folder.close()
    }
}

impl ThreadWait {
    fn new(id: u32) -> Self {
        Self {
            id,
            schedstat: TaskFile::default(),
            stat: TaskFile::default(),
            last: Last::default(),
            schedule: None,
        }
    }

    fn read(
        &mut self,
        reader: &mut Reader,
        pid: u32,
        files: WaitFiles,
        sums: &mut Sums<2>,
    ) -> Result<Result<(), ValueError>, Errno> {
        let was_open = self.schedstat.is_open() || self.stat.is_open();
        match self.read_files(reader, pid, files, sums) {
            // The thread of the open file has ended; its id may have been reused.
            Err(error) if is_gone(error) && was_open => {
                *self = Self::new(self.id);
                self.read_files(reader, pid, files, sums)
            }
            read => read,
        }
    }

    fn read_files(
        &mut self,
        reader: &mut Reader,
        pid: u32,
        files: WaitFiles,
        sums: &mut Sums<2>,
    ) -> Result<Result<(), ValueError>, Errno> {
        let task = Task::Thread(pid, self.id);
        if files.run_queue {
            match parsed(reader.read(&mut self.schedstat, task, "schedstat"), Schedule::parse)? {
                Ok(schedule) => {
                    sums.add(&mut self.last, RUN_QUEUE, schedule.0[1]);
                    self.schedule = Some(schedule);
                }
                Err(reason) => return Ok(Err(reason)),
            }
        }
        if files.block_io {
            let parse = |text: &[u8]| stat::parse(text)?.block_io_wait();
            match parsed(reader.read(&mut self.stat, task, "stat"), parse)? {
                Ok(wait) => _ = sums.add(&mut self.last, BLOCK_IO, wait),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Ok(()))
    }
}

impl Schedule {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let mut fields = Cursor(text);
        Some(Self([fields.next_number()?, fields.next_number()?, fields.next_number()?]))
    }

    /// Whether the thread was ever given a processor. If the kernel does not count this, all numbers are 0.
    pub(super) fn has_run(self) -> bool {
        self.0[2] > 0
    }
}

/// The time in a run queue in nanoseconds, from a schedstat file: time on a processor, time in a run queue, switches.
pub(super) fn run_queue_wait(text: &[u8]) -> Option<u64> {
    let mut fields = Cursor(text);
    fields.next_number()?;
    fields.next_number()
}

/// Checks that the kernel accounts for the delays of tasks; otherwise returns the reason.
pub(super) fn check_delay_accounting(roots: &Roots) -> Result<(), String> {
    let setting = OpenFile::new(roots.proc.join("sys/kernel/task_delayacct")).read().map(parse_single_number);
    match setting {
        Ok(Some(0)) => Err("needs 'sysctl kernel.task_delayacct=1'".to_owned()),
        Ok(Some(_)) => Ok(()),
        _ => Err("the kernel has no sysctl kernel.task_delayacct (Linux 5.14 and later)".to_owned()),
    }
}
