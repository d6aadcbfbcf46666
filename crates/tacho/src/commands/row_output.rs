//! Where rows go as they come: standard output, standard error beside a command, or a file in its place.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, cannot, no_place};
use crate::output::exists;

/// Takes rows, and hands each on as a whole when it is flushed: whatever ends the command, a file has whole rows.
pub(crate) struct RowOutput {
    pending: Vec<u8>,
    to: Destination,
}

enum Destination {
    Standard(io::Stdout),
    /// A command has standard output for itself.
    Error(io::Stderr),
    File(InPlace),
}

/// A file that is written in its place.
struct InPlace {
    file: File,
    /// What was written, where it is a regular file.
    length: Option<u64>,
    /// What was there before is kept until there are rows for its place.
    has_old: bool,
}

impl RowOutput {
    /// Rows for standard output.
    pub(crate) fn standard() -> Self {
        Self { pending: Vec::new(), to: Destination::Standard(io::stdout()) }
    }

    /// Rows for standard error. That nobody may read them is no error.
    pub(crate) fn standard_error() -> Self {
        Self { pending: Vec::new(), to: Destination::Error(io::stderr()) }
    }

    /// Rows for a file. One that is to be overwritten keeps what it has until the first rows are handed on.
    pub(crate) fn file(path: &Path, overwrite: bool) -> Result<Self, Failure> {
        let file = open_in_place(path, overwrite)?;
        let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let file = InPlace { file, length: is_regular.then_some(0), has_old: is_regular && overwrite };
        Ok(Self { pending: Vec::new(), to: Destination::File(file) })
    }
}

/// Refuses to write into what is there, unless `overwrite`. What is no regular file (a device, a pipe) holds nothing that
/// could be lost.
pub(crate) fn refuse_existing(path: &Path, overwrite: bool) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(Failure::usage(format!("{}: this is a folder", path.display()))),
        Ok(found) if found.is_file() && !overwrite => Err(exists(path)),
        _ => Ok(()),
    }
}

/// Opens a file in its place, or makes it.
fn open_in_place(path: &Path, overwrite: bool) -> Result<File, Failure> {
    refuse_existing(path, overwrite)?;
    let mut options = OpenOptions::new();
    options.write(true);
    if std::fs::metadata(path).map_or(true, |found| found.is_file()) {
        // Without leave to overwrite, the name must be free at this very moment.
        options.create(overwrite).truncate(false).create_new(!overwrite);
    }
    options.open(path).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => exists(path),
        io::ErrorKind::NotFound => no_place(path),
        _ => cannot("write", path, &error),
    })
}

/// Refuses a file that cannot be written, and leaves all as it is: one that exists keeps what it has, another is not there
/// afterwards.
pub(crate) fn refuse_unwritable(path: &Path, overwrite: bool) -> Result<(), Failure> {
    let is_new = matches!(place(path), Some(Place::Free(_)));
    open_in_place(path, overwrite)?;
    if is_new && let Some(Place::There { path, .. }) = place(path) {
        // What cannot be taken away again is empty.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Whether two names mean the same file, through links too, or would once it is there.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    match (place(one), place(other)) {
        (Some(one), Some(other)) => one.is_same(&other),
        _ => one == other,
    }
}

/// What a name means.
enum Place {
    /// A file, which may have several names.
    There { device: u64, inode: u64, path: PathBuf },
    /// The name of a file that is not there yet, in a folder without links.
    Free(PathBuf),
}

impl Place {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::There { device, inode, .. }, Self::There { device: other, inode: other_inode, .. }) => {
                (device, inode) == (other, other_inode)
            }
            (Self::Free(path), Self::Free(other)) => path == other,
            _ => false,
        }
    }
}

/// The most links that the kernel follows.
const LINK_LIMIT: usize = 40;

/// Where a name leads; nowhere if its folder is not there.
fn place(path: &Path) -> Option<Place> {
    if let Ok(found) = std::fs::metadata(path) {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        return Some(Place::There { device: found.dev(), inode: found.ino(), path });
    }
    let mut path = path.to_path_buf();
    for _ in 0..LINK_LIMIT {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        // A link to what is not there is the name of that.
        match std::fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Some(Place::Free(folder.join(path.file_name()?))),
        }
    }
    None
}

impl Write for RowOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let outcome = match &mut self.to {
            Destination::Standard(out) => {
                let mut out = out.lock();
                out.write_all(&self.pending).and_then(|()| out.flush())
            }
            Destination::Error(out) => {
                let _ = out.write_all(&self.pending);
                Ok(())
            }
            Destination::File(InPlace { file, length, has_old }) => {
                let cut = if *has_old { file.set_len(0) } else { Ok(()) };
                *has_old &= cut.is_err();
                let outcome = cut.and_then(|()| file.write_all(&self.pending));
                if let Some(length) = length.as_mut().filter(|_| !*has_old) {
                    match &outcome {
                        Ok(()) => *length += self.pending.len() as u64,
                        // The disk is full: takes the part of a row away again. Where that fails too, the first error
                        // is the one to tell.
                        Err(_) => {
                            drop(file.set_len(*length).and_then(|()| file.seek(SeekFrom::Start(*length))))
                        }
                    }
                }
                outcome
            }
        };
        // Also after an error: what cannot be written is not tried again when this is dropped.
        self.pending.clear();
        outcome
    }
}
