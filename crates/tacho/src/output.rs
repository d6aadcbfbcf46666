//! Output files that appear as a whole.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Once;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tachograph_flow::FlowError;
use tachograph_logs::output_file::{OutputFile, remove_partial_files};

use crate::failure::Failure;
use crate::signals;

/// Creates an output file. A signal that ends the command also removes the partial file.
pub(crate) fn create_output(path: &Path, overwrite: bool) -> Result<OutputFile, Failure> {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        let handled = signals::handle(&signals::not_ignored(&[SIGINT, SIGTERM, SIGHUP]), |signal| {
            let _removed = remove_partial_files();
            signals::exit(signal);
        });
        // Without a handler, a signal still ends the program, but the partial file remains.
        drop(handled);
    });
    Ok(OutputFile::create(path, overwrite)?)
}

/// Writes `text` to a file, or to standard output if `output` is `None`.
pub(crate) fn write_text(output: Option<&Path>, overwrite: bool, text: &str) -> Result<(), Failure> {
    let Some(path) = output else {
        return Ok(io::stdout().lock().write_all(text.as_bytes())?);
    };
    finish_with(create_output(path, overwrite)?, path, text)
}

/// Writes `text` to the file `path`, and completes it.
pub(crate) fn finish_with(mut file: OutputFile, path: &Path, text: &str) -> Result<(), Failure> {
    file.write_all(text.as_bytes()).map_err(|error| Failure::of_output(FlowError::Output(error), path))?;
    Ok(file.finish()?)
}
