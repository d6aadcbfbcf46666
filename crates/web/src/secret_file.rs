//! Files with a secret: a token or a private key.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::options::ServeError;

/// Maximum size of the file.
const MAX_BYTES: u64 = 1 << 20;

/// Reads a file that other users can neither read nor write.
///
/// # Errors
///
/// If the file cannot be read, is a folder or too long, or if other users can read or write it.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, ServeError> {
    let failed =
        |reason: &dyn std::fmt::Display| ServeError::failure(format!("{}: {reason}", path.display()));
    let unreadable = |error| ServeError::io(path.display(), &error);
    let file = File::open(path).map_err(unreadable)?;
    // Metadata of the open file, because the path may refer to another file by now.
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(failed(&"is a folder; a file is required"));
    }
    if metadata.mode() & 0o006 != 0 {
        return Err(failed(&"other users can read or write this file; run 'chmod o-rw' on it"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(failed(&format_args!("longer than {MAX_BYTES} bytes")));
    }
    Ok(bytes)
}
