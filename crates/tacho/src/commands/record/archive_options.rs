//! The options of a recording into an archive, from the arguments of `record`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use tachograph_flow::archive::Retention;
use tachograph_flow::record::ArchiveRecordOptions;
use tachograph_logs::archive::machine_folders;
use tachograph_perflib::FREQUENCY;

use crate::arguments::{RecordArguments, SegmentLimit};
use crate::commands::output_format::is_standard_output;
use crate::failure::{Failure, cannot};

/// Returns the first given option that applies only to archives.
pub(super) fn archive_option(arguments: &RecordArguments) -> Option<&'static str> {
    let options = [
        ("--keep", arguments.keep.is_some()),
        ("--keep-size", arguments.keep_size.is_some()),
        ("--min-free", arguments.min_free.is_some()),
    ];
    options.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
}

/// The options of a recording into an archive; rejects arguments that do not apply to archives.
pub(super) fn archive_options(
    arguments: &RecordArguments,
    interval: Duration,
    machine: &str,
) -> Result<ArchiveRecordOptions, Failure> {
    let refused = [
        ("-circular", arguments.circular, "use --keep or --keep-size to remove the oldest files"),
        ("-v", arguments.suffix.is_some(), "the files of an archive are named by time"),
        ("-a", arguments.append, "an existing archive is always continued"),
        ("-y", arguments.yes, "an existing archive is always continued"),
    ];
    if let Some((option, _, why)) = refused.into_iter().find(|(_, is_given, _)| *is_given) {
        return Err(Failure::usage(format!("{option} cannot be used with -f archive: {why}")));
    }
    arguments.digits.check(arguments.encoding, "--encoding", false)?;
    let mut options = ArchiveRecordOptions::new(&arguments.output, machine, interval);
    options.segment_bytes = arguments.max_size.map_or(options.segment_bytes, |mb| mb << 20);
    match arguments.segment {
        Some(Some(SegmentLimit::Time(time))) if time < interval => {
            return Err(Failure::usage("-segment: a file cannot be shorter than the interval (-si)"));
        }
        Some(Some(SegmentLimit::Time(time))) => options.segment_time = time,
        Some(Some(SegmentLimit::Bytes(_))) if arguments.max_size.is_some() => {
            return Err(Failure::usage(
                "-segment SIZE and -max both limit the size of a file: use one of them",
            ));
        }
        Some(Some(SegmentLimit::Bytes(bytes))) => options.segment_bytes = bytes,
        Some(None) | None => {}
    }
    options.performance_frequency = FREQUENCY;
    options.is_synced = arguments.sync;
    options.retention = Retention { age: arguments.keep, bytes: arguments.keep_size };
    options.min_free_bytes = arguments.min_free.unwrap_or(options.min_free_bytes);
    check_folder(&arguments.output)?;
    Ok(options)
}

/// Returns an error if the folder is neither empty nor an archive.
fn check_folder(folder: &Path) -> Result<(), Failure> {
    if is_standard_output(folder) {
        return Err(Failure::usage("an archive is a folder: use -o FOLDER"));
    }
    let mut entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            let why = "this is a file; an archive is a folder: use another name";
            return Err(Failure::usage(format!("{}: {why}", folder.display())));
        }
        Err(error) => return Err(cannot("read", folder, &error)),
    };
    if machine_folders(folder)?.is_empty() && entries.next().is_some() {
        return Err(Failure::usage(format!(
            "{}: the folder is neither empty nor an archive: name another folder",
            folder.display()
        )));
    }
    Ok(())
}
