//! A recording into a log, an archive or a database.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::record::{
    ArchiveRecordOptions, ArchiveRecorder, DatabaseRecordOptions, DatabaseRecorder, MachinesArchive,
    RecordOptions, RecordSummary, Recorder, Suffix,
};
use tachograph_flow::{FlowError, Sink as _};
use tachograph_logs::archive::{DiskStorage, Storage};

use super::archive_options::archive_options;
use super::database_options::database_options;
use super::record_options::record_options;
use crate::arguments::{RecordArguments, RecordFormat};
use crate::commands::database;
use crate::commands::output_format::wait_for_reader;
use crate::failure::{Failure, notify};
use crate::this_machine::notify_first;

/// Where to record, and how.
pub(super) enum LogTarget {
    Log(Box<RecordOptions>),
    Archive(Box<ArchiveRecordOptions>),
    Database(Box<DatabaseRecordOptions>),
    /// An archive of these machines.
    MachinesArchive(Box<ArchiveRecordOptions>, Vec<Arc<str>>),
}

impl LogTarget {
    /// The target for samples of these machines.
    pub(super) fn new(
        arguments: &RecordArguments,
        interval: Duration,
        machines: Vec<Arc<str>>,
    ) -> Result<Self, Failure> {
        let requested = arguments.format.map(RecordFormat::format);
        if database::format_of(requested, &arguments.output)?.is_some() {
            return Ok(Self::Database(Box::new(database_options(arguments)?)));
        }
        if arguments.format != Some(RecordFormat::Archive) {
            return Ok(Self::Log(Box::new(record_options(arguments, interval)?)));
        }
        let first = machines.first().map_or("", |machine| &**machine);
        let options = Box::new(archive_options(arguments, interval, first)?);
        Ok(match machines.len() {
            1 => Self::Archive(options),
            _ => Self::MachinesArchive(options, machines),
        })
    }

    /// Whether displayed values are stored.
    pub(super) fn is_formatted(&self) -> bool {
        matches!(self, Self::Log(options) if options.format.is_formatted())
    }

    /// The size at which the recording can end.
    pub(super) fn max_bytes(&self) -> Option<u64> {
        match self {
            Self::Log(options) => options.max_bytes,
            Self::Archive(_) | Self::MachinesArchive(..) | Self::Database(_) => None,
        }
    }

    /// See [`wait_for_reader`].
    pub(super) fn wait_for_reader(&self) -> Result<Option<File>, Failure> {
        match self {
            Self::Log(options) if options.suffix == Suffix::None => wait_for_reader(&options.path),
            _ => Ok(None),
        }
    }

    pub(super) fn set_zone(&mut self, zone: &TimeZone) {
        match self {
            Self::Log(options) => options.zone = zone.clone(),
            Self::Archive(options) | Self::MachinesArchive(options, _) => options.zone = zone.clone(),
            Self::Database(options) => options.zone = zone.clone(),
        }
    }

    pub(super) fn create(self, now: Moment) -> Result<LogOutput, FlowError> {
        Ok(match self {
            Self::Log(options) => {
                let mut recorder = Recorder::create(*options, now)?;
                recorder.on_moved(|moved| notify(moved));
                LogOutput::Log(Box::new(recorder))
            }
            Self::Archive(options) => {
                LogOutput::Archive(Box::new(ArchiveRecorder::create(*options, Arc::new(DiskStorage))?))
            }
            Self::Database(options) => {
                let mut recorder = DatabaseRecorder::create(*options)?;
                recorder.on_moved(|moved| notify(moved));
                LogOutput::Database(Box::new(recorder))
            }
            Self::MachinesArchive(options, machines) => {
                let storage: Arc<dyn Storage> = Arc::new(DiskStorage);
                LogOutput::MachinesArchive(Box::new(MachinesArchive::create(&options, &machines, &storage)?))
            }
        })
    }
}

/// The recorder of a log, of an archive or of a log in a database.
pub(super) enum LogOutput {
    Log(Box<Recorder>),
    Archive(Box<ArchiveRecorder>),
    Database(Box<DatabaseRecorder>),
    MachinesArchive(Box<MachinesArchive>),
}

impl LogOutput {
    pub(super) fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        match self {
            Self::Log(recorder) => recorder.push(sample),
            Self::Archive(recorder) => recorder.push(sample),
            Self::Database(recorder) => recorder.push(sample),
            Self::MachinesArchive(recorder) => recorder.push(sample),
        }
    }

    pub(super) fn finish(&mut self) -> Result<(), FlowError> {
        match self {
            Self::Log(recorder) => recorder.finish(),
            Self::Archive(recorder) => recorder.finish(),
            Self::Database(recorder) => recorder.finish(),
            Self::MachinesArchive(recorder) => recorder.finish(),
        }
    }

    pub(super) fn summary(&self) -> &RecordSummary {
        match self {
            Self::Log(recorder) => recorder.summary(),
            Self::Archive(recorder) => recorder.summary(),
            Self::Database(recorder) => recorder.summary(),
            Self::MachinesArchive(recorder) => recorder.summary(),
        }
    }

    /// Whether the log has reached its maximum size.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Self::Log(recorder) if recorder.is_full())
    }

    /// See [`Recorder::without_column`].
    pub(super) fn without_column(&self) -> Option<&str> {
        match self {
            Self::Log(recorder) => recorder.without_column(),
            Self::Archive(_) | Self::MachinesArchive(_) | Self::Database(_) => None,
        }
    }

    /// See [`Recorder::release_moved`].
    pub(super) fn release_moved(&mut self) -> Result<(), FlowError> {
        match self {
            Self::Log(recorder) => recorder.release_moved(),
            Self::Database(recorder) => {
                recorder.release_moved();
                Ok(())
            }
            Self::Archive(_) | Self::MachinesArchive(_) => Ok(()),
        }
    }

    /// Number of samples that were dropped; see [`ArchiveRecorder::dropped`].
    pub(super) fn dropped(&self) -> u64 {
        match self {
            Self::Log(_) | Self::Database(_) => 0,
            Self::Archive(recorder) => recorder.dropped(),
            Self::MachinesArchive(recorder) => recorder.dropped(),
        }
    }

    /// Reports the events of an archive since the last call.
    pub(super) fn notify_events(&mut self) {
        let others = "other events of the archive";
        match self {
            Self::Log(_) | Self::Database(_) => {}
            Self::Archive(recorder) => notify_first(&recorder.take_notices(), others, ToString::to_string),
            Self::MachinesArchive(recorder) => {
                notify_first(&recorder.take_notices(), others, ToString::to_string);
            }
        }
    }
}
