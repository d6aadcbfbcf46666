//! Events that end an interval: a timeout, a signal, or the end of a process.

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

use crate::failure::Failure;
use crate::signals::{self, start_thread};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A signal to this process.
    Signal(i32),
    Ended,
}

/// Why [`Events::wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitResult {
    TimedOut,
    Ended,
    /// A signal ends the measurement.
    Stopped,
}

/// The destination of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignalTarget {
    /// Signals end the measurement.
    Measurement,
    /// Signals are for the command. The terminal sends its signals to the command directly; others are forwarded.
    Command,
}

/// How often to check whether a process has ended, on kernels without pidfd.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Receives signals and the end of the measured process.
pub(super) struct Events {
    sender: Sender<Event>,
    receiver: Receiver<Event>,
    target: SignalTarget,
    command: Option<Pid>,
    has_ended: Cell<bool>,
}

impl Events {
    /// Ctrl-C, SIGTERM and SIGHUP end the measurement. A second signal exits immediately, because writing can block.
    pub(super) fn for_measurement() -> Result<Self, Failure> {
        Self::new(SignalTarget::Measurement, &[SIGINT, SIGTERM, SIGHUP])
    }

    /// Ignores Ctrl-C and SIGQUIT, which the terminal also sends to the command; forwards SIGTERM and SIGHUP to the
    /// command.
    pub(super) fn for_command() -> Result<Self, Failure> {
        Self::new(SignalTarget::Command, &[SIGINT, SIGQUIT, SIGTERM, SIGHUP])
    }

    /// Signals that are already ignored (`nohup`) stay ignored, for the command too. The exception is SIGINT without a
    /// command, which always ends the measurement: shells start background processes with SIGINT ignored, but scripts
    /// use it to stop them.
    fn new(target: SignalTarget, signals: &[i32]) -> Result<Self, Failure> {
        let mut handled = signals::not_ignored(signals);
        if target == SignalTarget::Measurement && !handled.contains(&SIGINT) {
            handled.push(SIGINT);
        }
        let (sender, receiver) = channel();
        let signal_sender = sender.clone();
        let mut is_stopped = false;
        signals::handle(&handled, move |signal| {
            // SIGHUP never counts as the second signal: see `signals::stop_on`.
            let is_second = std::mem::replace(&mut is_stopped, true) && signal != SIGHUP;
            if target == SignalTarget::Measurement && is_second {
                signals::exit(signal);
            }
            // Fails only if the receiver was dropped because the process is exiting.
            let _ = signal_sender.send(Event::Signal(signal));
        })?;
        Ok(Self { sender, receiver, target, command: None, has_ended: Cell::new(false) })
    }

    /// Reports the end of a child process. The child is not reaped here, so its process id cannot be reused.
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

    /// Reports the end of a process, which need not be a child.
    pub(super) fn watch_process(&self, id: u32) -> Result<(), Failure> {
        let Some(pid) = pid_of(id) else { return Ok(()) };
        let ended = self.sender.clone();
        start_thread("process", move || {
            match pidfd_open(pid, PidfdFlags::empty()) {
                Ok(process) => {
                    let mut end = [PollFd::new(&process, PollFlags::IN)];
                    while poll(&mut end, None) == Err(Errno::INTR) {}
                }
                // The kernel is older than 5.3, or a sandbox blocks this system call.
                Err(_) => {
                    while test_kill_process(pid) != Err(Errno::SRCH) {
                        thread::sleep(POLL_INTERVAL);
                    }
                }
            }
            let _ = ended.send(Event::Ended);
        })
    }

    /// Waits until the given time, if any, until a signal ends the measurement, or until the process ends. If the
    /// process has already ended, returns immediately.
    pub(super) fn wait(&self, until: Option<Instant>) -> WaitResult {
        loop {
            if self.has_ended.get() {
                return WaitResult::Ended;
            }
            let event = match until {
                None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(until) => self.receiver.recv_timeout(until.saturating_duration_since(Instant::now())),
            };
            match event {
                Ok(Event::Ended) => self.has_ended.set(true),
                Ok(Event::Signal(signal)) => match self.target {
                    SignalTarget::Measurement => return WaitResult::Stopped,
                    SignalTarget::Command => self.forward(signal),
                },
                Err(RecvTimeoutError::Timeout) => return WaitResult::TimedOut,
                // Impossible: `self` keeps a sender.
                Err(RecvTimeoutError::Disconnected) => return WaitResult::Stopped,
            }
        }
    }

    fn forward(&self, signal: i32) {
        let signal = match signal {
            SIGTERM => Signal::TERM,
            SIGHUP => Signal::HUP,
            _ => return,
        };
        if let Some(command) = self.command {
            // Fails if the command has just ended.
            let _ = kill_process(command, signal);
        }
    }
}

fn pid_of(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}
