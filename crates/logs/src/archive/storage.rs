//! The operations that change the files of an archive.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::output_file::sync_folder;

/// Changes files and folders. Tests have their own implementations, which record operations or make them fail. Reading
/// does not use this trait.
pub trait Storage: Debug + Send + Sync {
    /// Creates a file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if the name is taken, and the errors of the operating system.
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>>;

    /// Creates a folder.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder survive a power failure.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn sync_folder(&self, path: &Path) -> io::Result<()>;

    /// Renames a file. An existing file is not replaced.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if the new name is taken, and the errors of the operating system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Atomically exchanges the names of two folders of one file system.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] or [`ErrorKind::InvalidInput`] if the file system cannot do that, and the errors of the operating
    /// system.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;

    /// The number of bytes that an unprivileged process can still write to the file system of a folder.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn free_bytes(&self, path: &Path) -> io::Result<u64>;
}

/// A file that is being written.
pub trait StorageFile: Write + Send {
    /// Makes the contents survive a power failure.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn sync(&self) -> io::Result<()>;
}

impl StorageFile for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskStorage;

impl Storage for DiskStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn StorageFile>> {
        Ok(Box::new(File::create_new(path)?))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        sync_folder(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match rename_without_replacing(from, to) {
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
            outcome => return outcome,
        }
        // The file system does not support RENAME_NOREPLACE. Unlike a rename, a hard link never replaces a file.
        match fs::hard_link(from, to) {
            Ok(()) => return fs::remove_file(from),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
            Err(_) => {}
        }
        if to.symlink_metadata().is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        fs::rename(from, to)
    }

    #[cfg(target_os = "linux")]
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn exchange(&self, _one: &Path, _other: &Path) -> io::Result<()> {
        Err(ErrorKind::Unsupported.into())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    #[cfg(target_os = "linux")]
    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        let found = rustix::fs::statvfs(path)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    #[cfg(not(target_os = "linux"))]
    fn free_bytes(&self, _path: &Path) -> io::Result<u64> {
        Err(ErrorKind::Unsupported.into())
    }
}

#[cfg(target_os = "linux")]
fn rename_without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(target_os = "linux"))]
fn rename_without_replacing(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}
