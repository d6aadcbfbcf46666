//! Logs that are renamed, deleted or truncated while they are recorded.

use std::fmt;
use std::io;
use std::path::PathBuf;

use tachograph_counters::sample::Sample;
use tachograph_logs::LogError;

use super::files::{FileLocation, LogFile as _, LogFiles};
use super::{Existing, Recorder, State};
use crate::FlowError;

/// How another program changed a log while it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogChange {
    /// The log has a different name.
    Renamed,
    /// The log was deleted, so its samples are lost.
    Deleted,
    /// The log was truncated to zero bytes, so its samples are lost, unless they were copied.
    Truncated,
}

/// How the recording continues after a log was renamed, deleted or truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextLog {
    /// The next sample starts a new log with the same name.
    SameName,
    /// Another file has the name of the log and is not overwritten, so the next sample fails.
    NameInUse,
    /// The recording has ended.
    None,
}

/// A log that another program renamed, deleted or truncated while it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedLog {
    /// The log's former path.
    pub path: PathBuf,
    /// Number of samples of this recording in the log.
    pub samples: u64,
    /// The change.
    pub change: LogChange,
    /// How the recording continues.
    pub next: NextLog,
}

pub(super) type NotifyMoved = Box<dyn FnMut(&MovedLog) + Send>;

impl fmt::Display for MovedLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, samples, change, next } = self;
        let what = match change {
            LogChange::Renamed => "renamed",
            LogChange::Deleted => "deleted",
            LogChange::Truncated => "truncated by another program",
        };
        let samples = match samples {
            0 => "no sample".to_owned(),
            1 => "1 sample".to_owned(),
            samples => format!("{samples} samples"),
        };
        let consequence = match next {
            NextLog::SameName => "; the next sample starts a new log with this name",
            NextLog::NameInUse => "; another file now has its name",
            NextLog::None => "",
        };
        write!(f, "{}: was {what} with {samples} of this recording{consequence}", path.display())
    }
}

impl<L: LogFiles> Recorder<L> {
    /// Calls a function for each log that is [renamed, deleted or truncated](MovedLog).
    pub fn on_moved(&mut self, notify: impl FnMut(&MovedLog) + Send + 'static) {
        self.notify_moved = Some(Box::new(notify));
    }

    /// Completes and closes the log if it was renamed, deleted or truncated. [`push`](crate::Sink::push) does this before
    /// each sample. Call it between two samples to close the file without waiting for the next sample.
    ///
    /// # Errors
    ///
    /// If the log cannot be completed, or was truncated to a length other than zero, which ends the recording.
    pub fn release_moved(&mut self) -> Result<(), FlowError> {
        let Some(change) = self.change()? else { return Ok(()) };
        let is_in_use = change != LogChange::Truncated
            && self.options.existing != Existing::Append
            && self.files.has_content(&self.path);
        let next = if is_in_use { NextLog::NameInUse } else { NextLog::SameName };
        self.release(change, State::Moved, next)
    }

    /// Closes and reports the log at the end of the recording if it was deleted or truncated.
    pub(super) fn release_lost(&mut self) -> Result<(), FlowError> {
        match self.change()? {
            Some(change @ (LogChange::Deleted | LogChange::Truncated)) if self.file_samples > 0 => {
                self.release(change, State::Ended, NextLog::None)
            }
            _ => Ok(()),
        }
    }

    /// How another program has changed the current file. Returns an error if it was truncated to a length other than zero.
    fn change(&mut self) -> Result<Option<LogChange>, FlowError> {
        let Some(file) = self.state.file() else { return Ok(None) };
        match self.files.location_of(file, &self.path) {
            FileLocation::Renamed => return Ok(Some(LogChange::Renamed)),
            FileLocation::Deleted => return Ok(Some(LogChange::Deleted)),
            FileLocation::InPlace => {}
        }
        let (true, Some(before), Some(now)) =
            (matches!(self.state, State::Writing(_)), self.file_length, file.length())
        else {
            return Ok(None);
        };
        match now {
            0 if before > 0 => Ok(Some(LogChange::Truncated)),
            now if now < before => {
                // The file is not completed: that would hide the loss.
                self.state = State::Ended;
                let why = format!(
                    "another program truncated it from {before} to {now} bytes during the recording, which has ended"
                );
                Err(LogError::io(io::Error::other(why)).at_path(&self.path).into())
            }
            _ => Ok(None),
        }
    }

    fn release(&mut self, change: LogChange, state: State<L::File>, next: NextLog) -> Result<(), FlowError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            // Completing a truncated file would write after a hole.
            State::Writing(segment) if change != LogChange::Truncated => self.close(segment, state)?,
            // The file has no sample of this recording.
            _ => self.state = state,
        }
        let samples = std::mem::take(&mut self.file_samples);
        // A file without a sample of this recording is not counted.
        self.summary.deleted_files += u64::from(change != LogChange::Renamed && samples > 0);
        let moved = MovedLog { path: self.path.clone(), samples, change, next };
        if let Some(notify) = &mut self.notify_moved {
            notify(&moved);
        }
        Ok(())
    }

    /// Starts another log under the name of one that was renamed, deleted or truncated, or the next segment if it is due.
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
