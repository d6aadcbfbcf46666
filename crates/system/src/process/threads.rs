//! The set `Thread`.

use std::sync::Arc;

use rustix::io::Errno;
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{ErrorCode, Failure, InstanceKey, Provider, Rows};

use super::cursor::Cursor;
use super::known::{Numbered, Person, follow, readable};
use super::process::{Crowded, Sight};
use super::reader::{Place, Reader, Task, is_crowded, is_gone};
use super::reasons::{Lack, Reasons};
use super::stat;
use super::table::thread as id;
use super::ticks::Ticks;
use super::total::{Last, Sums};

const USER: usize = 0;
const SYSTEM: usize = 1;
const SWITCHES: usize = 2;

/// The provider of `Thread`.
#[derive(Debug)]
pub(super) struct ThreadSet {
    info: Arc<CounterSetInfo>,
    reader: Reader,
    listed: Vec<u32>,
    numbers: Vec<u32>,
    known: Vec<Group>,
    spare: Vec<Group>,
    spare_threads: Vec<Thread>,
    ticks: Ticks,
    switches: Option<Switches>,
    sums: Sums<3>,
    total_key: Arc<InstanceKey>,
    of_stat: Reasons,
    of_switches: Reasons,
}

/// Where switches are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switches {
    /// `schedstat`: a tenth of the cost of `status`, and the same number.
    Schedstat,
    /// `status`: not all kernels have the other.
    Status,
}

/// The threads of a process.
#[derive(Debug)]
struct Group {
    pid: u32,
    folder: Place,
    /// The process's name as the kernel has it.
    name: Vec<u8>,
    threads: Vec<Thread>,
}

#[derive(Debug)]
struct Thread {
    pid: u32,
    /// Its number less that of the process: the main thread is the first, and numbers that began anew come last.
    order: u32,
    /// Its place among the threads of the process, as its name has it.
    index: u32,
    /// Under the process's name.
    person: Person,
    last: Last<3>,
    /// Priority without what was lent.
    base: Option<u64>,
    stat: Place,
    switches: Place,
}

impl ThreadSet {
    pub(super) fn new(
        info: Arc<CounterSetInfo>,
        reader: Reader,
        ticks: Ticks,
        switches: Option<Switches>,
    ) -> Self {
        Self {
            info,
            reader,
            listed: Vec::new(),
            numbers: Vec::new(),
            known: Vec::new(),
            spare: Vec::new(),
            spare_threads: Vec::new(),
            ticks,
            switches,
            sums: Sums::default(),
            total_key: Arc::new(InstanceKey::with_parent("_Total", "_Total", 0, 0).reserved()),
            of_stat: Reasons::new("/proc/PID/task/TID/stat"),
            of_switches: Reasons::new(match switches {
                Some(Switches::Schedstat) => "/proc/PID/task/TID/schedstat",
                _ => "/proc/PID/task/TID/status",
            }),
        }
    }

    /// Finds which threads a process has; `false` when it has ended.
    fn list(&mut self, place: usize) -> Result<bool, Crowded> {
        let group = &mut self.known[place];
        let was_open = group.folder.is_open();
        let mut listed = self.reader.threads(&mut group.folder, group.pid, &mut self.numbers);
        if was_open && listed.is_err_and(is_gone) {
            // The process that the open folder belonged to has ended; another one may have its number.
            *group = Group::new(group.pid);
            listed = self.reader.threads(&mut group.folder, group.pid, &mut self.numbers);
        }
        match listed {
            Ok(()) => {}
            Err(error) if is_crowded(error) => return Err(Crowded),
            Err(_) => return Ok(false),
        }
        let pid = group.pid;
        self.numbers.iter_mut().for_each(|number| *number = number.wrapping_sub(pid));
        if !self.numbers.is_sorted() {
            self.numbers.sort_unstable();
        }
        // The kernel may list a thread twice when another one ends meanwhile.
        self.numbers.dedup();
        follow(&mut group.threads, &mut self.spare_threads, &self.numbers, |order| Thread::new(pid, order));
        Ok(true)
    }

    fn thread(&mut self, place: usize, index: usize, rows: &mut Rows, in_total: bool) -> Result<(), Crowded> {
        let group = &mut self.known[place];
        let thread = &mut group.threads[index];
        let takes =
            |key: &InstanceKey| rows.wants_all_instances() || rows.wants_instance(key.full_name(), key.id());
        // The main thread tells the name of the process, so it is read in any case.
        if index > 0
            && !in_total
            && thread.is_named(&group.name, index)
            && let Some(key) = thread.person.key()
            && !takes(key)
        {
            return Ok(());
        }
        let sight = thread.look(&mut self.reader, &mut group.name, index)?;
        let (Sight::Here(_) | Sight::Broken, Some(key)) = (sight, thread.person.key()) else { return Ok(()) };
        let key = Arc::clone(key);
        let is_wanted = takes(&key);
        if !is_wanted && !in_total {
            return Ok(());
        }
        let switches = match self.switches.filter(|_| rows.wants(id::CONTEXT_SWITCHES)) {
            None => Ok(0),
            Some(source) => match thread.switches(&mut self.reader, source) {
                Ok(Ok(count)) => Ok(self.sums.take(&mut thread.last, SWITCHES, count)),
                Ok(Err(lack)) => Err(lack),
                Err(error) if is_crowded(error) => return Err(Crowded),
                Err(_) => return Ok(()),
            },
        };
        let times = match sight {
            Sight::Here(stat) => {
                let user = self.sums.take(&mut thread.last, USER, stat.user);
                let system = self.sums.take(&mut thread.last, SYSTEM, stat.system);
                Some((stat, user, system))
            }
            _ => None,
        };
        if !is_wanted {
            return Ok(());
        }
        let at = rows.at();
        let mut row = rows.push(&key);
        match times {
            Some((stat, user, system)) => {
                row.set(id::PROCESSOR_TIME, self.ticks.hundred_ns(user + system));
                row.set(id::USER_TIME, self.ticks.hundred_ns(user));
                row.set(id::PRIVILEGED_TIME, self.ticks.hundred_ns(system));
                let boot = at.system_time.0.wrapping_sub(at.ticks) as u64;
                // Who started while the sample was taken is 0 s old at its moment.
                let started = boot.wrapping_add(self.ticks.hundred_ns(stat.start));
                row.set(id::ELAPSED_TIME, started.min(at.system_time.0 as u64));
                row.set(id::PRIORITY_CURRENT, stat.priority_current());
                match thread.base {
                    Some(base) => row.set(id::PRIORITY_BASE, base),
                    None => row.fail(id::PRIORITY_BASE, self.of_stat.of(Lack::Broken)),
                }
                row.set(id::THREAD_STATE, windows_state(stat.state));
            }
            None => row.fail_all(id::OF_STAT, self.of_stat.of(Lack::Broken)),
        }
        row.set(id::ID_PROCESS, thread.pid.into());
        row.set(id::ID_THREAD, key.id().into());
        match switches {
            Ok(count) => row.set(id::CONTEXT_SWITCHES, count),
            Err(lack) => row.fail(id::CONTEXT_SWITCHES, self.of_switches.of(lack)),
        }
        Ok(())
    }

    fn process(
        &mut self,
        place: usize,
        done: &mut usize,
        rows: &mut Rows,
        in_total: bool,
    ) -> Result<(), Crowded> {
        if *done == 0 && !self.list(place)? {
            self.known[place].threads.clear();
        }
        while *done < self.known[place].threads.len() {
            self.thread(place, *done, rows, in_total)?;
            *done += 1;
        }
        Ok(())
    }

    /// Closes files, so that others can be opened.
    fn make_room(&mut self) {
        self.reader.descriptors().crowded();
        let mut closed = 0;
        for group in self.known.iter_mut().rev() {
            closed += group.close_all();
            if closed >= 32 {
                break;
            }
        }
    }
}

impl Group {
    /// Closes all files, and says how many that were.
    fn close_all(&mut self) -> usize {
        let threads = self.threads.iter_mut().flat_map(|thread| [&mut thread.stat, &mut thread.switches]);
        let mut closed = 0;
        for place in threads.chain([&mut self.folder]) {
            closed += usize::from(place.is_open());
            place.close();
        }
        closed
    }
}

impl Provider for ThreadSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let listed = self.reader.processes(&mut self.listed);
        listed.map_err(|error| Failure::new(ErrorCode::NO_DATA, format!("/proc: {error}")))?;
        follow(&mut self.known, &mut self.spare, &self.listed, Group::new);
        let in_total = rows.wants_instance(self.total_key.full_name(), 0);
        for place in 0..self.known.len() {
            let mut done = 0;
            if self.process(place, &mut done, rows, in_total).is_err() {
                self.make_room();
                self.process(place, &mut done, rows, in_total).map_err(|Crowded| {
                    Failure::new(ErrorCode::NO_DATA, "/proc: too many files are open (RLIMIT_NOFILE)")
                })?;
            }
        }
        if in_total {
            let at = rows.at();
            let (user, system) = (self.sums.of(USER), self.sums.of(SYSTEM));
            let mut row = rows.push(&self.total_key);
            for id in id::OF_STAT.into_iter().chain([id::ID_PROCESS, id::ID_THREAD]) {
                row.set(id, 0);
            }
            row.set(id::PROCESSOR_TIME, self.ticks.hundred_ns(user + system));
            row.set(id::USER_TIME, self.ticks.hundred_ns(user));
            row.set(id::PRIVILEGED_TIME, self.ticks.hundred_ns(system));
            row.set(id::CONTEXT_SWITCHES, self.sums.of(SWITCHES));
            row.set(id::ELAPSED_TIME, at.system_time.0.wrapping_sub(at.ticks) as u64);
        }
        Ok(())
    }

    fn rest(&mut self) {
        (self.spare, self.spare_threads) = (Vec::new(), Vec::new());
        for group in &mut self.known {
            group.close_all();
        }
    }
}

impl Group {
    fn new(pid: u32) -> Self {
        Self { pid, folder: Place::default(), name: Vec::new(), threads: Vec::new() }
    }
}

impl Thread {
    fn new(pid: u32, order: u32) -> Self {
        Self {
            pid,
            order,
            index: 0,
            person: Person::default(),
            last: Last::default(),
            base: None,
            stat: Place::default(),
            switches: Place::default(),
        }
    }

    fn tid(&self) -> u32 {
        self.pid.wrapping_add(self.order)
    }

    /// Whether its instance is named after this process and place.
    fn is_named(&self, process: &[u8], index: usize) -> bool {
        self.index as usize == index && self.person.name() == process
    }

    /// Looks whether the thread is there, who it is, and what its stat file says. The main thread, which is the first,
    /// also tells the name of the process.
    fn look(&mut self, reader: &mut Reader, process: &mut Vec<u8>, index: usize) -> Result<Sight, Crowded> {
        let was_open = self.stat.is_open();
        let tid = self.tid();
        let text = match reader.read(&mut self.stat, Task::Thread(self.pid, tid), "stat") {
            Ok(text) => text,
            Err(error) if is_gone(error) && was_open => {
                *self = Self::new(self.pid, self.order);
                return self.look(reader, process, index);
            }
            Err(error) if is_crowded(error) => return Err(Crowded),
            Err(error) => {
                if is_gone(error) {
                    *self = Self::new(self.pid, self.order);
                }
                return Ok(Sight::Gone);
            }
        };
        let Some(line) = stat::parse(text) else {
            if self.person.key().is_none() {
                self.becomes(process, index, tid.into());
            }
            return Ok(Sight::Broken);
        };
        if index == 0 && *process != line.name {
            process.clear();
            process.extend_from_slice(line.name);
        }
        self.base = line.priority_base();
        let stat = line.stat;
        let identity = stat.identity(tid);
        if !self.person.is_same(identity) {
            self.last = Last::default();
            self.switches.close();
        }
        if !self.person.is(process, identity) || self.index as usize != index {
            self.becomes(process, index, identity);
        }
        Ok(Sight::Here(stat))
    }

    #[cold]
    fn becomes(&mut self, process: &[u8], index: usize, identity: u64) {
        self.index = index as u32;
        let key = InstanceKey::with_parent(&readable(process), &index.to_string(), self.tid(), identity);
        self.person.becomes(process, key);
    }

    /// How often a processor turned to it; the outer error is that it has ended, or that too many files are open.
    fn switches(&mut self, reader: &mut Reader, source: Switches) -> Result<Result<u64, Lack>, Errno> {
        let task = Task::Thread(self.pid, self.tid());
        match reader.read(&mut self.switches, task, source.file_name()) {
            Ok(text) => Ok(source.parse(text).ok_or(Lack::Broken)),
            Err(error) if is_gone(error) || is_crowded(error) => Err(error),
            Err(error) => Ok(Err(Lack::of(error))),
        }
    }
}

impl Switches {
    pub(super) fn parse(self, text: &[u8]) -> Option<u64> {
        match self {
            Self::Schedstat => {
                let mut fields = Cursor(text);
                fields.number()?;
                fields.number()?;
                fields.number()
            }
            Self::Status => {
                let field = |label: &[u8]| {
                    let line = text.split(|&byte| byte == b'\n').find(|line| line.starts_with(label))?;
                    crate::scan::number(line[label.len()..].trim_ascii())
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

/// Windows' number of a state of a thread.
fn windows_state(letter: u8) -> u64 {
    match letter {
        b'R' => 2,
        b'Z' | b'X' | b'x' => 4,
        b'S' | b'D' | b'T' | b't' | b'I' | b'P' | b'K' | b'W' => 5,
        _ => 7,
    }
}

impl Numbered for Group {
    fn number(&self) -> u32 {
        self.pid
    }
}

impl Numbered for Thread {
    fn number(&self) -> u32 {
        self.order
    }
}
