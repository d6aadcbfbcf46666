//! What the command waits for: a moment, a signal, the end of a process.

use std::cell::Cell;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, pidfd_open, test_kill_process, waitid,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::failure::{Failure, reason};
use crate::signals;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A signal to this process.
    Signal(i32),
    /// The process that is measured has ended.
    Ended,
}

/// Why waiting is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The moment has come.
    Moment,
    /// The process that is measured has ended.
    End,
    /// The user wants the end.
    Stop,
}

/// Whom signals are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignalsFor {
    /// They end the measuring.
    Us,
    /// Those of the terminal reach the command by themselves; those that ask for an end are passed on to it.
    Command,
}

/// How often it is looked whether a process has ended, where the kernel does not tell.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Receives what happens.
pub(super) struct Events {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
    signals_for: SignalsFor,
    command: Option<Pid>,
    /// Whether the process that is measured has ended.
    has_ended: Cell<bool>,
}

impl Events {
    /// Ctrl-C, SIGTERM and SIGHUP end the measuring; a second one everything, since writing may wait for a reader.
    pub(super) fn of_measuring() -> Result<Self, Failure> {
        Self::new(SignalsFor::Us, &[SIGINT, SIGTERM, SIGHUP])
    }

    /// Ctrl-C is left to the command, which the terminal sends it too; SIGTERM and SIGHUP are passed on to it.
    pub(super) fn of_command() -> Result<Self, Failure> {
        Self::new(SignalsFor::Command, &[SIGINT, SIGQUIT, SIGTERM, SIGHUP])
    }

    /// What is ignored stays so (`nohup`): a handler would undo that, for the command too. But without a command SIGINT always
    /// ends the measuring: shells start what they put into the background with it ignored, and scripts end it so.
    fn new(signals_for: SignalsFor, signals: &[i32]) -> Result<Self, Failure> {
        let mut handled = signals::not_ignored(signals);
        if signals_for == SignalsFor::Us && !handled.contains(&SIGINT) {
            handled.push(SIGINT);
        }
        let (sender, receiver) = channel();
        let to_us = sender.clone();
        let mut is_stopped = false;
        signals::handle(&handled, move |signal| {
            if signals_for == SignalsFor::Us && std::mem::replace(&mut is_stopped, true) {
                signals::exit(signal);
            }
            // Nobody receives at the end of the process.
            let _ = to_us.send(Event::Signal(signal));
        })?;
        Ok(Self { sender, receiver, signals_for, command: None, has_ended: Cell::new(false) })
    }

    /// Also waits for the end of this command, which is our child. It is left to be reaped, so that its number stays its own.
    pub(super) fn watch_command(&mut self, id: u32) -> Result<(), Failure> {
        let Some(pid) = pid_of(id) else { return Ok(()) };
        self.command = Some(pid);
        let ended = self.sender.clone();
        start_thread("command", move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), options).is_err_and(|error| error == Errno::INTR) {}
            let _ = ended.send(Event::Ended);
        })
    }

    /// Also waits for the end of this process, which is anybody's.
    pub(super) fn watch_process(&self, id: u32) -> Result<(), Failure> {
        let Some(pid) = pid_of(id) else { return Ok(()) };
        let ended = self.sender.clone();
        start_thread("process", move || {
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(process) => {
                    let mut end = [PollFd::new(&process, PollFlags::IN)];
                    while poll(&mut end, None) == Err(Errno::INTR) {}
                }
                // A kernel before 5.3, or a sandbox that does not know the call.
                Err(_) => {
                    while test_kill_process(pid) != Err(Errno::SRCH) {
                        thread::sleep(LOOK_INTERVAL);
                    }
                }
            }
            let _ = ended.send(Event::Ended);
        })
    }

    /// Waits until a moment, if one is given, or until something ends the measuring before. After the end of the process it
    /// is always that.
    pub(super) fn wait(&self, until: Option<Instant>) -> Awaited {
        loop {
            if self.has_ended.get() {
                return Awaited::End;
            }
            let event = match until {
                None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(moment) => self.receiver.recv_timeout(moment.saturating_duration_since(Instant::now())),
            };
            match event {
                Ok(Event::Ended) => self.has_ended.set(true),
                Ok(Event::Signal(signal)) => match self.signals_for {
                    SignalsFor::Us => return Awaited::Stop,
                    SignalsFor::Command => self.pass_on(signal),
                },
                Err(RecvTimeoutError::Timeout) => return Awaited::Moment,
                // The sender in `self` outlives this.
                Err(RecvTimeoutError::Disconnected) => return Awaited::Stop,
            }
        }
    }

    fn pass_on(&self, signal: i32) {
        let signal = match signal {
            SIGTERM => Signal::TERM,
            SIGHUP => Signal::HUP,
            _ => return,
        };
        if let Some(command) = self.command {
            // One that has ended in this moment needs no signal.
            let _ = kill_process(command, signal);
        }
    }
}

fn pid_of(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

fn start_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|error| Failure::work(format!("cannot start a thread: {}", reason(&error))))
}
