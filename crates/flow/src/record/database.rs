//! Recording into a database.

use std::io::ErrorKind;
use std::path::PathBuf;

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::sql::{SqlLogName, SqlLogWriter, SqlStart};
use tachograph_logs::{LogError, LogWriter as _};

use super::moved::NotifyMoved;
use super::{Existing, FileLocation, LogChange, MovedLog, NextLog, RecordSummary};
use crate::{FlowError, Sink};

/// The options of a recording into a database.
#[derive(Clone, Debug)]
pub struct DatabaseRecordOptions {
    /// The log.
    pub name: SqlLogName,
    /// The time zone of the log.
    pub zone: TimeZone,
    /// How to proceed if the database already has the log.
    pub existing: Existing,
    /// Whether each sample is synced to disk. Otherwise it survives if the process is killed, but not a power failure.
    pub is_synced: bool,
}

/// Writes samples into a log in a database.
///
/// When [`push`](Sink::push) returns, the sample is committed: a process that is killed loses at most the sample it was
/// writing, and leaves no part of that sample.
///
/// If the SQLite file is renamed or deleted, the next sample starts the log in a new file ([`on_moved`](Self::on_moved)). If
/// another database with a log of this name has the name of the file by then, the recording ends with an error, except with
/// [`Existing::Append`].
pub struct DatabaseRecorder {
    options: DatabaseRecordOptions,
    path: PathBuf,
    /// `None` after the file was renamed or deleted.
    writer: Option<SqlLogWriter>,
    /// Number of samples that this recording has written to the current file.
    file_samples: u64,
    notify_moved: Option<NotifyMoved>,
    summary: RecordSummary,
    /// Size of the files that were renamed or deleted, in bytes.
    finished_bytes: u64,
}

impl DatabaseRecorder {
    /// Starts or continues a log.
    ///
    /// # Errors
    ///
    /// Those of [`SqlLogWriter::open`].
    pub fn create(options: DatabaseRecordOptions) -> Result<Self, FlowError> {
        let path = PathBuf::from(options.name.to_string());
        let start = match options.existing {
            Existing::Refuse => SqlStart::New,
            Existing::Overwrite => SqlStart::Replace,
            Existing::Append => SqlStart::Append,
        };
        let writer = open(&options, start).map_err(|error| error.at_path(&path))?;
        let summary = RecordSummary {
            files: 1,
            first_file: path.clone(),
            last_file: path.clone(),
            ..RecordSummary::default()
        };
        Ok(Self {
            options,
            path,
            writer: Some(writer),
            file_samples: 0,
            notify_moved: None,
            summary,
            finished_bytes: 0,
        })
    }

    /// Calls a function when the SQLite file is renamed or deleted.
    pub fn on_moved(&mut self, notify: impl FnMut(&MovedLog) + Send + 'static) {
        self.notify_moved = Some(Box::new(notify));
    }

    /// The results so far.
    pub fn summary(&self) -> &RecordSummary {
        &self.summary
    }

    /// Closes the SQLite file if it was renamed or deleted. [`push`](Sink::push) does this before each sample.
    pub fn release_moved(&mut self) {
        if let Some(change) = self.change() {
            self.writer = None;
            self.notify(change, NextLog::SameName);
        }
    }

    fn change(&self) -> Option<LogChange> {
        match self.writer.as_ref()?.location() {
            FileLocation::InPlace => None,
            FileLocation::Renamed => Some(LogChange::Renamed),
            FileLocation::Deleted => Some(LogChange::Deleted),
        }
    }

    fn notify(&mut self, change: LogChange, next: NextLog) {
        let samples = std::mem::take(&mut self.file_samples);
        if samples > 0 {
            self.finished_bytes = self.summary.bytes;
            self.summary.deleted_files += u64::from(change == LogChange::Deleted);
        }
        if let Some(notify) = &mut self.notify_moved {
            notify(&MovedLog { path: self.path.clone(), samples, change, next });
        }
    }

    /// The writer; of a new file if the last one was renamed or deleted.
    fn writer(&mut self) -> Result<&mut SqlLogWriter, FlowError> {
        let change = self.change();
        if change.is_some() {
            // Completes the file before another one gets its name.
            self.writer = None;
        }
        let writer = match self.writer.take() {
            Some(writer) => writer,
            None => {
                let start = match self.options.existing {
                    Existing::Refuse | Existing::Overwrite => SqlStart::New,
                    Existing::Append => SqlStart::Append,
                };
                let opened = open(&self.options, start);
                let is_in_use = opened.as_ref().is_err_and(is_existing);
                if let Some(change) = change {
                    self.notify(change, if is_in_use { NextLog::NameInUse } else { NextLog::SameName });
                }
                let opened = opened.map_err(|error| match is_in_use {
                    true => LogError::io(std::io::Error::new(
                        ErrorKind::AlreadyExists,
                        "it was renamed or deleted, and another database now has its name; the log in that one was not \
                         overwritten",
                    )),
                    false => error,
                });
                let writer = opened.map_err(|error| error.at_path(&self.path))?;
                // A file without a sample is not counted.
                self.summary.files += u64::from(self.summary.samples > 0);
                writer
            }
        };
        Ok(self.writer.insert(writer))
    }
}

fn is_existing(error: &LogError) -> bool {
    error.io_error().is_some_and(|error| error.kind() == ErrorKind::AlreadyExists)
}

fn open(options: &DatabaseRecordOptions, start: SqlStart) -> Result<SqlLogWriter, LogError> {
    let mut writer = SqlLogWriter::open(&options.name, &options.zone, start)?;
    if options.is_synced {
        writer.sync_commits()?;
    }
    Ok(writer)
}

impl Sink for DatabaseRecorder {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let writer = self.writer()?;
        let written = writer.write(sample).and_then(|()| writer.flush());
        let bytes = writer.bytes();
        written.map_err(|error| error.at_path(&self.path))?;
        self.file_samples += 1;
        self.summary.samples += 1;
        self.summary.values += sample.value_count() as u64;
        self.summary.counters = self.summary.counters.max(sample.len());
        self.summary.bytes = self.finished_bytes + bytes;
        self.summary.first.get_or_insert(sample.at);
        self.summary.last = Some(sample.at);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        if let Some(writer) = &mut self.writer {
            writer.finish().map_err(|error| error.at_path(&self.path))?;
        }
        if self.change() == Some(LogChange::Deleted) && self.file_samples > 0 {
            self.writer = None;
            self.notify(LogChange::Deleted, NextLog::None);
        }
        Ok(())
    }
}
