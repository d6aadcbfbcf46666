//! The set `Thread`.

use std::sync::Arc;

use rustix::io::Errno;
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use super::cursor::Cursor;
use super::process::{TaskStat, TooManyOpenFiles, parsed};
use super::process_set::boot_time;
use super::reader::{Reader, Task, TaskFile, is_gone, is_too_many_files};
use super::stat;
use super::sums::{Last, Sums};
use super::table::thread as id;
use super::task_identity::{TaskIdentity, add_known, readable, update_tasks};
use super::ticks::Ticks;
use super::value_error::{Reasons, ValueError};
use super::waits::run_queue_wait;
use crate::error_texts::unreadable_failure;

/// The indexes of the running totals of a thread.
const USER: usize = 0;
const SYSTEM: usize = 1;
const SWITCHES: usize = 2;
const RUN_QUEUE_WAIT: usize = 3;
const BLOCK_IO_WAIT: usize = 4;

/// The provider of `Thread`.
#[derive(Debug)]
pub(super) struct ThreadSet {
    info: Arc<CounterSetInfo>,
    reader: Reader,
    /// The ids of the processes that `/proc` lists, sorted.
    listed: Vec<u32>,
    /// The threads of the process that is being read: their ids minus that of the process.
    ids: Vec<u32>,
    /// The processes in `listed`.
    known: Vec<ThreadGroup>,
    /// Empty lists, whose memory is reused.
    spare: Vec<ThreadGroup>,
    spare_threads: Vec<Thread>,
    ticks: Ticks,
    switches: Option<SwitchSource>,
    /// The running totals of all threads, including ended ones.
    sums: Sums<5>,
    total_key: Arc<InstanceKey>,
    stat_reasons: Reasons,
    switches_reasons: Reasons,
}

/// The file that provides the number of context switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwitchSource {
    /// `schedstat`: the same number as `status` at a tenth of the cost.
    Schedstat,
    /// `status`: for kernels without `schedstat`.
    Status,
}

/// The numbers of the file that provides the context switches.
#[derive(Clone, Copy, Debug, Default)]
struct Switches {
    count: u64,
    /// The time in a run queue; 0 if the file does not provide it.
    run_queue_ns: u64,
}

/// The threads of a process.
#[derive(Debug)]
struct ThreadGroup {
    pid: u32,
    folder: TaskFile,
    /// The kernel's name for the process.
    name: Vec<u8>,
    threads: Vec<Thread>,
    /// Whether `threads` has threads that the last listing lacks: they have ended, or the kernel omitted them.
    has_unlisted: bool,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    /// The thread's id minus the process's, wrapping: the main thread comes first, and ids that wrapped around come
    /// last.
    order: u32,
    /// The thread's index in the process, which is its instance name.
    index: u32,
    /// The thread's instance, with the name of its process.
    task: TaskIdentity,
    /// The running totals, as last read.
    last: Last<5>,
    /// The priority without priority inheritance.
    base: Option<u64>,
    /// The wait for block devices, in ticks.
    block_io_wait: Option<u64>,
    stat: TaskFile,
    switches: TaskFile,
}

impl ThreadSet {
    pub(super) fn new(
        info: Arc<CounterSetInfo>,
        reader: Reader,
        ticks: Ticks,
        switches: Option<SwitchSource>,
    ) -> Self {
        Self {
            info,
            reader,
            listed: Vec::new(),
            ids: Vec::new(),
            known: Vec::new(),
            spare: Vec::new(),
            spare_threads: Vec::new(),
            ticks,
            switches,
            sums: Sums::default(),
            total_key: Arc::new(InstanceKey::with_parent("_Total", "_Total", 0, 0).reserved()),
            stat_reasons: Reasons::new("/proc/PID/task/TID/stat"),
            switches_reasons: Reasons::new(match switches {
                Some(SwitchSource::Schedstat) => "/proc/PID/task/TID/schedstat",
                _ => "/proc/PID/task/TID/status",
            }),
        }
    }

    /// Lists the threads of a process; `false` if they cannot be listed, usually because the process has ended.
    fn list(&mut self, group: usize) -> Result<bool, TooManyOpenFiles> {
        let group = &mut self.known[group];
        let was_open = group.folder.is_open();
        let mut listed = self.reader.threads(&mut group.folder, group.pid, &mut self.ids);
        if was_open && listed.is_err_and(is_gone) {
            // The process of the open folder has ended; its id may have been reused.
            *group = ThreadGroup::new(group.pid);
            listed = self.reader.threads(&mut group.folder, group.pid, &mut self.ids);
        }
        match listed {
            Ok(()) => {}
            Err(error) if is_too_many_files(error) => return Err(TooManyOpenFiles),
            Err(_) => return Ok(false),
        }
        let pid = group.pid;
        self.ids.iter_mut().for_each(|id| *id = id.wrapping_sub(pid));
        add_known(&mut self.ids, std::iter::empty());
        let order = |thread: &Thread| thread.order;
        let listed = self.ids.len();
        add_known(&mut self.ids, group.threads.iter().map(order));
        group.has_unlisted = self.ids.len() > listed;
        update_tasks(&mut group.threads, &mut self.spare_threads, &self.ids, order, |order| {
            Thread::new(pid, order)
        });
        Ok(true)
    }

    /// Reads a thread and adds its row if it is requested; `false` if the thread has ended.
    fn collect_thread(
        &mut self,
        group: usize,
        index: usize,
        rows: &mut Rows,
        in_total: bool,
    ) -> Result<bool, TooManyOpenFiles> {
        let group = &mut self.known[group];
        let thread = &mut group.threads[index];
        let wants =
            |key: &InstanceKey| rows.wants_all_instances() || rows.wants_instance(key.full_name(), key.id());
        // The main thread is always read, because it provides the name of the process.
        if index > 0
            && !in_total
            && !group.has_unlisted
            && thread.is_named(&group.name, index)
            && let Some(key) = thread.task.key()
            && !wants(key)
        {
            return Ok(true);
        }
        let stat_read = thread.read_stat(&mut self.reader, &mut group.name, index)?;
        let (TaskStat::Read(_) | TaskStat::Malformed, Some(key)) = (stat_read, thread.task.key()) else {
            // The main thread keeps its index, so that the others keep theirs.
            return Ok(index == 0 || thread.task.key().is_some());
        };
        let key = Arc::clone(key);
        let is_wanted = wants(&key);
        if !is_wanted && !in_total {
            return Ok(true);
        }
        let wants_switches = rows.wants_any([id::CONTEXT_SWITCHES, id::RUN_QUEUE_WAIT_TIME]);
        let switches = match self.switches.filter(|_| wants_switches) {
            None => Ok(Switches::default()),
            Some(source) => match thread.switches(&mut self.reader, source) {
                Ok(Ok(switches)) => Ok(Switches {
                    count: self.sums.add(&mut thread.last, SWITCHES, switches.count),
                    run_queue_ns: self.sums.add(&mut thread.last, RUN_QUEUE_WAIT, switches.run_queue_ns),
                }),
                Ok(Err(reason)) => Err(reason),
                Err(error) if is_too_many_files(error) => return Err(TooManyOpenFiles),
                Err(_) => return Ok(true),
            },
        };
        let times = match stat_read {
            TaskStat::Read(stat) => {
                let user = self.sums.add(&mut thread.last, USER, stat.user);
                let system = self.sums.add(&mut thread.last, SYSTEM, stat.system);
                let block_io = thread.block_io_wait;
                let block_io = block_io.map(|wait| self.sums.add(&mut thread.last, BLOCK_IO_WAIT, wait));
                Some((stat, user, system, block_io))
            }
            _ => None,
        };
        if !is_wanted {
            return Ok(true);
        }
        let at = rows.timestamps();
        let mut row = rows.push(&key);
        match times {
            Some((stat, user, system, block_io)) => {
                row.set(id::PROCESSOR_TIME, self.ticks.hundred_ns(user + system));
                row.set(id::USER_TIME, self.ticks.hundred_ns(user));
                row.set(id::PRIVILEGED_TIME, self.ticks.hundred_ns(system));
                // The elapsed time of a thread that started during the collection is 0.
                let started = boot_time(at).wrapping_add(self.ticks.hundred_ns(stat.start));
                row.set(id::ELAPSED_TIME, started.min(at.system_time.0 as u64));
                row.set(id::PRIORITY_CURRENT, stat.priority_current());
                match thread.base {
                    Some(base) => row.set(id::PRIORITY_BASE, base),
                    None => row.fail(id::PRIORITY_BASE, self.stat_reasons.text(ValueError::Malformed)),
                }
                row.set(id::THREAD_STATE, windows_state(stat.state));
                match block_io {
                    Some(wait) => row.set(id::BLOCK_IO_WAIT_TIME, self.ticks.hundred_ns(wait)),
                    None => row.fail(id::BLOCK_IO_WAIT_TIME, self.stat_reasons.text(ValueError::Malformed)),
                }
            }
            None => row.fail_all(id::FROM_STAT, self.stat_reasons.text(ValueError::Malformed)),
        }
        row.set(id::ID_PROCESS, thread.pid.into());
        row.set(id::ID_THREAD, key.id().into());
        match switches {
            Ok(switches) => {
                row.set(id::CONTEXT_SWITCHES, switches.count);
                row.set(id::RUN_QUEUE_WAIT_TIME, switches.run_queue_ns / 100);
            }
            Err(reason) => {
                let ids = [id::CONTEXT_SWITCHES, id::RUN_QUEUE_WAIT_TIME];
                row.fail_all(ids, self.switches_reasons.text(reason));
            }
        }
        Ok(true)
    }

    /// Reads the threads of a process and adds their rows. `done` counts the threads that were read, also by an earlier call.
    fn collect_process(
        &mut self,
        group: usize,
        done: &mut usize,
        rows: &mut Rows,
        in_total: bool,
    ) -> Result<(), TooManyOpenFiles> {
        if *done == 0 && !self.list(group)? {
            self.known[group].threads.clear();
        }
        while *done < self.known[group].threads.len() {
            if self.collect_thread(group, *done, rows, in_total)? {
                *done += 1;
            } else {
                self.known[group].threads.remove(*done);
            }
        }
        Ok(())
    }
}

impl ThreadGroup {
    /// Closes all files; returns how many.
    fn close_all(&mut self) -> usize {
        let threads = self.threads.iter_mut().map(|thread| thread.stat.close() + thread.switches.close());
        threads.sum::<usize>() + self.folder.close()
    }
}

impl Provider for ThreadSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let listed = self.reader.processes(&mut self.listed);
        listed.map_err(|error| unreadable_failure("/proc", &error.into()))?;
        update_tasks(&mut self.known, &mut self.spare, &self.listed, |group| group.pid, ThreadGroup::new);
        let in_total = rows.wants_instance(self.total_key.full_name(), 0);
        for group in 0..self.known.len() {
            let mut done = 0;
            if self.collect_process(group, &mut done, rows, in_total).is_err() {
                self.reader.make_room(&mut self.known, ThreadGroup::close_all);
                self.collect_process(group, &mut done, rows, in_total)?;
            }
        }
        if in_total {
            let at = rows.timestamps();
            let (user, system) = (self.sums.get(USER), self.sums.get(SYSTEM));
            let mut row = rows.push(&self.total_key);
            for id in id::FROM_STAT.into_iter().chain([id::ID_PROCESS, id::ID_THREAD]) {
                row.set(id, 0);
            }
            row.set(id::PROCESSOR_TIME, self.ticks.hundred_ns(user + system));
            row.set(id::USER_TIME, self.ticks.hundred_ns(user));
            row.set(id::PRIVILEGED_TIME, self.ticks.hundred_ns(system));
            row.set(id::CONTEXT_SWITCHES, self.sums.get(SWITCHES));
            row.set(id::RUN_QUEUE_WAIT_TIME, self.sums.get(RUN_QUEUE_WAIT) / 100);
            row.set(id::BLOCK_IO_WAIT_TIME, self.ticks.hundred_ns(self.sums.get(BLOCK_IO_WAIT)));
            row.set(id::ELAPSED_TIME, boot_time(at));
        }
        Ok(())
    }

    fn idle(&mut self) {
        (self.spare, self.spare_threads) = (Vec::new(), Vec::new());
        for group in &mut self.known {
            group.close_all();
        }
    }
}

impl ThreadGroup {
    fn new(pid: u32) -> Self {
        Self { pid, folder: TaskFile::default(), name: Vec::new(), threads: Vec::new(), has_unlisted: false }
    }
}

impl Thread {
    fn new(pid: u32, order: u32) -> Self {
        Self {
            pid,
            order,
            index: 0,
            task: TaskIdentity::default(),
            last: Last::default(),
            base: None,
            block_io_wait: None,
            stat: TaskFile::default(),
            switches: TaskFile::default(),
        }
    }

    fn tid(&self) -> u32 {
        self.pid.wrapping_add(self.order)
    }

    /// Whether the thread's instance already has this process name and index.
    fn is_named(&self, process: &[u8], index: usize) -> bool {
        self.index as usize == index && self.task.name() == process
    }

    /// Reads the stat file and updates the name and identity. For the main thread, which is at index 0, also updates
    /// the name of the process.
    fn read_stat(
        &mut self,
        reader: &mut Reader,
        process: &mut Vec<u8>,
        index: usize,
    ) -> Result<TaskStat, TooManyOpenFiles> {
        let was_open = self.stat.is_open();
        let tid = self.tid();
        let text = match reader.read(&mut self.stat, Task::Thread(self.pid, tid), "stat") {
            Ok(text) => text,
            Err(error) if is_gone(error) && was_open => {
                *self = Self::new(self.pid, self.order);
                return self.read_stat(reader, process, index);
            }
            Err(error) if is_too_many_files(error) => return Err(TooManyOpenFiles),
            Err(error) => {
                if is_gone(error) {
                    *self = Self::new(self.pid, self.order);
                }
                return Ok(TaskStat::Gone);
            }
        };
        let Some(line) = stat::parse(text) else {
            if self.task.key().is_none() {
                self.set_instance(process, index, tid.into());
            }
            return Ok(TaskStat::Malformed);
        };
        if index == 0 && *process != line.name {
            process.clear();
            process.extend_from_slice(line.name);
        }
        self.base = line.priority_base();
        self.block_io_wait = line.block_io_wait();
        let stat = line.stat;
        let identity = stat.identity(tid);
        if !self.task.has_identity(identity) {
            self.last = Last::default();
            self.switches.close();
        }
        if !self.task.matches(process, identity) || self.index as usize != index {
            self.set_instance(process, index, identity);
        }
        Ok(TaskStat::Read(stat))
    }

    #[cold]
    fn set_instance(&mut self, process: &[u8], index: usize, identity: u64) {
        self.index = index as u32;
        let key = InstanceKey::with_parent(&readable(process), &index.to_string(), self.tid(), identity);
        self.task.set(process, key);
    }

    /// The thread's context switches and waits. For the outer error, see [`parsed`].
    fn switches(
        &mut self,
        reader: &mut Reader,
        source: SwitchSource,
    ) -> Result<Result<Switches, ValueError>, Errno> {
        let task = Task::Thread(self.pid, self.tid());
        parsed(reader.read(&mut self.switches, task, source.file_name()), |text| {
            let run_queue_ns = match source {
                SwitchSource::Schedstat => run_queue_wait(text)?,
                SwitchSource::Status => 0,
            };
            Some(Switches { count: source.parse(text)?, run_queue_ns })
        })
    }
}

impl SwitchSource {
    pub(super) fn parse(self, text: &[u8]) -> Option<u64> {
        match self {
            Self::Schedstat => {
                let mut fields = Cursor(text);
                fields.next_number()?;
                fields.next_number()?;
                fields.next_number()
            }
            Self::Status => {
                let field = |label: &[u8]| {
                    let line = text.split(|&byte| byte == b'\n').find(|line| line.starts_with(label))?;
                    crate::scan::parse_number(line[label.len()..].trim_ascii())
                };
                Some(field(b"voluntary_ctxt_switches:")?.wrapping_add(field(b"nonvoluntary_ctxt_switches:")?))
            }
        }
    }

    pub(super) fn file_name(self) -> &'static str {
        match self {
            Self::Schedstat => "schedstat",
            Self::Status => "status",
        }
    }
}

/// Converts the kernel's state letter to the number that Windows uses.
fn windows_state(letter: u8) -> u64 {
    match letter {
        b'R' => 2,
        b'Z' | b'X' | b'x' => 4,
        b'S' | b'D' | b'T' | b't' | b'I' | b'P' | b'K' | b'W' => 5,
        _ => 7,
    }
}
