//! Recording into a database.

use std::path::Path;

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::LogWriter as _;
use tachograph_logs::sql::{SqlLogName, SqlLogWriter, SqlStart};

use super::{Existing, RecordSummary};
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
pub struct DatabaseRecorder {
    writer: SqlLogWriter,
    summary: RecordSummary,
}

impl DatabaseRecorder {
    /// Starts or continues a log.
    ///
    /// # Errors
    ///
    /// Those of [`SqlLogWriter::open`].
    pub fn create(options: &DatabaseRecordOptions) -> Result<Self, FlowError> {
        let DatabaseRecordOptions { name, zone, existing, is_synced } = options;
        let text = name.to_string();
        let path = Path::new(&text);
        let start = match existing {
            Existing::Refuse => SqlStart::New,
            Existing::Overwrite => SqlStart::Replace,
            Existing::Append => SqlStart::Append,
        };
        let mut writer = SqlLogWriter::open(name, zone, start).map_err(|error| error.at_path(path))?;
        if *is_synced {
            writer.sync_commits().map_err(|error| error.at_path(path))?;
        }
        let summary = RecordSummary {
            files: 1,
            first_file: path.to_path_buf(),
            last_file: path.to_path_buf(),
            ..RecordSummary::default()
        };
        Ok(Self { writer, summary })
    }

    /// The results so far.
    pub fn summary(&self) -> &RecordSummary {
        &self.summary
    }
}

impl Sink for DatabaseRecorder {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        let path = self.summary.first_file.as_path();
        let written = self.writer.write(sample).and_then(|()| self.writer.flush());
        written.map_err(|error| error.at_path(path))?;
        self.summary.samples += 1;
        self.summary.values += sample.value_count() as u64;
        self.summary.counters = self.summary.counters.max(sample.len());
        self.summary.bytes = self.writer.bytes();
        self.summary.first.get_or_insert(sample.at);
        self.summary.last = Some(sample.at);
        Ok(())
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        let path = self.summary.first_file.as_path();
        self.writer.finish().map_err(|error| error.at_path(path))?;
        Ok(())
    }
}
