//! Files that get their final names when they are complete.

use std::fmt;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

use super::partial::PartialFile;
use super::{FileLocation, is_locked, open_locked, sync_folder};
use crate::io_error_text;

/// A file that is written under a temporary name in the folder of its final name, and renamed when it is complete and on disk. If
/// the program fails or is killed, or the power fails, no partial file appears under the final name, and an existing file is kept.
///
/// Devices and pipes are written directly. A symbolic link is kept; the file it points to is replaced. A replaced file stays locked
/// until then, so that no recorder begins to write it.
#[derive(Debug)]
pub struct OutputFile {
    /// The final name.
    target: PathBuf,
    /// Whether an existing file is replaced.
    overwrite: bool,
    /// The existing file, which is locked until it is replaced.
    replaced: Option<File>,
    file: BufWriter<File>,
    /// The temporary name; `None` for a device or a pipe.
    partial: Option<PartialFile>,
}

impl OutputFile {
    /// Creates a file. An existing file is replaced only if `overwrite` is set.
    ///
    /// # Errors
    ///
    /// [`OutputError`].
    pub fn create(target: &Path, overwrite: bool) -> Result<Self, OutputError> {
        // If the metadata cannot be read, creating the file reports why.
        let existing = std::fs::metadata(target).ok();
        let mut replaced = None;
        if let Some(existing) = &existing {
            if existing.is_dir() {
                return Err(OutputError::folder(target));
            }
            if existing.is_file() && !overwrite {
                return Err(OutputError::exists(target));
            }
            // The rename at the end does not need write permission for the file, but overwriting should.
            let file = open_replaced(target).map_err(|error| OutputError::io(target, error))?;
            if !existing.is_file() {
                return Ok(Self::new(target, overwrite, None, file, None));
            }
            replaced = Some(file);
        }
        let target = &match existing {
            Some(_) => target.canonicalize().map_err(|error| OutputError::io(target, error))?,
            None => target.to_path_buf(),
        };
        let (file, partial) = PartialFile::create(target).map_err(|error| OutputError::io(target, error))?;
        if let Some(existing) = &existing {
            // Only some users may give files away.
            let _ = keep_owner(&file, existing);
            file.set_permissions(existing.permissions()).map_err(|error| OutputError::io(target, error))?;
        }
        Ok(Self::new(target, overwrite, replaced, file, Some(partial)))
    }

    fn new(
        target: &Path,
        overwrite: bool,
        replaced: Option<File>,
        file: File,
        partial: Option<PartialFile>,
    ) -> Self {
        let file = BufWriter::with_capacity(1 << 18, file);
        Self { target: target.to_path_buf(), overwrite, replaced, file, partial }
    }

    /// Another handle of the open file, for a writer that needs one of its own. Both have one position.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub fn try_clone(&self) -> io::Result<File> {
        self.file.get_ref().try_clone()
    }

    /// Discards everything written so far.
    ///
    /// # Errors
    ///
    /// The error of the operating system; devices and pipes cannot discard anything.
    pub fn restart(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        self.file.get_ref().set_len(0)
    }

    /// Waits until the file is on disk, and renames it to its final name.
    ///
    /// # Errors
    ///
    /// [`OutputError`]. The temporary file is removed, and an existing file is unchanged.
    pub fn finish(mut self) -> Result<(), OutputError> {
        let target = &self.target;
        let failed = |error| OutputError::io(target, error);
        self.file.flush().map_err(failed)?;
        let Some(partial) = self.partial.take() else { return Ok(()) };
        self.file.get_ref().sync_all().map_err(failed)?;
        // Locks a file that got this name in the meantime.
        let is_in_place = |file: &File| FileLocation::of(file, target) == FileLocation::InPlace;
        let _lock = match self.overwrite && !self.replaced.as_ref().is_some_and(is_in_place) {
            true => match open_replaced(target) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(failed(error)),
            },
            false => None,
        };
        partial.rename(|path| rename(path, target, self.overwrite)).map_err(failed)?;
        sync_folder(target.parent().unwrap_or(Path::new(""))).map_err(failed)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Opens a file that will be replaced, and locks it.
fn open_replaced(path: &Path) -> io::Result<File> {
    open_locked(path, OpenOptions::new().write(true))
}

fn rename(path: TempPath, target: &Path, overwrite: bool) -> io::Result<()> {
    let renamed = match overwrite {
        true => path.persist(target),
        false => path.persist_noclobber(target).or_else(|error| match error.error.kind() {
            ErrorKind::AlreadyExists => Err(error),
            // The file system supports neither links nor RENAME_NOREPLACE: check first, then rename.
            _ if target.symlink_metadata().is_ok() => Err(error),
            _ => error.path.persist(target),
        }),
    };
    renamed.map_err(|error| error.error)
}

/// Gives a new file the owner and the group of the file that it will replace.
#[cfg(unix)]
fn keep_owner(file: &File, existing: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let new = file.metadata()?;
    let (owner, group) = (existing.uid(), existing.gid());
    if (new.uid(), new.gid()) == (owner, group) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(owner), Some(group))
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _existing: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Why an output file cannot be written. The text is a complete message, which begins with the name of the file.
#[derive(Debug)]
pub struct OutputError {
    path: PathBuf,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    /// A folder has the name.
    Folder,
    /// A file has the name, and may not be replaced.
    Exists,
    Io(io::Error),
}

impl OutputError {
    fn new(path: &Path, reason: Reason) -> Self {
        Self { path: path.to_path_buf(), reason }
    }

    /// A folder has the name of an output file.
    pub fn folder(path: &Path) -> Self {
        Self::new(path, Reason::Folder)
    }

    /// A file has the name of an output file, and may not be replaced.
    pub fn exists(path: &Path) -> Self {
        Self::new(path, Reason::Exists)
    }

    /// An output file cannot be created or written.
    pub fn io(path: &Path, error: io::Error) -> Self {
        Self::new(path, Reason::Io(error))
    }

    /// The I/O error, if there is one.
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.reason {
            Reason::Io(error) => Some(error),
            Reason::Folder | Reason::Exists => None,
        }
    }

    /// Whether a file has the name and may not be replaced.
    pub fn is_existing(&self) -> bool {
        match &self.reason {
            Reason::Exists => true,
            Reason::Folder => false,
            Reason::Io(error) => error.kind() == ErrorKind::AlreadyExists,
        }
    }

    /// Whether the name of the file is wrong: it belongs to a folder, to a file that may not be replaced, or to a file that is being
    /// recorded.
    pub fn is_wrong_name(&self) -> bool {
        match &self.reason {
            Reason::Folder | Reason::Exists => true,
            Reason::Io(error) => error.kind() == ErrorKind::AlreadyExists || is_locked(error),
        }
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.reason {
            Reason::Folder => write!(f, "{path}: this is a folder, not a file"),
            Reason::Exists => write!(f, "{path} exists"),
            Reason::Io(error) if error.kind() == ErrorKind::AlreadyExists => write!(f, "{path} exists"),
            Reason::Io(error) if is_locked(error) => {
                write!(f, "{path}: another recorder is writing it; use another name, or stop that recorder")
            }
            Reason::Io(error) if error.kind() == ErrorKind::NotFound => {
                write!(f, "{path}: {}", why_not_found(&self.path))
            }
            // Errors that do not come from the operating system are already complete messages.
            Reason::Io(error) if error.raw_os_error().is_none() => write!(f, "{path}: {error}"),
            Reason::Io(error) => write!(f, "{path}: cannot write: {}", io_error_text(error)),
        }
    }
}

impl std::error::Error for OutputError {}

/// Why a file cannot be created (`ENOENT`).
fn why_not_found(path: &Path) -> &'static str {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.is_dir() {
        true => "files cannot be created in this folder; choose another",
        false => "its folder does not exist; create it first",
    }
}
