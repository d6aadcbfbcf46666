//! Where the files of a recording are.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;

use tachograph_logs::SetLength;

use super::Existing;

/// A file that a log is written into.
pub trait LogFile: Read + Write + Seek + SetLength {
    /// Waits until what was written is on the disk.
    ///
    /// # Errors
    ///
    /// When the operating system says so.
    fn sync(&self) -> io::Result<()>;
}

impl LogFile for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// A file that was made or opened.
#[derive(Debug)]
pub struct OpenedFile<F> {
    /// The file.
    pub file: F,
    /// Whether it was made now.
    pub is_new: bool,
    /// Whether something is in it.
    pub has_content: bool,
}

/// Where an open file is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// Under the name that it was opened by, or there is no way to know.
    Here,
    /// Under another name, or under none in a folder that this process sees.
    Renamed,
    /// It has no name any more.
    Deleted,
}

/// Makes and opens files by their names.
pub trait LogFiles {
    /// What is opened.
    type File: LogFile;

    /// The names of what is in a folder; the empty path is the current one. What is no UTF-8 is left out.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Makes a file. Where there is one already, it is opened as it is, unless it is to stay.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] where there is one that is to stay, [`ErrorKind::ResourceBusy`] where another recorder
    /// writes it, and what the operating system says.
    fn open(&mut self, path: &Path, existing: Existing) -> io::Result<OpenedFile<Self::File>>;

    /// Where a file is that was opened by this name.
    fn place_of(&self, file: &Self::File, path: &Path) -> FilePlace;

    /// Waits until the name of a new file is on the disk.
    ///
    /// # Errors
    ///
    /// When the operating system says so.
    fn sync_name(&self, path: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// When the operating system refuses.
    fn remove(&mut self, path: &Path) -> io::Result<()>;
}

/// The file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl LogFiles for DiskFiles {
    type File = File;

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(or_current(folder))? {
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn open(&mut self, path: &Path, existing: Existing) -> io::Result<OpenedFile<File>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            // A device or a pipe holds nothing that could be lost, and may not be readable.
            Ok(found) if !found.is_file() => {
                let file = OpenOptions::new().write(true).open(path)?;
                Ok(OpenedFile { file, is_new: false, has_content: false })
            }
            Ok(_) if existing == Existing::Refuse => Err(ErrorKind::AlreadyExists.into()),
            Ok(_) => {
                let file = options.open(path)?;
                lock(&file)?;
                // Of this file: the name may have passed to another one meanwhile.
                let has_content = file.metadata()?.len() > 0;
                Ok(OpenedFile { file, is_new: false, has_content })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // The name must be free at this very moment; where it need not be, it may be a link that leads nowhere yet.
                match existing {
                    Existing::Refuse => options.create_new(true),
                    Existing::Overwrite | Existing::Append => options.create(true),
                };
                let file = options.open(path)?;
                lock(&file)?;
                let has_content = file.metadata()?.len() > 0;
                Ok(OpenedFile { file, is_new: !has_content, has_content })
            }
            Err(error) => Err(error),
        }
    }

    #[cfg(unix)]
    fn place_of(&self, file: &File, path: &Path) -> FilePlace {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(open) = file.metadata() else { return FilePlace::Here };
        // Devices and pipes are not rotated.
        if !open.is_file() {
            return FilePlace::Here;
        }
        match fs::metadata(path) {
            Ok(found) if (found.dev(), found.ino()) == (open.dev(), open.ino()) => FilePlace::Here,
            // The name cannot be looked up now: writing goes by the open file.
            Err(error) if error.kind() != ErrorKind::NotFound => FilePlace::Here,
            _ if open.nlink() == 0 => FilePlace::Deleted,
            _ => FilePlace::Renamed,
        }
    }

    #[cfg(not(unix))]
    fn place_of(&self, _file: &File, _path: &Path) -> FilePlace {
        FilePlace::Here
    }

    fn sync_name(&self, path: &Path) -> io::Result<()> {
        let folder = match File::open(or_current(path.parent().unwrap_or(Path::new("")))) {
            // A folder may let files be created in it, and not be read: the file is complete all the same.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(()),
            folder => folder?,
        };
        match folder.sync_all() {
            // The file system cannot synchronise folders.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(()),
            outcome => outcome,
        }
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Keeps other recorders off the file for as long as it is open: two that write one log lose each other's samples.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(ErrorKind::ResourceBusy.into()),
        // Some file systems know no locks; that is no reason not to record.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

fn or_current(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
