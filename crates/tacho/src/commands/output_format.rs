//! Formats and destinations of command output.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use tachograph_logs::Format;

use crate::failure::{Failure, cannot};

/// The output format if `-f` is not used: by the extension; CSV for standard output; `default` for a file without an
/// extension. An unknown extension is an error.
pub(crate) fn format_of_output(output: &Path, default: Format) -> Result<Format, Failure> {
    match Format::of_extension(output) {
        Some(Format::Archive) => Err(Failure::usage(format!(
            "{}: an archive is a folder, whose files are named by time: use 'tacho relog -f archive -o FOLDER'",
            output.display()
        ))),
        Some(format) => Ok(format),
        None if is_standard_output(output) => Ok(Format::Csv),
        None if output.extension().is_none() => Ok(default),
        None => Err(Failure::usage(format!(
            "{}: unknown format: use -f bin, csv, tsv or json, or a name that ends in .blg, .csv, .tsv or .json",
            output.display()
        ))),
    }
}

pub(crate) fn is_text(format: Format) -> bool {
    matches!(format, Format::Csv | Format::Tsv)
}

pub(crate) fn is_standard_output(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The file named by `-o`; `None` for standard output.
pub(crate) fn output_file(output: Option<&Path>) -> Option<&Path> {
    output.filter(|output| !is_standard_output(output))
}

pub(crate) fn blg_on_standard_output() -> Failure {
    Failure::usage(
        "cannot write a BLG to standard output (its header is completed at the end): use -o FILE, or -f csv",
    )
}

/// Returns an error if a BLG would be written to a pipe.
pub(crate) fn refuse_blg_in_pipe(output: &Path, format: Format) -> Result<(), Failure> {
    if format != Format::Blg || !is_pipe(output) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{}: a BLG cannot be written to a pipe (its header is completed at the end): use a file, or -f csv",
        output.display()
    )))
}

/// If the output is a named pipe, opens it, which waits for a reader. While the result exists, opening the pipe again does
/// not wait. Called before signals are handled, so that Ctrl-C ends the wait.
pub(crate) fn wait_for_reader(output: &Path) -> Result<Option<File>, Failure> {
    let pipe = is_pipe(output).then(|| OpenOptions::new().write(true).open(output));
    pipe.transpose().map_err(|error| cannot("write", output, &error))
}

fn is_pipe(output: &Path) -> bool {
    std::fs::metadata(output).is_ok_and(|found| found.file_type().is_fifo())
}
