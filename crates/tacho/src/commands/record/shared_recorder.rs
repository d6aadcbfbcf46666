//! Handles SIGHUP during a recording: the terminal was closed, or the log was rotated.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::SIGHUP;
use tachograph_counters::IgnorePoison;
use tachograph_flow::FlowError;
use tachograph_flow::live::Stop;

use super::log_output::LogOutput;
use crate::failure::Failure;
use crate::signals;

/// The recorder, shared with the SIGHUP handler, which closes the log between two samples.
#[derive(Clone, Default)]
pub(super) struct SharedRecorder(Arc<Mutex<Recording>>);

#[derive(Default)]
pub(super) struct Recording {
    pub(super) recorder: Option<LogOutput>,
    /// Why the SIGHUP handler could not close the log.
    pub(super) error: Option<FlowError>,
}

impl SharedRecorder {
    pub(super) fn lock(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().ignore_poison()
    }

    /// Installs the SIGHUP handler. If the terminal was closed, it ends the recording. Otherwise, if the log was
    /// renamed or deleted, it closes the log. It does not wait for the next sample, because logrotate may compress the
    /// log right away.
    pub(super) fn handle_hangups(&self, stop: &Stop) -> Result<(), Failure> {
        let (shared, stop, terminal) = (self.clone(), stop.clone(), Terminal::of_this_process());
        signals::handle(&signals::not_ignored(&[SIGHUP]), move |_| {
            if terminal.is_closed() {
                // The shell and the kernel can both send SIGHUP; the second must not kill the process before the log is
                // complete.
                stop.stop();
                return;
            }
            let Recording { recorder, error } = &mut *shared.lock();
            if let Some(Err(why)) = recorder.as_mut().map(LogOutput::release_moved) {
                *error = Some(why);
                stop.stop();
            }
        })
    }
}

/// The controlling terminal, if there was one at the start.
struct Terminal(Option<File>);

impl Terminal {
    fn of_this_process() -> Self {
        // Services and processes started by `setsid` have no controlling terminal.
        Self(File::open("/dev/tty").ok())
    }

    /// Whether there was a terminal and it is now closed.
    fn is_closed(&self) -> bool {
        let Some(terminal) = &self.0 else { return false };
        let mut polled = [PollFd::new(terminal, PollFlags::empty())];
        let polled_now = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        polled_now.is_ok() && polled[0].revents().contains(PollFlags::HUP)
    }
}
