//! Waiting for a key, a signal, another thread, or the next sample.

use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGWINCH};
use signal_hook::low_level::{pipe, unregister};
use signal_hook::{SigId, flag};

/// Wakes [`Waiting`] from another thread.
#[derive(Debug)]
pub(crate) struct Waker(UnixStream);

impl Waker {
    pub(crate) fn wake(&self) {
        // If the socket's buffer is full, the other thread has already been woken.
        let _ = (&self.0).write(&[0]);
    }
}

impl Drop for Waker {
    /// Wakes the waiting thread, so that it notices that the owner of this waker has ended.
    fn drop(&mut self) {
        self.wake();
    }
}

/// Waits for events, and stores which signals have arrived.
pub(crate) struct Waiting {
    wake_receiver: UnixStream,
    wake_sender: UnixStream,
    end_signals: Vec<(i32, Arc<AtomicBool>)>,
    is_continued: Arc<AtomicBool>,
    registered: Vec<SigId>,
}

impl Waiting {
    /// `end_signals` are the signals that end the program.
    pub(crate) fn new(end_signals: &[i32]) -> io::Result<Self> {
        let (wake_receiver, wake_sender) = UnixStream::pair()?;
        wake_receiver.set_nonblocking(true)?;
        wake_sender.set_nonblocking(true)?;
        let mut waiting = Self {
            wake_receiver,
            wake_sender,
            end_signals: Vec::new(),
            is_continued: Arc::default(),
            registered: Vec::new(),
        };
        for &signal in end_signals {
            let has_arrived = Arc::new(AtomicBool::new(false));
            waiting.registered.push(flag::register(signal, Arc::clone(&has_arrived))?);
            waiting.end_signals.push((signal, has_arrived));
        }
        waiting.registered.push(flag::register(SIGCONT, Arc::clone(&waiting.is_continued))?);
        // Registered after the flags, so that the flags are set when the pipe wakes the thread.
        for &signal in end_signals.iter().chain(&[SIGCONT, SIGWINCH]) {
            let wake_sender = waiting.wake_sender.try_clone()?;
            waiting.registered.push(pipe::register(signal, wake_sender)?);
        }
        Ok(waiting)
    }

    pub(crate) fn waker(&self) -> io::Result<Waker> {
        self.wake_sender.try_clone().map(Waker)
    }

    /// The signal that ends the program, if one has arrived.
    pub(crate) fn end(&self) -> Option<i32> {
        self.end_signals
            .iter()
            .find(|(_, has_arrived)| has_arrived.load(Ordering::SeqCst))
            .map(|(signal, _)| *signal)
    }

    /// The signal that ends the program, or SIGHUP if the terminal was disconnected.
    pub(crate) fn end_or_hang_up(&self) -> Option<i32> {
        let is_closed = || matches!(self.wait(Some(Duration::ZERO)), Ok(false));
        self.end().or_else(|| is_closed().then_some(SIGHUP))
    }

    /// Whether the process was continued after a stop; resets the flag.
    pub(crate) fn take_continued(&self) -> bool {
        self.is_continued.swap(false, Ordering::SeqCst)
    }

    /// Waits until a key, a signal or a wake-up arrives, or the timeout expires. Returns false if the terminal was disconnected.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> io::Result<bool> {
        let timeout = timeout.map(|time| Timespec {
            tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        });
        let input = io::stdin();
        let mut waited = [
            PollFd::new(&input, PollFlags::IN),
            PollFd::from_borrowed_fd(self.wake_receiver.as_fd(), PollFlags::IN),
        ];
        match poll(&mut waited, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let hang_up = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        let has_terminal = !waited[0].revents().intersects(hang_up);
        let mut bytes = [0; 64];
        while matches!((&self.wake_receiver).read(&mut bytes), Ok(count) if count == bytes.len()) {}
        Ok(has_terminal)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        for registered in self.registered.drain(..) {
            unregister(registered);
        }
    }
}
