//! Records into a database.

use std::path::Path;

use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::LogWriter as _;
use tachograph_logs::sql::{SqlLogName, SqlLogWriter, SqlStart};

use super::{Existing, RecordSummary};
use crate::{FlowError, Sink};

/// Writes samples into a log in a database.
///
/// When [`push`](Sink::push) returns, the sample is committed: a process that is killed loses at most the sample it was
/// writing, and leaves no part of it.
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
    pub fn create(name: &SqlLogName, zone: &TimeZone, existing: Existing) -> Result<Self, FlowError> {
        let text = name.to_string();
        let path = Path::new(&text);
        let start = match existing {
            Existing::Refuse => SqlStart::New,
            Existing::Overwrite => SqlStart::Replace,
            Existing::Append => SqlStart::Append,
        };
        let writer = SqlLogWriter::open(name, zone, start).map_err(|error| error.at_path(path))?;
        let summary = RecordSummary {
            files: 1,
            first_file: path.to_path_buf(),
            last_file: path.to_path_buf(),
            ..RecordSummary::default()
        };
        Ok(Self { writer, summary })
    }

    /// What was recorded so far.
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
        self.summary.values += sample.len() as u64;
        self.summary.counters = sample.groups.iter().map(|group| group.set.counters.len()).sum();
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
