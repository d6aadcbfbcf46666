//! Output that appears as a whole: on standard output, or in a file that gets its final name only when it is complete.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tachograph_counters::IgnorePoison;
use tachograph_flow::FlowError;
use tachograph_flow::record::{DiskFiles, LogFiles as _};
use tachograph_logs::output_file::{FileLocation, open_locked};
use tempfile::TempPath;

use crate::failure::{Failure, cannot, cannot_create, is_a_folder};
use crate::signals;

/// The partial file that the signal handler removes. The mutex is locked while a file is created or renamed, so that no
/// signal ends the process in between.
static PARTIAL_PATH: Mutex<Option<PathBuf>> = Mutex::new(None);

fn partial_path() -> MutexGuard<'static, Option<PathBuf>> {
    static HANDLER: Once = Once::new();
    HANDLER.call_once(|| {
        let handled = signals::handle(&signals::not_ignored(&[SIGINT, SIGTERM, SIGHUP]), |signal| {
            if let Some(file) = lock().take() {
                // A handler has no way to report an error.
                let _ = std::fs::remove_file(file);
            }
            signals::exit(signal);
        });
        // Without a handler, a signal still ends the program, but the partial file remains.
        drop(handled);
    });
    lock()
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    PARTIAL_PATH.lock().ignore_poison()
}

/// Creates an empty file in the folder of `target`, under a unique name.
fn create_partial(target: &Path) -> io::Result<(File, PartialFile)> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut prefix = target.file_name().unwrap_or_default().to_os_string();
    prefix.push(".");
    let mut partial_path = partial_path();
    let created = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".partial")
        // By default, `tempfile` would create a private file (0600) and wrap errors.
        .make_in(folder.unwrap_or(Path::new(".")), |path| {
            OpenOptions::new().read(true).write(true).create_new(true).open(path)
        })?;
    let (file, path) = created.into_parts();
    *partial_path = Some(path.to_path_buf());
    Ok((file, PartialFile(Some(path))))
}

/// A file under a temporary name, which is removed unless it is renamed.
struct PartialFile(Option<TempPath>);

impl PartialFile {
    /// Renames the file to `target`.
    fn persist(mut self, target: &Path, overwrite: bool) -> io::Result<()> {
        let mut partial_path = partial_path();
        let Some(path) = self.0.take() else { return Ok(()) };
        let renamed = match overwrite {
            true => path.persist(target),
            false => path.persist_noclobber(target).or_else(|error| match error.error.kind() {
                ErrorKind::AlreadyExists => Err(error),
                // The file system supports neither links nor RENAME_NOREPLACE: check first, then rename.
                _ if target.symlink_metadata().is_ok() => Err(error),
                _ => error.path.persist(target),
            }),
        };
        *partial_path = None;
        renamed.map_err(|error| error.error)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let mut partial_path = partial_path();
            // The command has failed and reports the reason; a second message would not help.
            let _ = path.close();
            *partial_path = None;
        }
    }
}

/// A file that is written under a temporary name and renamed when it is complete and on disk. If the command fails or
/// is killed, or the power fails, no partial log appears under the final name, and an existing file is kept. Devices
/// and pipes are written directly.
pub(crate) struct OutputFile {
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
    /// Creates a file. Returns an error for an existing file unless `overwrite` is set.
    pub(crate) fn create(target: &Path, overwrite: bool) -> Result<Self, Failure> {
        let existing = std::fs::metadata(target).ok();
        if let Some(existing) = &existing {
            if existing.is_dir() {
                return Err(is_a_folder(target));
            }
            if !existing.is_file() {
                let file = OpenOptions::new()
                    .write(true)
                    .open(target)
                    .map_err(|error| write_failure(target, error))?;
                return Ok(Self::new(target, overwrite, None, file, None));
            }
            if !overwrite {
                return Err(already_exists(target));
            }
        }
        // The rename at the end does not need write permission for the file, but overwriting should.
        let replaced = match existing {
            Some(_) => Some(lock_replaced(target).map_err(|error| write_failure(target, error))?),
            None => None,
        };
        // A symbolic link is kept; the file it points to is replaced.
        let target = &match existing {
            Some(_) => target.canonicalize().map_err(|error| write_failure(target, error))?,
            None => target.to_path_buf(),
        };
        let (file, partial) = create_partial(target).map_err(|error| match error.kind() {
            ErrorKind::NotFound => cannot_create(target),
            _ => write_failure(target, error),
        })?;
        // Overwriting keeps the permissions, and the owner if the user may give files away.
        if let Some(existing) = &existing {
            let _ = keep_owner(&file, existing);
        }
        if let Some(permissions) = existing.as_ref().map(Metadata::permissions) {
            file.set_permissions(permissions).map_err(|error| write_failure(target, error))?;
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

    /// Discards everything written so far.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        self.file.get_ref().set_len(0)
    }

    pub(crate) fn finish_with(mut self, text: &str) -> Result<(), Failure> {
        let outcome = self.file.write_all(text.as_bytes());
        outcome.map_err(|error| Failure::of_output(FlowError::Output(error), &self.target))?;
        self.finish()
    }

    /// Renames the complete file to its final name, and waits until it is on disk.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let target = &self.target;
        self.file.flush().map_err(|error| write_failure(target, error))?;
        let Some(partial) = self.partial.take() else { return Ok(()) };
        self.file.get_ref().sync_all().map_err(|error| write_failure(target, error))?;
        // Locks a file that got this name in the meantime.
        let is_locked = |file: &File| FileLocation::of(file, target) == FileLocation::InPlace;
        let _lock = match self.overwrite && !self.replaced.as_ref().is_some_and(is_locked) {
            true => match lock_replaced(target) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(write_failure(target, error)),
            },
            false => None,
        };
        partial.persist(target, self.overwrite).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => already_exists(target),
            _ => write_failure(target, error),
        })?;
        DiskFiles.sync_name(target).map_err(|error| write_failure(target, error))
    }
}

/// Gives a new file the owner and the group of the file that it will replace.
fn keep_owner(file: &File, existing: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    let (owner, group) = (existing.uid(), existing.gid());
    if (new.uid(), new.gid()) == (owner, group) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(owner), Some(group))
}

/// Opens and locks a file that will be replaced.
fn lock_replaced(path: &Path) -> io::Result<File> {
    open_locked(path, OpenOptions::new().write(true))
}

fn write_failure(path: &Path, error: io::Error) -> Failure {
    cannot("write", path, &error)
}

pub(crate) fn already_exists(path: &Path) -> Failure {
    Failure::usage(format!("{} exists: use -y to overwrite it, or another name", path.display()))
}

/// Writes `text` to a file, or to standard output if `output` is `None`.
pub(crate) fn write_text(output: Option<&Path>, overwrite: bool, text: &str) -> Result<(), Failure> {
    match output {
        Some(path) => OutputFile::create(path, overwrite)?.finish_with(text),
        None => Ok(io::stdout().lock().write_all(text.as_bytes())?),
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
