//! The logs and archives of a query.

use std::path::{Path, PathBuf};

use tachograph_logs::archive::{archive_inputs, complete_files, is_archive_file};
use tachograph_logs::sql::SqlLogName;

use crate::failure::Failure;
use crate::location::ArchiveLocation;
use crate::s3::{self, S3Url};

/// The inputs of a query.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The complete files of archives. As in other SQL engines, the open segment of a recorder is not part of an archive.
    pub(crate) archive_files: Vec<ArchiveLocation>,
    /// Other logs, including logs in databases.
    pub(crate) logs: Vec<PathBuf>,
    /// The total size of these files.
    pub(crate) bytes: u64,
}

impl Inputs {
    /// Finds the files of folders, and the objects of archives in S3, whose URLs are `s3://BUCKET/PREFIX`. Queries of such
    /// archives need a runtime with several threads.
    ///
    /// # Errors
    ///
    /// When an input does not exist, a folder is not an archive, or the name of a log in a database or a URL is invalid.
    pub async fn new(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut inputs = Self::default();
        for path in paths {
            if let Some(name) = SqlLogName::parse(path) {
                name?;
                inputs.logs.push(path.clone());
                continue;
            }
            if let Some(url) = S3Url::parse(path) {
                let objects = s3::list(&url?).await?;
                inputs.archive_files.extend(objects.into_iter().map(ArchiveLocation::Object));
                continue;
            }
            let failed = |error: &std::io::Error| {
                Failure::runtime(format!("{}: {}", path.display(), tachograph_logs::io_error_text(error)))
            };
            let metadata = std::fs::metadata(path).map_err(|error| failed(&error))?;
            if metadata.is_dir() {
                for machine in archive_inputs(path)? {
                    let files = complete_files(&machine.folder)?;
                    inputs
                        .archive_files
                        .extend(files.into_iter().map(|file| ArchiveLocation::File(file.path)));
                }
            } else if is_archive_file(path) {
                inputs.archive_files.push(ArchiveLocation::File(path.clone()));
            } else {
                inputs.logs.push(path.clone());
            }
        }
        // Both a folder and a file in it can be given.
        inputs.archive_files.sort();
        inputs.archive_files.dedup();
        let logs = inputs.logs.iter().filter_map(|path| Some(std::fs::metadata(file_of(path)?).ok()?.len()));
        inputs.bytes = inputs.archive_files.iter().map(ArchiveLocation::size).chain(logs).sum();
        Ok(inputs)
    }

    /// The files of archives, if all are local. Executors of a cluster read only local files.
    ///
    /// # Errors
    ///
    /// When one is in S3.
    pub(crate) fn local_archive_files(&self) -> Result<Vec<PathBuf>, Failure> {
        let local = |location: &ArchiveLocation| match location {
            ArchiveLocation::File(path) => Ok(path.clone()),
            ArchiveLocation::Object(object) => Err(not_on_a_cluster(object.path())),
        };
        self.archive_files.iter().map(local).collect()
    }
}

/// Returns an error if an input is in S3, which executors of a cluster do not read.
///
/// # Errors
///
/// When there is such an input.
pub(crate) fn check_for_cluster(paths: &[PathBuf]) -> Result<(), Failure> {
    match paths.iter().find(|path| S3Url::parse(path).is_some()) {
        Some(url) => Err(not_on_a_cluster(url)),
        None => Ok(()),
    }
}

fn not_on_a_cluster(url: &Path) -> Failure {
    let url = url.display();
    Failure::usage(format!("{url}: executors of a cluster cannot read S3: run the query without --cluster"))
}

/// The file of a log; that of a log in a database is the SQLite file.
fn file_of(log: &Path) -> Option<PathBuf> {
    match SqlLogName::parse(log) {
        None => Some(log.to_path_buf()),
        Some(name) => name.ok()?.sqlite_path(),
    }
}
