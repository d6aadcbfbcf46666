//! Output that is written row by row: to standard output, standard error, or directly to the named file.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tachograph_flow::FlowError;
use tachograph_logs::output_file::{OutputError, check_not_locked, open_locked};

use crate::failure::Failure;

/// Buffers rows and writes them on each flush, so that a file only contains complete rows.
pub(crate) struct RowOutput {
    pending: Vec<u8>,
    to: Destination,
    name: PathBuf,
}

enum Destination {
    Standard(io::Stdout),
    /// For `cpi COMMAND`, because standard output belongs to the command.
    Error(io::Stderr),
    File(RowFile),
}

struct RowFile {
    file: File,
    /// The number of bytes written, if this is a regular file.
    length: Option<u64>,
    /// Whether the file still has its old content, which the first write removes.
    has_old: bool,
}

impl RowOutput {
    pub(crate) fn standard() -> Self {
        let to = Destination::Standard(io::stdout());
        Self { pending: Vec::new(), to, name: "standard output".into() }
    }

    /// Writes to standard error, and ignores write errors.
    pub(crate) fn standard_error() -> Self {
        let to = Destination::Error(io::stderr());
        Self { pending: Vec::new(), to, name: "standard error".into() }
    }

    /// Opens or creates a file. An existing file keeps its content until the first flush.
    pub(crate) fn file(path: &Path, overwrite: bool) -> Result<Self, Failure> {
        let file = open_final(path, overwrite)?;
        let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let file = RowFile { file, length: is_regular.then_some(0), has_old: is_regular && overwrite };
        Ok(Self { pending: Vec::new(), to: Destination::File(file), name: path.to_path_buf() })
    }

    pub(crate) fn write_text(&mut self, text: &str) -> Result<(), Failure> {
        let outcome = self.write_all(text.as_bytes()).and_then(|()| self.flush());
        outcome.map_err(|error| Failure::of_output(FlowError::Output(error), &self.name))
    }
}

/// Returns an error for a folder, for an existing file unless `overwrite` is set, and for a file that is being recorded. Devices
/// and pipes are accepted: they have no content that could be lost.
pub(crate) fn refuse_existing(path: &Path, overwrite: bool) -> Result<(), Failure> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(OutputError::folder(path).into()),
        Ok(found) if found.is_file() && !overwrite => Err(OutputError::exists(path).into()),
        _ => Ok(check_not_locked(path).map_err(|error| OutputError::io(path, error))?),
    }
}

/// Opens or creates a file for writing, without truncating it, and locks it while it is open.
pub(crate) fn open_final(path: &Path, overwrite: bool) -> Result<File, Failure> {
    refuse_existing(path, overwrite)?;
    let mut options = OpenOptions::new();
    options.write(true);
    if std::fs::metadata(path).map_or(true, |found| found.is_file()) {
        // `create_new` also fails if another process has created the file since the check.
        options.create(overwrite).truncate(false).create_new(!overwrite);
    }
    Ok(open_locked(path, &options).map_err(|error| OutputError::io(path, error))?)
}

/// Returns an error if a file cannot be written. Changes nothing: an existing file keeps its content, and a new one is
/// removed again.
pub(crate) fn refuse_unwritable(path: &Path, overwrite: bool) -> Result<(), Failure> {
    let is_new = matches!(identify(path), Some(FileIdentity::New(_)));
    open_final(path, overwrite)?;
    if is_new && let Some(FileIdentity::Existing { path, .. }) = identify(path) {
        // On failure an empty file remains, which is harmless.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Whether two paths refer to the same file after following links. The file need not exist.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    match (identify(one), identify(other)) {
        (Some(one), Some(other)) => one.is_same(&other),
        _ => one == other,
    }
}

/// The file that a path refers to.
enum FileIdentity {
    /// An existing file. It can have several names, so it is identified by device and inode.
    Existing { device: u64, inode: u64, path: PathBuf },
    /// The absolute path, with links resolved, of a file that does not exist.
    New(PathBuf),
}

impl FileIdentity {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Existing { device, inode, .. },
                Self::Existing { device: other, inode: other_inode, .. },
            ) => (device, inode) == (other, other_inode),
            (Self::New(path), Self::New(other)) => path == other,
            _ => false,
        }
    }
}

/// The maximum number of links that the kernel follows.
const MAX_LINKS: usize = 40;

/// Follows links to a file; `None` if its folder does not exist or if there are too many links.
fn identify(path: &Path) -> Option<FileIdentity> {
    if let Ok(found) = std::fs::metadata(path) {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        return Some(FileIdentity::Existing { device: found.dev(), inode: found.ino(), path });
    }
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = std::fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
        // Opening a dangling link creates its target.
        match std::fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Some(FileIdentity::New(folder.join(path.file_name()?))),
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
            Destination::File(RowFile { file, length, has_old }) => {
                let cut = if *has_old { file.set_len(0) } else { Ok(()) };
                *has_old &= cut.is_err();
                let outcome = cut.and_then(|()| file.write_all(&self.pending));
                if let Some(length) = length.as_mut().filter(|_| !*has_old) {
                    match &outcome {
                        Ok(()) => *length += self.pending.len() as u64,
                        // The disk is full, for example: remove the partial row. If that fails too, the write error is
                        // still the one returned.
                        Err(_) => {
                            drop(file.set_len(*length).and_then(|()| file.seek(SeekFrom::Start(*length))))
                        }
                    }
                }
                outcome
            }
        };
        // Also after an error: otherwise, dropping a writer that wraps this one would write the rows again.
        self.pending.clear();
        outcome
    }
}
