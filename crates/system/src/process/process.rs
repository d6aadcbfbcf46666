//! One process: its files and what they say.

use rustix::io::Errno;
use tachograph_perflib::{InstanceKey, Rows};

use super::io::{self, Io};
use super::known::{Numbered, Person, readable};
use super::memory::{self, Memory};
use super::reader::{Place, Reader, Task, is_crowded, is_gone};
use super::reasons::Lack;
use super::stat::{self, Stat};
use super::table::{HANDLE_COUNT, OF_IO, OF_STATM, OF_STATUS};
use super::total::Last;

/// A process that is known from the sample before.
#[derive(Debug)]
pub(super) struct Process {
    pid: u32,
    pub(super) person: Person,
    pub(super) last: Last<9>,
    stat: Place,
    memory: Place,
    io: Place,
    handles: Place,
    /// Whether `memory` is the file `status`, and not `statm`.
    is_status: bool,
}

/// How instances are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// `name`
    Plain,
    /// `name:number`
    Numbered,
}

/// Which files are read beside `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) memory: bool,
    /// Memory is read from `status`.
    status: bool,
    pub(super) io: bool,
    pub(super) handles: bool,
}

/// What the stat file of a process says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    Here(Stat),
    /// It is there, and its file holds something else than it should.
    Broken,
    /// It has ended, or is not to be seen.
    Gone,
}

/// What the other files say; those that are not wanted say nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Details {
    pub(super) memory: Result<Memory, Lack>,
    pub(super) io: Result<Io, Lack>,
    pub(super) handles: Result<u64, Lack>,
}

/// Too many files are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Crowded;

impl Wanted {
    pub(super) fn of(rows: &Rows) -> Self {
        let status = rows.wants_any(OF_STATUS);
        Self {
            memory: status || rows.wants_any(OF_STATM),
            status,
            io: rows.wants_any(OF_IO),
            handles: rows.wants(HANDLE_COUNT),
        }
    }
}

impl Process {
    pub(super) fn new(pid: u32) -> Self {
        Self {
            pid,
            person: Person::default(),
            last: Last::default(),
            stat: Place::default(),
            memory: Place::default(),
            io: Place::default(),
            handles: Place::default(),
            is_status: false,
        }
    }

    /// Looks whether the process is there, who it is, and what its stat file says.
    pub(super) fn look(&mut self, reader: &mut Reader, naming: Naming) -> Result<Sight, Crowded> {
        let was_open = self.stat.is_open();
        let text = match reader.read(&mut self.stat, Task::Process(self.pid), "stat") {
            Ok(text) => text,
            // The process that the open file belonged to has ended; another one may have its number.
            Err(error) if is_gone(error) && was_open => {
                *self = Self::new(self.pid);
                return self.look(reader, naming);
            }
            Err(error) if is_crowded(error) => return Err(Crowded),
            Err(error) => {
                if is_gone(error) {
                    *self = Self::new(self.pid);
                }
                return Ok(Sight::Gone);
            }
        };
        let Some(line) = stat::parse(text) else {
            if self.person.key().is_none() {
                let name = stat::name(text).map_or(&b""[..], |(name, _)| name);
                self.person.becomes(name, self.key(name, self.pid.into(), naming));
            }
            return Ok(Sight::Broken);
        };
        let identity = line.stat.identity(self.pid);
        if !self.person.is(line.name, identity) {
            self.changed(line.name, identity, naming);
        }
        Ok(Sight::Here(line.stat))
    }

    #[cold]
    fn changed(&mut self, name: &[u8], identity: u64, naming: Naming) {
        if self.person.is_same(identity) {
            // Another program may have other rights.
            for place in [&mut self.memory, &mut self.io, &mut self.handles] {
                place.forgive();
            }
        } else {
            self.last = Last::default();
            for place in [&mut self.memory, &mut self.io, &mut self.handles] {
                place.close();
            }
        }
        self.person.becomes(name, self.key(name, identity, naming));
    }

    fn key(&self, name: &[u8], identity: u64, naming: Naming) -> InstanceKey {
        let name = readable(name);
        match naming {
            Naming::Plain => InstanceKey::new(name, self.pid, identity),
            Naming::Numbered => InstanceKey::new(format!("{name}:{}", self.pid), self.pid, identity),
        }
    }

    /// Reads the other files that are wanted; `None` when the process has ended meanwhile.
    pub(super) fn details(
        &mut self,
        reader: &mut Reader,
        wanted: Wanted,
        page_bytes: u64,
    ) -> Result<Option<Details>, Crowded> {
        let all_open = (self.memory.is_open() || !wanted.memory)
            && (self.io.is_open() || !wanted.io)
            && (self.handles.is_open() || !wanted.handles)
            && self.is_status == wanted.status;
        let details = match self.read_details(reader, wanted, page_bytes) {
            Ok(details) => details,
            Err(error) if is_crowded(error) => return Err(Crowded),
            Err(_) => return Ok(None),
        };
        // A file that was opened just now belongs to this process if the process is there still: its number cannot
        // have been given to another one. Of a process whose stat file cannot stay open, that is not asked.
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

    /// The error is that the process has ended, or that too many files are open.
    fn read_details(
        &mut self,
        reader: &mut Reader,
        wanted: Wanted,
        page_bytes: u64,
    ) -> Result<Details, Errno> {
        let task = Task::Process(self.pid);
        let mut details = Details { memory: Ok(Memory::default()), io: Ok(Io::default()), handles: Ok(0) };
        if wanted.memory {
            if self.is_status != wanted.status {
                self.memory.close();
                self.is_status = wanted.status;
            }
            details.memory = if wanted.status {
                said(reader.read(&mut self.memory, task, "status"), memory::of_status)?
            } else {
                said(reader.read(&mut self.memory, task, "statm"), |text| memory::of_statm(text, page_bytes))?
            };
        }
        if wanted.io {
            details.io = said(reader.read(&mut self.io, task, "io"), io::parse)?;
        }
        if wanted.handles {
            let count = if reader.sizes_count() {
                reader.size(&mut self.handles, task, "fd")
            } else {
                reader.count(&mut self.handles, task, "fd")
            };
            details.handles = said(count, Some)?;
        }
        Ok(details)
    }

    /// Closes all files but the first, and says how many that were.
    pub(super) fn close_most(&mut self) -> usize {
        let places = [&mut self.memory, &mut self.io, &mut self.handles];
        let mut closed = 0;
        for place in places {
            closed += usize::from(place.is_open());
            place.close();
        }
        closed
    }

    /// Closes all files, and says how many that were.
    pub(super) fn close_all(&mut self) -> usize {
        let closed = usize::from(self.stat.is_open()) + self.close_most();
        self.stat.close();
        closed
    }
}

/// What a file says; the error is one that concerns more than this file.
#[inline]
fn said<T, U>(read: Result<T, Errno>, parse: impl FnOnce(T) -> Option<U>) -> Result<Result<U, Lack>, Errno> {
    match read {
        Ok(text) => Ok(parse(text).ok_or(Lack::Broken)),
        Err(error) if is_gone(error) || is_crowded(error) => Err(error),
        Err(error) => Ok(Err(Lack::of(error))),
    }
}

impl Numbered for Process {
    fn number(&self) -> u32 {
        self.pid
    }
}
