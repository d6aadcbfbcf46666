//! SIGHUP to a recording: its terminal has gone, or its log was rotated.

use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::SIGHUP;
use tachograph_flow::FlowError;
use tachograph_flow::live::Stop;
use tachograph_flow::record::Recorder;

use crate::failure::Failure;
use crate::signals;

/// The recorder, which SIGHUP has close its log between two samples.
#[derive(Clone, Default)]
pub(super) struct SharedRecorder(Arc<Mutex<Recording>>);

#[derive(Default)]
pub(super) struct Recording {
    pub(super) recorder: Option<Recorder>,
    /// Why the log could not be closed on SIGHUP.
    pub(super) error: Option<FlowError>,
}

impl SharedRecorder {
    pub(super) fn lock(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// On SIGHUP, ends the recording if its terminal has gone. Otherwise closes a log that was renamed or deleted, at once
    /// and not at the next sample: the program that rotates logs may compress it next.
    pub(super) fn handle_hangups(&self, stop: &Stop) -> Result<(), Failure> {
        let (shared, stop, terminal) = (self.clone(), stop.clone(), Terminal::of_this_process());
        signals::handle(&signals::not_ignored(&[SIGHUP]), move |_| {
            if terminal.has_gone() {
                // It may come twice, from the shell and from the kernel: the second one must not cut the log short.
                stop.stop();
                return;
            }
            let Recording { recorder, error } = &mut *shared.lock();
            if let Some(Err(why)) = recorder.as_mut().map(Recorder::release_moved) {
                *error = Some(why);
                stop.stop();
            }
        })
    }
}

/// The terminal that controls this process, if one did at the start.
struct Terminal(Option<File>);

impl Terminal {
    fn of_this_process() -> Self {
        // Services and what `setsid` started have none.
        Self(File::open("/dev/tty").ok())
    }

    /// Whether there was a terminal that is closed now.
    fn has_gone(&self) -> bool {
        let Some(terminal) = &self.0 else { return false };
        let mut polled = [PollFd::new(terminal, PollFlags::empty())];
        let polled_now = poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        polled_now.is_ok() && polled[0].revents().contains(PollFlags::HUP)
    }
}
