//! Merges the small files of a date.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_logs::archive::{
    ArchiveOptions, ArchiveReader, ArchiveWriter, FileSpan, complete_files, date_folder, date_folders,
    entries, is_archive_file, is_full_file, machine_folders, overlapping_file,
};
use tachograph_logs::{LogError, LogReader as _, LogWriter as _};

use super::{ArchiveStore, Continuation, last_sample, write_samples};
use crate::FlowError;

/// The folder, inside the folder of open segments, in which files are merged. Its contents can be removed at any time.
const MERGE_FOLDER: &str = "merge";
/// Number of values of a row group of a merged file. An old and a new row group are in memory at the same time.
const BLOCK_VALUES: usize = 1 << 19;

/// The outcome of merging the files of a date.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The folder of the date.
    pub folder: PathBuf,
    /// The number of files before and after.
    pub files: (usize, usize),
    /// The total size of the files in bytes, before and after.
    pub bytes: (u64, u64),
}

/// Whether a file in the merge folder has samples that its date folder `current` does not have.
fn is_needed(current: &Path, path: &Path) -> Result<bool, LogError> {
    if !is_archive_file(path) || !current.is_dir() {
        return Ok(false);
    }
    match overlapping_file(current, path) {
        Ok(overlapping) => Ok(overlapping.is_none()),
        // The output of an interrupted merge, whose inputs are still in the date folder.
        Err(error) if error.is_corrupt() && error.path() == Some(path) => Ok(false),
        // The file may be the only copy of its samples.
        Err(error) => Err(error),
    }
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |found| found.len())
}

impl ArchiveStore {
    /// The date folders before the date of `now` whose files should be merged, because a file before the folder's last
    /// file is not full.
    ///
    /// # Errors
    ///
    /// When a folder cannot be read.
    pub fn dates_to_merge(&self, now: FileTime) -> Result<Vec<PathBuf>, LogError> {
        let today = date_folder(now);
        let is_past = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with("date=") && name < today.as_str()
        };
        let mut found = Vec::new();
        for date in date_folders(&self.machine)?.into_iter().filter(is_past) {
            let files: Vec<_> = entries(&date)?.into_iter().filter(|path| is_archive_file(path)).collect();
            // An unreadable file is reported by the merge.
            let is_full = |path: &PathBuf| is_full_file(path).unwrap_or(false);
            if let [files @ .., _last] = &files[..]
                && !files.iter().all(is_full)
            {
                found.push(date);
            }
        }
        Ok(found)
    }

    /// Merges the files of a date. The folder with the merged files atomically replaces the folder with the old ones,
    /// so at any moment a reader finds each sample exactly once. The caller must hold the [lock](Self::lock_files).
    ///
    /// # Errors
    ///
    /// When reading or writing fails; [`FlowError::Stopped`] if `is_stopped` returns true. In both cases, the files are
    /// unchanged.
    pub fn merge(&self, date: &Path, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<Merged, FlowError> {
        self.clean_merge_folder()?;
        let files = complete_files(date)?;
        let before = (files.len(), files.iter().map(|file| size(&file.path)).sum());
        let merged = self.write_merged(date, &files, is_stopped);
        let merged = match merged {
            Ok(merged) => merged,
            Err(error) => {
                // `error` is more useful than an error of the removal.
                let _ = self.clean_merge_folder();
                return Err(error);
            }
        };
        let after = (merged.len(), merged.iter().map(|path| size(path)).sum());
        let Some(folder) = merged.first().and_then(|path| path.parent()) else {
            return Ok(Merged {
                folder: date.to_path_buf(),
                files: (before.0, before.0),
                bytes: (before.1, before.1),
            });
        };
        self.exchange(folder, date).inspect_err(|_| {
            let _ = self.clean_merge_folder();
        })?;
        self.sync_parent(date)?;
        self.sync_parent(folder)?;
        self.clean_merge_folder()?;
        Ok(Merged { folder: date.to_path_buf(), files: (before.0, after.0), bytes: (before.1, after.1) })
    }

    /// Writes the samples of files into the merge folder. Returns the new files.
    fn write_merged(
        &self,
        date: &Path,
        files: &[FileSpan],
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<PathBuf>, FlowError> {
        let Some(first) = files.first() else { return Ok(Vec::new()) };
        let earlier = complete_files(&self.machine)?.into_iter().rfind(|file| file.last < first.first);
        let previous = earlier.map(|file| last_sample(&file.path)).transpose();
        // Without a previous sample, no interval ends at the first rows, as in the files that are merged.
        let previous = previous.unwrap_or_default().flatten();
        let mut reader = ArchiveReader::open(files.iter().map(|file| file.path.clone()).collect())?;
        let options = ArchiveOptions { block_values: BLOCK_VALUES, ..ArchiveOptions::of_log(reader.facts()) };
        let folder = self.merge_folder();
        let mut writer = ArchiveWriter::with_storage(&folder, options, Arc::clone(&self.storage));
        let source = Continuation { previous, reader: &mut reader, is_stopped };
        write_samples(source, |_| true, &mut writer)?;
        writer.finish()?;
        let written = writer.named_files();
        // The new folder must have the same names of machine and date as the one that it replaces.
        let is_same = |path: &PathBuf| {
            let names = |path: &Path| path.iter().rev().take(2).map(ToOwned::to_owned).collect::<Vec<_>>();
            path.parent().is_some_and(|folder| names(folder) == names(date))
        };
        if !written.iter().all(is_same) {
            let why = "the machine or date of its files differs from the name of the folder";
            return Err(LogError::unsupported(why).at_path(date).into());
        }
        Ok(written.to_vec())
    }

    fn merge_folder(&self) -> PathBuf {
        self.open_folder().join(MERGE_FOLDER)
    }

    /// Removes the files that a merge has left: the inputs of a complete merge, or the output of an interrupted one.
    ///
    /// A file that was added to the old date folder while the folder was being replaced is moved to the new folder.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or removed.
    pub fn clean_merge_folder(&self) -> Result<(), LogError> {
        let folder = self.merge_folder();
        if !folder.is_dir() {
            return Ok(());
        }
        for machine in machine_folders(&folder)? {
            for date in date_folders(&machine)?.into_iter().filter(|date| *date != machine) {
                let current = self.machine.join(date.file_name().unwrap_or_default());
                for path in entries(&date)? {
                    if is_needed(&current, &path)? {
                        let name = current.join(path.file_name().unwrap_or_default());
                        let moved = self.storage.rename(&path, &name);
                        moved.map_err(|error| LogError::io(error).at_path(&path))?;
                    } else {
                        self.remove(&path)?;
                    }
                }
                self.remove_if_empty(&date)?;
            }
            self.remove_if_empty(&machine)?;
        }
        self.remove_if_empty(&folder)
    }
}
