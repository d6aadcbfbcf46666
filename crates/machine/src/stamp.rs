//! Whether something changed in a folder.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Most files of a folder that are looked at.
const MAX_FILES: usize = 4096;

/// The files of some folders with what the file system knows of them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stamps {
    folders: Vec<Vec<Stamp>>,
    newest: Option<SystemTime>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    name: OsString,
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamps {
    pub(crate) fn of(folders: &[PathBuf]) -> Self {
        let mut newest = None;
        let folders = folders.iter().map(|folder| stamps_of(folder, &mut newest)).collect();
        Self { folders, newest }
    }

    /// Whether the last change was just now, so that another one might not show: the clock of files has coarse steps.
    pub(crate) fn is_fresh(&self) -> bool {
        let age = |newest: SystemTime| SystemTime::now().duration_since(newest).unwrap_or_default();
        self.newest.is_some_and(|newest| age(newest) < Duration::from_millis(50))
    }
}

fn stamps_of(folder: &Path, newest: &mut Option<SystemTime>) -> Vec<Stamp> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut stamps: Vec<_> = entries
        .flatten()
        .take(MAX_FILES)
        .filter_map(|entry| {
            // Of a link, not of what it leads to.
            let metadata = entry.metadata().ok()?;
            *newest = (*newest).max(metadata.modified().ok());
            Some(Stamp {
                name: entry.file_name(),
                inode: metadata.ino(),
                bytes: metadata.len(),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            })
        })
        .collect();
    stamps.sort_unstable();
    stamps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_goes_or_changes_shows() {
        let folder = tempfile::tempdir().expect("a folder");
        let folders = [folder.path().to_owned()];
        let empty = Stamps::of(&folders);
        assert_eq!(empty, Stamps::of(&folders));
        let file = folder.path().join("a");
        std::fs::write(&file, "one").expect("a file");
        let one = Stamps::of(&folders);
        assert!(one != empty && one.is_fresh());
        std::fs::write(&file, "longer").expect("a file");
        assert_ne!(Stamps::of(&folders), one);
        std::fs::remove_file(&file).expect("it is gone");
        assert_eq!(Stamps::of(&folders), empty);
        assert_eq!(Stamps::of(&["/no/such/folder".into()]), Stamps::of(&["/none".into()]));
    }
}
