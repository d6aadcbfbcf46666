//! CPI of a command with its children, or of a running process.

use std::fs;
use std::process::{Child, Command};
use std::sync::Arc;

use crate::describe::{self, Asked};
use crate::event::{Event, Target};
use crate::group::{Group, Reading};
use crate::interval::counts;
use crate::kernel::{Kernel, machine};
use crate::thread::{has_reference, is_user_only, open_groups, sum_of};
use crate::{Counts, Error, ErrorKind, Events};

/// CPI of a process with all its threads and the children that they make.
#[derive(Debug)]
pub struct ProcessCpi {
    /// Of each thread that was there: its groups, one per kind of core.
    threads: Vec<Vec<Group>>,
    target: Target,
    start: Reading,
    has_reference: bool,
    user_only: bool,
}

impl ProcessCpi {
    /// Starts a command, counted from its first instruction (its exec) on, children included.
    ///
    /// The counters are the calling thread's, which its children inherit: until they are dropped, whatever else this thread
    /// starts is counted too.
    ///
    /// The inner error is that of counting, in which case the command runs uncounted.
    ///
    /// # Errors
    ///
    /// When the command cannot be started.
    pub fn spawn(
        command: &mut Command,
        user_only: bool,
        events: Events,
    ) -> std::io::Result<(Child, Result<Self, Error>)> {
        Self::spawn_with(|| command.spawn(), user_only, events)
    }

    /// Like [`ProcessCpi::spawn`], for a command that `spawn` starts, in this thread and after the counters are open.
    ///
    /// # Errors
    ///
    /// The error of `spawn`.
    pub fn spawn_with(
        spawn: impl FnOnce() -> std::io::Result<Child>,
        user_only: bool,
        events: Events,
    ) -> std::io::Result<(Child, Result<Self, Error>)> {
        // Counters of this thread that wait for an exec: the child inherits them, and it is the child that executes. This
        // thread never does, so that nothing of it is counted; and there is no moment between fork and exec to be missed.
        let from_exec = |event: Event| Event { inherit: true, from_exec: true, ..event };
        let opened = Self::open(&machine(), &[Target::Thread(None)], user_only, events, from_exec);
        let child = spawn()?;
        Ok((child, opened))
    }

    /// Counts a running process from now on: all its threads, and what they start. A thread that starts while they are
    /// looked up, by one that is not counted yet, may be missed.
    ///
    /// # Errors
    ///
    /// When there is no such process, or it may not be counted.
    pub fn attach(pid: u32, user_only: bool, events: Events) -> Result<Self, Error> {
        let folder = format!("/proc/{pid}/task");
        let tasks = fs::read_dir(&folder).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(ErrorKind::NoSuchThread, format!("there is no process {pid} (ESRCH)"))
            }
            _ => Error::new(ErrorKind::System, format!("{folder}: {error}")),
        })?;
        let threads: Vec<Target> = tasks
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .map(|thread| Target::Thread(Some(thread)))
            .collect();
        let inherited = |event: Event| Event { inherit: true, ..event };
        let mut process = Self::open(&machine(), &threads, user_only, events, inherited)?;
        process.start()?;
        Ok(process)
    }

    fn open(
        kernel: &Arc<dyn Kernel>,
        targets: &[Target],
        user_only: bool,
        events: Events,
        change: impl Fn(Event) -> Event + Copy,
    ) -> Result<Self, Error> {
        let mut threads = Vec::new();
        let mut failure = None;
        for &target in targets {
            match open_groups(kernel, events, target, user_only, change) {
                Ok(groups) => threads.push(groups),
                Err((refusal, user_only)) => {
                    let asked = Asked { target, user_only, targets: targets.len(), files_each: 2 };
                    let error = describe::refused(&**kernel, refusal, asked);
                    // A thread may end at any time.
                    if error.kind() != ErrorKind::NoSuchThread {
                        return Err(error);
                    }
                    failure = Some(error);
                }
            }
        }
        match (threads.is_empty(), failure) {
            (true, Some(error)) => return Err(error),
            (true, None) => {
                return Err(Error::new(ErrorKind::NoSuchThread, "the process has no thread (ESRCH)"));
            }
            (false, _) => {}
        }
        Ok(Self {
            has_reference: threads.iter().all(|groups| has_reference(groups)),
            user_only: threads.iter().all(|groups| is_user_only(groups)),
            threads,
            target: targets.first().copied().unwrap_or(Target::Thread(None)),
            start: Reading::default(),
        })
    }

    /// Starts a new interval.
    ///
    /// # Errors
    ///
    /// When a counter cannot be read.
    pub fn start(&mut self) -> Result<(), Error> {
        self.start = self.read()?;
        Ok(())
    }

    /// What was counted from the last start, or from the begin, to now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NeverRan`] when the counters never ran; when a counter cannot be read.
    pub fn get(&mut self) -> Result<Counts, Error> {
        let end = self.read()?;
        self.since_start(&end)
    }

    /// As [`get`](Self::get), and the next interval starts at the same reading, but where the counters never ran.
    ///
    /// # Errors
    ///
    /// As `get`.
    pub fn get_and_start(&mut self) -> Result<Counts, Error> {
        let end = self.read()?;
        let counts = self.since_start(&end)?;
        self.start = end;
        Ok(counts)
    }

    fn since_start(&self, end: &Reading) -> Result<Counts, Error> {
        let counts = counts(&self.start, end, self.has_reference);
        match counts.enabled_ns > 0 && counts.running_ns == 0 {
            true => Err(describe::never_ran(counts.enabled_ns)),
            false => Ok(counts),
        }
    }

    /// Whether work in the kernel is not counted.
    pub fn is_user_only(&self) -> bool {
        self.user_only
    }

    fn read(&self) -> Result<Reading, Error> {
        let mut sum = Reading::default();
        for groups in &self.threads {
            let of_thread = sum_of(groups).map_err(|failure| describe::unreadable(failure, self.target))?;
            sum.add_target(&of_thread);
        }
        Ok(sum)
    }
}
