//! CPI of a command with its children, or of a running process.

use std::fs;
use std::process::{Child, Command};
use std::sync::Arc;

use crate::describe::{self, Requested};
use crate::event::{Event, Target};
use crate::group::{Group, Reading};
use crate::interval::counts;
use crate::kernel::{Kernel, machine};
use crate::thread::{has_reference, is_user_only, open_groups, sum_of};
use crate::{Counts, Error, ErrorKind, Events};

/// CPI of a process with all its threads and child processes.
#[derive(Debug)]
pub struct ProcessCpi {
    /// For each thread: its groups, one per kind of core.
    threads: Vec<Vec<Group>>,
    /// The first thread, for messages.
    target: Target,
    start: Reading,
    has_reference: bool,
    user_only: bool,
}

impl ProcessCpi {
    /// Starts a command, and counts it from its first instruction (its exec), including its children.
    ///
    /// The counters belong to the calling thread and are inherited by its children: until they are dropped, everything else that
    /// this thread starts is counted too.
    ///
    /// An inner error means that counting failed; the command then runs without counters.
    ///
    /// # Errors
    ///
    /// If the command cannot be started.
    pub fn spawn(
        command: &mut Command,
        user_only: bool,
        events: Events,
    ) -> std::io::Result<(Child, Result<Self, Error>)> {
        Self::spawn_with(|| command.spawn(), user_only, events)
    }

    /// Like [`ProcessCpi::spawn`], but calls `spawn` to start the command, on this thread and after opening the
    /// counters.
    ///
    /// # Errors
    ///
    /// The error of `spawn`.
    pub fn spawn_with(
        spawn: impl FnOnce() -> std::io::Result<Child>,
        user_only: bool,
        events: Events,
    ) -> std::io::Result<(Child, Result<Self, Error>)> {
        // The counters are opened for this thread and start at an exec. The child inherits them, so they start at the child's
        // exec. This thread never calls exec, so it is not counted itself.
        let from_exec = |event: Event| Event { inherit: true, from_exec: true, ..event };
        let opened = Self::open(&machine(), &[Target::Thread(None)], user_only, events, from_exec);
        let child = spawn()?;
        Ok((child, opened))
    }

    /// Starts to count a running process: all its threads, and everything they start. A thread that is started
    /// during this call, by a thread that is not counted yet, can be missed.
    ///
    /// # Errors
    ///
    /// If there is no such process, or counting it is not permitted.
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
        let with_inherit = |event: Event| Event { inherit: true, ..event };
        let mut process = Self::open(&machine(), &threads, user_only, events, with_inherit)?;
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
                    let requested = Requested { target, user_only, targets: targets.len(), files_each: 2 };
                    let error = describe::open_error(&**kernel, refusal, requested);
                    // A thread can end at any time.
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
    /// If a counter cannot be read.
    pub fn start(&mut self) -> Result<(), Error> {
        self.start = self.read()?;
        Ok(())
    }

    /// The counts from the last start, or from the creation, until now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NeverRan`] if the counters never ran; if a counter cannot be read.
    pub fn get(&mut self) -> Result<Counts, Error> {
        let end = self.read()?;
        self.since_start(&end)
    }

    /// Like [`get`](Self::get), but the next interval starts at the same reading, unless the counters never ran.
    ///
    /// # Errors
    ///
    /// Same as `get`.
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
            let of_thread = sum_of(groups).map_err(|failure| describe::read_error(failure, self.target))?;
            sum.add_target(&of_thread);
        }
        Ok(sum)
    }
}
