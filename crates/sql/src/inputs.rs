//! The logs and archives of a query.

use std::path::{Path, PathBuf};

use tachograph_logs::archive::{archive_inputs, complete_files, is_archive_file};
use tachograph_logs::sql::SqlLogName;

use crate::failure::Failure;

/// The inputs of a query.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The complete files of archives. As in other SQL engines, the open segment of a recorder is not part of an archive.
    pub(crate) archive_files: Vec<PathBuf>,
    /// Other logs, including logs in databases.
    pub(crate) logs: Vec<PathBuf>,
    /// The total size of these files.
    pub(crate) bytes: u64,
}

impl Inputs {
    /// Finds the files of folders.
    ///
    /// # Errors
    ///
    /// When an input does not exist, a folder is not an archive, or the name of a log in a database is invalid.
    pub fn new(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut inputs = Self::default();
        for path in paths {
            if let Some(name) = SqlLogName::parse(path) {
                name?;
                inputs.logs.push(path.clone());
                continue;
            }
            let failed = |error: &std::io::Error| {
                Failure::runtime(format!("{}: {}", path.display(), tachograph_logs::io_error_text(error)))
            };
            let metadata = std::fs::metadata(path).map_err(|error| failed(&error))?;
            if metadata.is_dir() {
                for machine in archive_inputs(path)? {
                    let files = complete_files(&machine.folder)?;
                    inputs.archive_files.extend(files.into_iter().map(|file| file.path));
                }
            } else if is_archive_file(path) {
                inputs.archive_files.push(path.clone());
            } else {
                inputs.logs.push(path.clone());
            }
        }
        // Both a folder and a file in it can be given.
        inputs.archive_files.sort();
        inputs.archive_files.dedup();
        let all = inputs.archive_files.iter().chain(&inputs.logs);
        inputs.bytes = all.filter_map(|path| Some(std::fs::metadata(file_of(path)?).ok()?.len())).sum();
        Ok(inputs)
    }
}

/// The file of a log; that of a log in a database is the SQLite file.
fn file_of(log: &Path) -> Option<PathBuf> {
    match SqlLogName::parse(log) {
        None => Some(log.to_path_buf()),
        Some(name) => name.ok()?.sqlite_path(),
    }
}
