//! Logs that are renamed or deleted while they are recorded.

use std::fmt;
use std::io;
use std::path::PathBuf;

use tachograph_counters::sample::Sample;
use tachograph_logs::LogError;

use super::files::{FileLocation, LogFiles};
use super::{Existing, Recorder, State};
use crate::FlowError;

/// A log that another program renamed or deleted while it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedLog {
    /// The log's former path.
    pub path: PathBuf,
    /// Number of samples of this recording in the log.
    pub samples: u64,
    /// Whether the log was deleted, so that these samples are lost; otherwise it was renamed.
    pub is_deleted: bool,
}

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
            "{}: was {what} with {samples} of this recording; the next sample starts a new log with this name",
            path.display()
        )
    }
}

impl<L: LogFiles> Recorder<L> {
    /// Calls a function for each log that is [renamed or deleted](MovedLog).
    pub fn on_moved(&mut self, notify: impl FnMut(&MovedLog) + Send + 'static) {
        self.notify_moved = Some(Box::new(notify));
    }

    /// Completes and closes the log if it was renamed or deleted. [`push`](crate::Sink::push) does this before each
    /// sample. Call it between two samples to close the file without waiting for the next sample.
    ///
    /// # Errors
    ///
    /// If the log cannot be completed, which ends the recording.
    pub fn release_moved(&mut self) -> Result<(), FlowError> {
        let location = self.state.file().map(|file| self.files.location_of(file, &self.path));
        let Some(location @ (FileLocation::Renamed | FileLocation::Deleted)) = location else {
            return Ok(());
        };
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Writing(segment) => self.close(segment, State::Moved)?,
            // The file has no sample of this recording.
            _ => self.state = State::Moved,
        }
        let samples = std::mem::take(&mut self.file_samples);
        // A file without a sample of this recording is not counted.
        self.summary.deleted_files += u64::from(location == FileLocation::Deleted && samples > 0);
        let moved =
            MovedLog { path: self.path.clone(), samples, is_deleted: location == FileLocation::Deleted };
        if let Some(notify) = &mut self.notify_moved {
            notify(&moved);
        }
        Ok(())
    }

    /// Starts another log under the name of one that was renamed or deleted, or the next segment if it is due.
    pub(super) fn reopen(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.state = State::Ended;
        if self.limits.is_over(sample) {
            self.state = State::Opened(self.next_file(sample)?);
            return Ok(());
        }
        let at_path = |error: LogError| error.at_path(&self.path);
        // Programs that rotate logs can create the new, empty file themselves. A file with content is kept.
        let opened = self.files.open(&self.path, Existing::Append).map_err(LogError::io).map_err(at_path)?;
        if opened.has_content && self.options.existing != Existing::Append {
            let why = "it was renamed or deleted, and another file now has its name; it was not overwritten";
            let error = LogError::io(io::Error::new(io::ErrorKind::AlreadyExists, why));
            return Err(at_path(error).into());
        }
        self.state = State::from_opened(opened, &self.options).map_err(at_path)?;
        Ok(())
    }
}
