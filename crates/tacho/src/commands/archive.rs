//! Writing archives (`tacho relog -f archive`) and maintaining them (`tacho archive`).

mod compact;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_flow::archive::{ArchiveLock, ArchiveStore};
use tachograph_flow::live::Stop;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::ArchiveSink;
use tachograph_flow::{FlowError, JoinedLogs, Sink};
use tachograph_logs::archive::{ArchiveOptions, ArchiveWriter, DiskStorage};
use tachograph_logs::{LogError, LogWriter as _};

use super::output_format::is_standard_output;
use super::relog::{notify_written, run_pipeline};
use super::{no_sample, notify_problems, notify_unmatched};
use crate::arguments::{ArchiveArguments, ArchiveCommand};
use crate::failure::{Failure, cannot, notify};
use crate::signals;

pub(crate) fn run(arguments: &ArchiveArguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        ArchiveCommand::Compact(arguments) => compact::run(arguments),
    }
}

/// Writes the result of a query into the folder of an archive.
pub(crate) fn write(query: &mut LogQuery, folder: &Path, is_appended: bool) -> Result<ExitCode, Failure> {
    check_folder(folder, is_appended)?;
    let stop = Stop::default();
    signals::stop_on_signals(&stop)?;
    query.selection = query.selection.clone().with_identities();
    let mut writer: Option<ArchiveWriter> = None;
    let (mut samples, mut reports) = (0, Vec::new());
    // Each machine has its own time zone and clocks.
    for indexes in query.logs_by_machine()? {
        let paths = indexes.iter().map(|&index| query.paths[index].clone()).collect();
        let machine = LogQuery { paths, ..query.clone() };
        let mut pipeline = machine.samples()?;
        if machine.paths.len() > 1 {
            pipeline.source = Box::new(JoinedLogs::new(pipeline.source));
        }
        let machine_reports = pipeline.reports.clone();
        let options = ArchiveOptions::of_log(machine_reports[0].facts());
        let writer = match &mut writer {
            Some(writer) => {
                writer.begin_log(options).map_err(|error| Failure::of_output(error.into(), folder))?;
                writer
            }
            None => writer.insert(ArchiveWriter::new(folder, options)),
        };
        let written = run_pipeline(pipeline, &mut StoppableSink { sink: ArchiveSink(writer), stop: &stop });
        samples += match written {
            // Dropping the writer removes the unfinished files.
            Err(FlowError::Stopped) => {
                notify(format_args!("{}: stopped: nothing was written", folder.display()));
                return Ok(signals::stopped_status());
            }
            written => written.map_err(|error| write_failure(error, folder))?,
        };
        reports.extend(machine_reports);
    }
    notify_problems(&reports);
    notify_unmatched(query)?;
    let Some(mut writer) = writer.filter(|_| samples > 0) else { return Err(no_sample(query)) };
    // Held until the files have their final names.
    let _locks = lock_machines(&writer)?;
    writer.finish().map_err(|error| write_failure(error.into(), folder))?;
    notify_written(query, folder, samples);
    Ok(ExitCode::SUCCESS)
}

/// The failure of a conversion. If an unfinished file of the archive cannot be written, the message names the archive, because
/// users do not know the temporary names of these files.
fn write_failure(error: FlowError, folder: &Path) -> Failure {
    if let FlowError::Log(log) = &error
        && let (Some(path), Some(io)) = (log.path(), log.io_error())
        && path.starts_with(folder)
        && path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
    {
        return cannot("write", folder, io);
    }
    Failure::of_output(error, folder)
}

/// Locks the folders of the machines whose files will be added, because the samples of open segments must remain later
/// than those of all files.
fn lock_machines(writer: &ArchiveWriter) -> Result<Vec<ArchiveLock>, Failure> {
    let mut locks = Vec::new();
    for folder in writer.machine_folders() {
        match ArchiveStore::of_folder(&folder, Arc::new(DiskStorage)).lock_to_add() {
            Ok(lock) => locks.extend(lock),
            Err(error) if is_busy(&error) => {
                return Err(Failure::runtime(format!(
                    "{}: nothing was added, because a recorder is writing the files of this machine: stop it first, or use \
                     another folder",
                    folder.display()
                )));
            }
            Err(error) => return Err(Failure::of_output(error.into(), &folder)),
        }
    }
    Ok(locks)
}

fn is_busy(error: &LogError) -> bool {
    error.io_error().is_some_and(|error| error.kind() == ErrorKind::ResourceBusy)
}

/// A sink that fails after a signal.
struct StoppableSink<'a> {
    sink: ArchiveSink<'a>,
    stop: &'a Stop,
}

impl Sink for StoppableSink<'_> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        if self.stop.is_stopped() {
            return Err(FlowError::Stopped);
        }
        self.sink.push(sample)
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.sink.finish()
    }
}

/// Returns an error if the folder is not empty, unless files are to be added to it.
fn check_folder(folder: &Path, is_appended: bool) -> Result<(), Failure> {
    if is_standard_output(folder) {
        return Err(Failure::usage(
            "cannot write an archive to standard output, because it is a folder: use -o FOLDER",
        ));
    }
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Failure::of_output(FlowError::Output(error), folder)),
    };
    if !is_appended && entries.next().is_some() {
        return Err(Failure::usage(format!(
            "{}: the folder is not empty: use -a to add files to an archive, or name another folder",
            folder.display()
        )));
    }
    Ok(())
}
