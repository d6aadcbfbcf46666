//! Files that are being written: their locks, where they are, and files that get their final names when they are complete.

mod partial;
mod replacement;

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

pub use partial::{PartialFilesRemoved, remove_partial_files};
pub use replacement::{OutputError, OutputFile};

/// How often a file is opened again because another file got its name in the meantime.
const MAX_ATTEMPTS: usize = 10;

/// Where an open file is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLocation {
    /// The file still has the name under which it was opened, or its location is unknown.
    InPlace,
    /// The file has a different name.
    Renamed,
    /// The file no longer has a name.
    Deleted,
}

impl FileLocation {
    /// The location of a file that was opened under the name `path`.
    #[cfg(unix)]
    pub fn of(file: &File, path: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(open) = file.metadata() else { return Self::InPlace };
        // Devices and pipes are not rotated.
        if !open.is_file() {
            return Self::InPlace;
        }
        match std::fs::metadata(path) {
            Ok(found) if (found.dev(), found.ino()) == (open.dev(), open.ino()) => Self::InPlace,
            // If the name cannot be looked up, writing continues with the open file.
            Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Self::InPlace
            }
            _ if open.nlink() == 0 => Self::Deleted,
            _ => Self::Renamed,
        }
    }

    /// The location of a file that was opened under the name `path`.
    #[cfg(not(unix))]
    pub fn of(_file: &File, _path: &Path) -> Self {
        Self::InPlace
    }
}

/// Opens a file with `options`, which must not truncate it, and locks it while it is open, so that two programs cannot
/// overwrite each other's samples. Devices and pipes are not locked.
///
/// To replace a file by renaming another one, open it with this function, and keep it open until the replacement.
///
/// # Errors
///
/// [`ErrorKind::ResourceBusy`] if another writer has locked the file, and the errors of the operating system.
pub fn open_locked(path: &Path, options: &OpenOptions) -> io::Result<File> {
    for _ in 0..MAX_ATTEMPTS {
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Ok(file);
        }
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(ErrorKind::ResourceBusy.into()),
            // Some file systems do not support locks; writing works without them.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // Before it was locked, a writer that held the lock can have replaced or removed the file.
        if FileLocation::of(&file, path) == FileLocation::InPlace {
            return Ok(file);
        }
    }
    Err(ErrorKind::ResourceBusy.into())
}

/// Returns an error if a writer has locked this file. A file that does not exist or cannot be opened is not locked.
///
/// # Errors
///
/// [`ErrorKind::ResourceBusy`].
pub fn check_not_locked(path: &Path) -> io::Result<()> {
    // Opening a pipe can block.
    if !std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        return Ok(());
    }
    let Ok(file) = File::open(path) else { return Ok(()) };
    // Two checks at the same time do not disturb each other.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Err(ErrorKind::ResourceBusy.into()),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Whether an error means that another writer has locked the file.
pub fn is_locked(error: &io::Error) -> bool {
    // The operating system also uses this kind, for mount points and for swap files.
    error.kind() == ErrorKind::ResourceBusy && error.raw_os_error().is_none()
}

/// Waits until the names of the files in a folder are on disk. An empty path is the current folder.
///
/// # Errors
///
/// The error of the operating system.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let folder = match File::open(folder) {
        // A folder can be writable without being readable.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(()),
        folder => folder?,
    };
    match folder.sync_all() {
        // Not all file systems can sync folders.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
        outcome => outcome,
    }
}
