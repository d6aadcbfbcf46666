//! Files that hold a secret: the token, the key of a certificate.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::options::ServeError;

/// Longest file of a secret, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The bytes of a file that others of this machine can neither read nor change.
///
/// # Errors
///
/// When it cannot be read, is no file, is too long, or others can read or write it.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ServeError> {
    let failed = |what: &dyn std::fmt::Display| ServeError::work(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|error| failed(&error))?;
    // Of the file that is open: its name may lead to another one by now.
    let metadata = file.metadata().map_err(|error| failed(&error))?;
    if metadata.is_dir() {
        return Err(failed(&"this is a folder; a file is needed"));
    }
    if metadata.mode() & 0o006 != 0 {
        return Err(failed(&"everybody on this machine can read or change it; 'chmod o-rw' it first"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(&format_args!("a secret has at most {MAX_BYTES} bytes")));
    }
    Ok(bytes)
}
