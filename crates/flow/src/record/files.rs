//! The files of a recording.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;

use tachograph_logs::SetLength;
pub use tachograph_logs::output_file::FileLocation;
use tachograph_logs::output_file::{open_locked, sync_folder};

use super::Existing;

/// A file into which a log is written.
pub trait LogFile: Read + Write + Seek + SetLength {
    /// Syncs the contents to disk.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn sync(&self) -> io::Result<()>;

    /// The length in bytes; `None` for a device or a pipe, or if it is unknown.
    fn length(&self) -> Option<u64>;
}

impl LogFile for File {
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn length(&self) -> Option<u64> {
        self.metadata().ok().filter(fs::Metadata::is_file).map(|metadata| metadata.len())
    }
}

/// A file that was created or opened.
#[derive(Debug)]
pub struct OpenedFile<F> {
    /// The file.
    pub file: F,
    /// Whether the file is new, so that it can be removed if nothing is written to it.
    pub is_new: bool,
    /// Whether the file is not empty.
    pub has_content: bool,
}

/// Creates and opens files by name.
pub trait LogFiles {
    /// The type of an open file.
    type File: LogFile;

    /// The names of the files in a folder; an empty path is the current folder. Names that are not UTF-8 are skipped.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Creates a file. If it exists, opens it without changing it, or fails if `existing` is [`Existing::Refuse`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if the file exists and `existing` is [`Existing::Refuse`],
    /// [`ErrorKind::ResourceBusy`] if another recorder is writing the file, and the errors of the operating system.
    fn open(&mut self, path: &Path, existing: Existing) -> io::Result<OpenedFile<Self::File>>;

    /// The location of a file that was opened under the name `path`.
    fn location_of(&self, file: &Self::File, path: &Path) -> FileLocation;

    /// Whether a file that is not empty has this name.
    fn has_content(&self, path: &Path) -> bool;

    /// Syncs the name of a new file to disk.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    fn sync_name(&self, path: &Path) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
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
            // A device or a pipe has no contents that could be overwritten, and may not be readable.
            Ok(found) if !found.is_file() => {
                let file = OpenOptions::new().write(true).open(path)?;
                Ok(OpenedFile { file, is_new: false, has_content: false })
            }
            Ok(_) if existing == Existing::Refuse => Err(ErrorKind::AlreadyExists.into()),
            Ok(_) => {
                let file = open_locked(path, &options)?;
                // Gets the length from the open file, since the name can belong to another file by now.
                let has_content = file.metadata()?.len() > 0;
                Ok(OpenedFile { file, is_new: false, has_content })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Unlike `create_new`, `create` accepts the name of a dangling symbolic link, and creates the target.
                match existing {
                    Existing::Refuse => options.create_new(true),
                    Existing::Overwrite | Existing::Append => options.create(true),
                };
                let file = open_locked(path, &options)?;
                let has_content = file.metadata()?.len() > 0;
                Ok(OpenedFile { file, is_new: !has_content, has_content })
            }
            Err(error) => Err(error),
        }
    }

    fn location_of(&self, file: &File, path: &Path) -> FileLocation {
        FileLocation::of(file, path)
    }

    fn has_content(&self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
    }

    fn sync_name(&self, path: &Path) -> io::Result<()> {
        sync_folder(path.parent().unwrap_or(Path::new("")))
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

fn or_current(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}
