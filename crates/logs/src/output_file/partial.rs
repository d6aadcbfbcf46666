//! The temporary names of files that are not complete.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tachograph_counters::IgnorePoison as _;
use tempfile::TempPath;

/// The partial files of this process. The mutex is locked while one is created or renamed, so that
/// [`remove_partial_files`] does not run in between.
static PARTIAL_PATHS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn partial_paths() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTIAL_PATHS.lock().ignore_poison()
}

/// Removes the temporary files of all [output files](super::OutputFile) that are not complete, for a program that a signal ends.
/// Until the guard is dropped, no output file can be created or completed; the program ends before.
#[must_use]
pub fn remove_partial_files() -> PartialFilesRemoved {
    let mut paths = partial_paths();
    for path in paths.drain(..) {
        // The program ends: it has no way to report an error.
        let _ = std::fs::remove_file(path);
    }
    PartialFilesRemoved { _paths: paths }
}

/// While it exists, no output file can be created or completed.
#[derive(Debug)]
pub struct PartialFilesRemoved {
    _paths: MutexGuard<'static, Vec<PathBuf>>,
}

/// A file under a temporary name, which is removed unless it is renamed.
#[derive(Debug)]
pub(super) struct PartialFile(Option<TempPath>);

impl PartialFile {
    /// Creates an empty file in the folder of `target`, under a unique name.
    pub(super) fn create(target: &Path) -> io::Result<(File, Self)> {
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut prefix = target.file_name().unwrap_or_default().to_os_string();
        prefix.push(".");
        let mut paths = partial_paths();
        let created = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".partial")
            // By default, `tempfile` would create a private file (0600) and wrap errors.
            .make_in(folder.unwrap_or(Path::new(".")), |path| {
                OpenOptions::new().read(true).write(true).create_new(true).open(path)
            })?;
        let (file, path) = created.into_parts();
        paths.push(path.to_path_buf());
        Ok((file, Self(Some(path))))
    }

    /// Gives the file its final name with `rename`.
    pub(super) fn rename(mut self, rename: impl FnOnce(TempPath) -> io::Result<()>) -> io::Result<()> {
        self.end(rename)
    }

    fn end(&mut self, end: impl FnOnce(TempPath) -> io::Result<()>) -> io::Result<()> {
        let Some(path) = self.0.take() else { return Ok(()) };
        let mut paths = partial_paths();
        paths.retain(|partial| *partial != *path);
        end(path)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // The command has failed and reports the reason; a second message would not help.
        let _ = self.end(TempPath::close);
    }
}
