//! The limit on open files (`ulimit -n`).

use std::fs::File;
use std::io;

use rustix::process::{Resource, getrlimit};

use crate::failure::Failure;

/// Number of files that a query needs at least, for its threads, signals, inputs and output.
const MIN_FILES: usize = 32;

/// Checks that enough files can be opened. The runtime of the query panics if it cannot open its own.
///
/// # Errors
///
/// When the limit is too low.
pub(crate) fn check() -> Result<(), Failure> {
    let opened: io::Result<Vec<File>> = (0..MIN_FILES).map(|_| File::open("/dev/null")).collect();
    match opened {
        // EMFILE. Other errors do not depend on the limit.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            let limit = getrlimit(Resource::Nofile).current.unwrap_or_default();
            Err(Failure::runtime(format!(
                "a query needs more open files than the limit of {limit}: raise it with 'ulimit -n 1024'"
            )))
        }
        _ => Ok(()),
    }
}
