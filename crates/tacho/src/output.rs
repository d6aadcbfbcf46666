//! Where results are written: standard output, or a file that appears under its name only when it is whole.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tachograph_flow::record::{DiskFiles, LogFiles as _};
use tempfile::TempPath;

use crate::failure::{Failure, cannot, no_place};
use crate::signals;

/// The file that a signal has to remove. It is locked from before a file is made until its name is here, and while the file is
/// moved to its place: no signal ends the process in between.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn unfinished() -> MutexGuard<'static, Option<PathBuf>> {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        let handled = signals::handle(&signals::not_ignored(&[SIGINT, SIGTERM, SIGHUP]), |signal| {
            let mut unfinished = lock();
            if let Some(file) = unfinished.take() {
                // Nothing can be done here about a file that cannot be removed.
                let _ = std::fs::remove_file(file);
            }
            signals::exit(signal);
        });
        // Without a handler a signal still ends the program; it only leaves its unfinished file.
        drop(handled);
    });
    lock()
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes an empty file beside its place, under a name that no other file has.
fn create_beside(target: &Path) -> io::Result<(File, Unfinished)> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut prefix = target.file_name().unwrap_or_default().to_os_string();
    prefix.push(".");
    let mut unfinished = unfinished();
    let made = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".partial")
        // Opened here, so that it gets the permissions of any new file, and an error is the operating system's.
        .make_in(folder.unwrap_or(Path::new(".")), |path| {
            OpenOptions::new().read(true).write(true).create_new(true).open(path)
        })?;
    let (file, path) = made.into_parts();
    *unfinished = Some(path.to_path_buf());
    Ok((file, Unfinished(Some(path))))
}

/// A file beside its place, which is removed unless it is put there.
struct Unfinished(Option<TempPath>);

impl Unfinished {
    /// Moves the file to its place.
    fn persist(mut self, target: &Path, overwrite: bool) -> io::Result<()> {
        let mut unfinished = unfinished();
        let Some(path) = self.0.take() else { return Ok(()) };
        let moved = match overwrite {
            true => path.persist(target),
            false => path.persist_noclobber(target).or_else(|error| match error.error.kind() {
                ErrorKind::AlreadyExists => Err(error),
                // The file system has neither links nor moves that keep what is there: it is looked up first.
                _ if target.symlink_metadata().is_ok() => Err(error),
                _ => error.path.persist(target),
            }),
        };
        *unfinished = None;
        moved.map_err(|error| error.error)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let mut unfinished = unfinished();
            // The work failed and says why; a leftover that cannot be removed is not worth a second message.
            let _ = path.close();
            *unfinished = None;
        }
    }
}

/// A file being written. It is written beside its place and moved there at the end, when it is on the disk, so that neither an
/// error nor a kill nor a power failure leaves half a log under the name, or destroys the file that was there before. What is
/// no regular file (a device, a pipe) is written directly.
pub(crate) struct OutputFile {
    /// Where the file is to be.
    target: PathBuf,
    /// Whether an existing file is replaced.
    overwrite: bool,
    file: BufWriter<File>,
    /// Where it is being written, if not there.
    unfinished: Option<Unfinished>,
}

impl OutputFile {
    /// Begins a file. Refuses an existing one unless `overwrite`.
    pub(crate) fn create(target: &Path, overwrite: bool) -> Result<Self, Failure> {
        let existing = std::fs::metadata(target).ok();
        if let Some(existing) = &existing {
            if existing.is_dir() {
                return Err(Failure::usage(format!("{}: this is a folder", target.display())));
            }
            if !existing.is_file() {
                let file = OpenOptions::new().write(true).open(target).map_err(|error| at(target, error))?;
                return Ok(Self::new(target, overwrite, file, None));
            }
            if !overwrite {
                return Err(exists(target));
            }
            // The move at the end needs no permission on the file itself; overwriting should.
            OpenOptions::new().write(true).open(target).map_err(|error| at(target, error))?;
        }
        // A link stays a link: what it leads to is replaced.
        let target = &match existing {
            Some(_) => target.canonicalize().map_err(|error| at(target, error))?,
            None => target.to_path_buf(),
        };
        let (file, unfinished) = create_beside(target).map_err(|error| match error.kind() {
            ErrorKind::NotFound => no_place(target),
            _ => at(target, error),
        })?;
        // Overwriting keeps the permissions of the file.
        if let Some(permissions) = existing.as_ref().map(Metadata::permissions) {
            file.set_permissions(permissions).map_err(|error| at(target, error))?;
        }
        Ok(Self::new(target, overwrite, file, Some(unfinished)))
    }

    fn new(target: &Path, overwrite: bool, file: File, unfinished: Option<Unfinished>) -> Self {
        let file = BufWriter::with_capacity(1 << 18, file);
        Self { target: target.to_path_buf(), overwrite, file, unfinished }
    }

    /// Takes back everything written so far.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        self.file.get_ref().set_len(0)
    }

    /// Puts the whole file in its place, and waits until it is on the disk there.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let target = &self.target;
        self.file.flush().map_err(|error| at(target, error))?;
        let Some(unfinished) = self.unfinished.take() else { return Ok(()) };
        self.file.get_ref().sync_all().map_err(|error| at(target, error))?;
        unfinished.persist(target, self.overwrite).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => exists(target),
            _ => at(target, error),
        })?;
        DiskFiles.sync_name(target).map_err(|error| at(target, error))
    }
}

fn at(path: &Path, error: io::Error) -> Failure {
    cannot("write", path, &error)
}

/// Refuses to overwrite a file.
pub(crate) fn exists(path: &Path) -> Failure {
    Failure::usage(format!("{} exists: give -y to overwrite it, or another name", path.display()))
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
