//! The lock of a log in an SQLite file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::output_file::{FileLocation, is_locked, open_locked};

/// Locks a log in an SQLite file while it is written. Several programs can write different logs of a file, so the lock is a
/// file beside it, which is removed at the end. If the process is killed, the file remains, but is not locked.
pub(super) struct LogLock {
    file: File,
    path: PathBuf,
}

impl LogLock {
    /// Locks the log of an existing SQLite file. `None` if the folder or its file system does not permit it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ResourceBusy`] if the log is locked.
    pub(super) fn new(database: &Path, log: &str) -> io::Result<Option<Self>> {
        let mut path = database.as_os_str().to_owned();
        path.push(format!("-lock-{:016x}", hash(log)));
        let path = PathBuf::from(path);
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let opened = match open_locked(&path, &options) {
            // The file can belong to another user. Locking it needs no permission to write.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                open_locked(&path, OpenOptions::new().read(true))
            }
            opened => opened,
        };
        match opened {
            Ok(file) => Ok(Some(Self { file, path })),
            Err(error) if is_locked(&error) => Err(error),
            // If the database cannot be written either, SQLite reports it.
            Err(_) => Ok(None),
        }
    }
}

impl Drop for LogLock {
    fn drop(&mut self) {
        // Another writer can lock the file only after it is closed, and then finds that it was removed.
        if FileLocation::of(&self.file, &self.path) == FileLocation::InPlace {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// FNV-1a, which is the same in all versions of the program. Names can contain any characters and be long.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
