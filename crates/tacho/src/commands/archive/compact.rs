//! `tacho archive compact`: merges the small files of past days.

use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use tachograph_counters::civil::FileTime;
use tachograph_flow::FlowError;
use tachograph_flow::archive::{ArchiveStore, Merged};
use tachograph_flow::live::Stop;
use tachograph_logs::archive::{DiskStorage, archive_inputs};

use super::is_busy;
use crate::arguments::CompactArguments;
use crate::failure::{Failure, notify};
use crate::signals;
use crate::table::counted;

pub(super) fn run(arguments: &CompactArguments) -> Result<ExitCode, Failure> {
    let stop = Stop::default();
    signals::stop_on_signals(&stop)?;
    // An absolute path, because the parent of a machine's folder is needed.
    let folder = std::fs::canonicalize(&arguments.folder)
        .map_err(|error| crate::failure::cannot("read", &arguments.folder, &error))?;
    let mut merged = 0;
    for machine in archive_inputs(&folder)? {
        let is_date = |name: &str| name.starts_with("date=");
        if machine.folder.file_name().and_then(|name| name.to_str()).is_some_and(is_date) {
            return Err(Failure::usage(format!(
                "{}: this is a date folder: name the folder of an archive or of a machine",
                arguments.folder.display()
            )));
        }
        check_owner(&machine.folder)?;
        match compact(&machine.folder, &stop) {
            Ok(count) => merged += count,
            Err(FlowError::Stopped) => {
                notify("stopped: the files of the day that was being merged are unchanged");
                return Ok(signals::stopped_status());
            }
            Err(error) => return Err(failure(error)),
        }
    }
    if merged == 0 {
        notify(format_args!("{}: no past day has several small files", arguments.folder.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks that merged files will belong to the owner of a machine's folder. Otherwise, its recorder could not change them.
fn check_owner(machine: &Path) -> Result<(), Failure> {
    let found =
        std::fs::metadata(machine).map_err(|error| crate::failure::cannot("read", machine, &error))?;
    let (owner, user) = (found.uid(), rustix::process::geteuid().as_raw());
    if owner == user {
        return Ok(());
    }
    Err(Failure::runtime(format!(
        "{folder}: belongs to the user with id {owner}, and files that the user with id {user} merges would not: run \
         'sudo -u \\#{owner} tacho archive compact {folder}'",
        folder = machine.display()
    )))
}

/// Merges the files of a machine. Returns the number of merged days.
fn compact(machine: &Path, stop: &Stop) -> Result<u64, FlowError> {
    let store = ArchiveStore::of_folder(machine, Arc::new(DiskStorage));
    store.create_folders()?;
    // A running recorder converts its own segments.
    match store.lock_recorder() {
        Ok(_lock) => {
            let mut last = None;
            for segment in store.segments()? {
                let converted = store.convert(&segment, &mut last)?;
                converted.problems.iter().for_each(notify);
            }
        }
        Err(error) if is_busy(&error) => {}
        Err(error) => return Err(error.into()),
    }
    let _lock = store.lock_files()?;
    store.clean_merge_folder()?;
    let dates = store.dates_to_merge(FileTime::from_system_time(SystemTime::now()))?;
    if !dates.is_empty() {
        store.check_exchange()?;
    }
    let mut merged = 0;
    for date in dates {
        let Merged { folder, files, bytes } = store.merge(&date, &|| stop.is_stopped())?;
        let shown: PathBuf = folder.iter().rev().take(2).collect::<Vec<_>>().into_iter().rev().collect();
        let _ = writeln!(
            std::io::stdout(),
            "{}: {} of {} -> {} of {}",
            shown.display(),
            counted(files.0 as u64, "file", "files"),
            counted(bytes.0, "byte", "bytes"),
            counted(files.1 as u64, "file", "files"),
            counted(bytes.1, "byte", "bytes"),
        );
        merged += 1;
    }
    Ok(merged)
}

fn failure(error: FlowError) -> Failure {
    match &error {
        FlowError::Log(log) if is_busy(log) => {
            let folder = log.path().unwrap_or(Path::new("")).display();
            Failure::runtime(format!(
                "{folder}: another process is merging files here; wait until it has finished"
            ))
        }
        _ => Failure::of_writing(error),
    }
}
