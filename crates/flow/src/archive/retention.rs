//! Removal of old files.

use std::path::Path;
use std::time::Duration;

use tachograph_counters::civil::FileTime;
use tachograph_logs::LogError;
use tachograph_logs::archive::complete_files;

use super::ArchiveStore;

/// Which files are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Files whose last sample is older than this are removed.
    pub age: Option<Duration>,
    /// The maximum total size of the machine's files; above it, the oldest ones are removed.
    pub bytes: Option<u64>,
}

/// The outcome of a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// The number of files.
    pub files: u64,
    /// The total size of the files in bytes.
    pub bytes: u64,
}

impl ArchiveStore {
    /// Removes complete files that need not be kept at the time `now`. The last file is never removed. The caller must
    /// hold the [lock](Self::lock_files).
    ///
    /// # Errors
    ///
    /// When a folder cannot be read, or a file cannot be removed.
    pub fn remove_old(&self, retention: Retention, now: FileTime) -> Result<Removed, LogError> {
        let mut removed = Removed::default();
        if retention == Retention::default() {
            return Ok(removed);
        }
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |found| found.len());
        let files = complete_files(&self.machine)?;
        let mut bytes: u64 = files.iter().map(|file| size(&file.path)).sum();
        bytes += self.segments()?.iter().map(|path| size(path)).sum::<u64>();
        let oldest = retention.age.map(|age| {
            let units = i64::try_from(age.as_nanos() / 100).unwrap_or(i64::MAX);
            now.saturating_sub(units)
        });
        let count = files.len().saturating_sub(1);
        for file in files.iter().take(count) {
            let is_old = oldest.is_some_and(|oldest| file.last < oldest);
            if !is_old && retention.bytes.is_none_or(|max| bytes <= max) {
                break;
            }
            let length = size(&file.path);
            self.remove(&file.path)?;
            bytes = bytes.saturating_sub(length);
            removed.files += 1;
            removed.bytes += length;
            if let Some(date) = file.path.parent() {
                self.remove_if_empty(date)?;
            }
        }
        Ok(removed)
    }
}
