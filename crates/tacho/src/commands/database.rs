//! Writing a log into a database (`tacho relog -f SQL`).

use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;

use tachograph_counters::sample::Sample;
use tachograph_flow::live::Stop;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{FlowError, Sink};
use tachograph_logs::output_file::FileLocation;
use tachograph_logs::sql::{SqlLogName, SqlLogWriter, SqlStart};
use tachograph_logs::{Format, LogError, LogWriter as _};

use super::relog::{notify_written, run_pipeline, scanned};
use super::{no_sample, notify_problems, notify_unmatched};
use crate::arguments::{RelogArguments, is_sql_log};
use crate::failure::{Failure, notify};
use crate::signals;

/// The format of a log in a database; `None` for a file. Returns an error if the requested format does not fit the name.
pub(crate) fn format_of(requested: Option<Format>, output: &Path) -> Result<Option<Format>, Failure> {
    match (is_sql_log(output), requested) {
        (true, None | Some(Format::Sql)) => Ok(Some(Format::Sql)),
        (true, Some(format)) => Err(Failure::usage(format!(
            "{}: a log in a database has the format SQL, not {}: omit -f, or use -o FILE",
            output.display(),
            format.name()
        ))),
        (false, Some(Format::Sql)) => Err(Failure::usage(format!(
            "{}: -f SQL writes into a database: use -o SQL:FILE.db!NAME, such as -o 'SQL:counters.db!march'",
            output.display()
        ))),
        (false, _) => Ok(None),
    }
}

/// Parses the name of a log in a database, which [`format_of`] has recognised.
pub(crate) fn name_of(output: &Path) -> Result<SqlLogName, Failure> {
    let name = SqlLogName::parse(output).transpose().map_err(Failure::usage)?;
    name.ok_or_else(|| Failure::usage(format!("{}: not a log in a database", output.display())))
}

/// Writes the result of a query into a database.
pub(crate) fn write(
    query: &mut LogQuery,
    output: &Path,
    arguments: &RelogArguments,
) -> Result<ExitCode, Failure> {
    let name = name_of(output)?;
    let stop = Stop::default();
    signals::stop_on_signals(&stop)?;
    query.selection = query.selection.clone().with_identities();
    let pipeline = match query.paths.len() {
        1 => query.single()?,
        _ => scanned(query)?.1,
    };
    let reports = pipeline.reports.clone();
    let start = match (arguments.append, arguments.yes) {
        (true, _) => SqlStart::Append,
        (false, true) => SqlStart::ReplaceAtEnd,
        (false, false) => SqlStart::New,
    };
    let mut sink = DatabaseSink {
        name: &name,
        start,
        output,
        zone: &reports[0].facts().zone,
        writer: None,
        baselines: Vec::new(),
        stop: &stop,
    };
    let samples = match run_pipeline(pipeline, &mut sink) {
        Err(FlowError::Stopped) => {
            notify(format_args!("{}: stopped: {}", output.display(), sink.state()));
            return Ok(signals::stopped_status());
        }
        written => written.map_err(|error| failure(error, output, &name))?,
    };
    notify_problems(&reports);
    notify_unmatched(query)?;
    if samples == 0 {
        return Err(no_sample(query));
    }
    notify_written(query, output, samples);
    Ok(ExitCode::SUCCESS)
}

/// Converts an error of reading the logs or of writing into the database.
fn failure(error: FlowError, output: &Path, name: &SqlLogName) -> Failure {
    let FlowError::Log(log) = &error else { return error.into() };
    let is_of_output =
        log.path().is_none_or(|path| path == output || Some(path) == name.sqlite_path().as_deref());
    match log.io_error().map(std::io::Error::kind) {
        _ if !is_of_output => error.into(),
        Some(ErrorKind::AlreadyExists) => Failure::usage(format!(
            "{}: the database has a log of this name: use -y to replace it, -a to append to it, or another name",
            output.display()
        )),
        _ if log.is_unsupported() && !log.is_not_later() => Failure::usage(error),
        _ => Failure::of_writing(error),
    }
}

/// Writes samples into a database, which is opened at the first sample, and fails after a signal.
struct DatabaseSink<'a> {
    name: &'a SqlLogName,
    start: SqlStart,
    output: &'a Path,
    zone: &'a tachograph_counters::time_zone::TimeZone,
    writer: Option<SqlLogWriter>,
    /// Samples that open the first interval. They are written when a sample follows; if none follows, an existing log is kept.
    baselines: Vec<Sample>,
    stop: &'a Stop,
}

impl DatabaseSink<'_> {
    fn write(&mut self, sample: &Sample) -> Result<(), LogError> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(SqlLogWriter::open(self.name, self.zone, self.start)?),
        };
        // The sample that opens the first interval may already be in the log, as its last sample.
        if sample.is_baseline
            && writer.appended_to().is_some_and(|last| sample.at.utc.cut_to_milliseconds() <= last)
        {
            return Ok(());
        }
        writer.write(sample)
    }

    /// Describes what has been written into the database when a signal arrives.
    fn state(&self) -> String {
        match self.writer.as_ref().map_or(0, SqlLogWriter::committed_samples) {
            _ if self.writer.as_ref().is_some_and(SqlLogWriter::keeps_replaced) => {
                "the log was not replaced".to_owned()
            }
            0 => "nothing was written".to_owned(),
            samples => format!("the log is incomplete: {samples} samples"),
        }
    }
}

impl Sink for DatabaseSink<'_> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        if self.stop.is_stopped() {
            return Err(FlowError::Stopped);
        }
        if sample.is_baseline && self.writer.is_none() {
            self.baselines.push(sample.clone());
            return Ok(());
        }
        let baselines = std::mem::take(&mut self.baselines);
        let written = baselines.iter().chain([sample]).try_for_each(|sample| self.write(sample));
        written.map_err(|error| error.at_path(self.output).into())
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        match &mut self.writer {
            Some(writer) => {
                let finished = writer.finish().and_then(|()| match writer.location() {
                    FileLocation::InPlace => Ok(()),
                    FileLocation::Renamed => Err(LogError::io(std::io::Error::other(
                        "another program renamed the database while the log was written",
                    ))),
                    FileLocation::Deleted => Err(LogError::io(std::io::Error::other(
                        "another program deleted the database while the log was written",
                    ))),
                });
                finished.map_err(|error| error.at_path(self.output).into())
            }
            None => Ok(()),
        }
    }
}
