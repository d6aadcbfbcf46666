//! Logs that are renamed or deleted while they are recorded.

use std::fmt;
use std::io;
use std::path::PathBuf;

use tachograph_counters::sample::Sample;
use tachograph_logs::LogError;

use super::files::{FilePlace, LogFiles};
use super::{Existing, Recorder, State};
use crate::FlowError;

/// A log that another program renamed or deleted while it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedLog {
    /// The name that it had.
    pub path: PathBuf,
    /// How many samples of this recording are in it.
    pub samples: u64,
    /// Whether it has no name any more, so that these samples are lost; else it is under another name.
    pub is_deleted: bool,
}

/// What is called for a log that was renamed or deleted.
pub(super) type NotifyMoved = Box<dyn FnMut(&MovedLog) + Send>;

impl fmt::Display for MovedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, samples, is_deleted } = self;
        let what = if *is_deleted { "deleted" } else { "renamed" };
        let samples = match samples {
            0 => "no sample".to_owned(),
            1 => "1 sample".to_owned(),
            samples => format!("{samples} samples"),
        };
        write!(
            f,
            "{}: was {what} with {samples} of this recording; the next sample begins a new log of this name",
            path.display()
        )
    }
}

impl<L: LogFiles> Recorder<L> {
    /// Calls a function for each log that is [renamed or deleted](MovedLog).
    pub fn on_moved(&mut self, notify: impl FnMut(&MovedLog) + Send + 'static) {
        self.notify_moved = Some(Box::new(notify));
    }

    /// Completes and closes the log if it was renamed or deleted. Each sample does so first; a program that rotates logs
    /// can ask for it between two samples, so that nothing is written to the file afterwards.
    ///
    /// # Errors
    ///
    /// When the log cannot be completed. The recording has ended then.
    pub fn release_moved(&mut self) -> Result<(), FlowError> {
        let place = self.state.file().map(|file| self.files.place_of(file, &self.path));
        let Some(place @ (FilePlace::Renamed | FilePlace::Deleted)) = place else { return Ok(()) };
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Writing(segment) => self.close(segment, State::Moved)?,
            // Nothing of this recording is in it.
            _ => self.state = State::Moved,
        }
        let samples = std::mem::take(&mut self.file_samples);
        // A file without a sample of this recording is not counted at all.
        self.summary.deleted_files += u64::from(place == FilePlace::Deleted && samples > 0);
        let moved = MovedLog { path: self.path.clone(), samples, is_deleted: place == FilePlace::Deleted };
        if let Some(notify) = &mut self.notify_moved {
            notify(&moved);
        }
        Ok(())
    }

    /// Begins another log under the name of one that was renamed or deleted; of the next segment where that is due.
    pub(super) fn open_again(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.state = State::Ended;
        if self.limits.is_over(sample) {
            self.state = State::Opened(self.next_file(sample)?);
            return Ok(());
        }
        let at_path = |error: LogError| error.at_path(&self.path);
        // Programs that rotate logs may make the new file themselves, empty. Another log in its place stays.
        let opened = self.files.open(&self.path, Existing::Append).map_err(LogError::io).map_err(at_path)?;
        if opened.has_content && self.options.existing != Existing::Append {
            let why = "it was renamed or deleted, and another file now has its name; it was not overwritten";
            let error = LogError::io(io::Error::new(io::ErrorKind::AlreadyExists, why));
            return Err(at_path(error).into());
        }
        self.state = State::of_opened(opened, &self.options).map_err(at_path)?;
        Ok(())
    }
}
